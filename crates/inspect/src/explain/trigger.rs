//! From a trigger to what it deploys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Cluster, EventSource, SpecCommon, Trigger};
use sluice_api::{ClusterRef, Selector, few, object};
use sluice_matcher_core::{Program, SelectorOutcome};
use sluice_protocol::rows::Cause;
use sluice_renderer_core::listens;
use sluice_script::Limits;

use super::{BACK, Facts, NAMED, OnBus, Steps, goes_back, instead, is_about};

pub(super) const TRIGGERS: [&str; 2] = ["EventTrigger", "EventBasedAddOn"];

pub(super) fn explain(facts: &Facts, name: &str, steps: &mut Steps) {
    let mut kinds = TRIGGERS.to_vec();
    let (mut sources, mut known) = (Vec::new(), None);
    match &facts.management {
        Err(error) => {
            steps.unknown("trigger", format!("it cannot be read: {error}"), "ask again with --kubeconfig")
        }
        Ok(_) => {
            let Some(trigger) = manifest(facts, name, steps) else { return };
            kinds.retain(|kind| *kind == trigger.id().kind());
            let counting =
                counting(facts.management.as_deref().unwrap_or_default(), &trigger, &facts.cluster);
            sources = self::sources(facts, &trigger, &counting, steps);
            selected(facts, &trigger, &counting.into_keys().collect(), steps);
            known = Some(trigger);
        }
    }
    let Ok(on_bus) = facts.on_bus.as_ref().map_err(|error| {
        steps.unknown("events", format!("they cannot be read: {error}"), "ask again with --nats-url");
    }) else {
        return;
    };
    if !sources.is_empty() {
        events(on_bus, &sources, steps);
    }
    steps.problems(on_bus, |problem| kinds.iter().any(|kind| is_about(problem, kind, "", name)));
    rendered(facts, on_bus, name, (known.as_ref(), &sources), steps);
}

/// An EventSource that the trigger listens to, and the clusters on which it does.
struct Source {
    program: Program,
    clusters: BTreeSet<ClusterRef>,
    /// Whether it looks at objects.
    selects: bool,
    /// Whether it looks at CloudEvents.
    hears: bool,
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

/// The programs of its EventSources: another one on each cluster, where the name is a template.
fn sources(facts: &Facts, trigger: &Trigger, counting: &Counting, steps: &mut Steps) -> Vec<Source> {
    let mut named: BTreeMap<&str, BTreeSet<ClusterRef>> = BTreeMap::new();
    let mut wrong = BTreeSet::new();
    for (cluster, name) in counting {
        match name {
            Ok(name) => drop(named.entry(name).or_default().insert(cluster.clone())),
            Err(error) => drop(wrong.insert(error.to_string())),
        }
    }
    for error in wrong {
        steps.no("source", error, "correct it");
    }
    // Without a cluster a template has no name to tell.
    if counting.is_empty() && !trigger.event_source.contains("{{") {
        named.insert(&trigger.event_source, BTreeSet::new());
    }
    named.into_iter().filter_map(|(name, clusters)| source(facts, name, clusters, steps)).collect()
}

fn source(facts: &Facts, name: &str, clusters: BTreeSet<ClusterRef>, steps: &mut Steps) -> Option<Source> {
    let Some(found) = facts.of_kind(&["EventSource"]).find(|object| object::name(object) == name) else {
        let others = instead(name, facts.of_kind(&["EventSource"]).map(|object| object::name(object)));
        let says = format!("spec.eventSourceName: there is no EventSource {name}; {others}");
        steps.no("source", says, "apply it, or correct the name");
        return None;
    };
    match (Program::compile(found), EventSource::read(found)) {
        (Ok(program), Ok(source)) => {
            steps.yes("source", format!("EventSource {name} can be used"));
            let (selects, hears) = (!source.selectors.is_empty(), !source.criteria.is_empty());
            Some(Source { program, clusters, selects, hears })
        }
        (Err(error), _) => {
            steps.no(
                "source",
                error.to_string(),
                "correct the field; the last form that could be used stays",
            );
            None
        }
        (_, Err(error)) => {
            steps.no(
                "source",
                error.to_string(),
                "correct the field; the last form that could be used stays",
            );
            None
        }
    }
}

/// Whether there are clusters whose events count for the one that is asked about, and whether what follows from them goes there.
fn selected(facts: &Facts, trigger: &Trigger, sources: &BTreeSet<ClusterRef>, steps: &mut Steps) {
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
    let Some(cluster) = registered(facts, steps) else { return };
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
}

/// Whether something of a trigger or profile is for the management cluster.
pub(super) fn is_local(common: &SpecCommon, steps: &mut Steps) {
    if common.is_partly_local() {
        return steps.yes("destination", "something in spec.policyRefs has deploymentType: Local");
    }
    let says = "nothing in spec.policyRefs has deploymentType: Local".to_owned();
    steps.no("destination", says, "set it on the reference whose content is for the management cluster");
}

/// The EventSource on each cluster whose events count, or why it cannot be told.
pub(super) type Counting = BTreeMap<ClusterRef, sluice_renderer_core::Result<String>>;

/// The clusters whose events count for this one, as renderers decide it.
pub(super) fn counting(objects: &[Arc<Value>], trigger: &Trigger, asked: &ClusterRef) -> Counting {
    let mut sources = listens(objects, &trigger.id());
    let leads_home = trigger.destination_selector.is_none() && trigger.destination_cluster.is_none();
    // Events of others lead to add-ons elsewhere then.
    if leads_home && sources.contains_key(asked) {
        sources.retain(|cluster, _| cluster == asked);
    }
    sources
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
        Some(cluster) if cluster.is_leaving() => {
            let says =
                format!("{} is being deregistered: its add-ons are withdrawn first", cluster.id.path());
            steps.no("cluster", says, "wait; then register it again, if it is to have any");
        }
        Some(cluster) => match cluster.pause.at(facts.now) {
            Some(paused) => {
                let says = format!("{} is {paused}; nothing is changed there meanwhile", cluster.id.path());
                steps.no("cluster", says, paused.remedy());
            }
            None => match facts.unready() {
                Some(why) => steps.no("cluster", format!("{}: {why}", cluster.id.path()), "do what it says"),
                None => steps.yes("cluster", format!("{} is registered", cluster.id.path())),
            },
        },
    }
    found
}

