//! What is deployed is applied once more when somebody asks, and at no other time: beside a `sluice up`.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

mod common;

use common::{Running, client, sluice, value};

/// What has not come by now will not.
const PATIENCE: Duration = Duration::from_secs(60);

async fn api(
    kubeconfig: &str,
    context: &str,
    group: &str,
    version: &str,
    kind: &str,
    namespace: &str,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let client = client(kubeconfig, context).await;
    match namespace {
        "" => Api::all_with(client, &resource),
        namespace => Api::namespaced_with(client, namespace, &resource),
    }
}

/// Waits until the ConfigMap that is deployed says this.
async fn until(api: &Api<DynamicObject>, wanted: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = api.get_opt("made").await.unwrap();
        let says = found.as_ref().and_then(|found| found.data["data"]["key"].as_str());
        if says == Some(wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "it says {says:?}, not {wanted}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn content() -> Value {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\ndata: {key: wanted}\n";
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "content", "namespace": "default"}, "data": {"a.yaml": text}})
}

fn profile() -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_changed_in_a_cluster_is_put_right_when_it_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    let mut up = Running::start(&["up", "--clusters=1"], dir);
    let kubeconfig = value(&up.line("ready "), "kubeconfig");
    let create = async |object: Value, group: &str, version: &str, kind: &str, namespace: &str| {
        let api = api(&kubeconfig, "management", group, version, kind, namespace).await;
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    };
    create(content(), "", "v1", "ConfigMap", "default").await;
    create(profile(), "config.projectsveltos.io", "v1beta1", "ClusterProfile", "").await;
    let there = api(&kubeconfig, "cluster-1", "", "v1", "ConfigMap", "default").await;
    until(&there, "wanted").await;
    for asked in [&["cluster", "default/cluster-1"], &["profile", "ClusterProfile/p"]] {
        let drift = json!({"data": {"key": "drifted"}});
        there.patch("made", &PatchParams::default(), &Patch::Merge(&drift)).await.unwrap();
        until(&there, "drifted").await;
        let (code, says, error) = sluice("redeploy", asked, dir);
        assert_eq!(code, Some(0), "{error}");
        assert!(says.ends_with(": what is deployed is applied once more\n"), "{says}");
        until(&there, "wanted").await;
    }
    let (code, _, says) = sluice("redeploy", &["profile", "ClusterProfile/q"], dir);
    assert_eq!(code, Some(1));
    assert!(says.starts_with("sluice: there is no ClusterProfile q; there is p"), "{says}");
    let (code, _, says) = sluice("redeploy", &["cluster", "default/cluster-2"], dir);
    assert_eq!(
        (code, says.as_str()),
        (Some(1), "sluice: there is no SveltosCluster cluster-2; there is cluster-1\n")
    );
}
