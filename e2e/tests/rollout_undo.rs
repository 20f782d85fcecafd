//! A content that all clusters have is undone: what it changed, deleted and added goes back, and another content ends it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::until::until;
use sluice_e2e::up::Up;
use sluice_testbed::Programs;

const CLUSTERS: usize = 3;
/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn sluice(arguments: &[&str]) -> Output {
    let program = Programs::beside_me().unwrap().find("sluice").unwrap();
    Command::new(program).args(arguments).output().unwrap()
}

/// What is deployed, in whatever cluster: `policy=1` and the names of all else.
async fn deployed(fleet: &Fleet) -> BTreeSet<Vec<String>> {
    let kind = Gvk::new("", "v1", "ConfigMap");
    let mut all = BTreeSet::new();
    for member in fleet.members.values() {
        let there = member.client.deployed(std::slice::from_ref(&kind)).await.unwrap();
        let name = |object: &Value| match object::text(object, &["data", "version"]) {
            "" => object::name(object).to_owned(),
            version => format!("{}={version}", object::name(object)),
        };
        let mut names: Vec<_> = there.iter().map(name).collect();
        names.sort();
        all.insert(names);
    }
    all
}

/// How many contents are kept in all clusters together.
async fn kept(fleet: &Fleet) -> usize {
    let mut count = 0;
    for member in fleet.members.values() {
        let secrets = member.client.list(&Gvk::new("", "v1", "Secret")).await.unwrap();
        let is_kept = |secret: &&Value| object::label(secret, "sluice.projectsveltos.io/kept").is_some();
        count += secrets.iter().filter(is_kept).count();
    }
    count
}

fn content(version: &str, other: &str) -> Value {
    let object = |name: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{{data}}}\n"
        )
    };
    let policy = object("policy", &format!("version: \"{version}\""));
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policy", "namespace": "default"},
        "data": {"policy.yaml": policy, "other.yaml": object(other, "")}})
}

fn profile() -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": "policy", "annotations": {"sluice.dev/rollout-on-failure": "rollback"}},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "maxUpdate": 1,
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "policy"}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_all_clusters_have_is_undone() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [format!("--clusters={CLUSTERS}"), "--no-examples".into()];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    let kind = Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster");
    for mut registration in fleet.management.list(&kind).await.unwrap() {
        registration["metadata"]["labels"]["env"] = "fv".into();
        fleet.management.apply(&registration).await.unwrap();
    }
    let all_have = async |names: [&str; 2]| {
        let wanted: BTreeSet<Vec<String>> = [names.map(str::to_owned).to_vec()].into();
        until(&format!("all have {names:?}"), PATIENCE, async || {
            (deployed(&fleet).await == wanted).then_some(())
        })
        .await;
    };
    fleet.management.apply(&content("1", "former")).await.unwrap();
    fleet.management.apply(&profile()).await.unwrap();
    all_have(["former", "policy=1"]).await;
    until("it is kept", PATIENCE, async || (kept(&fleet).await == CLUSTERS).then_some(())).await;
    let is_ready = async || {
        let status = sluice(&["rollout", "status", "--server", up.inspect_url()]).stdout;
        (status == b"no cluster waits for its turn\n").then_some(())
    };
    until("it has ended", PATIENCE, is_ready).await;
    fleet.management.apply(&content("2", "added")).await.unwrap();
    all_have(["added", "policy=2"]).await;
    until("both are kept", PATIENCE, async || (kept(&fleet).await == 2 * CLUSTERS).then_some(())).await;

    let kubeconfig = up.kubeconfig().display().to_string();
    let undone = sluice(&[
        "rollout",
        "undo",
        "ClusterProfile/policy",
        "--server",
        up.inspect_url(),
        "--kubeconfig",
        &kubeconfig,
    ]);
    let says = String::from_utf8_lossy(&undone.stdout).into_owned();
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert!(says.starts_with("ClusterProfile policy goes back from "), "{says}");
    all_have(["former", "policy=1"]).await;
    until("it is said", PATIENCE, async || {
        let status = sluice(&["rollout", "status", "--server", up.inspect_url()]).stdout;
        let says = String::from_utf8(status).unwrap();
        says.contains("since sluice.dev/rollout-undo says so: 3 of 3 clusters have that").then_some(())
    })
    .await;
    let shown = sluice(&["show", "rollout", "ClusterProfile/policy", "--server", up.inspect_url()]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.matches("| went back |").count(), CLUSTERS, "{shown}");

    fleet.management.apply(&content("3", "added")).await.unwrap();
    all_have(["added", "policy=3"]).await;
    fleet.management.delete(&profile()).await.unwrap();
    until("what was kept goes with it", PATIENCE, async || (kept(&fleet).await == 0).then_some(())).await;
}
