//! What is mended when the faults have ended.

use crate::management::{Addon, CLUSTERS, Management};
use crate::manifests::{Registration, SourceForm};

impl Management {
    /// Deregisters a cluster, which does not come again. It may be after everything was mended: no set is to name it.
    pub(crate) fn depart(&mut self, cluster: usize, now: i64) {
        (self.now, self.departed) = (now, Some(cluster));
        self.unregister(cluster);
        self.mend_sets();
    }

    pub(super) fn unregister(&mut self, cluster: usize) {
        self.registered[cluster] = None;
        self.pauses.forget_cluster(cluster);
        self.delete("SveltosCluster", CLUSTERS[cluster]);
    }

    /// Registers a cluster that is not registered.
    pub(crate) fn register_late(&mut self, now: i64) -> bool {
        self.now = now;
        let missing =
            |cluster: &usize| self.registered[*cluster].is_none() && self.departed != Some(*cluster);
        let Some(cluster) = (0..CLUSTERS.len()).find(missing) else { return false };
        self.register(cluster, Registration::default());
        true
    }

    /// What is named is there.
    fn mend_references(&mut self) {
        self.mend_sets();
        if self.source.is_none() {
            self.put_source(SourceForm::Equal);
        }
    }

    /// What is broken is mended in the end: a missing ConfigMap, EventSource or set keeps what is there, which nobody could predict, and
    /// an unregistered cluster cannot be cleaned up. Of two makers of a profile one is left: which of them was first is
    /// history.
    pub(crate) fn mend(&mut self, now: i64) {
        while self.register_late(now) {}
        self.end_pauses();
        if self.rival && self.profile {
            if self.version.is_multiple_of(2) {
                self.flip_rival()
            } else {
                self.flip_profile()
            };
        }
        // What was deployed once is as old as that.
        if self.once_since.is_some() {
            self.put_profile(self.form, false);
        }
        for addon in Addon::ALL {
            if !self.has_content(addon) {
                self.put_content(addon);
            }
        }
        self.mend_sources();
        self.mend_references();
        for cluster in 0..CLUSTERS.len() {
            if !self.patched[cluster] {
                self.put_patch(cluster);
            }
        }
    }
}
