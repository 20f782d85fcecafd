#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_protocol::interest::{Interest, Lacking};
use sluice_protocol::{About, Incarnation, ProblemRow, Revision};

use super::super::tests::{
    cluster, event_source, labelled, registration, remove, replace, service, trigger, well,
};
use super::super::{Explained, Question, explain};
use super::*;

fn object(labels: &Value) -> Value {
    json!({"metadata": {"namespace": "shop", "name": "front", "labels": labels}})
}

fn selecting(name: &str, selector: &Value) -> Value {
    json!({"kind": "EventSource", "metadata": {"name": name}, "spec": {"resourceSelectors": [selector]}})
}

fn script(body: &str) -> Value {
    json!({"version": "v1", "kind": "Service", "evaluate": format!("function evaluate() {body} end")})
}

/// That all EventSources of the management cluster are live, and agents and matchers have told everything.
pub(super) fn told(facts: &mut Facts) {
    let kinds = ["EventSource"];
    let wanted = facts.of_kind(&kinds).map(|source| (object::name(source).to_owned(), source.clone()));
    let interest = Interest::next(None, wanted.collect(), Revision::new(7)).unwrap();
    let of = &mut facts.on_bus.as_mut().unwrap().event;
    of.interest = Some(interest);
    of.told = vec![Complete::of_all(Incarnation::new(1), Revision::new(7))];
    of.matched = vec![Complete::of_all(Incarnation::new(2), Revision::new(7))];
}

/// Service `shop/front` of cluster `a` is an event of EventSource `s`, and trigger `t` follows.
pub(super) fn event() -> Facts {
    let mut facts = well();
    let of = &mut facts.on_bus.as_mut().unwrap().event;
    of.objects = vec![(service("front"), Arc::new(object(&json!({"web": "yes"}))))];
    of.sights = [(service("front"), String::new())].into();
    of.reports = [("s".to_owned(), service("front"))].into();
    told(&mut facts);
    facts
}

pub(super) fn of(facts: &mut Facts) -> &mut OfEvent {
    &mut facts.on_bus.as_mut().unwrap().event
}

/// The object is this one, of which no matcher has said anything.
fn is(facts: &mut Facts, object: Value) {
    of(facts).objects[0].1 = Arc::new(object);
    of(facts).reports.clear();
}

/// There is no such object.
fn gone(facts: &mut Facts) {
    of(facts).objects.clear();
    of(facts).reports.clear();
}

fn asked(facts: &Facts, kind: &str, name: &str) -> Explained {
    let cluster = facts.cluster.clone();
    let target = Target { cluster, kind: kind.into(), namespace: "shop".into(), name: name.into() };
    explain(facts, &Question::Event(target))
}

pub(super) fn of_front(facts: &Facts) -> Explained {
    asked(facts, "svc", "front")
}

pub(super) fn steps(explained: &Explained) -> Vec<(&str, Verdict, &str)> {
    let no_yes_has_a_remedy =
        |step: &&super::super::Step| step.remedy.is_empty() == (step.verdict == Verdict::Yes);
    assert!(explained.steps.iter().all(|step| no_yes_has_a_remedy(&step)), "{explained:?}");
    explained.steps.iter().map(|step| (&*step.about, step.verdict, step.says.as_str())).collect()
}

/// Changes what is well, and expects this verdict, and a step with it that says this.
fn changed(verdict: Verdict, about: &str, says: &str, change: impl FnOnce(&mut Facts)) {
    let mut facts = event();
    change(&mut facts);
    let explained = of_front(&facts);
    assert_eq!(explained.verdict, verdict, "{explained:#?}");
    let said = steps(&explained);
    let is_said = said.iter().any(|step| (step.0, step.1) == (about, verdict) && step.2.contains(says));
    assert!(is_said, "{says}: {explained:#?}");
}

