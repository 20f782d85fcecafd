//! Writing what people see to the management cluster: coalesced, limited, never in the path of an event.

mod named;
mod queue;
mod refused;
mod send;

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::api::{DeleteParams, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;
use sluice_api::secrets::without_values;
use sluice_api::{Digest, ObjectKey};
use sluice_kube::{Raw, resource_of, segment};
use sluice_tasks::{End, Once};
use tokio::sync::mpsc;

use self::queue::Queue;
use self::refused::Refused;
use self::send::Target;
use crate::context::Context;
use crate::reporter::Reporter;

// D-0905: the management cluster is never in the path of an event.
/// Objects written at the same time: the management cluster has other work to do.
const AT_ONCE: usize = 8;
/// Pause after each write: at most 200 a second, so that a storm of events is not slowed down by its picture.
const PAUSE: Duration = Duration::from_millis(40);
/// Pause before an object that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// What should become of an object. Many of them may wait, and as text they are a tenth of the size.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PendingWrite {
    /// It should be like this JSON, and its status like that.
    Object(Box<str>, Option<Box<str>>),
    /// Where it exists, its status should say this JSON, and it should have these labels, as JSON.
    Status(Box<str>, Option<Box<str>>),
    /// Where it exists, it should have these labels, as JSON.
    Labels(Box<str>),
    /// It should not be.
    Gone,
}

type Wanted = (ObjectKey, PendingWrite);

/// Takes projections of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Projector {
    sender: mpsc::UnboundedSender<Wanted>,
}

impl Projector {
    /// Begins to write, as this field manager.
    pub fn start(context: &Context, client: Client, manager: &'static str) -> Self {
        // Unbounded: at most one entry for each object waits, the newest.
        let (sender, receiver) = mpsc::unbounded_channel();
        let writer = Writer {
            client,
            manager,
            reporter: Reporter::new(context, manager),
            queue: Queue::default(),
            refused: Refused::default(),
        };
        context.tasks.spawn(Once::Projector, writer.run(receiver));
        Self { sender }
    }

    /// The object should be like this, or should not be.
    pub fn project(&self, key: ObjectKey, object: Option<Value>) {
        self.send(key, object.map_or(PendingWrite::Gone, PendingWrite::of));
    }

    /// The status of somebody else's object should say this; fields that it said before and does not say now go. It should have these
    /// labels beside those that it has.
    pub fn project_status(&self, key: ObjectKey, status: Value, labels: Option<Value>) {
        let labels = labels.map(|labels| labels.to_string().into());
        self.send(key, PendingWrite::Status(status.to_string().into(), labels));
    }

    /// Somebody else's object should have these labels beside those that it has; nothing else of it is written.
    pub fn project_labels(&self, key: ObjectKey, labels: &Value) {
        self.send(key, PendingWrite::Labels(labels.to_string().into()));
    }

    fn send(&self, key: ObjectKey, pending: PendingWrite) {
        if self.sender.send((key, pending)).is_err() {
            tracing::debug!("the projector has ended");
        }
    }
}

/// What became of a write.
#[derive(Debug)]
enum Outcome {
    Written,
    /// The API server does not take the object, for this reason.
    Refused(String),
    /// The API server is not there or busy, so that other objects fare no better.
    Failed,
}

