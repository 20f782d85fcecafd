#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_api::Gvk;
use sluice_protocol::interest::Source;

use super::*;

mod events;
mod property;
mod tenants;

fn agent() -> Agent {
    Agent::new(Config {
        cluster: ClusterRef::sveltos("default", "c"),
        shards: 2,
        outputs: vec![Incarnation::new(1), Incarnation::new(2)],
    })
}

fn interest(revision: u64, kinds: &[&str]) -> ExternalInput {
    let source = |kind: &&str| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": kind}, "spec": {"resourceSelectors": [{"version": "v1", "kind": kind}]}});
        Source { name: (*kind).into(), changed: Revision::new(revision), manifest: manifest.into() }
    };
    ExternalInput::Interest(Interest {
        revision: Revision::new(revision),
        sources: kinds.iter().map(source).collect(),
        ..Interest::default()
    })
}

fn key(kind: &str, name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: "n".into(), name: name.into() }
}

/// As the agent itself sees it.
fn own(object: ObjectKey) -> Sight {
    Sight::of("", object)
}

fn seen(kind: &str, name: &str) -> Seen {
    Seen { key: key(kind, name), body: b"{}".as_slice().into() }
}

/// What the completeness rows say that they do not cover; they all say the same.
fn lacking(agent: &mut Agent, side: ExternalInput) -> Option<Vec<String>> {
    let mut step = Step::at(10);
    agent.external(side, &mut step);
    let (rows, ..) = step.into_parts();
    let row = rows.iter().find(|row| matches!(row.subject, Subject::Complete { .. }))?;
    Some(row.meta.complete().unwrap().lacking.iter().cloned().map(String::from).collect())
}

#[test]
fn a_kind_that_may_not_be_listed_holds_only_its_own_sources_back() {
    let mut agent = started(&["kept", "lost"], &["Pod", "Service"]);
    let secret = agent.subject(own(key("Pod", "unknown")));
    agent.found(&secret, &Head::default());
    assert!(
        side(&mut agent, ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "kept")])) == ["+kept"]
    );
    assert_eq!(lacking(&mut agent, ExternalInput::Troubled(WatchId::new(1))), Some(vec!["Pod".to_owned()]));
    assert!(agent.unconfirmed.contains(&own(key("Pod", "unknown"))), "nobody has listed its kind");
    assert!(!agent.unconfirmed.contains(&own(key("Service", "lost"))));
    assert_eq!(lacking(&mut agent, ExternalInput::Troubled(WatchId::new(1))), None, "said once");
    assert_eq!(
        lacking(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![])),
        Some(vec![]),
        "now everything is known"
    );
    assert!(agent.unconfirmed.is_empty());
}

#[test]
fn a_source_that_cannot_be_read_withdraws_nothing() {
    let broken = |revision| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [{"version": "v1"}]}});
        let sources = vec![Source {
            name: "Service".into(),
            changed: Revision::new(revision),
            manifest: manifest.into(),
        }];
        ExternalInput::Interest(Interest {
            revision: Revision::new(revision),
            sources,
            ..Interest::default()
        })
    };
    let mut agent = started(&[], &["Service"]);
    side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![seen("Service", "a")]));
    assert_eq!(side(&mut agent, broken(2)), ["complete", "complete"], "the watch goes on");
    // After a take-over nobody knows what it asked for.
    let mut fresh = super::tests::agent();
    let subject = fresh.subject(own(key("Service", "a")));
    fresh.found(&subject, &Head::default());
    side(&mut fresh, broken(2));
    assert_eq!(step(&mut fresh, |agent, step| agent.start(step)), ["complete", "complete"]);
    assert!(fresh.unconfirmed.contains(&own(key("Service", "a"))));
}

#[test]
fn rows_say_of_which_interest_they_are() {
    let mut agent = started(&[], &["Service"]);
    assert_eq!(agent.view().to_string(), "sveltos:default/c=1");
    let mut step = Step::at(1);
    agent.external(ExternalInput::Applied(WatchId::new(1), seen("Service", "a")), &mut step);
    assert_eq!(step.into_parts().0[0].view, agent.view());
}

/// Runs `f`; returns `+name`, `-name`, `complete` for rows, and `watch kind` or `unwatch id` for effects.
fn step(agent: &mut Agent, f: impl FnOnce(&mut Agent, &mut Step<Effect>)) -> Vec<String> {
    let mut step = Step::at(10);
    f(agent, &mut step);
    let (rows, effects, _) = step.into_parts();
    let row = |row: &Publish| match (&row.subject, &row.body) {
        (Subject::Change { object, .. }, Body::Value(_)) => format!("+{}", object.name),
        (Subject::Change { object, .. }, Body::Tombstone) => format!("-{}", object.name),
        _ => {
            assert!(row.barrier);
            "complete".to_owned()
        }
    };
    let effect = |effect: &Effect| match effect {
        Effect::Watch(id, spec) => format!("watch {id} {}", spec.scope.gvk.kind),
        Effect::Unwatch(id) => format!("unwatch {id}"),
        Effect::Listen(id) => format!("listen {id}"),
        other => format!("{other:?}"),
    };
    rows.iter().map(row).chain(effects.iter().map(effect)).collect()
}

