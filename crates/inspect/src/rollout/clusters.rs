//! How each cluster of an object stands: who has it, who is being updated, who waits and for what.

// D-0932: whose turn has not come is told by the renderer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::model::Cluster;
use sluice_api::{ClusterRef, Digest, object};
use sluice_protocol::rows::{Cause, Staged, State, Status, spec_digest};
use sluice_protocol::{About, ProblemRow};

use super::Place;
use super::facts::{At, Facts, Wanted};

/// What is looked up for every cluster.
struct Known<'f> {
    facts: &'f Facts,
    /// Digest of the spec that its user has written; empty where it is not known, and of triggers.
    spec: String,
    /// Registered clusters at which nothing can be done at present, and why.
    away: BTreeMap<&'f ClusterRef, String>,
}

/// All clusters for which something is wanted, where something is, or which the object selects.
pub(super) fn clusters(facts: &Facts) -> Vec<Place> {
    let Ok(on_bus) = &facts.on_bus else { return Vec::new() };
    let registered: Vec<Cluster> = registered(facts);
    let known = Known::new(facts, &registered);
    let mut places: Vec<Place> = on_bus.desired.iter().map(|(at, wanted)| known.wanted(at, wanted)).collect();
    let gone = on_bus.statuses.iter().filter(|((cluster, origin, profile), _)| {
        let is_own = Some(profile) == facts.own().as_ref();
        is_own && !on_bus.desired.contains_key(&(cluster.clone(), *origin, profile.clone()))
    });
    places.extend(gone.map(|((cluster, ..), status)| Place {
        cluster: cluster.path(),
        state: "removes it".to_owned(),
        says: status.errors.join("; "),
        ..Place::default()
    }));
    let named: BTreeSet<String> = places.iter().map(|place| place.cluster.clone()).collect();
    let without = matching(facts).filter(|cluster| !named.contains(cluster));
    places.extend(without.map(|cluster| known.without(cluster)));
    places.sort_by(|a, b| (&a.cluster, &a.profile).cmp(&(&b.cluster, &b.profile)));
    places
}

fn registered(facts: &Facts) -> Vec<Cluster> {
    let is_cluster = |object: &&std::sync::Arc<Value>| {
        ["SveltosCluster", "Cluster"].contains(&object::text(object, &["kind"]))
    };
    let objects = facts.management.iter().flatten().filter(is_cluster);
    objects.filter_map(Cluster::read).filter(Cluster::is_registered).collect()
}

/// The clusters that the status of a profile names, as `namespace/name`; a trigger names those that its events come from.
fn matching(facts: &Facts) -> impl Iterator<Item = String> {
    let manifest = facts.manifest().filter(|_| facts.own().is_some());
    let of = |field: &'static str| {
        let list =
            manifest.and_then(|object| object::at(object, &["status", field])).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|entry| {
            let [namespace, name] = ["namespace", "name"].map(|field| object::text(entry, &[field]));
            (!name.is_empty()).then(|| format!("{namespace}/{name}"))
        })
    };
    let found: BTreeSet<String> = of("matchingClusters").chain(of("matchingClusterRefs")).collect();
    found.into_iter()
}

/// How a cluster stands whose row goes back.
fn goes_back(status: Option<&Status>, row: &Digest, staged: &Staged) -> (&'static str, String) {
    let to = staged.content().unwrap_or_default();
    let why = staged.back.as_deref().unwrap_or_default();
    let says = format!("from {} to {to}: {why}", staged.called);
    match status.filter(|status| status.row == Some(*row)) {
        Some(status) if status.state == State::Failed => ("failed", status.errors.join("; ")),
        Some(status) if status.state == State::Provisioned => ("went back", says),
        _ => ("goes back", says),
    }
}

// === impl Known ===

impl<'f> Known<'f> {
    fn new(facts: &'f Facts, registered: &'f [Cluster]) -> Self {
        let away = |cluster: &'f Cluster| {
            let paused = cluster.pause.at(facts.now).map(|paused| paused.to_string());
            let says = paused.or_else(|| cluster.is_down().then(|| "down".to_owned()))?;
            Some((&cluster.id, says))
        };
        let spec = facts.own().and(facts.manifest()).map(|object| spec_digest(&object["spec"]));
        Self { facts, spec: spec.unwrap_or_default(), away: registered.iter().filter_map(away).collect() }
    }

    /// A cluster that should have something.
    fn wanted(&self, at: &At, wanted: &Wanted) -> Place {
        let (cluster, _, profile) = at;
        let status = self.facts.on_bus.iter().find_map(|on_bus| on_bus.statuses.get(at));
        let back = wanted.staged.as_ref().filter(|staged| staged.back.is_some());
        let (mut state, mut says) = match back {
            Some(staged) => goes_back(status, &wanted.row, staged),
            None => self.stands(status, &wanted.row),
        };
        if back.is_none() && self.waits_for_its_turn(cluster, &wanted.cause) {
            (state, says) = ("waits", "its turn has not come: it keeps what it has".to_owned());
        }
        if let Some(away) = self.away.get(cluster).filter(|_| !["has it", "went back"].contains(&state)) {
            (state, says) = ("waits", format!("the cluster is {away}"));
        }
        let is_own = self.facts.own().as_ref() == Some(profile);
        let profile = if is_own { String::new() } else { profile.to_string() };
        Place { cluster: cluster.path(), profile, state: state.to_owned(), says }
    }

    /// By what its deployer says.
    fn stands(&self, status: Option<&Status>, row: &Digest) -> (&'static str, String) {
        let Some(status) = status else {
            return ("is being updated", "no deployer has said anything of it".to_owned());
        };
        let is_former = !self.spec.is_empty() && !status.spec.is_empty() && status.spec != self.spec;
        let errors = status.errors.join("; ");
        match status.state {
            _ if status.row.is_some_and(|of| of != *row) => {
                ("is being updated", "what is said of it is about its former content".to_owned())
            }
            State::Failed => ("failed", errors),
            State::Provisioning if !errors.is_empty() => ("waits", errors),
            State::DryRun => ("waits", "it is a dry run: nothing is written".to_owned()),
            State::Provisioned if is_former => ("is being updated", "it has a former spec".to_owned()),
            State::Provisioned => ("has it", errors),
            State::Held | State::Provisioning => ("is being updated", errors),
        }
    }

    /// Whether its renderer says so.
    fn waits_for_its_turn(&self, cluster: &ClusterRef, cause: &Cause) -> bool {
        // What is said of one event is not said of others of its trigger.
        let is_of = |problem: &&ProblemRow| match (&problem.about, cause) {
            (Some(About::Event(event)), Cause::Event(of)) => event == of,
            _ => true,
        };
        let problems = self.facts.on_bus.iter().flat_map(|on_bus| &on_bus.problems);
        problems.filter(is_of).any(|problem| problem.waiting.contains(cluster))
    }

    /// A cluster that is selected and has nothing.
    fn without(&self, cluster: String) -> Place {
        let away = self.away.iter().find(|(id, _)| id.path() == cluster).map(|(_, says)| says);
        let turn = self.facts.on_bus.iter().flat_map(|on_bus| &on_bus.problems);
        let turn = turn.flat_map(|problem| &problem.waiting).any(|id| id.path() == cluster);
        let says = match away {
            Some(away) => format!("the cluster is {away}"),
            None if turn => "its turn has not come".to_owned(),
            None => "nothing of it is rendered: `sluice explain profile` says why".to_owned(),
        };
        Place { cluster, state: "waits".to_owned(), says, ..Place::default() }
    }
}
