//! What is paused: clusters, where nothing may be written, and the profile that a user wrote, of which nothing may change.

use crate::coverage::Fault;
use crate::management::{CLUSTERS, Management};

/// What is paused now.
#[derive(Default)]
pub(super) struct Pauses {
    /// Since when.
    clusters: [Option<i64>; CLUSTERS.len()],
    /// The last edit of contents before.
    profile: Option<u64>,
}

impl Pauses {
    pub(super) fn has_profile(&self) -> bool {
        self.profile.is_some()
    }

    pub(super) fn has_cluster(&self, cluster: usize) -> bool {
        self.clusters[cluster].is_some()
    }

    /// The profile is deleted.
    pub(super) fn forget_profile(&mut self) {
        self.profile = None;
    }

    /// A cluster is unregistered.
    pub(super) fn forget_cluster(&mut self, cluster: usize) {
        self.clusters[cluster] = None;
    }
}

impl Management {
    /// A cluster is paused, or goes on; where it is not registered the profile is.
    pub(super) fn flip_cluster_pause(&mut self, cluster: usize) -> Fault {
        let Some(registration) = self.registered[cluster] else { return self.flip_profile_pause() };
        let paused = &mut self.pauses.clusters[cluster];
        *paused = if paused.is_some() { None } else { Some(self.now) };
        self.register(cluster, registration);
        Fault::ClusterPaused
    }

    /// The profile is paused, or goes on; where there is none it is made.
    pub(super) fn flip_profile_pause(&mut self) -> Fault {
        if !self.profile {
            return self.flip_profile();
        }
        self.pauses.profile = if self.pauses.has_profile() { None } else { Some(self.edits) };
        self.put_profile(self.form, self.once_since.is_some());
        Fault::ProfilePaused
    }

    /// Everything goes on.
    pub(super) fn end_pauses(&mut self) {
        for cluster in 0..CLUSTERS.len() {
            if self.pauses.has_cluster(cluster) {
                self.flip_cluster_pause(cluster);
            }
        }
        if self.pauses.has_profile() {
            self.flip_profile_pause();
        }
    }

    /// Since when a cluster is paused.
    pub(crate) fn paused_since(&self, cluster: &str) -> Option<i64> {
        let index = CLUSTERS.iter().position(|name| *name == cluster)?;
        self.pauses.clusters[index]
    }

    /// The last edit of contents that the profile may have, while it is paused.
    pub(crate) fn last_edit_of_profile(&self) -> Option<u64> {
        self.pauses.profile
    }
}
