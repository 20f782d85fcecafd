//! What only registered clusters say of themselves: the version of their server, and when their window opens and closes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Fleet;
use sluice_api::{ClusterRef, ObjectKey};

use crate::condition::timestamp;

/// See the module. Times are microseconds since 1970.
#[derive(Default)]
pub(crate) struct Clusters {
    /// Versions of those whose agents have spoken.
    versions: BTreeMap<ObjectKey, String>,
    /// When a window opens or closes.
    windows: BTreeSet<(i64, Arc<ObjectKey>)>,
}

// === impl Clusters ===

impl Clusters {
    /// The version of a cluster's server, if its agent has spoken.
    pub(crate) fn version(&self, key: &ObjectKey) -> Option<&str> {
        self.versions.get(key).map(String::as_str)
    }

    /// An agent says this, or has left. Whether that is to be said.
    pub(crate) fn set_version(&mut self, key: &ObjectKey, version: Option<&str>) -> bool {
        match version {
            Some(version) if self.version(key) != Some(version) => {
                self.versions.insert(key.clone(), version.to_owned());
                true
            }
            Some(_) => false,
            None => {
                self.versions.remove(key);
                false
            }
        }
    }

    /// Says in a cluster's status when it is left alone and when no more, and remembers when that is to be said anew.
    pub(crate) fn say_when(&mut self, fleet: &Fleet, key: &Arc<ObjectKey>, status: &mut Value, now: i64) {
        if key.gvk.kind != "SveltosCluster" {
            return;
        }
        let registered = fleet.clusters().get(&ClusterRef::sveltos(&key.namespace, &key.name));
        let (closes, opens) = registered.map(|cluster| cluster.pause.window(now)).unwrap_or_default();
        for (field, at) in [("nextPause", closes), ("nextUnpause", opens)] {
            if let Some(at) = at {
                status[field] = timestamp(at).into();
                self.windows.insert((at, key.clone()));
            }
        }
    }

    /// When a window opens or closes next.
    pub(crate) fn next(&self) -> Option<i64> {
        self.windows.first().map(|(at, _)| *at)
    }

    /// Clusters whose windows have opened or closed since this was asked last.
    pub(crate) fn take_turned(&mut self, now: i64) -> Vec<Arc<ObjectKey>> {
        let mut turned = Vec::new();
        while self.next().is_some_and(|at| at <= now)
            && let Some((_, key)) = self.windows.pop_first()
        {
            turned.push(key);
        }
        turned
    }
}
