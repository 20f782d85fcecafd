//! What is asked of a cluster as a whole.

use std::cell::Cell;
use std::rc::Rc;

use sluice_api::model::{ClusterChecks, Guards};

use super::*;

/// Checks of these names in these lists, and failures in a row that make the cluster down.
fn checks(readiness: &[&str], liveness: &[&str], threshold: u32) -> Guards {
    let list = |names: &[&str]| -> Vec<Value> {
        let check = |name| {
            json!({"name": name, "condition": "function evaluate() end",
                "resourceSelectors": [{"version": "v1", "kind": "Node"}]})
        };
        names.iter().map(check).collect()
    };
    let spec = json!({"readinessChecks": list(readiness), "livenessChecks": list(liveness), "consecutiveFailureThreshold": threshold});
    ClusterChecks::read(&json!({"kind": "SveltosCluster", "metadata": {"name": "c"}, "spec": spec}))
        .transpose()
        .map(Arc::new)
}

fn no() -> Outcome {
    Err("there is no node".to_owned())
}

impl Fixture {
    /// A cluster of whose registration asks for this, and where a profile is to be deployed.
    fn guarded(checks: Guards) -> Self {
        let mut fixture = Self::new();
        fixture.reach_asking(checks);
        fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
        fixture
    }

    /// The cluster can be reached, and this is asked of it.
    fn reach_asking(&mut self, checks: Guards) {
        let input = ExternalInput::Reachable(cluster(), checks);
        self.run(|deployer, step| deployer.external(input, step));
    }

    /// The check of this name says this.
    fn guard_says(&mut self, name: &str, said: Outcome) {
        let named = self.guards.iter().find(|(_, title)| title.contains(&format!("{name:?}")));
        let id = *named.expect("it is asked").0;
        let input = ExternalInput::Checked(cluster(), id, said);
        self.run(|deployer, step| deployer.external(input, step));
    }

    /// What was said last of the cluster in this respect.
    fn says_of(&self, about: &About) -> &str {
        let last = self.problems.iter().rfind(|problem| problem.about == *about);
        last.and_then(Problem::error).unwrap_or_default()
    }
}

#[test]
fn nothing_goes_to_a_cluster_for_the_first_time_before_all_its_readiness_checks_pass() {
    let mut fixture = Fixture::guarded(checks(&["nodes", "network"], &[], 3));
    assert_eq!((fixture.names().len(), fixture.says_of(&About::Readiness)), (0, ""));
    fixture.guard_says("nodes", no());
    let told = "nothing is deployed there for the first time before this passes: there is no node";
    assert_eq!(fixture.says_of(&About::Readiness), told);
    fixture.guard_says("nodes", Ok(()));
    assert_eq!((fixture.names().len(), fixture.says_of(&About::Readiness)), (0, ""));
    fixture.guard_says("network", Ok(()));
    assert_eq!(fixture.names(), ["a"]);
    assert_eq!(fixture.guards.len(), 0, "nobody asks any more");
    fixture.row("p", Some(desired("p", 100, vec![config_map("b", "1")])));
    assert_eq!((fixture.names(), fixture.says_of(&About::Readiness)), (vec!["b"], ""));
    fixture.row("p", None);
    assert_eq!((fixture.names().len(), fixture.guards.len()), (0, 2), "what comes next is the first");
}

