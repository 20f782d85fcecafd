use serde_json::json;
use sluice_api::model::ClusterSetId;
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};

use super::*;
use crate::Shard;
use crate::rows::EventCause;

fn service() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: "x".into() }
}

fn event() -> EventCause {
    let (trigger, cluster) = (TriggerId::new("EventBasedAddOn", "t"), ClusterRef::sveltos("n", "c"));
    EventCause { trigger, cluster, source: "s".into(), item: Some(service()) }
}

/// One of each kind: its text, and its word in metrics.
fn kinds() -> Vec<(About, &'static str, &'static str)> {
    let cluster_set = ClusterSetId { namespace: String::new(), name: "cs".into() };
    let set = ClusterSetId { namespace: "n".into(), name: "s".into() };
    let (on, cluster) = (Box::new(About::Profile(ProfileId::cluster("p"))), ClusterRef::sveltos("n", "c"));
    vec![
        (About::Cluster, "cluster", "cluster"),
        (About::Kubeconfig, "kubeconfig", "kubeconfig"),
        (About::Token, "token of the kubeconfig", "token"),
        (About::Presence, "deployer in the cluster", "presence"),
        (About::Interest, "interest", "interest"),
        (About::Capabilities, "what the cluster can do", "capabilities"),
        (About::ManagementWatch("Secret".into()), "watch of Secret in the management cluster", "watch"),
        (About::CloudEvents("orders.eu".into()), "CloudEvents on orders.eu", "CloudEvents"),
        (About::Object(service()), "Service n/x", "Service"),
        (About::Source("s".into()), "EventSource s", "EventSource"),
        (About::Match("s".into(), service()), "EventSource s, Service n/x", "EventSource"),
        (About::Trigger(TriggerId::new("EventTrigger", "t")), "EventTrigger t", "EventTrigger"),
        (About::Event(event().into()), "EventBasedAddOn t, EventSource s, Service n/x", "EventBasedAddOn"),
        (About::Profile(ProfileId::new("n", "p")), "Profile n/p", "Profile"),
        (About::Profile(ProfileId::role_request("r")), "RoleRequest r", "RoleRequest"),
        (About::ClusterSet(cluster_set), "ClusterSet cs", "ClusterSet"),
        (About::ClusterSet(set), "Set n/s", "Set"),
        (About::Stream("CHANGES-00".into()), "stream CHANGES-00", "stream"),
        (About::Shard("03".into()), "shard 03", "shard"),
        (About::Row("a.b".into()), "row a.b", "row"),
        (About::Message("a.b".into()), "message a.b", "message"),
        (About::Projections("ClusterSummary".into()), "projections of kind ClusterSummary", "projections"),
        (About::Manifest("ConfigMap n/c, key k".into()), "ConfigMap n/c, key k", "manifest"),
        (About::Withdrawals(Shard::new(3)), "withdrawals of shard 03", "withdrawals"),
        (About::Further, "further objects", "further"),
        (About::On(on, cluster), "ClusterProfile p, on sveltos:n/c", "ClusterProfile"),
    ]
}

#[test]
fn every_kind_is_told_in_words_and_counted_under_a_word() {
    for (about, text, word) in kinds() {
        assert_eq!((about.to_string().as_str(), about.word()), (text, word), "{about:?}");
    }
}

#[test]
fn every_kind_comes_back_as_it_was_written() {
    for (about, ..) in kinds() {
        let text = serde_json::to_string(&about).unwrap();
        assert_eq!(serde_json::from_str::<About>(&text).unwrap(), about, "{text}");
    }
}

#[test]
fn what_is_beside_the_users_object_is_told_where_there_is_more() {
    let on = |about: About| About::On(Box::new(about), ClusterRef::management());
    assert_eq!(About::Event(event().into()).besides(), "EventSource s, Service n/x");
    assert_eq!(About::Event(EventCause { item: None, ..event() }.into()).besides(), "EventSource s");
    assert_eq!(on(About::Trigger(TriggerId::new("EventTrigger", "t"))).besides(), "on management");
    assert_eq!(on(About::Match("s".into(), service())).besides(), "Service n/x, on management");
}

#[test]
fn what_a_source_makes_of_an_object_is_of_both() {
    let about = About::Match("s".into(), service());
    assert!(
        about.is_of_source("s") && !about.is_of_source("t") && About::Source("s".into()).is_of_source("s")
    );
    assert!(
        about.is_match_of(&service()) && !about.is_match_of(&ObjectKey { name: "y".into(), ..service() })
    );
    assert!(
        !About::Object(service()).is_match_of(&service())
            && !About::Trigger(TriggerId::new("s", "s")).is_of_source("s")
    );
}