fn side(agent: &mut Agent, side: ExternalInput) -> Vec<String> {
    step(agent, |agent, step| agent.external(side, step))
}

fn started(found: &[&str], kinds: &[&str]) -> Agent {
    let mut agent = agent();
    for name in found {
        let subject = agent.subject(own(key("Service", name)));
        agent.found(&subject, &Head::default());
    }
    assert!(side(&mut agent, interest(1, kinds)).is_empty());
    step(&mut agent, |agent, step| agent.start(step));
    agent
}

#[test]
fn watches_begin_with_the_start() {
    let mut agent = agent();
    side(&mut agent, interest(1, &["Service", "Pod"]));
    assert_eq!(step(&mut agent, |agent, step| agent.start(step)), ["watch 1 Pod", "watch 2 Service"]);
}

#[test]
fn what_vanished_while_nobody_watched_goes_after_all_lists_are_done() {
    let mut agent = started(&["kept", "lost"], &["Pod", "Service"]);
    assert_eq!(
        side(&mut agent, ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "kept")])),
        ["+kept"]
    );
    assert_eq!(
        side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![])),
        ["-lost", "complete", "complete"]
    );
}

#[test]
fn events_become_rows() {
    let mut agent = started(&[], &["Service"]);
    side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![]));
    assert_eq!(side(&mut agent, ExternalInput::Applied(WatchId::new(1), seen("Service", "a"))), ["+a"]);
    assert_eq!(side(&mut agent, ExternalInput::Deleted(WatchId::new(1), key("Service", "a"))), ["-a"]);
    assert!(side(&mut agent, ExternalInput::Deleted(WatchId::new(1), key("Service", "a"))).is_empty());
}

#[test]
fn a_relist_withdraws_what_it_no_longer_shows() {
    let mut agent = started(&[], &["Service"]);
    side(
        &mut agent,
        ExternalInput::Listed(WatchId::new(1), vec![seen("Service", "a"), seen("Service", "b")]),
    );
    assert_eq!(
        side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![seen("Service", "b")])),
        ["-a", "+b"]
    );
}

#[test]
fn an_interest_row_that_is_lost_with_its_bucket_changes_nothing() {
    let mut agent = started(&[], &["Service"]);
    assert!(side(&mut agent, ExternalInput::Interest(Interest::default())).is_empty());
    let mut fresh = super::tests::agent();
    side(&mut fresh, ExternalInput::Interest(Interest::default()));
    let mut step = Step::at(1);
    fresh.start(&mut step);
    assert!(step.into_parts().0.is_empty(), "nothing is complete for it");
}

#[test]
fn a_changed_interest_withdraws_nothing_before_its_lists_are_done() {
    let mut agent = started(&[], &["Service"]);
    side(
        &mut agent,
        ExternalInput::Listed(WatchId::new(1), vec![seen("Service", "a"), seen("Service", "b")]),
    );
    let narrowed = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [{"version": "v1", "kind": "Service", "namespace": "n"}]}});
    let row = Interest {
        revision: Revision::new(2),
        sources: vec![Source { name: "s".into(), changed: Revision::new(2), manifest: narrowed.into() }],
        ..Interest::default()
    };
    assert_eq!(side(&mut agent, ExternalInput::Interest(row)), ["unwatch 1", "watch 2 Service"]);
    assert!(
        side(&mut agent, ExternalInput::Deleted(WatchId::new(1), key("Service", "a"))).is_empty(),
        "the watch has ended"
    );
    assert_eq!(
        side(&mut agent, ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "a")])),
        ["+a", "-b", "complete", "complete"]
    );
}

/// Sources that select Services, each by one label.
fn labelled(revision: u64, labels: &[&str]) -> ExternalInput {
    let source = |label: &&str| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": label}, "spec": {"resourceSelectors": [
            {"version": "v1", "kind": "Service", "labelFilters": [{"key": label, "operation": "Has"}]}]}});
        Source { name: (*label).into(), changed: Revision::new(revision), manifest: manifest.into() }
    };
    ExternalInput::Interest(Interest {
        revision: Revision::new(revision),
        sources: labels.iter().map(source).collect(),
        ..Interest::default()
    })
}

#[test]
fn an_object_that_two_sources_may_select_is_shown_by_one_watch() {
    let mut agent = started(&[], &[]);
    assert_eq!(side(&mut agent, labelled(2, &["a"])), ["watch 1 Service"]);
    side(
        &mut agent,
        ExternalInput::Listed(WatchId::new(1), vec![seen("Service", "x"), seen("Service", "y")]),
    );
    assert_eq!(side(&mut agent, labelled(3, &["a", "b"])), ["unwatch 1", "watch 2 Service"]);
    // Whichever label it has now: nothing goes before the list is there, and nothing is complete.
    let listed = ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "x")]);
    assert_eq!(side(&mut agent, listed), ["+x", "-y", "complete", "complete"]);
    assert_eq!(side(&mut agent, ExternalInput::Deleted(WatchId::new(2), key("Service", "x"))), ["-x"]);
}

