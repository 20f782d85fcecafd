#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey, ProfileId, TriggerId};
use sluice_protocol::rows::{EventCause, Staged};
use sluice_protocol::{About, Fault, ProblemRow};

use super::*;

pub(super) fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

pub(super) fn service(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "shop".into(), name: name.into() }
}

pub(super) fn registration(name: &str, labels: &Value, spec: &Value) -> Value {
    json!({"kind": "SveltosCluster", "metadata": {"namespace": "default", "name": name, "labels": labels}, "spec": spec})
}

pub(super) fn event_source(selector: &Value) -> Value {
    json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [selector]}})
}

pub(super) fn trigger(spec: &Value) -> Value {
    let mut whole = json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": whole})
}

pub(super) fn labelled() -> Value {
    json!({"version": "v1", "kind": "Service", "labelFilters": [{"key": "web", "operation": "Equal", "value": "yes"}]})
}

fn desired(profile: &str, cause: Cause) -> Desired {
    serde_json::from_value(
        json!({"ownerKind": "ClusterProfile", "ownerName": profile, "tier": 100, "cause": cause, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "tier": 100, "objects":
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}]}]}),
    )
    .unwrap()
}

fn of_trigger() -> Cause {
    Cause::from(EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: cluster("a"),
        source: "s".into(),
        item: Some(service("front")),
    })
}

/// Everything as it should be: what trigger `t` leads to is on cluster `a`.
pub(super) fn well() -> Facts {
    let object = json!({"metadata": {"name": "front", "labels": {"web": "yes"}}});
    let management = [
        registration("a", &json!({"env": "fv"}), &json!({})),
        registration("b", &json!({"env": "dev"}), &json!({})),
        event_source(&labelled()),
        trigger(&json!({})),
    ];
    let on_bus = OnBus {
        objects: vec![(cluster("a"), service("front"), Arc::new(object))],
        reports: vec![(cluster("a"), service("front"))],
        desired: vec![desired("p", of_trigger())],
        statuses: vec![(ProfileId::cluster("p"), Shard::FIRST, Status::new(State::Provisioned, Vec::new()))],
        ..OnBus::default()
    };
    Facts {
        cluster: cluster("a"),
        now: 0,
        shards: 1,
        management: Ok(management.into_iter().map(Arc::new).collect()),
        on_bus: Ok(on_bus),
    }
}

/// An object of the management cluster is another one now.
pub(super) fn replace(facts: &mut Facts, object: Value) {
    let objects = facts.management.as_mut().unwrap();
    let is_same = |other: &Arc<Value>| {
        (&other["kind"], &other["metadata"]["name"]) == (&object["kind"], &object["metadata"]["name"])
    };
    objects.retain(|other| !is_same(other));
    objects.push(Arc::new(object));
}

pub(super) fn remove(facts: &mut Facts, kind: &str) {
    facts.management.as_mut().unwrap().retain(|object| object["kind"] != kind);
}

/// Nothing has been made for the cluster.
fn nothing_rendered(facts: &mut Facts) {
    let on_bus = facts.on_bus.as_mut().unwrap();
    (on_bus.desired, on_bus.statuses) = Default::default();
}

fn of_t(facts: &Facts) -> Explained {
    explain(facts, &Question::Trigger { name: "t".into(), cluster: facts.cluster.clone() })
}

/// The verdict, and the first step that is no yes.
fn first(explained: &Explained) -> (Verdict, &str, &str) {
    let step = explained.steps.iter().find(|step| step.verdict != Verdict::Yes).unwrap();
    assert!(!step.remedy.is_empty(), "{step:?}");
    (explained.verdict, &*step.about, &step.says)
}

