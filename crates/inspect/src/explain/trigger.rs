//! From a trigger to what it deploys.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Cluster, ClusterSet, ClusterSetId, SpecCommon, Trigger};
use sluice_api::{ClusterRef, Selector, object};
use sluice_matcher_core::{Answer, Program};
use sluice_protocol::rows::Cause;
use sluice_script::Limits;

use super::facts::clusters;
use super::{Facts, NAMED, OnBus, Steps, instead, is_about, some};

const TRIGGERS: [&str; 2] = ["EventTrigger", "EventBasedAddOn"];

pub(super) fn explain(facts: &Facts, name: &str, steps: &mut Steps) {
    let mut described = TRIGGERS.map(|kind| format!("{kind} {name}")).to_vec();
    let (mut sources, mut known) = (None, None);
    match &facts.management {
        Err(error) => {
            steps.unknown("trigger", format!("it cannot be read: {error}"), "ask again with --kubeconfig")
        }
        Ok(_) => {
            let Some(trigger) = manifest(facts, name, steps) else { return };
            described = vec![trigger.id().described()];
            let program = source(facts, &trigger, steps);
            let clusters = selected(facts, &trigger, steps);
            sources = program.map(|program| (program, clusters));
            known = Some(trigger);
        }
    }
    let Ok(on_bus) = facts.on_bus.as_ref().map_err(|error| {
        steps.unknown("events", format!("they cannot be read: {error}"), "ask again with --nats-url");
    }) else {
        return;
    };
    if let Some((program, clusters)) = &sources {
        events(on_bus, program, clusters, steps);
    }
    steps.problems(on_bus, |problem| described.iter().any(|described| is_about(problem, described)));
    let chooses = sources.is_some_and(|(program, _)| program.chooses());
    rendered(facts, on_bus, name, (known.as_ref(), chooses), steps);
}

/// The trigger, if it can be used.
fn manifest(facts: &Facts, name: &str, steps: &mut Steps) -> Option<Trigger> {
    let Some(found) = facts.of_kind(&TRIGGERS).find(|object| object::name(object) == name) else {
        let others = instead(name, facts.of_kind(&TRIGGERS).map(|object| object::name(object)));
        steps.no(
            "trigger",
            format!("there is no EventTrigger {name}; {others}"),
            "apply it, or correct the name",
        );
        return None;
    };
    match Trigger::read(found) {
        Err(error) => {
            steps.no("trigger", error.to_string(), "correct the field; what it led to before stays");
            None
        }
        Ok(trigger) if trigger.pace.suspended => {
            let says = format!("{} is suspended: what is there stays as it is", trigger.id().described());
            steps.no("trigger", says, "take the annotation sluice.dev/suspend off");
            Some(trigger)
        }
        Ok(trigger) => {
            steps.yes("trigger", format!("{} can be used", trigger.id().described()));
            Some(trigger)
        }
    }
}

/// The program of its EventSource.
fn source(facts: &Facts, trigger: &Trigger, steps: &mut Steps) -> Option<Program> {
    let name = &trigger.event_source;
    let Some(found) = facts.of_kind(&["EventSource"]).find(|object| object::name(object) == name) else {
        let others = instead(name, facts.of_kind(&["EventSource"]).map(|object| object::name(object)));
        let says = format!("spec.eventSourceName: there is no EventSource {name}; {others}");
        steps.no("source", says, "apply it, or correct the name");
        return None;
    };
    match Program::compile(found) {
        Ok(program) => {
            steps.yes("source", format!("EventSource {name} can be used"));
            Some(program)
        }
        Err(error) => {
            steps.no("source", error, "correct the field; the last form that could be used stays");
            None
        }
    }
}

