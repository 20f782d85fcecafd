//! What a profile lets be checked before it is deployed or removed, and after that.

use super::*;

mod jobs;

/// A profile with one ConfigMap of a reference and one of a chart, and with these checks: list, name and feature.
fn checked(checks: &[(&str, &str, &str)]) -> Desired {
    let mut row = desired("p", 100, vec![config_map("plain", "1")]);
    row.policies.push(Policy {
        kind: "HelmChart".into(),
        namespace: "n".into(),
        name: "chart".into(),
        tier: 100,
        objects: vec![config_map("charted", "1")],
        ..Policy::default()
    });
    for (list, name, feature) in checks {
        let check = json!({"name": name, "featureID": feature, "version": "v1", "kind": "Pod"});
        let all = row.spec.entry(*list).or_insert_with(|| json!([]));
        all.as_array_mut().unwrap().push(check);
    }
    row
}

/// The same with other content.
fn changed(checks: &[(&str, &str, &str)]) -> Desired {
    let mut row = checked(checks);
    row.policies[0].objects = vec![config_map("plain", "2")];
    row
}

fn no() -> Outcome {
    Err("not yet".to_owned())
}

const PRE: &[(&str, &str, &str)] = &[("preDeployChecks", "go", "Resources")];
const HEALTH: &[(&str, &str, &str)] = &[("validateHealths", "well", "Helm")];
const REMOVAL: &[(&str, &str, &str)] =
    &[("preDeleteChecks", "drained", "Helm"), ("postDeleteChecks", "gone", "Helm")];

impl Fixture {
    /// A cluster on which checks of these names say this.
    fn saying(says: &[(&str, Outcome)]) -> Self {
        let mut fixture = Self::new();
        fixture.says = says.iter().map(|(name, said)| ((*name).to_owned(), said.clone())).collect();
        fixture.reach();
        fixture
    }

    /// From now on the check of this name says this.
    pub(super) fn say(&mut self, name: &str, said: Outcome) {
        self.says.insert(name.to_owned(), said.clone());
        let ids: Vec<_> =
            self.asked.iter().filter(|(_, (check, _))| check.name == name).map(|(id, _)| *id).collect();
        for id in ids {
            let input = ExternalInput::Checked(cluster(), id, said.clone());
            self.run(|deployer, step| deployer.external(input, step));
        }
    }

    /// Names of the checks that are asked.
    fn asks(&self) -> Vec<&str> {
        self.asked.values().map(|(check, _)| check.name.as_str()).collect()
    }

    /// So much time passes.
    fn after(&mut self, seconds: i64) {
        for _ in 0..seconds * 10 {
            self.now += 100_000;
            self.run(|deployer, step| deployer.tick(step));
        }
    }

    fn told(&self) -> Vec<String> {
        self.statuses["p"].as_ref().map(|status| status.errors.clone()).unwrap_or_default()
    }
}

#[test]
fn nothing_of_a_lane_is_written_before_its_check_passes_and_the_other_lane_goes_on() {
    let mut fixture = Fixture::saying(&[("go", no())]);
    fixture.row("p", Some(checked(PRE)));
    assert_eq!((fixture.names(), fixture.asks()), (vec!["charted"], vec!["go"]));
    fixture.after(4);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Provisioning), vec!["not yet".to_owned()]));
    fixture.say("go", Ok(()));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["charted", "plain"], Some(State::Provisioned)));
    assert!(fixture.asked.is_empty(), "it is asked before something is written, and not otherwise");
}

#[test]
fn a_check_that_goes_on_failing_is_an_error_and_no_failure_of_the_profile() {
    let mut fixture = Fixture::saying(&[("go", no())]);
    let mut row = checked(PRE);
    row.spec.insert("maxConsecutiveFailures".into(), json!(1));
    row.spec.insert("continueOnError".into(), json!(true));
    fixture.row("p", Some(row));
    fixture.after(60);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Failed), vec!["not yet".to_owned()]));
    assert_eq!(fixture.names(), ["charted"], "whatever else may go on");
    let summary = fixture.summaries.last().unwrap();
    assert!(!summary.given_up && fixture.problems.last().unwrap().error().is_some());
    fixture.say("go", Ok(()));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["charted", "plain"], Some(State::Provisioned)));
    assert!(fixture.problems.last().unwrap().error().is_none());
}