/// Says whether a selector of clusters selects this one.
pub(super) fn is_selected(field: &str, selector: &Selector, cluster: &Cluster, steps: &mut Steps) {
    let path = cluster.id.path();
    match unmet(selector, cluster) {
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

/// Why a selector of clusters does not select this one.
pub(super) fn unmet(selector: &Selector, cluster: &Cluster) -> Option<String> {
    if selector.is_empty() {
        return Some("it selects nothing, and no set names the cluster".to_owned());
    }
    selector.unmet(cluster.labels())
}

/// Which objects are events, by what matchers say; where there is none, what the EventSources say of objects that are there.
fn events(on_bus: &OnBus, sources: &[Source], steps: &mut Steps) {
    let counts = |cluster: &ClusterRef| sources.iter().find(|source| source.clusters.contains(cluster));
    let reports = on_bus.reports.iter().filter(|(cluster, _)| counts(cluster).is_some());
    let reports: Vec<String> = reports.map(|(cluster, key)| format!("{key} on {}", cluster.path())).collect();
    if !reports.is_empty() {
        return steps.yes("events", few(", ", &reports));
    }
    let of_source = |(cluster, key, object)| Some((cluster, key, object, &counts(cluster)?.program));
    let mut objects = on_bus
        .objects
        .iter()
        .map(|(cluster, key, object)| (cluster, key, object))
        .filter_map(of_source)
        .peekable();
    if objects.peek().is_none() {
        return no_events(sources, steps);
    }
    for (cluster, key, object, program) in objects.take(NAMED) {
        let about = format!("{key} on {}", cluster.path());
        let mut reasons = Vec::new();
        for answer in program.explain(key, object, &Limits::default()) {
            let Some(reason) = reason(answer) else {
                let says = format!("{about} is one, and no matcher has said so yet");
                return steps.unknown(
                    "events",
                    says,
                    "ask again; `sluice status` says whether a matcher runs",
                );
            };
            reasons.push(reason);
        }
        reasons.dedup();
        steps.no(
            "events",
            format!("{about} is none: {}", reasons.join("; ")),
            "change the object, or the EventSource",
        );
    }
}

/// Why a selector does not make an event of an object.
pub(super) fn reason(answer: SelectorOutcome) -> Option<String> {
    match answer {
        SelectorOutcome::Yes(_) => None,
        SelectorOutcome::No(reason) if reason.is_empty() => Some("the script says no".to_owned()),
        SelectorOutcome::No(reason) => Some(reason),
        SelectorOutcome::Failed(error) => Some(format!("the script fails: {error}")),
    }
}

/// That there is nothing for the EventSources to look at; each kind of event is spoken of where one of them looks for it.
fn no_events(sources: &[Source], steps: &mut Steps) {
    let (selects, hears) = (sources.iter().any(|one| one.selects), sources.iter().any(|one| one.hears));
    let of_objects = "no object of a kind that the EventSource selects is there";
    let for_objects = "create one; `sluice problems` says whether agents can list them";
    let of_clouds = "no CloudEvent has come that the EventSource looks for";
    let for_clouds = "`sluice send` sends CloudEvents";
    match (selects, hears) {
        (true, true) => {
            steps.no(
                "events",
                format!("{of_objects}, and {of_clouds}"),
                format!("{for_objects}, {for_clouds}"),
            );
        }
        (false, true) => steps.no("events", of_clouds, for_clouds),
        _ => steps.no("events", of_objects, for_objects),
    }
}

/// What renderers made for the cluster because of it, and what became of that.
fn rendered(
    facts: &Facts,
    on_bus: &OnBus,
    name: &str,
    (trigger, sources): (Option<&Trigger>, &[Source]),
    steps: &mut Steps,
) {
    let is_of_trigger = |cause: &Cause| match cause {
        Cause::Event(event) => TRIGGERS.iter().any(|kind| event.trigger.as_str() == format!("{kind}/{name}")),
        Cause::Profile(_) => false,
    };
    let rows: Vec<_> = on_bus.desired.iter().filter(|desired| is_of_trigger(&desired.cause)).collect();
    let back: Vec<_> = on_bus.back.iter().filter(|(_, staged)| is_of_trigger(&staged.cause)).collect();
    for (profile, staged) in &back {
        steps.no("back", goes_back(profile, staged), BACK);
    }
    if rows.is_empty() && !back.is_empty() {
        return;
    }
    if rows.is_empty() {
        let (says, remedy) = nothing(&facts.cluster, trigger, sources);
        return steps.no("rendered", says, remedy);
    }
    let names: Vec<_> = rows.iter().map(|desired| desired.profile().to_string()).collect();
    steps.yes("rendered", few(", ", &names));
    for desired in rows {
        steps.deployed(desired, on_bus, desired.cause.origin(facts.shards));
    }
}

/// Why nothing is rendered although there are events, as far as the trigger's fields tell; and what to do.
fn nothing(cluster: &ClusterRef, trigger: Option<&Trigger>, sources: &[Source]) -> (String, &'static str) {
    let place = cluster.path();
    if sources.iter().any(|source| source.program.chooses()) {
        let says = format!(
            "nothing is rendered for {place}: spec.aggregatedSelection of the EventSource chooses none of them, or not all are known"
        );
        return (says, "correct the script; `sluice show events` says whether all are known");
    }
    if trigger.is_some_and(|trigger| trigger.destination_cluster.is_some()) {
        let says = format!("spec.destinationCluster leads none of these events to {place}");
        return (says, "correct its templates, or ask about the cluster that they name");
    }
    let hears = sources.iter().any(|source| source.hears);
    if hears && trigger.is_some_and(|trigger| trigger.cloud_event_action.is_some()) {
        let says = format!(
            "nothing is rendered for {place}: events for which spec.cloudEventAction is Delete only withdraw"
        );
        return (says, "send a CloudEvent for which it is Create, or correct its template");
    }
    let says = format!("nothing is rendered for {place} because of it");
    (says, "see the steps before; without any \"no\" before, ask again")
}
