//! From an object of a cluster to the EventSources that look at it, what each says of it, and the triggers that follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::{EventKey, is_event};
use sluice_api::model::EventSource;
use sluice_api::wire::{EventReport, ObjectReference};
use sluice_api::{Gvk, ObjectKey, few, kinds, object};
use sluice_matcher_core::{Outcome, Program, SelectorOutcome};
use sluice_protocol::About;
use sluice_protocol::interest::Complete;
use sluice_renderer_core::chosen_among;
use sluice_script::Limits;

use self::listening::Listening;
use super::facts::EVENT_REPORT;
use super::trigger::{reason, registered};
use super::{Facts, OfEvent, OnBus, Steps, Verdict, instead};
use crate::events::{cluster_of, lacks};
use crate::trace::Target;

mod listening;
mod tenant;

pub(super) fn explain(facts: &Facts, target: &Target, steps: &mut Steps) {
    let mut listening = None;
    match &facts.management {
        Err(error) => {
            let says = format!("they cannot be read: {error}; EventSources are those that the bus tells of");
            steps.unknown("triggers", says, "ask again with --kubeconfig");
        }
        Ok(_) if facts.cluster.is_management() => {
            return steps.no(
                "cluster",
                "events come from registered clusters, and this is the management cluster by itself",
                "ask about its registration as a cluster, where it has one",
            );
        }
        Ok(objects) => {
            let Some(cluster) = registered(facts, steps) else { return };
            listening = Some(Listening::of(objects, cluster));
        }
    }
    let sources = sources(facts, listening.as_ref());
    match &facts.on_bus {
        Ok(on_bus) => known(facts, on_bus, target, (&sources, listening.as_ref()), steps),
        Err(error) => {
            steps.unknown(
                "object",
                format!("what agents tell cannot be read: {error}"),
                "ask again with --nats-url",
            );
            for source in looking(&sources, target, &[], steps) {
                let verdict = written(facts, source, target, steps);
                followed(source, verdict, listening.as_ref(), steps);
            }
        }
    }
    listening.iter().for_each(|listening| listening.untold(steps));
}

/// An EventSource.
struct Source {
    name: String,
    manifest: Arc<Value>,
    program: sluice_matcher_core::Result<Program>,
    /// Whether a trigger listens to it on the cluster: only then agents and matchers work for it.
    live: bool,
}

/// Those of the management cluster, or where that is away those that somebody listens to on the cluster.
fn sources(facts: &Facts, listening: Option<&Listening>) -> Vec<Source> {
    let source = |manifest: &Arc<Value>| {
        let name = object::name(manifest).to_owned();
        let live = listening.is_none_or(|listening| listening.is_live(&name));
        Source { name, manifest: manifest.clone(), program: Program::compile(manifest), live }
    };
    let interest = facts.on_bus.as_ref().ok().and_then(|on_bus| on_bus.event.interest.as_ref());
    match &facts.management {
        Ok(_) => facts.of_kind(&["EventSource"]).map(source).collect(),
        Err(_) => interest
            .into_iter()
            .flat_map(|interest| &interest.sources)
            .map(|it| source(&it.manifest))
            .collect(),
    }
}

/// The EventSources that look at such objects; that there is none. One that cannot be read may look at any.
fn looking<'s>(
    sources: &'s [Source],
    target: &Target,
    objects: &[(ObjectKey, Arc<Value>)],
    steps: &mut Steps,
) -> Vec<&'s Source> {
    let looks = |source: &&Source| match (&source.program, objects) {
        (Ok(program), [_, ..]) => objects.iter().any(|(key, _)| program.watches(key)),
        _ => source
            .kinds()
            .map_or(source.live, |kinds| kinds.iter().any(|gvk| kinds::is_called(gvk, &target.kind))),
    };
    let found: Vec<&Source> = sources.iter().filter(looks).collect();
    if found.is_empty() {
        let others: BTreeSet<Gvk> = sources.iter().filter_map(Source::kinds).flatten().collect();
        let others = instead(&target.kind, others.iter().map(|gvk| gvk.kind.as_str()));
        let says = format!(
            "no EventSource looks at objects of kind {}; of those that they look at {others}",
            kind(target)
        );
        steps.no("source", says, "apply an EventSource with a selector of the kind, or correct the kind");
    }
    found
}

