//! Writing what people see to the management cluster: coalesced, limited, never in the path of an event.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::{Digest, ObjectKey};
use tokio::sync::mpsc;

use crate::raw::Raw;

/// Objects written at the same time: the management cluster has other work to do.
const AT_ONCE: usize = 8;
/// Pause after each write: at most 200 a second, so that a storm of events is not slowed down by its picture.
const PAUSE: Duration = Duration::from_millis(40);
/// Pause before an object that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// What was written is remembered up to this many objects; who is forgotten is written once more.
const REMEMBERED: usize = 100_000;

/// What should become of an object.
#[derive(Clone, Debug, PartialEq)]
enum Wish {
    /// It should be like this, with its status.
    Object(Value),
    /// Where it exists, its status should say this.
    Status(Value),
    /// It should not be.
    Gone,
}

type Wanted = (ObjectKey, Wish);

/// Takes projections of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Projector {
    sender: mpsc::UnboundedSender<Wanted>,
}

impl Projector {
    /// Begins to write, as this field manager.
    pub fn start(client: Client, manager: &'static str) -> Self {
        // Unbounded: at most one entry for each object waits, the newest.
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(
            Writer { client, manager, waiting: BTreeMap::new(), written: HashMap::new(), busy: Vec::new() }
                .run(receiver),
        );
        Self { sender }
    }

    /// The object should be like this, or should not be.
    pub fn project(&self, key: ObjectKey, object: Option<Value>) {
        self.send(key, object.map_or(Wish::Gone, Wish::Object));
    }

    /// The status of somebody else's object should say this; fields that it said before and does not say now go.
    pub fn project_status(&self, key: ObjectKey, status: Value) {
        self.send(key, Wish::Status(status));
    }

    fn send(&self, key: ObjectKey, wish: Wish) {
        if self.sender.send((key, wish)).is_err() {
            tracing::debug!("the projector has ended");
        }
    }
}

struct Writer {
    client: Client,
    manager: &'static str,
    waiting: BTreeMap<ObjectKey, Wish>,
    written: HashMap<ObjectKey, Digest>,
    busy: Vec<ObjectKey>,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::UnboundedReceiver<Wanted>) {
        let mut writes = FuturesUnordered::new();
        loop {
            tokio::select! {
                wanted = receiver.recv() => match wanted {
                    Some((key, wish)) => drop(self.waiting.insert(key, wish)),
                    None => return,
                },
                Some((key, wish, result)) = writes.next(), if !writes.is_empty() => self.done(key, wish, result),
            }
            while writes.len() < AT_ONCE
                && let Some((key, wish)) = self.next()
            {
                let (client, manager) = (self.client.clone(), self.manager);
                writes.push(async move {
                    let result = write(&client, manager, &key, &wish).await;
                    tokio::time::sleep(if result.is_err() { AGAIN } else { PAUSE }).await;
                    (key, wish, result)
                });
            }
        }
    }

    /// The next object that is not being written and differs from what was written last.
    fn next(&mut self) -> Option<Wanted> {
        loop {
            let key = self.waiting.keys().find(|key| !self.busy.contains(key))?.clone();
            let wish = self.waiting.remove(&key)?;
            if digest(&wish).is_some_and(|digest| self.written.get(&key) == Some(&digest)) {
                continue;
            }
            self.busy.push(key.clone());
            return Some((key, wish));
        }
    }

    fn done(&mut self, key: ObjectKey, wish: Wish, result: Result<(), kube::Error>) {
        self.busy.retain(|busy| *busy != key);
        if let Err(error) = result {
            tracing::debug!(%error, object = %key, "a projection cannot be written; trying again");
            self.waiting.entry(key).or_insert(wish);
            return;
        }
        let Some(written) = digest(&wish) else {
            self.written.remove(&key);
            return;
        };
        if self.written.len() >= REMEMBERED {
            self.written.clear();
        }
        self.written.insert(key, written);
    }
}

/// What is remembered of a wish that has been fulfilled.
fn digest(wish: &Wish) -> Option<Digest> {
    match wish {
        Wish::Object(value) | Wish::Status(value) => Some(Digest::of(&[value.to_string().as_bytes()])),
        Wish::Gone => None,
    }
}

/// The resource of a kind whose plural is regular, as those of all projections are.
fn resource(key: &ObjectKey) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(&key.gvk.group, &key.gvk.version, &key.gvk.kind))
}

async fn write(client: &Client, manager: &str, key: &ObjectKey, wish: &Wish) -> Result<(), kube::Error> {
    let resource = resource(key);
    let api: Api<Raw> = if key.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &key.namespace, &resource)
    };
    let params = PatchParams::apply(manager).force();
    match wish {
        Wish::Gone => absent_is_fine(api.delete(&key.name, &DeleteParams::default()).await.map(drop)),
        Wish::Status(status) => {
            let body = Patch::Apply(status_of(key, status));
            absent_is_fine(api.patch_status(&key.name, &params, &body).await.map(drop))
        }
        Wish::Object(object) => {
            let mut main = object.clone();
            let status = main.as_object_mut().and_then(|map| map.remove("status"));
            api.patch(&key.name, &params, &Patch::Apply(&main)).await?;
            if let Some(status) = status {
                let body = Patch::Apply(status_of(key, &status));
                api.patch_status(&key.name, &params, &body).await?;
            }
            Ok(())
        }
    }
}

fn status_of(key: &ObjectKey, status: &Value) -> Value {
    json!({
        "apiVersion": key.gvk.api_version(),
        "kind": key.gvk.kind,
        "metadata": {"name": key.name},
        "status": status,
    })
}

fn absent_is_fine(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => result,
    }
}
