//! Rows and a management cluster for tests of this crate, and of who serves its answers.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, TriggerId};
use sluice_bus::kit::Server;
use sluice_bus::{Bus, BusOptions};
use sluice_kube::fake_api::Request;
use sluice_protocol::rows::{Cause, EventCause, State};
use sluice_protocol::{Body, Meta, Publish, Shard, Subject};
use sluice_tasks::Tasks;

/// A registered cluster of the namespace `default`.
pub fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

/// A Service.
pub fn service() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "shop".into(), name: "web".into() }
}

/// A bus with one shard.
///
/// # Panics
/// When it cannot be used.
pub async fn connect(server: &Server) -> (Bus, Tasks) {
    let tasks = Tasks::default();
    let options = BusOptions {
        connection: sluice_bus::Connection::plain(server.url()),
        name: "test".into(),
        shards: 1,
        replicas: 1,
        tombstone_ttl: std::time::Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    (Bus::connect(&options, &tasks).await.unwrap(), tasks)
}

fn row(subject: Subject, body: &Value, time: i64) -> Publish {
    Publish::new(subject, Body::Value(serde_json::to_vec(body).unwrap().into()), time)
}

/// The rows of one Service that is an event, and of the policy in cluster `b` that follows from it.
///
/// # Panics
/// When a row cannot be written as JSON.
pub fn rows(item: Option<ObjectKey>) -> Vec<Publish> {
    let (a, b) = (cluster("a"), cluster("b"));
    let event = EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: a.clone(),
        source: "s".into(),
        item,
    };
    let cause = Cause::from(event);
    let profile = ProfileId::cluster("p");
    let desired = json!({"ownerKind": "ClusterProfile", "ownerName": "p", "tier": 100, "cause": cause, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "tier": 100, "objects":
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}]}]});
    let status = json!({"state": State::Failed, "errors": ["no room"]});
    vec![
        row(
            Subject::Change {
                shard: Shard::FIRST,
                cluster: a.clone(),
                viewer: String::new(),
                object: service(),
            },
            &json!({}),
            5,
        ),
        row(
            Subject::Report {
                shard: Shard::FIRST,
                cluster: a,
                source: "s".into(),
                origin: Shard::FIRST,
                object: service(),
            },
            &json!({}),
            5,
        ),
        row(
            Subject::Desired {
                shard: Shard::FIRST,
                cluster: b.clone(),
                origin: Shard::FIRST,
                profile: profile.clone(),
            },
            &desired,
            5,
        )
        .meta(Meta::of_cause(&cause)),
        row(Subject::Status { shard: Shard::FIRST, cluster: b, origin: Shard::FIRST, profile }, &status, 5)
            .meta(Meta::of_cause(&cause)),
    ]
}

/// What the agent of cluster `a` tells of a Service.
///
/// # Panics
/// When the bus does not take it.
pub async fn tell_of_a(bus: &Bus) {
    let rows = rows(Some(service())).into_iter().take(1);
    sluice_bus::kit::write_as(bus, &cluster("a").to_string(), rows).await;
}

/// What a management cluster answers that has clusters `a` and `b`, an EventSource, a trigger that is not ready, two profiles, and a chart and an
/// object in `b`.
pub fn answer(request: &Request) -> (u16, String) {
    let kinds = |group: &str, kinds: &[(&str, &str)]| {
        let of = |(name, kind): &(&str, &str)| json!({"name": name, "singularName": "", "namespaced": false, "kind": kind, "verbs": ["list"]});
        json!({"kind": "APIResourceList", "groupVersion": group, "resources": kinds.iter().map(of).collect::<Vec<_>>()})
    };
    let list = |items: Value| json!({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items});
    let body = match request.path.split('?').next().unwrap_or_default() {
        "/apis" => json!({"kind": "APIGroupList", "groups": []}),
        "/api/v1" => kinds("v1", &[]),
        "/apis/lib.projectsveltos.io/v1beta1" => kinds(
            "lib.projectsveltos.io/v1beta1",
            &[
                ("sveltosclusters", "SveltosCluster"),
                ("eventtriggers", "EventTrigger"),
                ("eventsources", "EventSource"),
                ("eventreports", "EventReport"),
            ],
        ),
        path if path.ends_with("/sveltosclusters") => {
            let named = |name: &str| {
                json!({"metadata": {"namespace": "default", "name": name, "labels": {"env": "fv"}},
                "spec": {}, "status": {"version": "v1.33.0"}})
            };
            list(json!([named("a"), named("b")]))
        }
        path if path.ends_with("/eventreports") => {
            list(json!([{"metadata": {"namespace": "default", "name": "a"},
            "spec": {"clusterNamespace": "default", "clusterName": "a", "clusterType": "Sveltos", "eventSourceName": "s",
                "matchingResources": [{"kind": "Service", "namespace": "shop", "name": "web", "apiVersion": "v1"}]}}]))
        }
        path if path.ends_with("/eventsources") => list(json!([{"metadata": {"name": "s"},
            "spec": {"resourceSelectors": [{"version": "v1", "kind": "Service"}]}}])),
        path if path.ends_with("/eventtriggers") => list(json!([{"metadata": {"name": "t"},
            "spec": {"sourceClusterSelector": {"matchLabels": {"env": "none"}}, "eventSourceName": "s", "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]},
            "status": {"matchingClusters": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"}], "conditions": [{"type": "Ready", "status": "False", "message": "no room"}]}}])),
        "/apis/config.projectsveltos.io/v1beta1" => kinds(
            "config.projectsveltos.io/v1beta1",
            &[
                ("clusterconfigurations", "ClusterConfiguration"),
                ("clusterprofiles", "ClusterProfile"),
                ("profiles", "Profile"),
            ],
        ),
        path if path.ends_with("/clusterprofiles") => list(json!([{"metadata": {"name": "p"},
            "spec": {"syncMode": "Continuous"}, "status": {"matchingClusters": [{}]}}])),
        path if path.ends_with("/profiles") => {
            list(json!([{"metadata": {"namespace": "shop", "name": "q"}, "spec": {}}]))
        }
        path if path.ends_with("/clusterconfigurations") => list(json!([configuration()])),
        _ => {
            return (
                404,
                json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "none"}).to_string(),
            );
        }
    };
    (200, body.to_string())
}

/// What a deployer has written down of cluster `b`.
fn configuration() -> Value {
    let time = "2025-02-28T13:23:08Z";
    let map = json!({"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "made", "lastAppliedTime": time});
    let chart = json!({"repoURL": "https://charts.example", "releaseName": "web", "namespace": "web", "chartVersion": "1.2.0",
        "lastAppliedTime": time});
    let features =
        json!([{"featureID": "Resources", "resources": [map]}, {"featureID": "Helm", "charts": [chart]}]);
    json!({"metadata": {"namespace": "default", "name": "sveltos--b"},
        "status": {"clusterProfileResources": [{"clusterProfileName": "p", "Features": features}]}})
}