/// Breaks what is well, and expects a no of this step with this in it.
fn broken(about: &str, says: &str, break_it: impl FnOnce(&mut Facts)) {
    let mut facts = well();
    nothing_rendered(&mut facts);
    break_it(&mut facts);
    let explained = of_t(&facts);
    let (verdict, step, said) = first(&explained);
    assert_eq!((verdict, step), (Verdict::No, about), "{explained:?}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn where_everything_is_well_each_step_says_yes() {
    let explained = of_t(&well());
    assert_eq!(explained.verdict, Verdict::Yes);
    let steps: Vec<_> = explained.steps.iter().map(|step| (&*step.about, step.verdict)).collect();
    let about = ["trigger", "source", "cluster", "destination", "events", "rendered", "deployed"];
    assert_eq!(steps, about.map(|about| (about, Verdict::Yes)));
}

#[test]
fn what_goes_back_is_told_by_its_profile_its_trigger_and_for_objects() {
    let mut facts = well();
    nothing_rendered(&mut facts);
    let staged = Staged {
        cause: Arc::new(of_trigger()),
        called: "2b".into(),
        round: 2,
        good: None,
        back: Some("it failed on 1".into()),
    };
    facts.on_bus.as_mut().unwrap().back = vec![(ProfileId::cluster("p"), Arc::new(staged))];
    let says = "ClusterProfile p goes back there to a former content, since it failed on 1";
    assert_eq!(first(&of_t(&facts)), (Verdict::No, "back", says));
    let profile = Question::Profile { namespace: String::new(), name: "p".into(), cluster: cluster("a") };
    let explained = explain(&facts, &profile);
    assert!(
        explained.steps.iter().any(|step| (&*step.about, &*step.says) == ("back", says)),
        "{explained:?}"
    );
    let object = Question::Object(Target {
        cluster: cluster("a"),
        kind: "ConfigMap".into(),
        namespace: String::new(),
        name: "x".into(),
    });
    let explained = explain(&facts, &object);
    assert_eq!(first(&explained), (Verdict::Unknown, "wanted", &*format!("{says}, and may deploy it")));
}

#[test]
fn a_trigger_that_is_missing_broken_or_suspended_is_the_first_no() {
    broken("trigger", "there is no EventTrigger t; there is none", |facts| remove(facts, "EventTrigger"));
    broken("trigger", "spec.eventSourceName", |facts| {
        replace(facts, trigger(&json!({"eventSourceName": 1})))
    });
    broken("trigger", "is suspended", |facts| {
        let mut suspended = trigger(&json!({}));
        suspended["metadata"]["annotations"] = json!({"sluice.dev/suspend": "true"});
        replace(facts, suspended);
    });
}

#[test]
fn the_nearest_name_is_named_first() {
    let mut facts = well();
    let other = |name: &str| json!({"kind": "EventTrigger", "metadata": {"name": name}, "spec": {}});
    ["network", "tt"].iter().for_each(|name| replace(&mut facts, other(name)));
    let question = Question::Trigger { name: "ttt".into(), cluster: cluster("a") };
    let explained = explain(&facts, &question);
    assert_eq!(first(&explained).2, "there is no EventTrigger ttt; there is tt, t, network");
}

#[test]
fn an_event_source_that_is_missing_or_broken_is_named_with_its_field() {
    broken("source", "spec.eventSourceName: there is no EventSource s", |facts| remove(facts, "EventSource"));
    broken("source", "spec.resourceSelectors[0].kind", |facts| {
        replace(facts, event_source(&json!({"version": "v1"})));
    });
}

#[test]
fn a_cluster_is_registered_not_paused_and_selected() {
    broken("cluster", "default/a is not registered; there is default/b", |facts| {
        facts.management.as_mut().unwrap().retain(|object| object["metadata"]["name"] != "a");
        replace(facts, registration("b", &json!({"env": "fv"}), &json!({})));
    });
    broken("cluster", "default/a is not registered; there is default/b, capi:default/a", |facts| {
        facts.management.as_mut().unwrap().retain(|object| object["metadata"]["name"] != "a");
        let conditions = json!([{"type": "ControlPlaneInitialized", "status": "True"}]);
        let cluster = json!({"kind": "Cluster", "metadata": {"namespace": "default", "name": "a", "labels": {"env": "fv"}},
            "status": {"conditions": conditions}});
        replace(facts, cluster);
    });
    broken("cluster", "is paused", |facts| {
        replace(facts, registration("a", &json!({"env": "fv"}), &json!({"paused": true})));
    });
    broken("cluster", "paused: its active window opens at 1970-01-02T20:00:00Z", |facts| {
        let window = json!({"activeWindow": {"from": "0 20 * * 5", "to": "0 7 * * 1"}});
        replace(facts, registration("a", &json!({"env": "fv"}), &window));
    });
    broken("cluster", "default/a: nothing is deployed there for the first time before", |facts| {
        let why = "nothing is deployed there for the first time before this passes: x";
        let of =
            |name: &str| ProblemRow::new("deployer", &cluster(name).to_string(), About::Readiness, why, 1);
        facts.on_bus.as_mut().unwrap().problems = vec![of("b"), of("a")];
    });
    broken("clusters", "no registered cluster", |facts| {
        replace(facts, registration("a", &json!({}), &json!({})));
    });
    broken("destination", "env=fv is wanted, and the label env is \"dev\" on default/b", |facts| {
        facts.cluster = cluster("b");
    });
    let spec = json!({"destinationClusterSelector": {"matchLabels": {"tier": "x"}}});
    broken("destination", "tier=x is wanted, and there is no label tier on default/a", |facts| {
        replace(facts, trigger(&spec));
    });
}

#[test]
fn sets_select_clusters_too() {
    let mut facts = well();
    replace(&mut facts, trigger(&json!({"sourceClusterSelector": null, "clusterSetRefs": ["set"]})));
    let refs = json!([{"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "a"}]);
    let set = json!({"kind": "ClusterSet", "metadata": {"name": "set"}, "spec": {"clusterSelector": {}}, "status": {"selectedClusterRefs": refs}});
    replace(&mut facts, set);
    assert_eq!(of_t(&facts).verdict, Verdict::Yes, "{:?}", of_t(&facts));
}

#[test]
fn without_an_event_each_object_says_why_it_is_none() {
    let without = |facts: &mut Facts, selector: &Value| {
        facts.on_bus.as_mut().unwrap().reports.clear();
        replace(facts, event_source(selector));
    };
    broken("events", "no object of a kind", |facts| {
        without(facts, &labelled());
        facts.on_bus.as_mut().unwrap().objects.clear();
    });
    broken("events", "Service shop/front on default/a is none: its labels do not fulfil x", |facts| {
        let other =
            json!({"version": "v1", "kind": "Service", "labelFilters": [{"key": "x", "operation": "Has"}]});
        without(facts, &other);
    });
    let script = |body: &str| json!({"version": "v1", "kind": "Service", "evaluate": format!("function evaluate() {body} end")});
    broken("events", "is none: too young", |facts| {
        without(facts, &script("return {matching = false, message = 'too young'}"));
    });
    broken("events", "the script says no", |facts| without(facts, &script("return {matching = false}")));
    broken("events", "the script fails: ", |facts| without(facts, &script("error('x')")));
}

#[test]
fn an_event_that_no_matcher_has_reported_is_waited_for() {
    let mut facts = well();
    facts.on_bus.as_mut().unwrap().reports.clear();
    let explained = of_t(&facts);
    assert_eq!((explained.verdict, first(&explained).1), (Verdict::Yes, "events"), "what is there is there");
    assert!(first(&explained).2.contains("no matcher has said so yet"));
}

#[test]
fn events_of_other_clusters_do_not_count_where_each_leads_to_its_own() {
    let on_b = |facts: &mut Facts| {
        replace(facts, registration("b", &json!({"env": "fv"}), &json!({})));
        let on_bus = facts.on_bus.as_mut().unwrap();
        on_bus.reports = vec![(cluster("b"), service("front"))];
        let other = json!({"metadata": {"name": "front", "labels": {"web": "no"}}});
        on_bus.objects.push((cluster("b"), service("front"), on_bus.objects[0].2.clone()));
        on_bus.objects[0].2 = Arc::new(other);
    };
    broken("events", "Service shop/front on default/a is none: its labels do not fulfil web=yes", on_b);
    broken("rendered", "nothing is rendered for default/a because of it", |facts| {
        on_b(facts);
        replace(facts, trigger(&json!({"destinationClusterSelector": {"matchLabels": {"env": "fv"}}})));
    });
}

#[test]
fn a_field_that_may_lead_nowhere_is_named() {
    broken("rendered", "spec.destinationCluster leads none of these events to default/a", |facts| {
        let destination = json!({"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1",
            "namespace": "default", "name": "{{ .Resource.metadata.name }}"});
        replace(facts, trigger(&json!({"destinationCluster": destination})));
    });
    broken("rendered", "events for which spec.cloudEventAction is Delete only withdraw", |facts| {
        replace(facts, trigger(&json!({"cloudEventAction": "Delete", "oneForEvent": true})));
        replace(
            facts,
            json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"messagingMatchCriteria": [{"subject": "orders"}]}}),
        );
    });
    broken("rendered", "nothing is rendered for default/a because of it", |facts| {
        replace(facts, trigger(&json!({"cloudEventAction": "Delete", "oneForEvent": true})));
    });
}

#[test]
fn a_profile_of_a_namespace_is_for_the_clusters_in_it() {
    let mut facts = well();
    let manifest = json!({"kind": "Profile", "metadata": {"namespace": "other", "name": "q"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}}});
    replace(&mut facts, manifest);
    let question = Question::Profile { namespace: "other".into(), name: "q".into(), cluster: cluster("a") };
    let explained = explain(&facts, &question);
    let says = "a Profile is for clusters of its own namespace, other; default/a is in another";
    assert_eq!(first(&explained), (Verdict::No, "destination", says));
}