#[test]
fn what_was_held_up_begins_when_the_cluster_comes_to_hold_what_was_on_its_way() {
    let mut fixture = Fixture::new();
    fixture.reach_asking(checks(&["nodes"], &[], 3));
    let first = row_of("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.run(|deployer, step| deployer.row(&first, step));
    let id = *fixture.guards.keys().next().expect("it is asked");
    let says = |said| ExternalInput::Checked(cluster(), id, said);
    let calls = fixture.hold(|deployer, step| deployer.external(says(Ok(())), step));
    assert!(matches!(calls[..], [(_, Request::WriteInventory { .. })]), "{calls:?}");
    fixture.run(|deployer, step| deployer.external(says(no()), step));
    fixture.row("q", Some(desired("q", 100, vec![config_map("b", "1")])));
    assert!(fixture.names().is_empty());
    for (id, request) in calls {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!(fixture.names(), ["a", "b"]);
}

#[test]
fn a_cluster_that_holds_something_is_ready() {
    let mut fixture = Fixture::guarded(None);
    assert_eq!(fixture.names(), ["a"]);
    fixture.replace(1);
    fixture.reach_asking(checks(&["nodes"], &[], 3));
    fixture.row("p", Some(desired("p", 100, vec![config_map("b", "1")])));
    fixture.read_all();
    assert_eq!((fixture.names(), fixture.guards.len()), (vec!["b"], 0));
}

#[test]
fn checks_that_are_taken_off_hold_nothing_up() {
    let mut fixture = Fixture::guarded(checks(&["nodes"], &["well"], 1));
    fixture.guard_says("nodes", no());
    fixture.guard_says("well", no());
    assert_eq!(fixture.says_of(&About::Liveness), "there is no node");
    fixture.reach_asking(None);
    assert_eq!((fixture.names(), fixture.guards.len()), (vec!["a"], 0));
    assert_eq!((fixture.says_of(&About::Readiness), fixture.says_of(&About::Liveness)), ("", ""));
}

#[test]
fn checks_that_cannot_be_read_hold_up_what_is_first_and_are_told() {
    let wrong = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c"}, "spec": {"readinessChecks": [{}]}});
    let mut fixture = Fixture::guarded(ClusterChecks::read(&wrong).transpose().map(Arc::new));
    let told = fixture.says_of(&About::Readiness);
    assert!(told.contains("SveltosCluster n/c: spec.readinessChecks[0].name"), "{told}");
    assert!(fixture.names().is_empty());
    fixture.reach_asking(checks(&[], &[], 3));
    assert_eq!((fixture.names(), fixture.says_of(&About::Readiness)), (vec!["a"], ""));
}

#[test]
fn a_cluster_is_not_well_once_a_liveness_check_has_failed_for_long_enough() {
    let mut fixture = Fixture::guarded(checks(&[], &["well"], 3));
    assert_eq!(fixture.names(), ["a"]);
    fixture.guard_says("well", no());
    fixture.now += 5_000_000;
    fixture.guard_says("well", Err("there is one node".to_owned()));
    assert_eq!(fixture.says_of(&About::Liveness), "");
    fixture.now = 19_999_999;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!(fixture.says_of(&About::Liveness), "");
    fixture.now += 1;
    fixture.run(|deployer, step| deployer.tick(step));
    assert_eq!(fixture.says_of(&About::Liveness), "there is one node");
    fixture.row("p", Some(desired("p", 100, vec![config_map("b", "1")])));
    assert_eq!(fixture.names(), ["b"], "it goes on all the same");
    fixture.guard_says("well", Ok(()));
    assert_eq!(fixture.says_of(&About::Liveness), "");
    fixture.guard_says("well", no());
    assert_eq!(fixture.says_of(&About::Liveness), "", "that is the first failure once more");
    let unreachable = ExternalInput::Unreachable(cluster());
    fixture.run(|deployer, step| deployer.external(unreachable, step));
    assert_eq!(fixture.guards.len(), 0);
}

#[test]
fn a_server_that_does_not_answer_is_called_down_after_as_many_failures_as_its_registration_says() {
    let down_after = |threshold: u32| {
        let (mut fixture, failures) = (Fixture::new(), Rc::new(Cell::new(0)));
        let count = failures.clone();
        fixture.fail = Box::new(move |_| {
            count.set(count.get() + 1);
            Some(Failure::new(Class::Unanswered, "no answer"))
        });
        fixture.reach_asking(checks(&[], &[], threshold));
        while fixture.says_of(&About::Cluster).is_empty() && failures.get() < 20 {
            fixture.wait();
        }
        failures.get()
    };
    assert_eq!((down_after(1), down_after(3), down_after(8)), (1, 3, 8));
    let mut fixture = Fixture::new();
    fixture.fail = Box::new(|_| Some(Failure::new(Class::Refused, "no")));
    fixture.reach_asking(checks(&[], &[], 9));
    assert!(!fixture.says_of(&About::Cluster).is_empty(), "who refuses says why at once");
}
