//! Writes Kubernetes Events about drift, in the management cluster.

// D-1075: drift is told in Kubernetes Events of the ClusterSummary, of which there are few.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::ObjectKey;
use sluice_bus::now_micros;
use sluice_deployer_core::{DriftEvent, DriftEvents, Times};
use sluice_kube::segment;
use sluice_runtime::{Context, Metrics};
use sluice_tasks::{End, Kept};
use tokio::sync::{Mutex, mpsc};

/// So many wait; what comes then is lost. Most of them are never written: one is admitted in seconds.
const QUEUE: usize = 1024;
/// An Event may take so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// Field manager of Events.
const MANAGER: &str = "sluice-deployer";

/// Takes what happens in a process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    sender: mpsc::Sender<DriftEvent>,
    metrics: Metrics,
}

/// Who writes them.
struct Writer {
    client: Client,
    metrics: Metrics,
    receiver: mpsc::Receiver<DriftEvent>,
    /// What was written, so that a new task floods nobody.
    admitted: DriftEvents,
}

impl Events {
    /// Begins to write to this cluster.
    pub(crate) fn start(context: &Context, management: Client) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let metrics = context.metrics.clone();
        let writer = Writer { client: management, metrics, receiver, admitted: DriftEvents::default() };
        let writer = Arc::new(Mutex::new(writer));
        context.tasks.keep(Kept::DriftEvents, move || run(writer.clone()));
        Self { sender, metrics: context.metrics.clone() }
    }

    /// Something happened. Nobody waits for its Event.
    pub(crate) fn tell(&self, event: DriftEvent) {
        if self.sender.try_send(event).is_err() {
            self.metrics.kubernetes_event("deployer", "left_out");
        }
    }
}

/// Writes what is taken, until nobody has anything to say.
async fn run(writer: Arc<Mutex<Writer>>) -> End {
    let mut writer = writer.lock().await;
    while let Some(event) = writer.receiver.recv().await {
        let outcome = match writer.admitted.admit(&event, now_micros()) {
            None => "left_out",
            Some(times) => written(&writer.client, &event, times).await,
        };
        writer.metrics.kubernetes_event("deployer", outcome);
    }
    End::Done
}

/// What comes of an Event. One that cannot be written is lost: the journal has what it says, and another one comes.
async fn written(client: &Client, event: &DriftEvent, times: Times) -> &'static str {
    match tokio::time::timeout(PATIENCE, write(client, event, times)).await {
        Ok(Ok(())) => "written",
        Ok(Err(error)) => {
            tracing::debug!(%error, object = %event.regarding(), "an Event cannot be written");
            "lost"
        }
        Err(_) => "lost",
    }
}

async fn write(client: &Client, event: &DriftEvent, times: Times) -> Result<(), kube::Error> {
    let uid = uid(client, &event.regarding()).await?;
    let (key, body) = event.event(&uid, times);
    let params = PatchParams::apply(MANAGER).force();
    let api: Api<DynamicObject> = api(client, &key);
    api.patch_metadata(&segment(&key.name), &params, &Patch::Apply(&body)).await.map(drop)
}

/// The uid of an object that is there, without which `kubectl describe` does not find its Events: a patch that changes nothing
/// answers it, and needs no right that its writer has not.
async fn uid(client: &Client, key: &ObjectKey) -> Result<String, kube::Error> {
    let api: Api<DynamicObject> = api(client, key);
    let nothing: Patch<Value> = Patch::Merge(json!({}));
    let there: PartialObjectMeta<DynamicObject> =
        api.patch_metadata(&segment(&key.name), &PatchParams::default(), &nothing).await?;
    Ok(there.metadata.uid.unwrap_or_default())
}

fn api(client: &Client, key: &ObjectKey) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(&key.gvk.group, &key.gvk.version, &key.gvk.kind);
    Api::namespaced_with(client.clone(), &key.namespace, &ApiResource::from_gvk(&gvk))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::{ClusterRef, Gvk, ProfileId};
    use sluice_deployer_core::Drifted;
    use sluice_kube::fake_api::FakeApi;

    use super::*;

    const SUMMARY: &str = r#"{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "p-sveltos-a", "uid": "u7"}}"#;
    const REFUSED: &str = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "no", "code": 403}"#;

    fn drifted() -> DriftEvent {
        let gvk = Gvk::new("", "v1", "ConfigMap");
        DriftEvent {
            cluster: ClusterRef::sveltos("eu", "a"),
            profile: ProfileId::cluster("p"),
            object: ObjectKey { gvk, namespace: "shop".into(), name: "web".into() },
            what: Drifted::Righted { by: None },
        }
    }

    /// What comes of an Event, and what was asked: method, path and body. The second answer is refused if `refuses`.
    async fn told(refuses: bool) -> (&'static str, Vec<(String, String, String)>) {
        drop(sluice_runtime::install_defaults());
        let server = FakeApi::start(move |request| match (request.number, refuses) {
            (0, _) => (200, SUMMARY.to_owned()),
            (_, false) => (201, request.body.clone()),
            (_, true) => (403, REFUSED.to_owned()),
        });
        let times = Times { count: 1, first: 0, last: 0 };
        let outcome = written(&server.client(), &drifted(), times).await;
        let asked = server.requests().into_iter();
        let asked = asked.map(|request| {
            let path = request.path.split('?').next().unwrap_or_default().to_owned();
            (request.method, path, request.body)
        });
        (outcome, asked.collect())
    }

    #[tokio::test]
    async fn an_event_has_the_uid_of_its_cluster_summary_which_is_not_changed() {
        let (outcome, asked) = told(false).await;
        let [(_, first, nothing), (method, second, body)] = &asked[..] else { panic!("{asked:?}") };
        let summary = "/apis/config.projectsveltos.io/v1beta1/namespaces/eu/clustersummaries/p-sveltos-a";
        assert_eq!((outcome, first.as_str(), nothing.as_str()), ("written", summary, "{}"));
        assert_eq!(method, "PATCH");
        assert!(second.starts_with("/api/v1/namespaces/eu/events/p-sveltos-a.drift-"), "{second}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["involvedObject"]["uid"], "u7");
    }

    #[tokio::test]
    async fn one_that_is_refused_is_lost_and_nobody_tries_again() {
        let (outcome, asked) = told(true).await;
        assert_eq!((outcome, asked.len()), ("lost", 2));
    }
}
