//! Which profile an object of the cluster belongs to.

use sluice_protocol::rows::Desired;

use super::replies::Fault;
use super::{Job, Site};
use crate::conflict::conflict;
use crate::prepare::Prepared;

impl Job {
    /// An object belongs to one profile: the one with the lower tier, else the one that came first.
    pub(super) fn claim(&mut self, desired: &Desired, one: Prepared, site: &mut Site<'_>) {
        match site.claims.get(&one.key) {
            Some((tier, other)) if *other != self.profile && *tier <= desired.tier => {
                let profile = format!("{} {other}", desired.owner_kind);
                let text = conflict(&one.key, &profile, "another row of this deployer");
                self.errors.insert(one.key.to_string(), Fault { text, transient: false });
            }
            _ => {
                site.claims.insert(one.key.clone(), (desired.tier, self.profile.clone()));
                self.claimed.insert(one.key.clone());
                self.objects.insert(one.key.clone(), one);
            }
        }
    }

    pub(super) fn unclaim(&mut self, site: &mut Site<'_>) {
        let objects = &self.objects;
        let left = self.claimed.extract_if(.., |key| !objects.contains_key(key));
        for key in left {
            if site.claims.get(&key).is_some_and(|(_, profile)| *profile == self.profile) {
                site.claims.remove(&key);
            }
        }
    }
}