#[test]
fn an_event_names_the_event_source_and_the_trigger_that_follows() {
    let explained = of_front(&event());
    assert_eq!(explained.verdict, Verdict::Yes);
    let expected = [
        ("cluster", Verdict::Yes, "default/a is registered"),
        ("object", Verdict::Yes, "Service shop/front is there"),
        ("event", Verdict::Yes, "EventSource s: Service shop/front is an event"),
        ("trigger", Verdict::Yes, "EventTrigger t listens to EventSource s on default/a"),
    ];
    assert_eq!(steps(&explained), expected);
}

#[test]
fn every_event_source_that_looks_at_the_kind_says_what_it_has_to_say() {
    let mut facts = event();
    replace(&mut facts, selecting("pods", &json!({"version": "v1", "kind": "Pod"})));
    replace(&mut facts, selecting("other", &script("return {matching = false, message = 'too young'}")));
    told(&mut facts);
    let explained = of_front(&facts);
    assert_eq!(explained.verdict, Verdict::Yes, "one is enough");
    let said = steps(&explained);
    assert!(said.contains(&(
        "event",
        Verdict::No,
        "EventSource other: Service shop/front is no event: too young"
    )));
    assert!(said.contains(&("trigger", Verdict::No, "no trigger listens to EventSource other")));
    assert!(!said.iter().any(|step| step.2.contains("pods")), "{said:?}");
}

#[test]
fn a_selector_that_does_not_choose_says_why() {
    changed(
        Verdict::No,
        "event",
        "EventSource s: Service shop/front is no event: its labels do not fulfil web=yes",
        |facts| {
            is(facts, object(&json!({"web": "no"})));
        },
    );
    changed(Verdict::No, "event", "is no event: its namespace is \"shop\", not \"other\"", |facts| {
        replace(facts, event_source(&json!({"version": "v1", "kind": "Service", "namespace": "other"})));
        of(facts).reports.clear();
    });
}

#[test]
fn scripts_and_rules_speak_in_their_own_words() {
    let with = |facts: &mut Facts, selector: Value| replace(facts, event_source(&selector));
    changed(Verdict::Yes, "event", "is an event: well aged", |facts| {
        with(facts, script("return {matching = true, message = 'well aged'}"));
    });
    changed(Verdict::No, "event", "is no event: too young", |facts| {
        with(facts, script("return {matching = false, message = 'too young'}"));
        of(facts).reports.clear();
    });
    let rule = |rule: &str| json!({"version": "v1", "kind": "Service", "evaluateCEL": [{"name": "r", "rule": rule}]});
    changed(Verdict::Yes, "event", "is an event: rule \"r\" is true", |facts| with(facts, rule("true")));
    changed(Verdict::No, "event", "rule \"r\" has no value: no such key: size", |facts| {
        with(facts, rule("resource.size > 1"));
        of(facts).reports.clear();
    });
}

#[test]
fn what_a_script_that_fails_said_before_stays() {
    changed(Verdict::No, "event", "is no event as long as the script fails: ", |facts| {
        replace(facts, event_source(&script("error('x')")));
        of(facts).reports.clear();
    });
    let mut facts = event();
    replace(&mut facts, event_source(&script("error('x')")));
    let explained = of_front(&facts);
    assert_eq!(explained.verdict, Verdict::Yes);
    let said = steps(&explained)[2];
    assert!(
        said.1 == Verdict::No && said.2.contains("stays an event as long as the script fails: "),
        "{said:?}"
    );
}

#[test]
fn what_is_being_deleted_is_an_event_only_where_a_selector_says_so() {
    let mut deleted = object(&json!({"web": "yes"}));
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    changed(Verdict::No, "event", "is no event: it is being deleted", |facts| is(facts, deleted.clone()));
    changed(Verdict::Yes, "object", "Service shop/front is there, and is being deleted", |facts| {
        of(facts).objects[0].1 = Arc::new(deleted);
        let selector = json!({"version": "v1", "kind": "Service", "includeDeletingResources": true});
        replace(facts, event_source(&selector));
    });
}