struct Writer {
    client: Client,
    manager: &'static str,
    reporter: Reporter,
    queue: Queue,
    refused: Refused,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::UnboundedReceiver<Wanted>) -> End {
        let (mut writes, mut retries) = (FuturesUnordered::new(), FuturesUnordered::new());
        loop {
            tokio::select! {
                wanted = receiver.recv() => match wanted {
                    Some((key, pending)) => self.queue.want(key, pending),
                    None => return End::Done,
                },
                Some((key, pending, outcome)) = writes.next(), if !writes.is_empty() => {
                    self.tell(&key, &outcome);
                    match outcome {
                        Outcome::Written => self.queue.written(key, &pending),
                        Outcome::Failed => self.queue.again(key, pending),
                        // It waits without keeping others from being written.
                        Outcome::Refused(_) => retries.push(async move {
                            tokio::time::sleep(AGAIN).await;
                            (key, pending)
                        }),
                    }
                }
                Some((key, pending)) = retries.next(), if !retries.is_empty() => self.queue.again(key, pending),
            }
            self.reporter.projections(self.queue.len());
            while writes.len() < AT_ONCE
                && let Some((key, pending)) = self.queue.next()
            {
                let (client, manager) = (self.client.clone(), self.manager);
                let is_known = self.queue.has_written(&key);
                writes.push(async move {
                    let outcome = Outcome::of(write(&client, manager, &key, &pending, is_known).await, &key);
                    tokio::time::sleep(if matches!(outcome, Outcome::Failed) { AGAIN } else { PAUSE }).await;
                    (key, pending, outcome)
                });
            }
        }
    }

    fn tell(&mut self, key: &ObjectKey, outcome: &Outcome) {
        let refused = match outcome {
            Outcome::Written => None,
            Outcome::Refused(why) => Some(why.clone()),
            Outcome::Failed => return,
        };
        if let Some(problem) = self.refused.outcome(self.reporter.stage(), key, refused) {
            self.reporter.problem(problem);
        }
    }
}

impl Outcome {
    fn of(result: Result<(), kube::Error>, key: &ObjectKey) -> Self {
        let Err(error) = result else { return Self::Written };
        let text = error.to_string();
        let said = without_values(&key.gvk, &text);
        tracing::debug!(error = %said, object = %key, "a projection cannot be written; trying again");
        refused::reason(&error).map_or(Self::Failed, Self::Refused)
    }
}

impl PendingWrite {
    /// From here on it is text, which is sent as it is.
    fn of(mut object: Value) -> Self {
        let status = object.as_object_mut().and_then(|map| map.remove("status"));
        Self::Object(object.to_string().into(), status.map(|status| status.to_string().into()))
    }

    /// What is remembered of a write that has been fulfilled. A status goes with somebody else's object, and is wanted where it is not
    /// there: of one that was deleted and made anew it is to be written once more.
    fn digest(&self) -> Option<Digest> {
        match self {
            Self::Object(main, status) => {
                Some(Digest::of(&[main.as_bytes(), status.as_deref().unwrap_or_default().as_bytes()]))
            }
            Self::Status(..) | Self::Labels(_) | Self::Gone => None,
        }
    }
}

/// The resource of a kind whose plural is regular, as those of all projections are.
fn resource(key: &ObjectKey) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(&key.gvk.group, &key.gvk.version, &key.gvk.kind))
}

/// Does what is pending; `is_known` says that the object was written before by this process.
async fn write(
    client: &Client,
    manager: &str,
    key: &ObjectKey,
    pending: &PendingWrite,
    is_known: bool,
) -> Result<(), kube::Error> {
    let resource = resource(key);
    let api: Api<Raw> = if key.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &key.namespace, &resource)
    };
    let target = Target { client, api, key, params: PatchParams::apply(manager).force() };
    match pending {
        PendingWrite::Gone => {
            let result = match named::is_shared(key) {
                true => named::delete_own(&target.api, key).await,
                false => target.api.delete(&segment(&key.name), &DeleteParams::default()).await.map(drop),
            };
            absent_is_fine(client, key, result).await
        }
        PendingWrite::Status(status, labels) => {
            absent_is_fine(client, key, target.status(status).await).await?;
            match labels {
                Some(labels) => absent_is_fine(client, key, target.labels(labels).await).await,
                None => Ok(()),
            }
        }
        PendingWrite::Labels(labels) => absent_is_fine(client, key, target.labels(labels).await).await,
        PendingWrite::Object(main, status) => {
            match named::is_shared(key) && !is_known {
                true => named::apply_own(&target, main).await?,
                false => target.object(main).await?,
            }
            match status {
                Some(status) => target.status(status).await,
                None => Ok(()),
            }
        }
    }
}

/// That there is no such object the API server says itself, or discovery, which does not know its kind: a proxy in between
/// gives a 404 as well.
async fn absent_is_fine(
    client: &Client,
    key: &ObjectKey,
    result: Result<(), kube::Error>,
) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) if is_404(&error) => resource_of(client, &key.gvk).await?.map_or(Ok(()), |_| Err(error)),
        result => result,
    }
}

fn is_404(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests;
