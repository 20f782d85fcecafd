//! With `syncMode: DryRun` nothing is withdrawn, and rows say so.

use sluice_protocol::rows::{State, Status};

use super::*;

fn profile(mode: &str) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterSelector": {"matchLabels": {"in": "yes"}}, "syncMode": mode,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

fn plain() -> Value {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own}\n";
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}})
}

fn mk_fixture(mode: &str) -> Fixture {
    let clusters = ["a", "b"].map(|name| registration(name, json!({"in": "yes"}))).into_iter();
    let mut fixture = Fixture::new(clusters.chain([profile(mode), plain()]).collect());
    fixture.ready(&[]);
    fixture
}

impl Fixture {
    /// Of the row of a cluster: whether it is a dry run, and how many policies it has; nothing where it is withdrawn.
    fn shape(&self, name: &str) -> Option<(bool, usize)> {
        self.rows[&format!("{name}/p")].as_ref().map(|row| (row.dry_run, row.policies.len()))
    }
}

#[test]
fn a_cluster_that_stops_matching_keeps_a_row_without_content_until_the_mode_changes() {
    let mut fixture = mk_fixture("Continuous");
    fixture.put(profile("DryRun"));
    assert_eq!((fixture.shape("a"), fixture.shape("b")), (Some((true, 1)), Some((true, 1))));
    fixture.put(registration("b", json!({})));
    assert_eq!((fixture.shape("a"), fixture.shape("b")), (Some((true, 1)), Some((true, 0))));
    fixture.put(plain());
    assert_eq!(fixture.shape("b"), Some((true, 0)), "it stays so");
    fixture.put(profile("Continuous"));
    assert_eq!((fixture.shape("a"), fixture.shape("b")), (Some((false, 1)), None));
}

#[test]
fn a_cluster_that_matches_again_gets_its_content_back() {
    let mut fixture = mk_fixture("DryRun");
    fixture.put(registration("b", json!({})));
    fixture.put(registration("b", json!({"in": "yes"})));
    assert_eq!(fixture.shape("b"), Some((true, 1)));
}

#[test]
fn a_profile_that_is_deleted_goes_all_the_same() {
    let mut fixture = mk_fixture("DryRun");
    fixture.delete(profile("DryRun"));
    assert_eq!((fixture.shape("a"), fixture.shape("b")), (None, None));
}

#[test]
fn an_event_that_goes_withdraws_nothing_while_its_trigger_only_tries() {
    let dry = |mode: &str| trigger(true, json!({"syncMode": mode}));
    let mut fixture = Fixture::new(vec![dry("Continuous"), content(true, "1")]);
    fixture.ready(&["x"]);
    let row =
        |fixture: &Fixture| fixture.rows.values().next().unwrap().as_ref().map(|row| row.policies.len());
    assert_eq!(row(&fixture), Some(1));
    fixture.put(dry("DryRun"));
    fixture.row(report("x", true));
    assert_eq!(row(&fixture), Some(0));
    fixture.put(dry("Continuous"));
    assert_eq!(row(&fixture), None, "it is withdrawn once it may be");
}

#[test]
fn what_is_made_of_secrets_is_hidden_in_a_dry_run_alone() {
    let secret = || {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own}\n";
        json!({"kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile", "metadata": {"namespace": "default", "name": "plain"}, "stringData": {"a.yaml": text}})
    };
    let of_secret = |mode: &str| {
        let mut profile = profile(mode);
        profile["spec"]["policyRefs"][0]["kind"] = "Secret".into();
        profile
    };
    let clusters = [registration("a", json!({"in": "yes"}))];
    let mut fixture =
        Fixture::new(clusters.into_iter().chain([of_secret("DryRun"), secret(), plain()]).collect());
    fixture.ready(&[]);
    let hidden = |fixture: &Fixture| fixture.rows["a/p"].as_ref().unwrap().hidden;
    assert!(hidden(&fixture));
    fixture.put(of_secret("Continuous"));
    assert!(!hidden(&fixture));
    fixture.put(profile("DryRun"));
    assert!(!hidden(&fixture));
}

/// It is heard of late, after everything has been rendered: its table was lost, or its deployer has just begun.
#[test]
fn what_a_cluster_holds_that_does_not_match_is_not_withdrawn_either() {
    let mut fixture = mk_fixture("DryRun");
    fixture.put(registration("c", json!({})));
    let subject = Subject::Status {
        shard: Shard::FIRST,
        cluster: cluster("c"),
        origin: Shard::FIRST,
        profile: ProfileId::cluster("p"),
    };
    let meta = Meta::of_cause(&Cause::Profile(ProfileId::cluster("p")));
    let body = serde_json::to_vec(&Status::new(State::Held, Vec::new())).unwrap().into();
    let held = Row { subject, head: Head { meta, ..Head::default() }, body, sequence: Sequence::new(1) };
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(held)), step));
    assert_eq!(fixture.shape("c"), Some((true, 0)));
    fixture.put(profile("Continuous"));
    assert_eq!(fixture.shape("c"), None);
}
