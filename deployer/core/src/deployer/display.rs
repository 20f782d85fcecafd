//! What people see: the ClusterSummary of each profile on a cluster, and the ClusterConfiguration of each cluster. The owner of
//! a cluster is the only writer of both, and has all that they say at hand.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, Digest, ProfileId};
use sluice_protocol::rows::{Desired, State};
use sluice_protocol::{Step, WantedSet};

use super::Deployer;
use super::shown::Display;
use crate::configuration::{Configuration, Owned};
use crate::job::Job;
use crate::messages::Effect;
use crate::releases;
use crate::summary::Summary;

/// How long what changes on a cluster is collected, microseconds.
const QUIET: i64 = 1_000_000;
// D-1041: the deployer of a cluster writes what people see of it.
/// A ClusterConfiguration is written at most this often, microseconds: it is everything on the cluster.
const PERIOD: i64 = 5_000_000;

/// When each cluster's configuration is looked at. Times are of the clock that nobody sets.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    due: BTreeMap<ClusterRef, i64>,
    order: BTreeSet<(i64, ClusterRef)>,
    /// When each may be written again.
    free_at: BTreeMap<ClusterRef, i64>,
}

impl Agenda {
    fn look_at(&mut self, cluster: &ClusterRef, now: i64) {
        if !self.due.contains_key(cluster) {
            let free_at = self.free_at.get(cluster).copied().unwrap_or(i64::MIN);
            let at = (now + QUIET).max(free_at);
            self.due.insert(cluster.clone(), at);
            self.order.insert((at, cluster.clone()));
        }
    }

    /// When there is something to look at.
    pub(super) fn next(&self) -> Option<i64> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Nothing is said of a cluster any more.
    pub(super) fn forget(&mut self, cluster: &ClusterRef) {
        if let Some(at) = self.due.remove(cluster) {
            self.order.remove(&(at, cluster.clone()));
        }
        self.free_at.remove(cluster);
    }

    fn take(&mut self, now: i64) -> Option<ClusterRef> {
        if self.next()? > now {
            return None;
        }
        let (_, cluster) = self.order.pop_first()?;
        self.due.remove(&cluster);
        self.free_at.insert(cluster.clone(), now + PERIOD);
        Some(cluster)
    }
}

impl Deployer {
    /// What came of a profile's present row. A RoleRequest says that itself.
    pub(super) fn show(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        desired: &Desired,
        state: State,
        mut errors: Vec<String>,
        step: &mut Step<Effect>,
    ) {
        if profile.is_role_request() {
            return;
        }
        let job = self.clusters.get(cluster).and_then(|known| known.jobs.get(profile));
        let mut by_object =
            job.filter(|_| !errors.is_empty()).map(|job| job.errors_by_object()).unwrap_or_default();
        let helm = releases::summary(desired, &mut by_object);
        if let Some(helm) = &helm {
            errors.retain(|error| !helm.errors.contains(error));
        }
        let kinds = job.and_then(|job| job.inventory()).into_iter().flat_map(|held| &held.objects);
        let summary = Summary {
            cluster: cluster.clone(),
            profile: profile.clone(),
            spec: desired.spec.clone(),
            state: Some(state),
            is_leaving: job.is_some_and(|job| job.former().is_some()),
            errors,
            helm,
            lacks: if state == State::Failed { desired.lacks.clone() } else { BTreeMap::new() },
            has_resources: releases::has_resources(desired),
            digest: job.and_then(|job| job.target.digest()),
            applied_at: job.map_or(0, |job| job.shown_time()),
            failures: job.map_or(0, |job| job.failures()),
            given_up: job.is_some_and(|job| job.has_given_up()),
            dependencies: job.map(|job| job.told_dependencies()).unwrap_or_default(),
            kinds: kinds.map(|key| key.gvk.clone()).collect(),
        };
        self.display(Display::Summary(summary), step);
    }

    /// What is on the cluster may have changed.
    pub(super) fn configure(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.agenda.look_at(cluster, step.steady);
        self.agenda.next().into_iter().for_each(|at| step.wake_at_steady(at));
    }

    /// Says what is on the clusters on which something may have changed. Of one whose inventories are not known nothing can be
    /// said; it is looked at when they are.
    pub(super) fn tell_configurations(&mut self, step: &mut Step<Effect>) {
        while let Some(cluster) = self.agenda.take(step.steady) {
            let Some(known) = self.clusters.get(&cluster).filter(|known| known.is_open()) else { continue };
            let owned = |(profile, job): (&ProfileId, &Job)| {
                let inventory = job.owned()?;
                let missing = if job.has_errors() { known.missing(&inventory) } else { BTreeSet::new() };
                Some(Owned { profile: profile.clone(), applied_at: job.shown_time(), inventory, missing })
            };
            let all = known.jobs.iter().map(|(profile, job)| (profile, &**job));
            let addons = all.filter(|(profile, _)| !profile.is_role_request());
            let of_rows = of_rows(addons.clone());
            let profiles = addons.filter_map(owned).collect();
            self.display(Display::Configuration(Configuration { cluster, profiles, of_rows }), step);
        }
        self.agenda.next().into_iter().for_each(|at| step.wake_at_steady(at));
    }
}

/// What was wanted, when all of it has been worked off.
fn of_rows<'a>(jobs: impl Iterator<Item = (&'a ProfileId, &'a Job)>) -> Option<Digest> {
    let mut wanted = WantedSet::default();
    for (profile, job) in jobs {
        job.rows()?.for_each(|(origin, row)| wanted.add(profile, origin, row));
    }
    Some(wanted.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_looked_at_soon_and_then_every_five_seconds() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut agenda = Agenda::default();
        agenda.look_at(&cluster, 0);
        agenda.look_at(&cluster, QUIET / 2);
        assert_eq!((agenda.next(), agenda.take(QUIET - 1)), (Some(QUIET), None));
        assert_eq!((agenda.take(QUIET), agenda.next()), (Some(cluster.clone()), None));
        agenda.look_at(&cluster, QUIET + 1);
        assert_eq!(agenda.next(), Some(QUIET + PERIOD));
        assert_eq!(agenda.take(QUIET + PERIOD), Some(cluster));
    }
}