#[test]
fn what_stages_cannot_do_is_told_and_notes_are_no_problem() {
    let at = cluster("a").to_string();
    let trigger = |name: &str| TriggerId::new("EventTrigger", name);
    let problem = |about: About, fault: Fault| ProblemRow::new("renderer", &at, about, fault, 1);
    let event = EventCause { trigger: trigger("t"), cluster: cluster("a"), source: "s".into(), item: None };
    broken("problem", "spec.policyRefs[0]", |facts| {
        let rows = vec![
            problem(About::Trigger(trigger("tt")), "of another one".into()),
            problem(About::Event(event.clone().into()), "spec.policyRefs[0]: is missing".into()),
        ];
        facts.on_bus.as_mut().unwrap().problems = rows;
    });
    let mut facts = well();
    facts.on_bus.as_mut().unwrap().problems =
        vec![problem(About::Trigger(trigger("t")), Fault::note("hooks are not run"))];
    let explained = of_t(&facts);
    let note = explained.steps.iter().find(|step| step.about == "note").unwrap();
    assert_eq!((note.verdict, explained.verdict), (Verdict::Yes, Verdict::Yes));
}

#[test]
fn what_a_deployer_says_decides() {
    let mut facts = well();
    let mut said = |state, errors: &[&str]| {
        let errors = errors.iter().map(|error| (*error).to_owned()).collect();
        facts.on_bus.as_mut().unwrap().statuses[0].2 = Status::new(state, errors);
        of_t(&facts)
    };
    let failed = said(State::Failed, &["no room"]);
    assert_eq!(first(&failed), (Verdict::No, "deployed", "ClusterProfile p failed: no room"));
    let dry = said(State::DryRun, &[]);
    assert_eq!((first(&dry).0, first(&dry).1), (Verdict::No, "deployed"));
    let working = said(State::Provisioning, &[]);
    assert_eq!((first(&working).0, first(&working).1), (Verdict::Unknown, "deployed"));
    let waiting = said(State::Provisioning, &["ClusterProfile q is a dependency"]);
    assert_eq!(
        first(&waiting),
        (Verdict::No, "deployed", "ClusterProfile p waits: ClusterProfile q is a dependency")
    );
    let statuses = &mut facts.on_bus.as_mut().unwrap().statuses;
    statuses[0].2 = Status { spec: "another".into(), ..Status::new(State::Provisioned, Vec::new()) };
    let former = of_t(&facts);
    assert_eq!((first(&former).0, first(&former).1), (Verdict::Unknown, "deployed"));
    assert!(first(&former).2.contains("about a former spec"), "{former:?}");
    facts.on_bus.as_mut().unwrap().statuses.clear();
    assert_eq!(first(&of_t(&facts)).0, Verdict::Unknown);
    nothing_rendered(&mut facts);
    assert_eq!(first(&of_t(&facts)).1, "rendered");
}

