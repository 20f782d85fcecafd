use serde_json::json;

use super::*;

#[test]
fn rows_of_former_versions_are_read_and_those_of_profiles_without_options_are_the_same() {
    let old = json!({"ownerKind": "ClusterProfile", "ownerName": "p", "tier": 100, "leave": false, "dryRun": false,
        "oneTime": false, "cause": {"profile": "ClusterProfile p"}, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "n", "name": "c", "tier": 100, "objects": []}]});
    let desired: Desired = serde_json::from_value(old.clone()).unwrap();
    assert!(desired.extra_labels.is_empty() && !desired.policies[0].skip_namespace_creation);
    assert_eq!(serde_json::to_value(desired).unwrap(), old);
}

use sluice_api::Gvk;

use crate::row::{Head, Row};
use crate::{Meta, Sequence, Subject};

fn event(item: Option<ObjectKey>) -> Cause {
    let (trigger, cluster) = (TriggerId::new("EventTrigger", "t"), ClusterRef::sveltos("a", "b"));
    Cause::from(EventCause { trigger, cluster, source: "s".into(), item })
}

fn service() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: "x".into() }
}

fn desired(cause: Cause, spec: Value) -> Desired {
    let text = json!({"ownerKind": "Profile", "ownerNamespace": "team", "ownerName": "p", "tier": 100, "cause": cause, "spec": spec, "policies": []});
    serde_json::from_value(text).unwrap()
}

fn user_written(spec: Value) -> Desired {
    desired(Cause::Profile(ProfileId::new("team", "p")), spec)
}

fn row(body: &[u8], tombstone: bool) -> Row {
    let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::new("team", "p"));
    let subject = Subject::Desired { shard: Shard::FIRST, cluster, origin: Shard::FIRST, profile };
    Row {
        subject,
        head: Head { tombstone, ..Head::default() },
        body: body.into(),
        sequence: Sequence::new(1),
    }
}

#[test]
fn a_row_of_desired_is_read_as_it_was_written() {
    let written = user_written(json!({"tier": 100}));
    assert_eq!(Desired::of_row(&row(&crate::json::bytes(&written), false)), Ok(written));
}

#[test]
fn a_row_of_status_is_read_as_it_was_written() {
    for state in [State::Held, State::Provisioning, State::Provisioned, State::Failed, State::DryRun] {
        let written = Status::new(state, vec!["no".into()]);
        assert_eq!(Status::of_row(&row(&crate::json::bytes(&written), false)), Ok(written));
    }
}

#[test]
fn a_row_that_is_withdrawn_says_nothing_whatever_is_in_it() {
    let body = crate::json::bytes(&user_written(json!({})));
    for body in [&body[..], b"", UNRENDERED] {
        assert_eq!(Desired::of_row(&row(body, true)), Err(NoContent::Tombstone));
        assert_eq!(Status::of_row(&row(body, true)), Err(NoContent::Tombstone));
    }
}

#[test]
fn a_row_whose_maker_has_no_content_yet_says_so_and_is_no_status() {
    assert_eq!(Desired::of_row(&row(UNRENDERED, false)), Err(NoContent::Unrendered));
    assert!(matches!(Status::of_row(&row(UNRENDERED, false)), Err(NoContent::Unreadable(_))));
    let other = br#"{"unrendered": true}"#;
    assert!(matches!(Desired::of_row(&row(other, false)), Err(NoContent::Unreadable(_))), "byte for byte");
}

