//! Tasks that run for a cluster until their end is said, or until it is reached in another way.

use std::collections::HashMap;
use std::hash::Hash;

use sluice_api::ClusterRef;
use tokio::task::{AbortHandle, JoinHandle};

/// Tasks by cluster and what they are about.
pub(crate) struct Running<K>(HashMap<ClusterRef, HashMap<K, AbortHandle>>);

impl<K> Default for Running<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Running<K> {
    /// One that has begun; a former one about the same ends.
    pub(crate) fn begin(&mut self, cluster: ClusterRef, about: K, task: &JoinHandle<()>) {
        let former = self.0.entry(cluster).or_default().insert(about, task.abort_handle());
        former.into_iter().for_each(|task| task.abort());
    }

    /// Ends one.
    pub(crate) fn end(&mut self, cluster: &ClusterRef, about: &K) {
        let Some(running) = self.0.get_mut(cluster) else { return };
        running.remove(about).into_iter().for_each(|task| task.abort());
        if running.is_empty() {
            self.0.remove(cluster);
        }
    }

    /// Ends all of a cluster.
    pub(crate) fn end_all(&mut self, cluster: &ClusterRef) {
        self.0.remove(cluster).into_iter().flatten().for_each(|(_, task)| task.abort());
    }
}