/// What is known where the bus answers.
fn known(
    facts: &Facts,
    on_bus: &OnBus,
    target: &Target,
    (sources, listening): (&[Source], Option<&Listening>),
    steps: &mut Steps,
) {
    let of = &on_bus.event;
    for (key, object) in &of.objects {
        let deleted = !object::text(object, &["metadata", "deletionTimestamp"]).is_empty();
        let says = if deleted { "is there, and is being deleted" } else { "is there" };
        steps.yes("object", format!("{key} {says}"));
    }
    if of.objects.is_empty() {
        absent(facts, of, target, sources, steps);
    }
    let cluster = facts.cluster.to_string();
    for source in looking(sources, target, &of.objects, steps) {
        let verdict = match &source.program {
            Err(error) => broken(source, &error.to_string(), of, steps),
            Ok(_) if of.objects.is_empty() => none_of(facts, source, of, target, steps),
            Ok(program) if tenant::sees_nothing(program, of) => tenant::unseen(facts, source, of, steps),
            Ok(program) => {
                let watched = of.objects.iter().filter(|(key, _)| tenant::sees(program, of, key));
                let seen = (of, facts.shards);
                let said = watched.map(|(key, object)| judged((source, program), (key, object), seen, steps));
                // Each says what it has to say, also after a yes.
                said.collect::<Vec<_>>().into_iter().fold(Verdict::No, either)
            }
        };
        let is_of_source = |about: &About| {
            matches!(about, About::Source(name) if *name == source.name) || tenant::concerns(about, source)
        };
        steps.problems(on_bus, |problem| {
            problem.cluster == cluster && source.program.is_ok() && problem.is_about(is_of_source)
        });
        followed(source, verdict, listening, steps);
    }
    let is_of_object = |about: &About| matches!(about, About::Object(key) if of.objects.iter().any(|(object, _)| object == key));
    steps.problems(on_bus, |problem| problem.cluster == cluster && problem.is_about(is_of_object));
}

/// What holds where one of two is enough.
fn either(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Yes, _) | (_, Verdict::Yes) => Verdict::Yes,
        (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        (Verdict::No, Verdict::No) => Verdict::No,
    }
}

/// What an object of such a kind is called.
fn kind(target: &Target) -> &str {
    kinds::meant(&target.kind).map_or(target.kind.as_str(), |kind| kind.kind.as_str())
}

/// That there is no such object, as far as agents tell: they tell of what live EventSources select by place, name and labels.
fn absent(facts: &Facts, of: &OfEvent, target: &Target, sources: &[Source], steps: &mut Steps) {
    let place = if target.namespace.is_empty() { String::new() } else { format!("{}/", target.namespace) };
    let wanted = format!("{} {place}{}", kind(target), target.name);
    let path = facts.cluster.path();
    let is_of_kind = |gvk: &Gvk| kinds::is_called(gvk, &target.kind);
    let looks = |source: &&Source| source.kinds().is_none_or(|kinds| kinds.iter().any(is_of_kind));
    let live: Vec<&Source> = sources.iter().filter(|source| source.live).filter(looks).collect();
    if live.is_empty() {
        let says = format!(
            "whether there is {wanted} on {path} is not known: agents tell of what EventSources select that a trigger listens to there"
        );
        return steps.unknown("object", says, "see the steps that follow");
    }
    if !live.iter().any(|source| is_told(source, of, facts.shards)) {
        let says = format!("the agent of {path} has not told yet of all objects that there are");
        return steps.unknown("object", says, "ask again; `sluice problems` says whether it can list them");
    }
    let others: Vec<String> = of.others.iter().map(ToString::to_string).collect();
    let others = instead(&wanted, others.iter().map(String::as_str));
    let says = if live.iter().any(|source| source.tells_of_all(is_of_kind)) {
        format!("there is no {wanted} on {path}; {others}")
    } else {
        format!(
            "no {wanted} on {path} is one that EventSources select by namespace, name and labels; {others}"
        )
    };
    steps.no("object", says, "create it, give it what they select, or correct the name");
}

/// Whether the agent has told all that this EventSource selects.
fn is_told(source: &Source, of: &OfEvent, shards: u16) -> bool {
    let since = of.interest.as_ref().and_then(|interest| interest.source(&source.name));
    let covers = |complete: &Complete| {
        tenant::covers(complete, source)
            && complete.covers_events(&source.name)
            && since.is_some_and(|since| complete.revision >= since.changed)
    };
    of.told.len() == usize::from(shards) && of.told.iter().all(covers)
}