#[test]
fn a_problem_is_open_with_its_fault_and_resolved_without() {
    let open = Problem::open("agent", ClusterRef::sveltos("n", "c"), About::Source("s".into()), "no");
    assert_eq!(
        (open.cluster.as_str(), open.object().as_str(), open.error()),
        ("sveltos:n/c", "EventSource s", Some("no"))
    );
    let resolved = Problem::resolved("agent", ClusterRef::sveltos("n", "c"), About::Source("s".into()));
    assert_eq!((resolved.error(), &resolved.about), (None, &open.about));
}

#[test]
fn a_row_of_a_former_version_is_an_error_of_which_nobody_knows_what_it_is_about() {
    let text = json!({"stage": "agent", "cluster": "", "object": "EventSource s", "error": "no", "since": 5, "attempts": 2});
    let row: ProblemRow = serde_json::from_value(text.clone()).unwrap();
    assert_eq!((row.severity, row.class, row.text().as_str()), (Severity::Error, Class::Other, "no"));
    assert!(!row.is_about(|_| true));
    assert_eq!(serde_json::to_value(row).unwrap(), text);
}

#[test]
fn a_row_has_all_that_its_problem_says() {
    let row = ProblemRow::new(
        "matcher",
        "",
        About::Source("s".into()),
        Fault { class: Class::Limit, ..Fault::note("much") },
        7,
    );
    assert_eq!((row.since, row.attempts, row.object.as_str()), (7, 1, "EventSource s"));
    assert_eq!((row.class, row.text().as_str()), (Class::Limit, "note: much"));
    assert!(row.is_about(|about| about.is_of_source("s")));
    let again: ProblemRow = serde_json::from_str(&crate::json::text(&row)).unwrap();
    assert_eq!(again, row);
}

#[test]
fn no_text_says_that_a_limit_was_reached() {
    for text in ["limit: too much", "templates[0]: limit: too much", ""] {
        assert_eq!((Fault::new(text).class, Fault::note(text).class), (Class::Other, Class::Other), "{text}");
        assert_eq!(Fault::from(text.to_owned()), Fault::from(text));
        assert_eq!(Fault::from(text), Fault::of(false, text));
        assert_eq!(Fault::of(true, text), Fault { class: Class::Limit, ..Fault::new(text) });
    }
}

#[test]
fn other_words_change_neither_severity_nor_class() {
    let fault = Fault { class: Class::Limit, ..Fault::note("too much") };
    let fault = fault.reworded(|text| text.replace("too ", ""));
    assert_eq!((fault.severity, fault.class, fault.text.as_str()), (Severity::Note, Class::Limit, "much"));
    assert_eq!(fault.to_string(), "note: much");
}

#[test]
fn errors_come_before_notes() {
    assert!(Severity::Error < Severity::Note && Severity::Error.is_error() && !Severity::Note.is_error());
    assert_eq!((Severity::Error.with("a"), Severity::Note.with("a")), ("a".to_owned(), "note: a".to_owned()));
}

#[test]
fn problems_that_are_about_no_object_are_all_listed() {
    let cluster = ClusterRef::sveltos("n", "c");
    let mut problems = ProblemSet::new("agent");
    for number in 0..150 {
        let key = ProblemKey::on(&cluster, About::Row(number.to_string()));
        assert_eq!(problems.note(key, Some("no".into())).len(), 1);
    }
    for number in 0..150 {
        let key = ProblemKey::everywhere(About::Object(ObjectKey { name: number.to_string(), ..service() }));
        let told = problems.note(key, Some("no".into()));
        assert!(matches!(&told[..], [Problem { cluster, .. }] if cluster.is_empty()), "of no cluster");
    }
}

#[test]
fn the_same_problem_here_and_there_are_two() {
    let (here, there) = (ClusterRef::sveltos("n", "a"), ClusterRef::sveltos("n", "b"));
    let mut problems = ProblemSet::new("agent");
    let of = |cluster: &ClusterRef| ProblemKey::on(cluster, About::Interest);
    problems.note(of(&here), Some("no".into()));
    assert_eq!(problems.note(of(&there), None), []);
    assert_eq!(problems.note(ProblemKey::everywhere(About::Interest), None), []);
    assert_eq!(problems.note(of(&here), None), [Problem::resolved("agent", &here, About::Interest)]);
}
