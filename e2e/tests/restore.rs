//! The management cluster is restored from a backup of its etcd: nothing is withdrawn that exists since. `make e2e` runs it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey};
use sluice_e2e::cluster_client::ClusterClient;
use sluice_e2e::control_plane::{ControlPlane, assets};
use sluice_e2e::fleet::{Fleet, Member};
use sluice_e2e::installed::Installation;
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

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {TIMEOUT:?}");
        tokio::time::sleep(LOOK).await;
    }
}

fn accept(admin: &Path) {
    let done = Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
        .args(["install", "accept-restore", "--kubeconfig"])
        .arg(admin)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn a_management_cluster_that_was_restored_withdraws_nothing_before_that_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let assets = assets().unwrap();
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let mut management = ControlPlane::start(&assets, &folder("management")).await.unwrap();
    let managed = ControlPlane::start(&assets, &folder("managed")).await.unwrap();
    let values = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights/values.yaml");
    let admin = management.kubeconfig();
    let installation = Installation::install(dir.path(), management.server_url(), &admin, &values).unwrap();
    let member = ClusterClient::connect(&managed.kubeconfig()).await.unwrap();
    let one = Member { client: member.clone(), kubeconfig: managed.kubeconfig() };
    let fleet = Fleet {
        management: ClusterClient::connect(&admin).await.unwrap(),
        members: [("default/one".to_owned(), one)].into(),
        nats: String::new(),
        operator: None,
    };
    let registration = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"name": "one", "namespace": "default", "labels": {"env": "fv"}}, "spec": {}});
    fleet.apply("management", &registration).await.unwrap();
    let run = folder("run");
    let mut running = installation.start(&run, &run).await.unwrap();
    let deploy = async |name: &str| {
        for object in profile(name) {
            fleet.management.apply(&object).await.unwrap();
        }
        until(name, async || uid(&member, name).await).await
    };
    deploy("before").await;
    management.back_up(&dir.path().join("backup")).await.unwrap();
    let (kept, lost) = (deploy("kept").await, deploy("lost").await);
    // What is written later has a smaller resourceVersion than what rows were made from, for long.
    for number in 0..200 {
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "default"},
            "data": {"number": number.to_string()}});
        fleet.management.apply(&other).await.unwrap();
    }
    deploy("later").await;
    // Its mark grows twice a minute, and whenever a renderer begins.
    let (url, programs) = (running.url().to_owned(), Programs::beside_me().unwrap());
    let start = |name: &str| {
        let folder = folder(name);
        installation.start_stage(&folder, "renderer", &url, &[], &programs).unwrap()
    };
    running.replica("renderer").unwrap().process().kill().unwrap();
    running.replace(start("second"));
    until("the renderer", async || running.replica("renderer").unwrap().is_ready().await.then_some(())).await;

    management.restore(&dir.path().join("backup")).await.unwrap();
    until("the end of the renderer", async || {
        running.replica("renderer").unwrap().process().ended().unwrap()
    })
    .await;
    let said = running.replica("renderer").unwrap().process().log();
    assert!(said.contains("restored from a backup"), "{said}");
    // As Kubernetes does, somebody starts it again.
    running.replace(start("third"));
    let logged = async || {
        running.replica("renderer").unwrap().process().log().contains("accept-restore").then_some(())
    };
    until("what the renderer waits for", logged).await;
    let quiet = Instant::now();
    while quiet.elapsed() < STAYS {
        assert!(!running.replica("renderer").unwrap().is_ready().await);
        assert_eq!(uid(&member, "kept").await.as_ref(), Some(&kept));
        assert_eq!(uid(&member, "lost").await.as_ref(), Some(&lost));
        tokio::time::sleep(LOOK).await;
    }
    // What is made again stays, with everything that came of it.
    for object in profile("kept") {
        fleet.management.apply(&object).await.unwrap();
    }
    accept(&dir.path().join("admin.kubeconfig"));
    for name in ["lost", "later"] {
        until("what nobody has made again", async || uid(&member, name).await.is_none().then_some(())).await;
    }
    assert_eq!(uid(&member, "kept").await, Some(kept));
    assert!(uid(&member, "before").await.is_some());
    // It is told once: the next renderer begins at once.
    running.replica("renderer").unwrap().process().kill().unwrap();
    running.replace(start("fourth"));
    until("the renderer", async || running.replica("renderer").unwrap().is_ready().await.then_some(())).await;
    deploy("after").await;
}