/// The clusters whose events count for the one that is asked about; and whether what follows from them goes there.
fn selected(facts: &Facts, trigger: &Trigger, steps: &mut Steps) -> BTreeSet<ClusterRef> {
    let objects = facts.management.as_deref().unwrap_or_default();
    let sources = counting(objects, trigger, &facts.cluster);
    let selector = &trigger.source_selector;
    if sources.is_empty() {
        let says = "no registered cluster is one whose events count".to_owned();
        steps.no(
            "clusters",
            says,
            format!("label a cluster so that it fulfils {selector}, or correct spec.sourceClusterSelector"),
        );
    }
    if facts.cluster.is_management() {
        is_local(&trigger.common, steps);
    }
    let Some(cluster) = registered(facts, steps) else { return sources };
    match (&trigger.destination_selector, &trigger.destination_cluster) {
        (Some(destination), _) => {
            is_selected("spec.destinationClusterSelector", destination, &cluster, steps);
        }
        (None, Some(_)) => steps
            .yes("destination", "spec.destinationCluster says where, for each event: see what is rendered"),
        (None, None) if sources.contains(&cluster.id) => {
            steps.yes("destination", format!("events of {} lead to add-ons there", cluster.id.path()));
        }
        (None, None) => is_selected("spec.sourceClusterSelector", selector, &cluster, steps),
    }
    sources
}

/// Whether something of a trigger or profile is for the management cluster.
pub(super) fn is_local(common: &SpecCommon, steps: &mut Steps) {
    if common.is_partly_local() {
        return steps.yes("destination", "something in spec.policyRefs has deploymentType: Local");
    }
    let says = "nothing in spec.policyRefs has deploymentType: Local".to_owned();
    steps.no("destination", says, "set it on the reference whose content is for the management cluster");
}

/// The clusters whose events count for this one.
pub(super) fn counting(
    objects: &[Arc<Value>],
    trigger: &Trigger,
    asked: &ClusterRef,
) -> BTreeSet<ClusterRef> {
    let (in_sets, selector) = (in_sets(objects, &trigger.source_sets), &trigger.source_selector);
    let is_source = |cluster: &Cluster| {
        in_sets.contains(&cluster.id) || (!selector.is_empty() && selector.matches(cluster.labels()))
    };
    let sources: BTreeSet<ClusterRef> =
        clusters(objects).filter(is_source).map(|cluster| cluster.id).collect();
    let leads_home = trigger.destination_selector.is_none() && trigger.destination_cluster.is_none();
    // Events of others lead to add-ons elsewhere then.
    if leads_home && sources.contains(asked) { BTreeSet::from([asked.clone()]) } else { sources }
}

/// The clusters that sets have selected.
fn in_sets(objects: &[Arc<Value>], ids: &[ClusterSetId]) -> BTreeSet<ClusterRef> {
    let is_set = |object: &&Arc<Value>| ["ClusterSet", "Set"].contains(&object::text(object, &["kind"]));
    let sets = objects.iter().filter(is_set).filter_map(|object| ClusterSet::read(object).ok());
    sets.filter(|set| ids.contains(&set.id)).flat_map(|set| set.before).collect()
}

/// The registration of the cluster that is asked about.
pub(super) fn registered(facts: &Facts, steps: &mut Steps) -> Option<Cluster> {
    if facts.cluster.is_management() {
        steps.yes("cluster", "it is the management cluster, which needs no registration");
        return None;
    }
    let found = facts.clusters().find(|cluster| cluster.id == facts.cluster);
    match &found {
        None => {
            // One of another kind is asked for by another name.
            let name = |cluster: Cluster| match cluster.id.kind == facts.cluster.kind {
                true => cluster.id.path(),
                false => cluster.id.to_string(),
            };
            let names: Vec<String> = facts.clusters().map(name).collect();
            let others = instead(&facts.cluster.path(), names.iter().map(String::as_str));
            let says = format!("{} is not registered; {others}", facts.cluster.path());
            steps.no("cluster", says, "register it: a SveltosCluster and the Secret with its kubeconfig");
        }
        Some(cluster) if cluster.paused => {
            let says = format!("{} is paused: nothing is changed there", cluster.id.path());
            steps.no("cluster", says, "set spec.paused of its registration to false");
        }
        Some(cluster) => steps.yes("cluster", format!("{} is registered", cluster.id.path())),
    }
    found
}

/// Says whether a selector of clusters selects this one.
pub(super) fn is_selected(field: &str, selector: &Selector, cluster: &Cluster, steps: &mut Steps) {
    let path = cluster.id.path();
    let unmet = if selector.is_empty() {
        Some("it selects nothing, and no set names the cluster".to_owned())
    } else {
        selector.unmet(cluster.labels())
    };
    match unmet {
        None => steps.yes("destination", format!("{field}: the labels of {path} fulfil {selector}")),
        Some(unmet) => {
            steps.no(
                "destination",
                format!("{field}: {unmet} on {path}"),
                "label the cluster, or correct the selector",
            );
        }
    }
}