#[test]
fn who_does_not_answer_is_named_and_the_other_one_is_asked_all_the_same() {
    let mut facts = well();
    facts.management = Err("the management cluster does not answer".into());
    let explained = of_t(&facts);
    assert_eq!(explained.verdict, Verdict::Yes, "the bus says that it is deployed");
    assert_eq!(first(&explained).1, "trigger");
    facts.on_bus = Err("the bus does not answer".into());
    let explained = of_t(&facts);
    assert_eq!(explained.verdict, Verdict::Unknown);
    assert_eq!(explained.steps.len(), 2, "{explained:?}");
    let facts = Facts { on_bus: Err("away".into()), ..well() };
    assert_eq!((of_t(&facts).verdict, first(&of_t(&facts)).1), (Verdict::Unknown, "events"));
}

#[test]
fn a_profile_is_explained_by_its_selection_its_rows_and_their_status() {
    let profile = |spec: Value| json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let question =
        |name: &str| Question::Profile { namespace: String::new(), name: name.into(), cluster: cluster("a") };
    let mut facts = well();
    facts.on_bus.as_mut().unwrap().desired = vec![desired("p", Cause::Profile(ProfileId::cluster("p")))];
    replace(&mut facts, profile(json!({"clusterSelector": {"matchLabels": {"env": "fv"}}})));
    assert_eq!(explain(&facts, &question("p")).verdict, Verdict::Yes);

    let missing = explain(&facts, &question("q"));
    assert_eq!(first(&missing).2, "there is no ClusterProfile q; there is p");
    nothing_rendered(&mut facts);
    replace(
        &mut facts,
        json!({"kind": "ClusterSet", "metadata": {"name": "set"}, "spec": {"clusterSelector": {}}}),
    );
    for (spec, says) in [
        (
            json!({"clusterSelector": {"matchLabels": {"env": "prod"}}}),
            "env=prod is wanted, and the label env is \"fv\"",
        ),
        (json!({}), "it selects nothing, and no set names the cluster"),
        (
            json!({"clusterRefs": [{"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "aa"}]}),
            "spec.clusterRefs names default/aa; default/a is not among them",
        ),
        (json!({"setRefs": ["sett"]}), "spec.setRefs names ClusterSet sett, which does not exist"),
        (json!({"setRefs": ["set"]}), "ClusterSet set has not selected default/a"),
        (json!({"tier": "low"}), "spec.tier"),
    ] {
        replace(&mut facts, profile(spec));
        let explained = explain(&facts, &question("p"));
        assert!(first(&explained).2.contains(says), "{explained:?}");
        assert_eq!(explained.verdict, Verdict::No);
    }
}

#[test]
fn a_cluster_whose_turn_has_not_come_is_told_so() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}}});
    let question = Question::Profile { namespace: String::new(), name: "p".into(), cluster: cluster("a") };
    let mut facts = well();
    nothing_rendered(&mut facts);
    replace(&mut facts, profile);
    let mut said = |waiting: &str| {
        let fault = Fault::note("rollout: 1 of 2 clusters have it").waiting(vec![cluster(waiting)]);
        let about = About::Profile(ProfileId::cluster("p"));
        facts.on_bus.as_mut().unwrap().problems = vec![ProblemRow::new("renderer", "", about, fault, 1)];
        let explained = explain(&facts, &question);
        first(&explained).2.to_owned()
    };
    let turn = "ClusterProfile p goes to few clusters at a time, and the turn of default/a has not come";
    assert_eq!(said("a"), turn);
    assert_eq!(said("b"), "nothing of ClusterProfile p is rendered for default/a");
}

