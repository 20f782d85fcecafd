//! Kinds come and go in a cluster, and their objects with them.

use sluice_api::{Gvk, ObjectKey, kinds};
use sluice_protocol::CallId;

use super::{Cluster, Outcome};
use crate::inventory::Inventory;
use crate::prepare::DEFINITION;

impl Cluster {
    /// With a kind go all objects of it: who had some looks again, says what is missing, and tries until it is back.
    pub(super) fn lose_kind(&mut self, gvk: &Gvk) {
        if self.live.retain(|key| key.gvk != *gvk) {
            self.ask_holders(|key| key.gvk == *gvk);
        }
    }

    /// Kinds of this group came or went: who has objects of them looks again.
    pub(crate) fn kinds_changed(&mut self, group: &str, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        self.live.retain(|key| key.gvk.group != group);
        self.ask_holders(|key| key.gvk.group == group);
        self.jobs
            .iter()
            .filter(|(_, job)| job.waits_for_kinds())
            .for_each(|(profile, _)| self.claims.ask(profile));
        self.send(now, next_id, &mut outcome);
        outcome
    }

    fn ask_holders(&mut self, of: impl Fn(&ObjectKey) -> bool) {
        for (profile, job) in &self.jobs {
            let mut objects = job.inventory().into_iter().flat_map(|inventory| &inventory.objects);
            if objects.any(|key| of(key)) {
                self.claims.ask(profile);
            }
        }
    }

    pub(super) fn note_kinds(&mut self, inventory: &Inventory, outcome: &mut Outcome) {
        let custom =
            |key: &ObjectKey| key.gvk.kind == DEFINITION || !kinds::is_built_in_group(&key.gvk.group);
        if !self.custom_kinds && inventory.objects.iter().any(|key| custom(key)) {
            (self.custom_kinds, outcome.custom_kinds) = (true, true);
        }
    }
}
