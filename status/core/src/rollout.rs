//! What became of a trigger or a profile, cluster by cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::model::{Cluster, Fleet, Profile, Trigger};
use sluice_api::{ClusterRef, FieldError, ProfileId};
use sluice_protocol::ProblemRow;
use sluice_protocol::rows::State;

use crate::condition;
use crate::dependencies::KnownDependencies;
use crate::object::{KnownObject, StatusRow};

// D-0606: a status lists at most 500 clusters.
/// A status lists no more clusters than this: the worst are kept.
pub(crate) const CLUSTERS: usize = 500;

/// How far a trigger or a profile is, on all its clusters.
#[derive(Default)]
pub(crate) struct Rollout {
    pub(crate) shape: Shape,
    /// The clusters that it is for.
    pub(crate) matching: BTreeSet<ClusterRef>,
    /// Clusters that a trigger's destination selector selects.
    pub(crate) destinations: Vec<ClusterRef>,
    /// These clusters, and those where something of it still is.
    pub(crate) at: BTreeMap<ClusterRef, OnCluster>,
    /// Whether something of a profile is for the management cluster.
    pub(crate) is_partly_local: bool,
    /// Whether nothing is applied because it says so.
    pub(crate) dry_run: bool,
    /// Whether what is there stays as it is because it says so.
    pub(crate) suspended: bool,
}

/// What its status looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    #[default]
    Trigger,
    Profile,
    /// It says what triggers say, of the clusters that it is deployed to.
    RoleRequest,
}

/// What it is on one cluster.
#[derive(Default)]
pub(crate) struct OnCluster {
    pub(crate) phase: Phase,
    pub(crate) errors: BTreeSet<String>,
}

/// How far it is on one cluster. The worst comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Failed,
    Removing,
    Provisioning,
    #[default]
    Provisioned,
}

// === impl Rollout ===

impl Rollout {
    /// By the clusters whose events count: what is made of them may be anywhere.
    pub(crate) fn of_trigger(
        trigger: Option<&Arc<Result<Trigger, FieldError>>>,
        known: &KnownObject,
        fleet: &Fleet,
    ) -> Self {
        let trigger = trigger.and_then(|trigger| trigger.as_ref().as_ref().ok());
        let sources: BTreeSet<&ClusterRef> = known.rows.values().filter_map(|row| row.source()).collect();
        // Where nobody can tell, it is for the clusters where something of it is.
        let unsure = trigger.is_none_or(|trigger| trigger.unsure(fleet).is_some());
        let matches = |cluster: &Cluster| {
            trigger.is_some_and(|trigger| trigger.is_for(cluster, fleet))
                || unsure && sources.contains(&cluster.id)
        };
        let mut rollout = Self {
            shape: Shape::Trigger,
            matching: matching(fleet, matches),
            dry_run: trigger.is_some_and(|trigger| trigger.common.dry_run),
            suspended: trigger.is_some_and(|trigger| trigger.pace.suspended),
            ..Self::default()
        };
        if let Some(selector) = trigger.and_then(|trigger| trigger.destination_selector.as_ref()) {
            let chosen = fleet.clusters().values().filter(|cluster| selector.matches(cluster.labels()));
            rollout.destinations = chosen.map(|cluster| cluster.id.clone()).collect();
        }
        for cluster in &rollout.matching {
            rollout.at.insert(cluster.clone(), OnCluster::default());
        }
        for (key, row) in &known.rows {
            let (destination, ..) = &**key;
            let Some(source) = row.source() else { continue };
            let place = if source == destination { String::new() } else { format!("on {destination}: ") };
            rollout.take(source, row, &place);
        }
        let rolled_out = known.rollouts.values().filter_map(|row| row.cluster.parse::<ClusterRef>().ok());
        rolled_out.for_each(|source| rollout.wait(&source));
        rollout.take_problems(known.problems.values());
        rollout
    }