/// Which objects are events, by what matchers say; where there is none, what the EventSource says of objects that are there.
fn events(on_bus: &OnBus, program: &Program, clusters: &BTreeSet<ClusterRef>, steps: &mut Steps) {
    let counts = |cluster: &ClusterRef| clusters.contains(cluster);
    let reports = on_bus.reports.iter().filter(|(cluster, _)| counts(cluster));
    let reports: Vec<String> = reports.map(|(cluster, key)| format!("{key} on {}", cluster.path())).collect();
    if !reports.is_empty() {
        return steps.yes("events", some(&reports));
    }
    let mut objects = on_bus.objects.iter().filter(|(cluster, ..)| counts(cluster)).peekable();
    if objects.peek().is_none() {
        let says = "no object of a kind that the EventSource selects is there, and no CloudEvent has come";
        let remedy = "create one; `sluice problems` says whether agents can list them, `sluice send` sends CloudEvents";
        return steps.no("events", says, remedy);
    }
    for (cluster, key, object) in objects.take(NAMED) {
        let about = format!("{key} on {}", cluster.path());
        let mut reasons = Vec::new();
        for answer in program.explain(key, object, &Limits::default()) {
            match answer {
                Answer::Yes(_) => {
                    let says = format!("{about} is one, and no matcher has said so yet");
                    return steps.unknown(
                        "events",
                        says,
                        "ask again; `sluice status` says whether a matcher runs",
                    );
                }
                Answer::No(reason) if reason.is_empty() => reasons.push("the script says no".to_owned()),
                Answer::No(reason) => reasons.push(reason),
                Answer::Failed(error) => reasons.push(format!("the script fails: {error}")),
            }
        }
        reasons.dedup();
        steps.no(
            "events",
            format!("{about} is none: {}", reasons.join("; ")),
            "change the object, or the EventSource",
        );
    }
}

/// What renderers made for the cluster because of it, and what became of that.
fn rendered(
    facts: &Facts,
    on_bus: &OnBus,
    name: &str,
    (trigger, chooses): (Option<&Trigger>, bool),
    steps: &mut Steps,
) {
    let is_of_trigger = |cause: &Cause| match cause {
        Cause::Event(event) => TRIGGERS.iter().any(|kind| event.trigger.as_str() == format!("{kind}/{name}")),
        Cause::Profile(_) => false,
    };
    let rows: Vec<_> = on_bus.desired.iter().filter(|desired| is_of_trigger(&desired.cause)).collect();
    if rows.is_empty() {
        let (says, remedy) = nothing(&facts.cluster, trigger, chooses);
        return steps.no("rendered", says, remedy);
    }
    let names: Vec<_> = rows.iter().map(|desired| desired.profile().to_string()).collect();
    steps.yes("rendered", some(&names));
    for desired in rows {
        steps.deployed(desired, on_bus, desired.cause.origin(facts.shards));
    }
}

/// Why nothing is rendered although there are events, as far as the trigger's fields tell; and what to do.
fn nothing(cluster: &ClusterRef, trigger: Option<&Trigger>, chooses: bool) -> (String, &'static str) {
    let place = cluster.path();
    if chooses {
        let says = format!(
            "nothing is rendered for {place}: spec.aggregatedSelection of the EventSource chooses none of them, or not all are known"
        );
        return (says, "correct the script; `sluice show events` says whether all are known");
    }
    if trigger.is_some_and(|trigger| trigger.destination_cluster.is_some()) {
        let says = format!("spec.destinationCluster leads none of these events to {place}");
        return (says, "correct its templates, or ask about the cluster that they name");
    }
    if trigger.is_some_and(|trigger| trigger.cloud_event_action.is_some()) {
        let says = format!(
            "nothing is rendered for {place}: events for which spec.cloudEventAction is Delete only withdraw"
        );
        return (says, "send a CloudEvent for which it is Create, or correct its template");
    }
    let says = format!("nothing is rendered for {place} because of it");
    (says, "see the steps before; without any \"no\" before, ask again")
}