#[test]
fn nothing_is_complete_while_a_row_was_made_from_a_newer_interest_and_that_one_is_told() {
    let mut agent = agent();
    let subject = agent.subject(own(key("Service", "a")));
    let view = View::parse("sveltos:default/c=7");
    agent.found(&subject, &Head { tombstone: true, view, ..Head::default() });
    let there = agent.subject(own(key("Pod", "there")));
    agent.found(&there, &Head::default());
    side(&mut agent, interest(2, &[]));
    let said = |agent: &mut Agent, f: &dyn Fn(&mut Agent, &mut Step<Effect>)| -> Vec<(u64, u64)> {
        let mut step = Step::at(10);
        f(agent, &mut step);
        let complete =
            |row: &Publish| row.meta.complete().map(|said| (said.incarnation.get(), said.revision.get()));
        step.into_parts().0.iter().filter_map(complete).collect()
    };
    assert_eq!(said(&mut agent, &|agent, step| agent.start(step)), [(0, 7), (0, 7)]);
    assert_eq!(said(&mut agent, &|agent, step| agent.external(interest(3, &[]), step)), []);
    assert!(agent.unconfirmed.contains(&own(key("Pod", "there"))), "the newer one may ask for it");
    assert_eq!(said(&mut agent, &|agent, step| agent.external(interest(7, &[]), step)), [(1, 7), (2, 7)]);
}

#[test]
fn every_revision_is_completed_once() {
    let mut agent = started(&[], &["Service"]);
    assert_eq!(side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![])).len(), 2);
    assert!(side(&mut agent, ExternalInput::Listed(WatchId::new(1), vec![])).is_empty());
    assert_eq!(side(&mut agent, interest(2, &["Service"])), ["complete", "complete"]);
    assert!(side(&mut agent, interest(2, &["Service"])).is_empty());
}

#[test]
fn what_a_cluster_can_do_is_one_row_which_no_list_withdraws() {
    let mut agent = agent();
    let known = Capabilities { version: "v1.33.4".into(), ..Capabilities::default() };
    let subject = Capabilities::subject(&agent.config.cluster);
    agent.found(&subject, &Head::default());
    let mut step = Step::at(1);
    agent.external(ExternalInput::Capabilities(known.clone()), &mut step);
    assert!(step.into_parts().0.is_empty(), "it owns nothing yet");
    let mut step = Step::at(1);
    agent.start(&mut step);
    agent.external(
        ExternalInput::Interest(Interest {
            revision: Revision::new(1),
            sources: Vec::new(),
            ..Interest::default()
        }),
        &mut step,
    );
    let (rows, _, _) = step.into_parts();
    let of_kind: Vec<_> = rows.iter().filter(|row| row.subject == subject).collect();
    assert_eq!(of_kind.len(), 1, "{rows:?}");
    let Body::Value(body) = &of_kind[0].body else { panic!("it is withdrawn") };
    assert_eq!(serde_json::from_slice::<Capabilities>(body).unwrap(), known);
}

#[test]
fn of_a_cluster_that_is_no_longer_registered_every_row_goes_and_then_the_interest() {
    let mut agent = started(&["unknown"], &["Pod", "Service"]);
    side(&mut agent, ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "shown")]));
    agent.external(ExternalInput::Capabilities(Capabilities::default()), &mut Step::at(3));
    let mut step = Step::at(5);
    agent.external(ExternalInput::Interest(Interest::of_gone(Revision::new(9))), &mut step);
    let (rows, effects, _) = step.into_parts();
    assert!(rows.iter().all(|row| row.body == Body::Tombstone && row.parting && row.view == View::default()));
    assert!(
        rows.iter().all(|row| row.forced == row.barrier),
        "each matcher is told, also where nothing was complete"
    );
    let gone: Vec<_> = rows.iter().map(|row| (row.subject.clone(), row.barrier)).collect();
    let objects = ["shown", "unknown"].map(|name| (agent.subject(own(key("Service", name))), false));
    let capabilities = (Capabilities::subject(&agent.config.cluster), false);
    let complete = [0, 1].map(|shard| (agent.completeness(Shard::new(shard)), true));
    assert_eq!(gone, objects.into_iter().chain([capabilities]).chain(complete).collect::<Vec<_>>());
    assert_eq!(
        effects,
        [Effect::Unwatch(WatchId::new(1)), Effect::Unwatch(WatchId::new(2)), Effect::Left(Revision::new(9))]
    );
    // What is still under way says nothing more.
    let mut step = Step::at(6);
    agent.external(ExternalInput::Listed(WatchId::new(2), vec![seen("Service", "late")]), &mut step);
    agent.external(ExternalInput::Capabilities(Capabilities::default()), &mut step);
    let (rows, effects, _) = step.into_parts();
    assert!(rows.is_empty() && effects.is_empty());
    // It is registered again.
    let mut step = Step::at(7);
    agent.external(interest(10, &["Pod"]), &mut step);
    assert_eq!(step.into_parts().1.len(), 1, "the watch begins");
}