#[test]
fn what_a_check_says_is_told_anew_now_and_then() {
    let mut fixture = Fixture::saying(&[("go", no())]);
    fixture.row("p", Some(checked(PRE)));
    fixture.after(12);
    fixture.say("go", Err("one of three".to_owned()));
    fixture.after(11);
    assert_eq!(fixture.told(), ["one of three"]);
}

#[test]
fn a_check_that_says_nothing_is_told_of_too() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(checked(PRE)));
    fixture.after(12);
    assert_eq!(fixture.told(), ["spec.preDeployChecks[0] \"go\": nothing is known yet of what it looks at"]);
}

#[test]
fn where_nothing_is_written_no_check_is_asked_first() {
    let mut fixture = Fixture::saying(&[("go", Ok(()))]);
    fixture.row("p", Some(checked(PRE)));
    fixture.say("go", no());
    fixture.restart();
    fixture.row("p", Some(checked(PRE)));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::Provisioned), vec![]));
    fixture.row("p", Some(changed(PRE)));
    assert_eq!(fixture.asks(), ["go"]);
}

#[test]
fn a_profile_is_provisioned_when_it_is_healthy() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(checked(HEALTH)));
    assert_eq!((fixture.names(), fixture.statuses.get("p")), (vec!["charted", "plain"], None));
    fixture.say("well", no());
    fixture.after(4);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Provisioning), vec!["not yet".to_owned()]));
    fixture.say("well", Ok(()));
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Provisioned), vec![]));
    assert_eq!(fixture.asks(), ["well"], "that it stays so is looked at");
    assert!(fixture.take_calls().iter().filter(|call| call.starts_with("apply ")).count() == 2);
}

#[test]
fn who_gets_ill_is_told_of_after_a_while_and_who_recovers_at_once() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    fixture.row("p", Some(checked(HEALTH)));
    fixture.say("well", no());
    fixture.after(5);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.say("well", Ok(()));
    fixture.after(20);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.say("well", no());
    fixture.after(11);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Failed), vec!["not yet".to_owned()]));
    fixture.take_calls();
    fixture.say("well", Ok(()));
    assert_eq!((fixture.state("p"), fixture.take_calls()), (Some(State::Provisioned), Vec::<String>::new()));
}

#[test]
fn what_was_seen_before_a_change_says_nothing_of_it() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    fixture.row("p", Some(checked(HEALTH)));
    let before: Vec<_> = fixture.asked.keys().copied().collect();
    fixture.says.clear();
    fixture.row("p", Some(changed(HEALTH)));
    assert!(before.iter().all(|id| !fixture.asked.contains_key(id)) && fixture.asks() == ["well"]);
    fixture.after(4);
    assert_eq!(fixture.state("p"), Some(State::Provisioning));
}

#[test]
fn a_profile_waits_until_what_it_depends_on_is_healthy() {
    let mut fixture = Fixture::saying(&[("well", no())]);
    fixture.row("p", Some(checked(HEALTH)));
    let mut app = desired("app", 100, vec![config_map("app", "1")]);
    app.spec.insert("dependsOn".into(), json!(["p"]));
    fixture.row("app", Some(app));
    fixture.after(15);
    assert_eq!(fixture.names(), ["charted", "plain"]);
    fixture.say("well", Ok(()));
    assert_eq!(fixture.names(), ["app", "charted", "plain"]);
}

#[test]
fn what_failed_says_nothing_of_its_health() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    fixture.fail = refusing("plain");
    fixture.row("p", Some(checked(HEALTH)));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::Failed), vec![]));
}

#[test]
fn only_checks_of_what_is_deployed_are_asked() {
    let mut fixture = Fixture::saying(&[]);
    let mut row = checked(HEALTH);
    row.policies.pop();
    fixture.row("p", Some(row));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::Provisioned), vec![]));
    let kustomize = checked(&[("validateHealths", "well", "Kustomize")]);
    fixture.row("p", Some(kustomize));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::Provisioned), vec![]));
}