/// What an EventSource would choose, where nothing is called so.
fn none_of(facts: &Facts, source: &Source, of: &OfEvent, target: &Target, steps: &mut Steps) -> Verdict {
    let name = &source.name;
    if !source.live || !is_told(source, of, facts.shards) {
        let why =
            if source.live { "its agent has not told of all yet" } else { "no trigger listens to it there" };
        let says = format!("EventSource {name}: what it would choose is not known, since {why}");
        steps.unknown("event", says, "see the steps that follow; ask again");
        return Verdict::Unknown;
    }
    let selectors = EventSource::read(&source.manifest).map(|source| source.selectors).unwrap_or_default();
    let of_kind = selectors.iter().filter(|selector| kinds::is_called(&selector.gvk, &target.kind));
    let asked: Vec<String> = of_kind.map(|selector| selector.described()).collect();
    let asked = if asked.is_empty() { "CloudEvents".to_owned() } else { asked.join("; or ") };
    let says = format!("EventSource {name}: nothing that is called so is among what it selects: {asked}");
    steps.no("event", says, "create such an object, or change the EventSource");
    Verdict::No
}

/// What the last form of an EventSource said that cannot be used as it is.
fn broken(source: &Source, error: &str, of: &OfEvent, steps: &mut Steps) -> Verdict {
    let remedy = "correct the field; the last form that could be used stays";
    let of_source = of.reports.iter().filter(|(name, _)| *name == source.name);
    let events: Vec<&ObjectKey> = of_source.map(|(_, key)| key).collect();
    if events.is_empty() {
        steps.no("source", error, remedy);
        return Verdict::No;
    }
    steps.no("source", format!("{error}; by its last form {} is an event", few(", ", &events)), remedy);
    Verdict::Yes
}

/// Whether it is an event, by what the EventSource and the matcher say.
fn judged(
    (source, program): (&Source, &Program),
    (key, object): (&ObjectKey, &Value),
    (of, shards): (&OfEvent, u16),
    steps: &mut Steps,
) -> Verdict {
    let about = format!("EventSource {}: {key}", source.name);
    let reported = of.reports.contains(&(source.name.clone(), key.clone()));
    let answers = program.explain(key, object, &Limits::default());
    let soon = "ask again; `sluice status` says whether a matcher runs";
    match (program.judge(key, object, &Limits::default()), reported) {
        (Outcome::Match(_), true) => {
            steps.yes("event", format!("{about} is an event{}", because(answers)));
            chosen(source, key, (of, shards), steps)
        }
        (Outcome::Match(_), false) if source.live => {
            steps.unknown("event", format!("{about} is an event, and no matcher has said so yet"), soon);
            Verdict::Unknown
        }
        (Outcome::Match(_), false) => {
            steps.yes("event", format!("{about} would be an event{}", because(answers)));
            Verdict::No
        }
        (Outcome::NoMatch, true) => {
            let says = format!("{about} is no event any more, and no matcher has said so yet");
            steps.unknown("event", says, soon);
            Verdict::Unknown
        }
        (Outcome::NoMatch, false) => {
            let mut reasons: Vec<String> = answers.into_iter().filter_map(reason).collect();
            reasons.dedup();
            let says = format!("{about} is no event: {}", reasons.join("; "));
            steps.no("event", says, "change the object, or the EventSource");
            Verdict::No
        }
        (Outcome::Failed(error), _) => {
            let stays = if reported { "stays an event" } else { "is no event" };
            let says = format!("{about} {stays} as long as the script fails: {error}");
            steps.no("event", says, "correct the script, or change the object");
            if reported { chosen(source, key, (of, shards), steps) } else { Verdict::No }
        }
    }
}

/// What scripts and rules say that choose an object.
fn because(answers: Vec<SelectorOutcome>) -> String {
    let message = |answer| if let SelectorOutcome::Yes(message) = answer { Some(message) } else { None };
    let mut messages: Vec<String> = answers.into_iter().filter_map(message).collect();
    messages.retain(|message| !message.is_empty());
    messages.dedup();
    if messages.is_empty() { String::new() } else { format!(": {}", messages.join("; ")) }
}