#[test]
fn a_row_that_cannot_be_read_says_why() {
    for body in [&b""[..], b"x", b"{}", b"[1]", b"\xff"] {
        let Err(NoContent::Unreadable(why)) = Desired::of_row(&row(body, false)) else { panic!("{body:?}") };
        assert!(!why.is_empty());
    }
    let Err(NoContent::Unreadable(why)) = Status::of_row(&row(br#"{"state": "Melted"}"#, false)) else {
        panic!()
    };
    assert!(why.contains("Melted"), "{why}");
    assert_eq!(NoContent::Unreadable(why.clone()).to_string(), why);
}

#[test]
fn fields_of_a_newer_version_are_passed_over() {
    let mut body = serde_json::to_value(Status::new(State::Failed, vec![])).unwrap();
    body["newer"] = json!({"a": 1});
    let read = Status::of_row(&row(body.to_string().as_bytes(), false));
    assert_eq!(read, Ok(Status::new(State::Failed, vec![])));
}

#[test]
fn only_the_spec_that_a_user_wrote_has_a_digest() {
    let (one, same, other) =
        (user_written(json!({"a": 1})), user_written(json!({"a": 1})), user_written(json!({"a": 2})));
    assert_eq!(one.of_spec(), same.of_spec());
    assert_ne!(one.of_spec(), other.of_spec());
    assert_eq!(one.of_spec(), spec_digest(&json!({"a": 1})));
    assert_eq!(desired(event(None), json!({"a": 1})).of_spec(), "");
}

#[test]
fn a_status_is_of_the_spec_that_it_names_or_of_any_when_it_names_none() {
    let (old, new) = (user_written(json!({"a": 1})), user_written(json!({"a": 2})));
    let status = Status::new(State::Provisioned, vec![]);
    assert!(!status.is_of_another(&new), "former versions do not say it");
    let status = status.of(&old, None);
    assert!(!status.is_of_another(&old) && status.is_of_another(&new));
    assert!(!Status::new(State::Held, vec![]).of(&desired(event(None), json!({})), None).is_of_another(&new));
}

#[test]
fn the_profile_of_a_row_is_that_of_its_owner() {
    let mut row = user_written(json!({}));
    assert_eq!(row.profile(), ProfileId::new("team", "p"));
    row.owner_namespace.clear();
    assert_eq!(row.profile(), ProfileId::cluster("p"));
}

#[test]
fn the_first_objects_of_a_chart_are_what_it_brings_along() {
    let objects = vec![json!(1), json!(2), json!(3)];
    for (crds, brought) in [(0, 0), (1, 1), (3, 3), (9, 3)] {
        let policy = Policy { crds, objects: objects.clone(), ..Policy::default() };
        assert_eq!((policy.brought(), policy.content()), (&objects[..brought], &objects[brought..]));
    }
}

#[test]
fn a_cause_is_told_with_all_that_led_to_it() {
    assert_eq!(event(None).to_string(), "EventTrigger t on sveltos:a/b");
    assert_eq!(event(Some(service())).to_string(), "EventTrigger t on sveltos:a/b for Service n/x");
    assert_eq!(Cause::Profile(ProfileId::cluster("p")).to_string(), "ClusterProfile p");
}

#[test]
fn a_problem_of_an_event_is_one_of_its_cluster_and_that_of_a_profile_of_none() {
    let cluster = ClusterRef::sveltos("a", "b");
    let Cause::Event(of_event) = event(Some(service())) else { panic!() };
    assert_eq!(Cause::Event(of_event.clone()).problem(), ProblemKey::on(&cluster, About::Event(of_event)));
    let profile = ProfileId::cluster("p");
    assert_eq!(Cause::Profile(profile.clone()).problem(), ProblemKey::everywhere(About::Profile(profile)));
}

#[test]
fn all_that_events_of_a_cluster_lead_to_has_one_maker() {
    let shards = 64;
    assert_eq!(event(None).origin(shards), event(Some(service())).origin(shards));
    assert_eq!(event(None).origin(shards), cluster_shard(&ClusterRef::sveltos("a", "b"), shards));
    assert!(Cause::Profile(ProfileId::cluster("p")).origin(shards).get() < shards);
}

#[test]
fn a_cause_comes_back_from_the_meta_data_of_its_row() {
    for cause in [event(None), event(Some(service())), Cause::Profile(ProfileId::role_request("r"))] {
        let meta = Meta::parse(&Meta::of_cause(&cause).to_string());
        assert_eq!(meta.cause(), Some(&cause));
        assert_eq!(meta.complete(), None);
    }
}
