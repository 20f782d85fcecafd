//! The watches of one cluster, and what they say.

use std::collections::HashMap;

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_agent_core::{Agent, Effect, Seen, Side, WatchSpec};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_bus::Effects;
use sluice_protocol::Problem;
use sluice_runtime::{Reporter, WatchEvent, watch};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Begins and ends watches as the core says.
pub(crate) struct Watches {
    pub(crate) cluster: ClusterRef,
    pub(crate) client: Client,
    pub(crate) sender: mpsc::UnboundedSender<Side>,
    pub(crate) reporter: Reporter,
    pub(crate) running: HashMap<u64, JoinHandle<()>>,
}

impl Effects<Agent> for Watches {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Watch(id, spec) => drop(self.running.insert(id, self.begin(id, spec))),
            Effect::Unwatch(id) => {
                if let Some(task) = self.running.remove(&id) {
                    task.abort();
                }
            }
        }
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.running.values().for_each(JoinHandle::abort);
    }
}

impl Watches {
    fn begin(&self, id: u64, spec: WatchSpec) -> JoinHandle<()> {
        let (client, sender, reporter) = (self.client.clone(), self.sender.clone(), self.reporter.clone());
        let (cluster, object) = (self.cluster.clone(), format!("watch of {}", spec.gvk));
        let mut troubled = false;
        let config = config(&spec);
        tokio::spawn(async move {
            watch(client, spec.gvk, spec.namespace, config, |event| {
                let side = match event {
                    WatchEvent::Trouble(error) => {
                        troubled = true;
                        reporter.problem(Problem::open(
                            "agent",
                            &cluster,
                            &object,
                            format!("{error}; it is tried again"),
                        ));
                        return !sender.is_closed();
                    }
                    WatchEvent::Listed(objects) => {
                        Side::Listed(id, objects.iter().filter_map(seen).collect())
                    }
                    WatchEvent::Applied(object) => match seen(&object) {
                        Some(seen) => Side::Applied(id, seen),
                        None => return true,
                    },
                    WatchEvent::Deleted(object) => match ObjectKey::of(&object) {
                        Some(key) => Side::Deleted(id, key),
                        None => return true,
                    },
                };
                if std::mem::take(&mut troubled) {
                    reporter.problem(Problem::healed("agent", &cluster, &object));
                }
                sender.send(side).is_ok()
            })
            .await;
        })
    }
}

fn config(spec: &WatchSpec) -> watcher::Config {
    let mut config = watcher::Config::default().streaming_lists();
    if !spec.labels.is_empty() {
        config = config.labels(&spec.labels);
    }
    if !spec.name.is_empty() {
        config = config.fields(&format!("metadata.name={}", spec.name));
    }
    config
}

fn seen(object: &Value) -> Option<Seen> {
    Some(Seen { key: ObjectKey::of(object)?, body: serde_json::to_vec(object).ok()?.into() })
}