#[test]
fn what_no_matcher_has_said_yet_is_not_known_whatever_else_is_a_no() {
    changed(Verdict::Unknown, "event", "is an event, and no matcher has said so yet", |facts| {
        of(facts).reports.clear();
        replace(facts, selecting("other", &script("return {matching = false}")));
    });
    changed(Verdict::Unknown, "event", "is no event any more, and no matcher has said so yet", |facts| {
        of(facts).objects[0].1 = Arc::new(object(&json!({})));
    });
}

#[test]
fn of_an_object_that_is_not_there_it_is_said_what_is() {
    changed(
        Verdict::No,
        "object",
        "there is no Service shop/front on default/a; there is Service shop/fronts",
        |facts| {
            gone(facts);
            of(facts).others = vec![service("zebra"), service("fronts")];
            replace(facts, event_source(&json!({"version": "v1", "kind": "Service"})));
        },
    );
    let narrow =
        "no Service shop/front on default/a is one that EventSources select by namespace, name and labels";
    changed(Verdict::No, "object", narrow, gone);
    let selects = "nothing that is called so is among what it selects: kind v1/Service, labels web=yes";
    changed(Verdict::No, "event", selects, gone);
}

#[test]
fn while_the_agent_has_not_told_of_all_nobody_knows_whether_it_is_there() {
    let says = "the agent of default/a has not told yet of all objects";
    changed(Verdict::Unknown, "object", says, |facts| {
        gone(facts);
        of(facts).told.clear();
    });
    changed(Verdict::Unknown, "object", says, |facts| {
        gone(facts);
        of(facts).told[0].revision = Revision::new(6);
    });
    changed(Verdict::Unknown, "object", says, |facts| {
        gone(facts);
        of(facts).told[0].lacking = vec![Lacking::Objects("s".into())];
    });
    changed(Verdict::Unknown, "event", "is not known, since its agent has not told of all yet", |facts| {
        gone(facts);
        of(facts).interest = None;
    });
}

#[test]
fn a_kind_that_no_event_source_looks_at_is_told_with_those_that_they_look_at() {
    let mut facts = event();
    gone(&mut facts);
    let explained = asked(&facts, "po", "front");
    assert_eq!(explained.verdict, Verdict::No);
    let last = *steps(&explained).last().unwrap();
    assert_eq!(
        last,
        (
            "source",
            Verdict::No,
            "no EventSource looks at objects of kind Pod; of those that they look at there is Service"
        )
    );
}

#[test]
fn a_broken_event_source_is_named_and_its_last_form_stays() {
    let broken = event_source(&json!({"version": "v1"}));
    changed(Verdict::No, "source", "spec.resourceSelectors[0].kind", |facts| {
        replace(facts, broken.clone());
        of(facts).reports.clear();
    });
    let mut facts = event();
    replace(&mut facts, broken);
    let explained = of_front(&facts);
    let says = "; by its last form Service shop/front is an event";
    assert!(steps(&explained)[2].2.ends_with(says), "{explained:?}");
    assert_eq!(explained.verdict, Verdict::Yes);
}

#[test]
fn a_trigger_that_does_not_follow_says_why() {
    changed(Verdict::No, "trigger", "no trigger listens to EventSource s", |facts| {
        remove(facts, "EventTrigger")
    });
    let elsewhere = "EventTrigger t listens to EventSource s, and not to default/a: spec.sourceClusterSelector: env=fv is wanted, and the label env is \"dev\"";
    changed(Verdict::No, "trigger", elsewhere, |facts| {
        replace(facts, registration("a", &json!({"env": "dev"}), &json!({})));
    });
    changed(Verdict::No, "trigger", "EventTrigger t is suspended", |facts| {
        let mut suspended = trigger(&json!({}));
        suspended["metadata"]["annotations"] = json!({"sluice.dev/suspend": "true"});
        replace(facts, suspended);
    });
    changed(Verdict::No, "trigger", "EventTrigger t: spec.tier", |facts| {
        replace(facts, trigger(&json!({"tier": "x"})))
    });
    changed(Verdict::No, "trigger", "EventTrigger t: spec.eventSourceName: ", |facts| {
        replace(facts, trigger(&json!({"eventSourceName": "{{ .Cluster.nothing.at }}"})));
    });
}

