//! Profiles of one cluster that wait for each other.

// D-1052: a profile waits for those that it depends on, and they go after it.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::model::Dependencies;
use sluice_api::{ProfileId, ServiceAccount};

use super::Cluster;
use crate::job::Job;

/// What a profile may know of the others on its cluster.
pub(crate) struct Others<'a> {
    pub(super) dependencies: &'a Dependencies,
    /// All but itself.
    pub(super) jobs: &'a BTreeMap<ProfileId, Box<Job>>,
}

/// A profile that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmet {
    pub(crate) profile: ProfileId,
    /// Whether anybody has said that it is for this cluster.
    is_known: bool,
}

// === impl Unmet ===

impl Unmet {
    /// As the original says it.
    pub(crate) fn text(&self) -> String {
        self.text_of("dependency")
    }

    /// The same of one that takes over.
    pub(crate) fn text_of_successor(&self) -> String {
        self.text_of("successor")
    }

    fn text_of(&self, what: &str) -> String {
        let not_found = match self.is_known {
            true => "",
            false => ". The ClusterSummary instance for this profile/cluster was not found",
        };
        let (kind, name) = (self.profile.kind(), self.profile.object_name());
        format!("{kind} {name} is a {what} and it is not fully deployed yet{not_found}")
    }
}

// === impl Others ===

impl Others<'_> {
    /// Which of these are not there as they should be.
    pub(crate) fn unmet(&self, needs: &BTreeSet<ProfileId>) -> Vec<Unmet> {
        let unmet = |other: &&ProfileId| !self.jobs.get(*other).is_some_and(|job| job.is_provisioned());
        let told =
            |other: &ProfileId| Unmet { profile: other.clone(), is_known: self.jobs.contains_key(other) };
        needs.iter().filter(unmet).map(told).collect()
    }

    /// Which of those that take over from a profile of this tenant are not there as they should be. Nobody waits for another tenant.
    pub(crate) fn missing(
        &self,
        successors: &BTreeSet<ProfileId>,
        tenant: Option<&ServiceAccount>,
    ) -> Vec<Unmet> {
        let is_anothers = |one: &Unmet| {
            let of = self.jobs.get(&one.profile).and_then(|job| job.tenant());
            of.is_some() && of != tenant
        };
        let mut missing = self.unmet(successors);
        missing.retain(|one| !is_anothers(one));
        missing
    }

    /// The way from a profile with these needs back to itself; both ends are in it.
    pub(crate) fn circle(&self, profile: &ProfileId, needs: &BTreeSet<ProfileId>) -> Option<Vec<ProfileId>> {
        let back = |other: &ProfileId| match other == profile {
            true => Some(vec![profile.clone()]),
            false => self.dependencies.way(other, profile),
        };
        let way = needs.iter().find_map(back)?;
        Some([vec![profile.clone()], way].concat())
    }

    /// Who has something in the cluster that needs a profile of this tenant. Of a circle somebody must be the first to go, and what a
    /// tenant needs of others is no reason for them to stay.
    pub(crate) fn holding(&self, profile: &ProfileId, tenant: Option<&ServiceAccount>) -> Vec<ProfileId> {
        let holds = |other: &&ProfileId| {
            self.jobs.get(*other).is_some_and(|job| {
                job.inventory().is_some() && (job.tenant().is_none() || job.tenant() == tenant)
            }) && self.dependencies.way(profile, other).is_none()
        };
        self.dependencies.dependents(profile).filter(holds).cloned().collect()
    }
}

impl Cluster {
    /// What a profile needs, from whom it takes over and after whom it goes may be something else now: who waits because of what it
    /// needs looks again.
    pub(super) fn note_needs(&mut self, profile: &ProfileId) {
        let nothing = BTreeSet::new();
        let job = self.jobs.get(profile);
        let succeeds = job.and_then(|job| job.succeeds()).unwrap_or(&nothing);
        self.claims.succeed(profile, succeeds);
        let after = job.and_then(|job| job.successors()).unwrap_or(&nothing);
        self.departures.set(profile, after);
        let needs = job.and_then(|job| job.needs()).unwrap_or(&nothing);
        let Some(dropped) = self.dependencies.set(profile, needs) else { return };
        let dependents = self.dependencies.dependents(profile).cloned();
        let concerned = dropped.into_iter().chain(dependents).collect();
        self.ask_waiting(concerned);
    }

    /// A profile is as it should be, or gone: who waits for that looks again.
    pub(super) fn settled(&mut self, profile: &ProfileId, is_removed: bool) {
        for predecessor in self.claims.predecessors(profile) {
            if self.jobs.get(&predecessor).is_some_and(|job| job.waits_to_hand_over()) {
                self.claims.ask(&predecessor);
            }
        }
        if self.dependencies.is_empty() && self.departures.is_empty() {
            return;
        }
        let waiting = self.dependencies.dependents(profile).chain(self.departures.dependents(profile));
        let mut concerned: Vec<_> = waiting.cloned().collect();
        if is_removed {
            concerned.extend(self.dependencies.of(profile).cloned());
            self.dependencies.set(profile, &BTreeSet::new());
            self.departures.set(profile, &BTreeSet::new());
        }
        self.ask_waiting(concerned);
    }

    fn ask_waiting(&mut self, profiles: Vec<ProfileId>) {
        for profile in profiles {
            if self.jobs.get(&profile).is_some_and(|job| job.awaits()) {
                self.claims.ask(&profile);
            }
        }
    }
}
