//! Rows for the tests of this crate.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};
use sluice_bus::kit::Server;
use sluice_bus::{Bus, BusOptions};
use sluice_protocol::rows::{Cause, EventCause, State};
use sluice_protocol::{Body, Meta, Publish, Subject};
use sluice_tasks::Tasks;

pub(crate) fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

pub(crate) fn service() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "shop".into(), name: "web".into() }
}

pub(crate) async fn connect(server: &Server) -> (Bus, Tasks) {
    let tasks = Tasks::default();
    let options = BusOptions {
        connection: sluice_bus::Connection::plain(server.url()),
        name: "test".into(),
        shards: 1,
        replicas: 1,
        tombstone_ttl: std::time::Duration::from_secs(60),
    };
    (Bus::connect(&options, &tasks).await.unwrap(), tasks)
}

fn row(subject: Subject, body: &Value, time: i64) -> Publish {
    Publish::new(subject, Body::Value(serde_json::to_vec(body).unwrap().into()), time)
}

/// The rows of one Service that is an event, and of the policy in cluster `b` that follows from it.
pub(crate) fn rows(item: Option<ObjectKey>) -> Vec<Publish> {
    let (a, b) = (cluster("a"), cluster("b"));
    let event = EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: a.clone(),
        source: "s".into(),
        item,
    };
    let cause = Cause::Event(event);
    let profile = ProfileId::cluster("p");
    let desired = json!({"ownerKind": "ClusterProfile", "ownerName": "p", "tier": 100, "cause": cause, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "tier": 100, "objects":
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}]}]});
    let status = json!({"state": State::Failed, "errors": ["no room"]});
    vec![
        row(
            Subject::Change { shard: 0, cluster: a.clone(), viewer: String::new(), object: service() },
            &json!({}),
            5,
        ),
        row(
            Subject::Report { shard: 0, cluster: a, source: "s".into(), origin: 0, object: service() },
            &json!({}),
            5,
        ),
        row(
            Subject::Desired { shard: 0, cluster: b.clone(), origin: 0, profile: profile.clone() },
            &desired,
            5,
        )
        .meta(Meta::of_cause(&cause)),
        row(Subject::Status { shard: 0, cluster: b, origin: 0, profile }, &status, 5)
            .meta(Meta::of_cause(&cause)),
    ]
}