#[test]
fn what_a_removal_waits_for_is_told() {
    let mut facts = well();
    let question = Question::Profile { namespace: String::new(), name: "gone".into(), cluster: cluster("a") };
    let removed = |facts: &Facts| {
        let explained = explain(facts, &question);
        explained.steps.into_iter().find(|step| step.about == "removed").map(|step| step.says)
    };
    assert_eq!(removed(&facts), None);
    let errors = vec!["it stays until ClusterProfile next is Provisioned".to_owned()];
    let status = Status::new(State::Failed, errors);
    facts.on_bus.as_mut().unwrap().statuses.push((ProfileId::cluster("gone"), Shard::FIRST, status));
    assert_eq!(
        removed(&facts).unwrap(),
        "ClusterProfile gone is not wanted on default/a, and is still there: it stays until ClusterProfile next is Provisioned"
    );
}

#[test]
fn an_object_is_explained_by_the_profiles_that_want_it() {
    let question = |name: &str| {
        Question::Object(Target {
            cluster: cluster("a"),
            kind: "ConfigMap".into(),
            namespace: String::new(),
            name: name.into(),
        })
    };
    let explained = explain(&well(), &question("made"));
    assert_eq!(explained.verdict, Verdict::Yes);
    assert!(explained.steps[1].says.contains("from ConfigMap default/content"), "{explained:?}");
    let missing = explain(&well(), &question("other"));
    assert_eq!((first(&missing).0, first(&missing).1), (Verdict::No, "wanted"));
    assert!(first(&missing).2.contains("ConfigMap made"), "{missing:?}");
}

