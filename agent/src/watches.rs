//! The watches of one cluster, and what they say.

use std::collections::HashMap;

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_agent_core::{Agent, Effect, ExternalInput, Seen, WatchSpec};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_bus::Effects;
use sluice_kube::{WatchEvent, watch};
use sluice_protocol::Problem;
use sluice_runtime::Reporter;
use sluice_tasks::{End, Group, Kept, Tasks};
use tokio::sync::mpsc;

/// After so many failures in a row everything else of the cluster does not wait for a kind.
const GIVEN_UP: u32 = 3;

/// Begins and ends watches as the core says.
pub(crate) struct Watches {
    pub(crate) cluster: ClusterRef,
    pub(crate) client: Client,
    pub(crate) sender: mpsc::UnboundedSender<ExternalInput>,
    pub(crate) reporter: Reporter,
    pub(crate) tasks: Tasks,
    /// By the core's number; a watch ends when it is dropped.
    pub(crate) running: HashMap<u64, Group>,
}

impl Effects<Agent> for Watches {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Watch(id, spec) => drop(self.running.insert(id, self.begin(id, spec))),
            Effect::Unwatch(id) => drop(self.running.remove(&id)),
        }
    }
}

impl Watches {
    /// The watch goes on until what is returned is dropped.
    fn begin(&self, id: u64, spec: WatchSpec) -> Group {
        let task = self.tasks.group(&format!("{} {}", self.cluster, spec.gvk));
        let (client, config) = (self.client.clone(), config(&spec));
        let teller = Teller {
            id,
            cluster: self.cluster.clone(),
            object: format!("watch of {}", spec.gvk),
            failures: 0,
            sender: self.sender.clone(),
            reporter: self.reporter.clone(),
        };
        task.keep(Kept::ClusterWatch, move || {
            let (client, spec, config, mut teller) =
                (client.clone(), spec.clone(), config.clone(), teller.clone());
            async move {
                watch(client, spec.gvk, spec.namespace, config, |event| teller.tell(event)).await;
                // The receiver has enough once its cluster has ended, and nobody else ends a watch from within.
                End::Done
            }
        });
        task
    }
}

/// Tells the core what one watch says.
#[derive(Clone)]
struct Teller {
    id: u64,
    cluster: ClusterRef,
    /// What problems are about.
    object: String,
    /// In a row.
    failures: u32,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
}

impl Teller {
    /// Whether anybody still listens.
    fn tell(&mut self, event: WatchEvent) -> bool {
        let id = self.id;
        let input = match event {
            WatchEvent::Trouble(error) => return self.trouble(&error),
            WatchEvent::Version(_) => return true,
            WatchEvent::Listed(objects) => {
                ExternalInput::Listed(id, objects.iter().filter_map(seen).collect())
            }
            WatchEvent::Applied(object) => match seen(&object) {
                Some(seen) => ExternalInput::Applied(id, seen),
                None => return true,
            },
            WatchEvent::Deleted(object) => match ObjectKey::of(&object) {
                Some(key) => ExternalInput::Deleted(id, key),
                None => return true,
            },
        };
        if std::mem::take(&mut self.failures) > 0 {
            self.reporter.problem(Problem::resolved("agent", &self.cluster, &self.object));
        }
        self.sender.send(input).is_ok()
    }

    fn trouble(&mut self, error: &str) -> bool {
        self.failures += 1;
        let text = format!("{error}; it is tried again");
        self.reporter.problem(Problem::open("agent", &self.cluster, &self.object, text));
        // Now and then a server does not answer; who is told so again and again is not waited for.
        if self.failures == GIVEN_UP {
            return self.sender.send(ExternalInput::Troubled(self.id)).is_ok();
        }
        !self.sender.is_closed()
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