#[test]
fn a_dry_run_asks_nothing_and_who_asked_before_stops() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    fixture.row("p", Some(checked(HEALTH)));
    assert_eq!(fixture.asks(), ["well"]);
    fixture.row("p", Some(Desired { dry_run: true, ..checked(HEALTH) }));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::DryRun), vec![]));
}

#[test]
fn what_a_lane_has_deployed_stays_until_its_check_lets_it_go() {
    let mut fixture = Fixture::saying(&[("drained", no()), ("gone", Ok(()))]);
    fixture.row("p", Some(checked(REMOVAL)));
    assert_eq!((fixture.state("p"), fixture.asks()), (Some(State::Provisioned), vec![]));
    fixture.row("p", None);
    assert_eq!((fixture.names(), fixture.asks()), (vec!["charted"], vec!["drained"]));
    fixture.after(12);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Failed), vec!["not yet".to_owned()]));
    fixture.say("drained", Ok(()));
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty() && fixture.asked.is_empty());
    assert_eq!(fixture.state("p"), None);
}

#[test]
fn a_profile_has_gone_when_the_checks_after_that_pass() {
    let mut fixture = Fixture::saying(&[("drained", Ok(())), ("gone", no())]);
    fixture.row("p", Some(checked(REMOVAL)));
    fixture.row("p", None);
    assert!(fixture.names().is_empty() && fixture.inventories.len() == 1);
    // Another owner knows of them by the inventory alone.
    fixture.restart();
    fixture.row("p", None);
    fixture.pass_former_calls();
    assert_eq!(fixture.asks(), ["gone"]);
    fixture.after(12);
    assert_eq!(fixture.told(), ["not yet"]);
    fixture.say("gone", Ok(()));
    assert!(fixture.inventories.is_empty() && fixture.state("p").is_none() && fixture.asked.is_empty());
}

#[test]
fn what_stays_when_its_profile_goes_is_not_checked_before() {
    let mut fixture = Fixture::saying(&[("drained", no()), ("gone", Ok(()))]);
    fixture.row("p", Some(Desired { leave: true, ..checked(REMOVAL) }));
    fixture.row("p", None);
    fixture.pass_former_calls();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["charted", "plain"], 0));
}

#[test]
fn a_tenant_asks_with_its_own_rights_also_when_its_row_has_gone() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    let account = ServiceAccount { namespace: "team".into(), name: "a".into() };
    let checks: Vec<_> = HEALTH.iter().chain(REMOVAL).copied().collect();
    fixture.row("p", Some(Desired { account: Some(account.clone()), ..checked(&checks) }));
    let asks_as =
        |fixture: &Fixture| fixture.asked.values().map(|(_, account)| account.clone()).collect::<Vec<_>>();
    assert_eq!(asks_as(&fixture), [Some(account.clone())]);
    fixture.restart();
    fixture.row("p", None);
    assert_eq!((fixture.asks(), asks_as(&fixture)), (vec!["drained"], vec![Some(account)]));
}

#[test]
fn of_a_cluster_that_is_reached_in_another_way_everything_is_asked_anew() {
    let mut fixture = Fixture::saying(&[("well", Ok(()))]);
    fixture.row("p", Some(checked(HEALTH)));
    let before: Vec<_> = fixture.asked.keys().copied().collect();
    fixture.says.clear();
    fixture.reach();
    assert_eq!(fixture.asks(), ["well"]);
    let input = ExternalInput::Checked(cluster(), before[0], no());
    fixture.run(|deployer, step| deployer.external(input, step));
    fixture.after(12);
    assert_eq!(
        fixture.told(),
        ["spec.validateHealths[0] \"well\": nothing is known yet of what it looks at"],
        "what the former server had is no answer"
    );
}

#[test]
fn a_check_that_is_taken_out_holds_up_nothing_any_more() {
    let mut fixture = Fixture::saying(&[("go", no())]);
    fixture.row("p", Some(checked(PRE)));
    fixture.after(12);
    fixture.row("p", Some(checked(&[])));
    assert_eq!((fixture.names(), fixture.asks()), (vec!["charted", "plain"], vec![]));
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}