    /// By the clusters that it is deployed to.
    pub(crate) fn of_profile(
        id: &ProfileId,
        profile: Option<&Arc<Result<Profile, FieldError>>>,
        known: &KnownObject,
        (fleet, dependencies): (&Fleet, &KnownDependencies),
    ) -> Self {
        let profile = profile.and_then(|profile| profile.as_ref().as_ref().ok());
        // Those that events have led to are of a profile of the same name, which is not this one.
        let rows = || known.rows.iter().filter(|(_, row)| row.source().is_none());
        let places: BTreeSet<&ClusterRef> = rows().map(|(key, _)| &key.0).collect();
        let unsure = profile.is_none_or(|profile| dependencies.is_unsure(profile, fleet));
        let matches = |cluster: &Cluster| {
            profile.is_some_and(|profile| dependencies.is_for(profile, cluster, fleet))
                || unsure && places.contains(&cluster.id)
        };
        let mut rollout = Self {
            shape: if id.is_role_request() { Shape::RoleRequest } else { Shape::Profile },
            matching: matching(fleet, matches),
            dry_run: profile.is_some_and(|profile| profile.common.dry_run),
            suspended: profile.is_some_and(|profile| profile.paused),
            is_partly_local: profile.is_some_and(|profile| profile.common.is_partly_local()),
            ..Self::default()
        };
        let management =
            (rollout.is_partly_local && !rollout.matching.is_empty()).then(ClusterRef::management);
        let wanted = rollout.matching.iter().chain(&management);
        let wanted: Vec<_> = wanted.filter(|cluster| !places.contains(cluster)).cloned().collect();
        wanted.iter().for_each(|cluster| rollout.wait(cluster));
        for (key, row) in rows() {
            let (cluster, ..) = &**key;
            let is_former =
                rollout.shape == Shape::Profile && row.hash.as_ref().is_some_and(|of| *of != known.hash);
            if is_former && rollout.is_for(cluster) {
                rollout.wait(cluster);
            } else {
                rollout.take(cluster, row, "");
            }
        }
        rollout.take_problems(known.problems.values());
        rollout
    }

    /// Of a profile that was made of an event: it is where something of it is.
    pub(crate) fn of_made(known: &KnownObject) -> Self {
        let made = known.rows.iter().filter(|(_, row)| row.source().is_some());
        let places = made.clone().map(|(key, _)| key.0.clone());
        let mut rollout = Self {
            shape: Shape::Profile,
            matching: places.clone().filter(|cluster| !cluster.is_management()).collect(),
            is_partly_local: places.into_iter().any(|cluster| cluster.is_management()),
            dry_run: made.clone().all(|(_, row)| row.state == State::DryRun),
            ..Self::default()
        };
        for (key, row) in made {
            rollout.take(&key.0, row, "");
        }
        rollout
    }

    fn take(&mut self, cluster: &ClusterRef, row: &StatusRow, place: &str) {
        let phase = match row.state {
            State::Failed => Phase::Failed,
            _ if !self.is_for(cluster) => Phase::Removing,
            State::Provisioned => Phase::Provisioned,
            State::Held | State::Provisioning | State::DryRun => Phase::Provisioning,
        };
        let at = self.at.entry(cluster.clone()).or_default();
        at.phase = at.phase.min(phase);
        at.errors.extend(row.errors.iter().map(|error| format!("{place}{error}")));
    }

    /// Nobody has said what came of what is wanted there.
    fn wait(&mut self, cluster: &ClusterRef) {
        let at = self.at.entry(cluster.clone()).or_default();
        at.phase = at.phase.min(Phase::Provisioning);
    }

    fn is_for(&self, cluster: &ClusterRef) -> bool {
        self.matching.contains(cluster) || (self.is_partly_local && cluster.is_management())
    }

    fn take_problems<'p>(&mut self, problems: impl Iterator<Item = &'p ProblemRow>) {
        for problem in problems {
            if let Ok(cluster) = problem.cluster.parse::<ClusterRef>() {
                let at = self.at.entry(cluster).or_default();
                at.phase = Phase::Failed;
                at.errors.extend(condition::line(problem).lines().map(str::to_owned));
            }
        }
    }
}

fn matching(fleet: &Fleet, matches: impl Fn(&Cluster) -> bool) -> BTreeSet<ClusterRef> {
    let clusters = fleet.clusters().values().filter(|cluster| matches(cluster));
    clusters.map(|cluster| cluster.id.clone()).collect()
}
