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
/// Pause before an object that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// What was written is remembered up to this many objects; who is forgotten is written once more.
const REMEMBERED: usize = 100_000;

/// An object that should be like this, or (`None`) should not be.
type Wanted = (ObjectKey, Option<Value>);

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
        if self.sender.send((key, object)).is_err() {
            tracing::debug!("the projector has ended");
        }
    }
}

struct Writer {
    client: Client,
    manager: &'static str,
    waiting: BTreeMap<ObjectKey, Option<Value>>,
    written: HashMap<ObjectKey, Digest>,
    busy: Vec<ObjectKey>,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::UnboundedReceiver<Wanted>) {
        let mut writes = FuturesUnordered::new();
        loop {
            tokio::select! {
                wanted = receiver.recv() => match wanted {
                    Some((key, object)) => drop(self.waiting.insert(key, object)),
                    None => return,
                },
                Some((key, object, result)) = writes.next(), if !writes.is_empty() => self.done(key, object, result),
            }
            while writes.len() < AT_ONCE
                && let Some((key, object)) = self.next()
            {
                let (client, manager) = (self.client.clone(), self.manager);
                writes.push(async move {
                    let result = write(&client, manager, &key, object.as_ref()).await;
                    if result.is_err() {
                        tokio::time::sleep(AGAIN).await;
                    }
                    (key, object, result)
                });
            }
        }
    }

    /// The next object that is not being written and differs from what was written last.
    fn next(&mut self) -> Option<Wanted> {
        loop {
            let key = self.waiting.keys().find(|key| !self.busy.contains(key))?.clone();
            let object = self.waiting.remove(&key)?;
            if object.as_ref().is_some_and(|object| self.written.get(&key) == Some(&digest(object))) {
                continue;
            }
            self.busy.push(key.clone());
            return Some((key, object));
        }
    }

    fn done(&mut self, key: ObjectKey, object: Option<Value>, result: Result<(), kube::Error>) {
        self.busy.retain(|busy| *busy != key);
        match (result, &object) {
            (Err(error), _) => {
                tracing::debug!(%error, object = %key, "a projection cannot be written; trying again");
                self.waiting.entry(key).or_insert(object);
            }
            (Ok(()), Some(written)) => {
                if self.written.len() >= REMEMBERED {
                    self.written.clear();
                }
                self.written.insert(key, digest(written));
            }
            (Ok(()), None) => drop(self.written.remove(&key)),
        }
    }
}

fn digest(object: &Value) -> Digest {
    Digest::of(&[object.to_string().as_bytes()])
}

/// The resource of a kind whose plural is regular, as those of all projections are.
fn resource(key: &ObjectKey) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(&key.gvk.group, &key.gvk.version, &key.gvk.kind))
}

async fn write(
    client: &Client,
    manager: &str,
    key: &ObjectKey,
    object: Option<&Value>,
) -> Result<(), kube::Error> {
    let resource = resource(key);
    let api: Api<Raw> = if key.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &key.namespace, &resource)
    };
    let Some(object) = object else {
        return match api.delete(&key.name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code != 404 => Err(kube::Error::Api(status)),
            Err(kube::Error::Api(_)) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
    };
    let mut main = object.clone();
    let status = main.as_object_mut().and_then(|map| map.remove("status"));
    let params = PatchParams::apply(manager).force();
    api.patch(&key.name, &params, &Patch::Apply(&main)).await?;
    if let Some(status) = status {
        let body = json!({"apiVersion": key.gvk.api_version(), "kind": key.gvk.kind, "metadata": {"name": key.name}, "status": status});
        api.patch_status(&key.name, &params, &Patch::Apply(&body)).await?;
    }
    Ok(())
}