/// Whether an event is also chosen among all, where a script chooses.
fn chosen(source: &Source, key: &ObjectKey, (of, shards): (&OfEvent, u16), steps: &mut Steps) -> Verdict {
    let set = of.sets.get(&source.name).cloned().unwrap_or_default();
    let about = format!("spec.aggregatedSelection of EventSource {}", source.name);
    let chosen = match chosen_among(&source.manifest, set) {
        // The script chooses among objects.
        Ok(Some(chosen)) if !is_event(key) => chosen,
        Ok(_) => return Verdict::Yes,
        Err(error) => {
            steps.unknown("chosen", error.to_string(), "correct the script; what it chose before stays");
            return Verdict::Unknown;
        }
    };
    let since = of.interest.as_ref().and_then(|interest| interest.source(&source.name));
    let missing = since.map(|since| lacks(of.matched.iter(), shards, since));
    let missing = missing.unwrap_or_else(|| "no renderer has asked for its matches yet".to_owned());
    if !missing.is_empty() {
        let says = format!("{about} does not choose before all its matches are known: {missing}");
        steps.unknown("chosen", says, "ask again; `sluice show events` says whether all are known");
        return Verdict::Unknown;
    }
    if chosen.contains(key) {
        steps.yes("chosen", format!("{about} chooses {key}"));
        return Verdict::Yes;
    }
    let others = if chosen.is_empty() {
        "it chooses none".to_owned()
    } else {
        format!("it chooses {}", few(", ", &chosen))
    };
    steps.no(
        "chosen",
        format!("{about} does not choose {key}; {others}"),
        "change the object, or the script",
    );
    Verdict::No
}

/// What renderers have written down of it, while the bus is away.
fn written(facts: &Facts, source: &Source, target: &Target, steps: &mut Steps) -> Verdict {
    let read = |report: &Arc<Value>| serde_json::from_value::<EventReport>(report.as_ref().clone()).ok();
    let kinds = [EVENT_REPORT];
    let reports = facts.of_kind(&kinds).filter_map(read).map(|report| report.spec);
    let key = |found: ObjectReference| ObjectKey {
        gvk: Gvk::parse(&found.api_version, &found.kind),
        namespace: found.namespace,
        name: found.name,
    };
    let mut named = reports
        .filter(|spec| spec.event_source_name == source.name && cluster_of(spec) == facts.cluster)
        .flat_map(|spec| spec.matching_resources)
        .map(key);
    if let Some(key) = named.find(|key| target.calls(key)) {
        steps.yes("event", format!("EventSource {}: its EventReport names {key}", source.name));
        return Verdict::Yes;
    }
    let says = format!("EventSource {}: no EventReport names such an object", source.name);
    steps.unknown("event", says, "ask again with --nats-url");
    Verdict::Unknown
}

/// The triggers that follow, where they are known; without the management cluster the bus says that there is one.
fn followed(source: &Source, verdict: Verdict, listening: Option<&Listening>, steps: &mut Steps) {
    let follows = listening.is_none_or(|listening| listening.follow(&source.name, steps));
    steps.holds |= follows && verdict == Verdict::Yes;
    steps.open |= follows && verdict == Verdict::Unknown;
}

// === impl Source ===

impl Source {
    /// The kinds that it looks at; nothing where it cannot be read.
    fn kinds(&self) -> Option<Vec<Gvk>> {
        let source = EventSource::read(&self.manifest).ok()?;
        let of_clouds = (!source.criteria.is_empty()).then(cloud_events);
        Some(source.selectors.into_iter().map(|selector| selector.gvk).chain(of_clouds).collect())
    }

    /// Whether it makes agents tell of all objects of a kind, wherever they are and whatever is on them.
    fn tells_of_all(&self, is_of_kind: impl Fn(&Gvk) -> bool) -> bool {
        EventSource::read(&self.manifest).is_ok_and(|source| {
            source.selectors.iter().any(|selector| {
                is_of_kind(&selector.gvk)
                    && selector.namespace.is_empty()
                    && selector.name.is_empty()
                    && selector.labels.is_empty()
            })
        })
    }
}

/// The kind of CloudEvents.
fn cloud_events() -> Gvk {
    let of = String::new;
    EventKey { source: of(), subject: of(), kind: of(), channel: of() }.object_key().gvk
}

#[cfg(test)]
mod tests;
