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

/// After so many failures in a row everything else of the cluster does not wait for a kind.
const GIVEN_UP: u32 = 3;

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
        let mut failures = 0_u32;
        let config = config(&spec);
        tokio::spawn(async move {
            watch(client, spec.gvk, spec.namespace, config, |event| {
                let side = match event {
                    WatchEvent::Trouble(error) => {
                        failures += 1;
                        reporter.problem(Problem::open(
                            "agent",
                            &cluster,
                            &object,
                            format!("{error}; it is tried again"),
                        ));
                        // Now and then a server does not answer; who is told so again and again is not waited for.
                        if failures == GIVEN_UP {
                            return sender.send(Side::Troubled(id)).is_ok();
                        }
                        return !sender.is_closed();
                    }
                    WatchEvent::Version(_) => return true,
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
                if std::mem::take(&mut failures) > 0 {
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
    let version = sluice_api::object::resource_version(object);
    Some(Seen { key: ObjectKey::of(object)?, version, body: serde_json::to_vec(object).ok()?.into() })
}