#[test]
fn the_name_of_an_event_source_is_told_as_renderers_tell_it() {
    let says = "EventTrigger t listens to EventSource s on default/a";
    changed(Verdict::Yes, "trigger", says, |facts| {
        replace(facts, trigger(&json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"})));
        replace(facts, registration("a", &json!({"env": "fv", "source": "s"}), &json!({})));
    });
    changed(Verdict::No, "trigger", "no trigger listens to EventSource s", |facts| {
        replace(facts, trigger(&json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"})));
        replace(facts, registration("a", &json!({"env": "fv", "source": "other"}), &json!({})));
    });
}

#[test]
fn many_triggers_that_listen_elsewhere_are_counted() {
    let mut facts = event();
    for number in 0..8 {
        let mut other = trigger(&json!({"sourceClusterSelector": {"matchLabels": {"env": "x"}}}));
        other["metadata"]["name"] = json!(format!("other-{number}"));
        replace(&mut facts, other);
    }
    let explained = of_front(&facts);
    let triggers: Vec<_> = steps(&explained).into_iter().filter(|step| step.0 == "trigger").collect();
    assert_eq!((triggers.len(), explained.verdict), (7, Verdict::Yes));
    assert_eq!(triggers[6].2, "3 more listen to EventSource s, and not to default/a");
}

#[test]
fn a_script_that_chooses_among_all_decides() {
    let choosing = |returned: &str| {
        let mut source = event_source(&labelled());
        source["spec"]["aggregatedSelection"] =
            json!(format!("function evaluate() local hs = {{}} hs.resources = {returned} return hs end"));
        source
    };
    let with = |facts: &mut Facts, returned: &str| {
        replace(facts, choosing(returned));
        told(facts);
        let front = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "front"}});
        of(facts).sets = [("s".to_owned(), vec![(service("front"), vec![0], front)])].into();
    };
    let about = "spec.aggregatedSelection of EventSource s";
    changed(Verdict::Yes, "chosen", &format!("{about} chooses Service shop/front"), |facts| {
        with(facts, "resources")
    });
    changed(
        Verdict::No,
        "chosen",
        &format!("{about} does not choose Service shop/front; it chooses none"),
        |facts| with(facts, "{}"),
    );
    changed(Verdict::Unknown, "chosen", "spec.aggregatedSelection: ", |facts| with(facts, "nothing.at"));
    changed(
        Verdict::Unknown,
        "chosen",
        "does not choose before all its matches are known: 1 of 1 shards",
        |facts| {
            with(facts, "resources");
            of(facts).matched.clear();
        },
    );
}

#[test]
fn a_cloud_event_is_called_by_its_subject_and_is_from_its_namespace() {
    let hears = |criteria: Value| json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"messagingMatchCriteria": [criteria]}});
    let key = EventKey {
        source: "shop".into(),
        subject: "order 7".into(),
        kind: "created".into(),
        channel: "orders".into(),
    };
    let key = key.object_key();
    let target = |name: &str| Target {
        cluster: cluster("a"),
        kind: "CloudEvent".into(),
        namespace: "shop".into(),
        name: name.into(),
    };
    assert!(target("order 7").calls(&key) && target(&key.name).calls(&key));
    assert!(
        !target("order 8").calls(&key) && !Target { namespace: "x".into(), ..target("order 7") }.calls(&key)
    );
    let mut facts = event();
    replace(&mut facts, hears(json!({"subject": "orders"})));
    told(&mut facts);
    of(&mut facts).objects = vec![(key.clone(), Arc::new(json!({})))];
    of(&mut facts).sights = [(key.clone(), String::new())].into();
    of(&mut facts).reports = [("s".to_owned(), key)].into();
    assert_eq!(asked(&facts, "cloudevent", "order 7").verdict, Verdict::Yes);
    replace(&mut facts, hears(json!({"subject": "invoices"})));
    of(&mut facts).reports.clear();
    assert_eq!(asked(&facts, "cloudevent", "order 7").verdict, Verdict::No);
    gone(&mut facts);
    let explained = asked(&facts, "cloudevent", "order 7");
    assert!(
        steps(&explained).iter().any(|step| step.2.ends_with("among what it selects: CloudEvents")),
        "{explained:?}"
    );
}

