//! Everything that happened to objects of some kinds, in the order in which watches told it: for a kind in a cluster, that in which it
//! happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::{Gvk, ObjectKey, object};
use sluice_kube::{WatchEvent, watch};
use tokio::task::JoinSet;

use crate::cluster_client::ClusterClient;
use crate::fleet::Fleet;

/// How long watches may be behind the clusters.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// Watches of some kinds in some clusters. They end when this is dropped.
pub struct Journal {
    record: Arc<Mutex<Record>>,
    clients: BTreeMap<String, ClusterClient>,
    kinds: Vec<Gvk>,
    _watches: JoinSet<()>,
}

/// An object appeared, changed or went.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where.
    pub cluster: String,
    /// The number of this change in its cluster.
    pub version: u64,
    /// The object as it is since then, or as it was last.
    pub object: Value,
    /// Whether it went.
    pub gone: bool,
}

#[derive(Debug, Default)]
struct Record {
    entries: Vec<Entry>,
    /// The version of everything that is there, by cluster.
    there: BTreeMap<(String, ObjectKey), u64>,
    /// Watches that have begun, by cluster and kind.
    listed: BTreeMap<(String, Gvk), u64>,
    /// Why something may be missing.
    gaps: Vec<String>,
}

// === impl Journal ===

impl Journal {
    /// Begins to watch, and waits until everything that is there is known.
    ///
    /// # Errors
    /// The cluster that does not answer.
    pub async fn start(fleet: &Fleet, clusters: &[&str], kinds: &[Gvk]) -> anyhow::Result<Self> {
        let (record, mut watches) = (Arc::new(Mutex::new(Record::default())), JoinSet::new());
        let mut clients = BTreeMap::new();
        for &cluster in clusters {
            let client = fleet.at(cluster)?.clone();
            for gvk in kinds {
                let (cluster, gvk, record) = (cluster.to_owned(), gvk.clone(), record.clone());
                let (watched, kind) = (client.client(), gvk.clone());
                let tell = move |event: WatchEvent| {
                    record.lock().unwrap_or_else(PoisonError::into_inner).take(&cluster, &kind, event);
                    true
                };
                #[expect(clippy::disallowed_methods, reason = "a watch that has ended is behind for ever")]
                watches.spawn(watch(watched, gvk, String::new(), watcher::Config::default(), tell));
            }
            clients.insert(cluster.to_owned(), client);
        }
        let journal = Self { record, clients, kinds: kinds.to_vec(), _watches: watches };
        journal.entries().await?;
        Ok(journal)
    }

    /// What happened so far; what happens later comes after it. Clusters whose objects change all the time have no end of it.
    ///
    /// # Errors
    /// When something may be missing.
    pub async fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let there = self.there().await?;
            {
                let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(gap) = record.gaps.first() {
                    bail!("the journal is not complete: {gap}");
                }
                if record.listed.len() == self.clients.len() * self.kinds.len() && record.there == there {
                    return Ok(record.entries.clone());
                }
            }
            if Instant::now() > deadline {
                bail!("the journal is still behind after {PATIENCE:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The versions of what the clusters say is there.
    async fn there(&self) -> anyhow::Result<BTreeMap<(String, ObjectKey), u64>> {
        let mut there = BTreeMap::new();
        for (cluster, client) in &self.clients {
            for gvk in &self.kinds {
                for object in client.list(gvk).await? {
                    let key = ObjectKey::of(&object).context("an object without kind or name")?;
                    there.insert((cluster.clone(), key), object::resource_version(&object));
                }
            }
        }
        Ok(there)
    }
}

// === impl Record ===

impl Record {
    fn take(&mut self, cluster: &str, gvk: &Gvk, event: WatchEvent) {
        match event {
            WatchEvent::Listed(objects) => {
                let lists = self.listed.entry((cluster.to_owned(), gvk.clone())).or_default();
                *lists += 1;
                if *lists > 1 {
                    self.gaps.push(format!("the watch of {gvk} in {cluster} began anew"));
                }
                objects.into_iter().for_each(|object| self.note(cluster, object, false));
            }
            WatchEvent::Applied(object) => self.note(cluster, object, false),
            WatchEvent::Deleted(object) => self.note(cluster, object, true),
            WatchEvent::Trouble(error) => self.gaps.push(format!("{cluster}, {gvk}: {error}")),
            WatchEvent::Version(_) | WatchEvent::Well => {}
        }
    }

    fn note(&mut self, cluster: &str, object: Value, gone: bool) {
        let Some(key) = ObjectKey::of(&object) else {
            return self.gaps.push(format!("{cluster}: an object without kind or name"));
        };
        let (place, version) = ((cluster.to_owned(), key), object::resource_version(&object));
        if gone {
            self.there.remove(&place);
        } else {
            self.there.insert(place, version);
        }
        self.entries.push(Entry { cluster: cluster.to_owned(), version, object, gone });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(version: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default", "resourceVersion": version}})
    }

    #[test]
    fn what_happened_is_kept_and_what_is_there_is_known() {
        let (mut record, kind) = (Record::default(), Gvk::new("", "v1", "ConfigMap"));
        record.take("c", &kind, WatchEvent::Listed(vec![map("1")]));
        record.take("c", &kind, WatchEvent::Applied(map("2")));
        assert_eq!(record.there.values().collect::<Vec<_>>(), [&2]);
        record.take("c", &kind, WatchEvent::Deleted(map("3")));
        assert_eq!((record.there.len(), record.entries.len(), record.gaps.len()), (0, 3, 0));
    }

    #[test]
    fn a_watch_that_began_anew_may_have_missed_something() {
        let (mut record, kind) = (Record::default(), Gvk::new("", "v1", "ConfigMap"));
        record.take("c", &kind, WatchEvent::Listed(Vec::new()));
        record.take("other", &kind, WatchEvent::Listed(Vec::new()));
        assert!(record.gaps.is_empty());
        record.take("c", &kind, WatchEvent::Listed(Vec::new()));
        assert_eq!(record.gaps.len(), 1);
    }
}