#[test]
fn of_an_object_on_a_cluster_whose_turn_has_not_come_this_is_said() {
    let question = Question::Object(Target {
        cluster: cluster("a"),
        kind: "ConfigMap".into(),
        namespace: String::new(),
        name: "new".into(),
    });
    let absent = "no profile deploys ConfigMap new to sveltos:default/a; ";
    let turn = "its turn for ClusterProfile p has not come";
    let nothing = "nothing is to be deployed there: is the cluster registered and selected?";
    for (is_empty, waiting, says, remedy) in [
        (true, "a", turn.to_owned(), "`sluice rollout status`"),
        (false, "a", format!("{turn}; there is ConfigMap made"), "`sluice rollout status`"),
        (true, "b", nothing.to_owned(), "`sluice explain` of the trigger or profile"),
        (false, "b", "there is ConfigMap made".to_owned(), "`sluice explain` of the trigger or profile"),
    ] {
        let mut facts = well();
        if is_empty {
            nothing_rendered(&mut facts);
        }
        let fault = Fault::note("rollout: 1 of 2 clusters have it").waiting(vec![cluster(waiting)]);
        let about = About::Profile(ProfileId::cluster("p"));
        facts.on_bus.as_mut().unwrap().problems = vec![ProblemRow::new("renderer", "", about, fault, 1)];
        let explained = explain(&facts, &question);
        let step = explained.steps.iter().find(|step| step.about == "wanted").unwrap();
        assert_eq!((step.verdict, &step.says), (Verdict::No, &format!("{absent}{says}")));
        assert!(step.remedy.contains(remedy), "{step:?}");
    }
}

#[test]
fn of_a_cluster_that_leaves_it_is_said_what_it_waits_for() {
    let mut leaving = registration("a", &json!({"env": "fv"}), &json!({}));
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    leaving["metadata"]["finalizers"] = json!(["sluice.dev/withdraw"]);
    let mut facts = well();
    nothing_rendered(&mut facts);
    replace(&mut facts, leaving);
    let question = Question::Profile { namespace: String::new(), name: "p".into(), cluster: cluster("a") };
    replace(
        &mut facts,
        json!({"kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}}}),
    );
    let explained = explain(&facts, &question);
    let (verdict, about, says) = first(&explained);
    assert_eq!((verdict, about), (Verdict::No, "cluster"));
    assert_eq!(says, "default/a is being deregistered: its add-ons are withdrawn first");
}

#[test]
fn the_name_of_an_event_source_may_be_a_template() {
    let mut facts = well();
    replace(&mut facts, trigger(&json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"})));
    replace(&mut facts, registration("a", &json!({"env": "fv", "source": "s"}), &json!({})));
    assert_eq!(of_t(&facts).verdict, Verdict::Yes, "{:?}", of_t(&facts));
    broken("source", "spec.eventSourceName: there is no EventSource other", |facts| {
        replace(facts, trigger(&json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"})));
        replace(facts, registration("a", &json!({"env": "fv", "source": "other"}), &json!({})));
    });
    broken("source", "spec.eventSourceName: ", |facts| {
        replace(facts, trigger(&json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"})));
    });
}

#[test]
fn who_looks_for_no_cloud_events_is_told_of_none() {
    let mut facts = well();
    nothing_rendered(&mut facts);
    let on_bus = facts.on_bus.as_mut().unwrap();
    (on_bus.objects, on_bus.reports) = Default::default();
    let remedy = |facts: &Facts| {
        let explained = of_t(facts);
        let step = explained.steps.into_iter().find(|step| step.about == "events").unwrap();
        format!("{}; {}", step.says, step.remedy)
    };
    assert!(!remedy(&facts).contains("CloudEvent"), "{}", remedy(&facts));
    let hears = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"messagingMatchCriteria": [{"subject": "orders"}]}});
    replace(&mut facts, hears);
    assert_eq!(
        remedy(&facts),
        "no CloudEvent has come that the EventSource looks for; `sluice send` sends CloudEvents"
    );
}
