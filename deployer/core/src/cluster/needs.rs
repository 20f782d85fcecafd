//! Profiles of one cluster that wait for each other.

use std::collections::BTreeSet;

use sluice_api::ProfileId;

use super::Cluster;
use crate::dependencies::{Needs, Unmet};

impl Cluster {
    /// What a profile needs may be something else now: who waits because of that looks again.
    pub(super) fn note_needs(&mut self, profile: &ProfileId) {
        let nothing = BTreeSet::new();
        let needs = self.jobs.get(profile).and_then(|job| job.needs()).unwrap_or(&nothing);
        let Some(dropped) = self.dependencies.set(profile, needs) else { return };
        let dependents = self.dependencies.dependents(profile).cloned();
        let concerned = dropped.into_iter().chain(dependents).chain([profile.clone()]).collect();
        self.ask_waiting(concerned);
    }

    /// A profile is as it should be, or gone: who waits for that looks again.
    pub(super) fn settled(&mut self, profile: &ProfileId, is_removed: bool) {
        if self.dependencies.is_empty() {
            return;
        }
        let mut concerned: Vec<_> = self.dependencies.dependents(profile).cloned().collect();
        if is_removed {
            concerned.extend(self.dependencies.of(profile).cloned());
            self.dependencies.set(profile, &BTreeSet::new());
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

    /// What a profile must look at before it begins.
    pub(super) fn needs(&self, profile: &ProfileId) -> Needs {
        if self.dependencies.is_empty() {
            return Needs::default();
        }
        let unmet = |other: &&ProfileId| !self.jobs.get(*other).is_some_and(|job| job.is_provisioned());
        let told =
            |other: &ProfileId| Unmet { profile: other.clone(), is_known: self.jobs.contains_key(other) };
        // Of a circle somebody must be the first to go.
        let holds = |other: &&ProfileId| {
            let has_something = self.jobs.get(*other).is_some_and(|job| job.inventory().is_some());
            has_something && self.dependencies.way(profile, other).is_none()
        };
        Needs {
            of: self.dependencies.of(profile).cloned().collect(),
            unmet: self.dependencies.of(profile).filter(unmet).map(told).collect(),
            circle: self.dependencies.way(profile, profile),
            dependents: self.dependencies.dependents(profile).filter(holds).cloned().collect(),
        }
    }
}
