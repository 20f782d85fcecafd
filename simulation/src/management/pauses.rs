//! What is paused: clusters, where nothing may be written, and the profile that a user wrote, of which nothing may change.

use crate::coverage::Fault;
use crate::management::{CLUSTERS, Management};

/// What is paused now.
#[derive(Default)]
pub(super) struct Pauses {
    /// Since when.
    clusters: [Option<i64>; CLUSTERS.len()],
    /// The pause that ends by itself: of which cluster, since when, and until when.
    timed: Option<(usize, i64, i64)>,
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

    /// When the pause of a cluster ends, or has ended, by itself.
    pub(super) fn end(&self, cluster: usize) -> Option<i64> {
        self.timed.filter(|(of, ..)| *of == cluster).map(|(.., until)| until)
    }

    /// A cluster is unregistered.
    pub(super) fn forget_cluster(&mut self, cluster: usize) {
        self.clusters[cluster] = None;
        self.timed.take_if(|(of, ..)| *of == cluster);
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

    /// A cluster is paused until a time; whether it is registered.
    pub(crate) fn pause_until(&mut self, cluster: usize, until: i64, now: i64) -> bool {
        self.now = now;
        let Some(registration) = self.registered[cluster] else { return false };
        self.pauses.timed = Some((cluster, now, until));
        self.register(cluster, registration);
        true
    }

    /// Whether a cluster is, or was, paused until this time, and nothing else has become of it.
    pub(crate) fn is_paused_until(&self, cluster: usize, until: i64) -> bool {
        self.pauses.end(cluster) == Some(until)
    }

    /// Since when a cluster is paused.
    pub(crate) fn paused_since(&self, cluster: &str, now: i64) -> Option<i64> {
        let index = CLUSTERS.iter().position(|name| *name == cluster)?;
        let timed = self.pauses.timed.filter(|(of, _, until)| *of == index && now < *until);
        self.pauses.clusters[index].into_iter().chain(timed.map(|(_, since, _)| since)).min()
    }

    /// The last edit of contents that the profile may have, while it is paused.
    pub(crate) fn last_edit_of_profile(&self) -> Option<u64> {
        self.pauses.profile
    }
}
