//! A cluster is restored from a backup of its etcd. The management cluster: nothing is withdrawn that exists since. A managed one: what was deployed
//! since then is deployed again, and its events go on. `make e2e` runs them.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey};
use sluice_e2e::cluster_client::ClusterClient;
use sluice_e2e::installed::Running;
use sluice_e2e::two_clusters::{TwoClusters, folder};
use sluice_e2e::until::until;
use sluice_testbed::Programs;

const TIMEOUT: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(100);
/// For so long nothing may happen.
const STAYS: Duration = Duration::from_secs(5);

/// A profile, and the ConfigMap that it deploys.
fn profile(name: &str) -> [Value; 2] {
    let deployed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a": "b"}});
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"all": deployed.to_string()}});
    let reference = json!({"kind": "ConfigMap", "namespace": "default", "name": name});
    let profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "policyRefs": [reference]}});
    [content, profile]
}

async fn uid(member: &ClusterClient, name: &str) -> Option<String> {
    let key =
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "default".into(), name: name.into() };
    let found = member.get(&key).await.unwrap()?;
    Some(found["metadata"]["uid"].as_str().unwrap().to_owned())
}

fn accept(admin: &Path) {
    let done = Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
        .args(["install", "accept-restore", "--kubeconfig"])
        .arg(admin)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Both clusters, and Sluice as its chart installs it.
struct Fixture {
    dir: tempfile::TempDir,
    clusters: TwoClusters,
    running: Running,
}

impl Fixture {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clusters = TwoClusters::start(dir.path(), "values.yaml").await.unwrap();
        let run = folder(dir.path(), "run").unwrap();
        let running = clusters.installation.start(&run, &run).await.unwrap();
        Self { dir, clusters, running }
    }

    fn member(&self) -> &ClusterClient {
        self.clusters.fleet.at("default/one").unwrap()
    }

    /// Makes a profile and waits for what it deploys.
    async fn deploy(&self, name: &str) -> String {
        for object in profile(name) {
            self.clusters.fleet.management.apply(&object).await.unwrap();
        }
        self.comes(name).await
    }

    /// Waits for an object of the managed cluster.
    async fn comes(&self, name: &str) -> String {
        until(name, TIMEOUT, async || uid(self.member(), name).await).await
    }

    /// Ends the renderer, unless it has ended, and starts another one, whose log is its own.
    fn replace_renderer(&mut self, name: &str) {
        drop(self.running.replica("renderer").unwrap().process().kill());
        let (logs, url) = (folder(self.dir.path(), name).unwrap(), self.running.url().to_owned());
        let programs = Programs::beside_me().unwrap();
        let renderer =
            self.clusters.installation.start_stage(&logs, "renderer", &url, &[], &programs).unwrap();
        self.running.replace(renderer);
    }

    async fn renderer_is_ready(&mut self) {
        let renderer = self.running.replica("renderer").unwrap();
        until("the renderer", TIMEOUT, async || renderer.is_ready().await.then_some(())).await;
    }
}

/// Changes an object often: what is written after a restore has a smaller resourceVersion than what is there now, for long.
async fn write_much(cluster: &ClusterClient) {
    for number in 0..200 {
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "default"},
            "data": {"number": number.to_string()}});
        cluster.apply(&other).await.unwrap();
    }
}

/// An object of the managed cluster that leads to another one.
fn event(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"share": "yes"}}})
}

/// What leads from each event to a ConfigMap `of-…` beside it.
fn trigger() -> [Value; 3] {
    let made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"of-{{ .Resource.metadata.name }}\", namespace: default}\n";
    let metadata = |name: &str| json!({"name": name});
    let selector = json!({"group": "", "version": "v1", "kind": "ConfigMap",
        "labelFilters": [{"key": "share", "operation": "Equal", "value": "yes"}]});
    [
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": metadata("shared"),
            "spec": {"collectResources": true, "resourceSelectors": [selector]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "default",
            "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"made.yaml": made}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": metadata("made"),
            "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "shared", "oneForEvent": true,
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "made"}]}}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn a_managed_cluster_that_was_restored_gets_again_what_it_lacks() {
    let mut fixture = Fixture::start().await;
    for object in trigger() {
        fixture.clusters.fleet.management.apply(&object).await.unwrap();
    }
    let before = fixture.deploy("before").await;
    fixture.member().apply(&event("first")).await.unwrap();
    let first = fixture.comes("of-first").await;
    let backup = fixture.dir.path().join("backup");
    fixture.clusters.managed.back_up(&backup).await.unwrap();
    let since = fixture.deploy("since").await;
    write_much(fixture.member()).await;
    fixture.member().apply(&event("lost")).await.unwrap();
    fixture.comes("of-lost").await;

    fixture.clusters.managed.restore(&backup).await.unwrap();
    let again = fixture.comes("since").await;
    assert_ne!(again, since, "it was not there");
    // The watch goes on, though the cluster's versions are smaller than those that it has seen.
    fixture.member().apply(&event("second")).await.unwrap();
    fixture.comes("of-second").await;
    assert_eq!(uid(fixture.member(), "before").await, Some(before));
    assert_eq!(uid(fixture.member(), "of-first").await, Some(first));
    let gone = async || uid(fixture.member(), "of-lost").await.is_none().then_some(());
    until("what came of an event that is not there", TIMEOUT, gone).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn a_management_cluster_that_was_restored_withdraws_nothing_before_that_is_accepted() {
    let mut fixture = Fixture::start().await;
    fixture.deploy("before").await;
    let backup = fixture.dir.path().join("backup");
    fixture.clusters.management.back_up(&backup).await.unwrap();
    let (kept, lost) = (fixture.deploy("kept").await, fixture.deploy("lost").await);
    write_much(&fixture.clusters.fleet.management).await;
    fixture.deploy("later").await;
    // Its mark grows twice a minute, and whenever a renderer begins.
    fixture.replace_renderer("second");
    fixture.renderer_is_ready().await;

    fixture.clusters.management.restore(&backup).await.unwrap();
    let renderer = fixture.running.replica("renderer").unwrap();
    until("the end of the renderer", TIMEOUT, async || renderer.process().ended().unwrap()).await;
    let said = renderer.process().log();
    assert!(said.contains("restored from a backup"), "{said}");
    // As Kubernetes does, somebody starts it again.
    fixture.replace_renderer("third");
    let renderer = fixture.running.replica("renderer").unwrap();
    let waits = async || renderer.process().log().contains("accept-restore").then_some(());
    until("what the renderer waits for", TIMEOUT, waits).await;
    let quiet = Instant::now();
    while quiet.elapsed() < STAYS {
        assert!(!fixture.running.replica("renderer").unwrap().is_ready().await);
        assert_eq!(uid(fixture.member(), "kept").await.as_ref(), Some(&kept));
        assert_eq!(uid(fixture.member(), "lost").await.as_ref(), Some(&lost));
        tokio::time::sleep(LOOK).await;
    }
    // What is made again stays, with everything that came of it.
    for object in profile("kept") {
        fixture.clusters.fleet.management.apply(&object).await.unwrap();
    }
    accept(&fixture.dir.path().join("admin.kubeconfig"));
    for name in ["lost", "later"] {
        let gone = async || uid(fixture.member(), name).await.is_none().then_some(());
        until("what nobody has made again", TIMEOUT, gone).await;
    }
    assert_eq!(uid(fixture.member(), "kept").await, Some(kept));
    assert!(uid(fixture.member(), "before").await.is_some());
    // It is told once: the next renderer begins at once.
    fixture.replace_renderer("fourth");
    fixture.renderer_is_ready().await;
    fixture.deploy("after").await;
}