#[test]
fn a_cluster_must_be_registered_and_the_management_cluster_is_none() {
    changed(Verdict::No, "cluster", "default/c is not registered; there is default/a, default/b", |facts| {
        facts.cluster = cluster("c");
    });
    changed(Verdict::No, "cluster", "this is the management cluster by itself", |facts| {
        facts.cluster = sluice_api::ClusterRef::management();
    });
}

#[test]
fn what_a_matcher_cannot_do_is_told() {
    let at = cluster("a").to_string();
    let problem = |about: About| ProblemRow::new("matcher", &at, about, "it cannot be read", 1);
    let service = |name: &str| {
        About::Object(ObjectKey {
            gvk: Gvk::new("", "v1", "Service"),
            namespace: "shop".into(),
            name: name.into(),
        })
    };
    let mut facts = event();
    let source = |name: &str| About::Source(name.into());
    let about = [source("s"), service("front"), source("other"), service("back")];
    facts.on_bus.as_mut().unwrap().problems = about.map(problem).to_vec();
    let explained = of_front(&facts);
    let told: Vec<_> =
        steps(&explained).into_iter().filter(|step| step.0 == "problem").map(|step| step.2).collect();
    assert_eq!(
        told,
        ["matcher: EventSource s: it cannot be read", "matcher: Service shop/front: it cannot be read"]
    );
}

#[test]
fn without_the_management_cluster_the_bus_says_who_is_listened_to() {
    let mut facts = event();
    facts.management = Err("it is away".into());
    let explained = of_front(&facts);
    let said: Vec<_> = steps(&explained).into_iter().map(|step| (step.0, step.1)).collect();
    assert_eq!(said, [("triggers", Verdict::Unknown), ("object", Verdict::Yes), ("event", Verdict::Yes)]);
    assert_eq!((explained.verdict, explained.missing.len()), (Verdict::Yes, 1));
    is(&mut facts, object(&json!({})));
    assert_eq!(of_front(&facts).verdict, Verdict::No);
    of(&mut facts).interest = None;
    assert_eq!(of_front(&facts).verdict, Verdict::No, "nobody looks at it");
}

#[test]
fn without_the_bus_event_reports_say_what_is_an_event() {
    let report = |at: &str, name: &str| {
        json!({"kind": "EventReport", "metadata": {"namespace": "default", "name": name},
        "spec": {"clusterNamespace": "default", "clusterName": at, "clusterType": "Sveltos", "eventSourceName": "s",
            "matchingResources": [{"apiVersion": "v1", "kind": "Service", "namespace": "shop", "name": name}]}})
    };
    let mut facts = Facts { on_bus: Err("it is away".into()), ..event() };
    replace(&mut facts, report("a", "other"));
    replace(&mut facts, report("b", "front"));
    let explained = of_front(&facts);
    assert_eq!((explained.verdict, explained.missing.len()), (Verdict::Unknown, 1), "{explained:?}");
    remove(&mut facts, "EventReport");
    replace(&mut facts, report("a", "front"));
    let explained = of_front(&facts);
    assert_eq!(explained.verdict, Verdict::Yes);
    let says = "EventSource s: its EventReport names Service shop/front";
    assert!(steps(&explained).contains(&("event", Verdict::Yes, says)), "{explained:?}");
    remove(&mut facts, "EventTrigger");
    assert_eq!(of_front(&facts).verdict, Verdict::No, "nothing follows");
}
