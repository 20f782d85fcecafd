//! A deleted profile that the whole fleet has stays in its clusters until somebody approves.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::until::until;
use sluice_e2e::up::Up;
use sluice_testbed::Programs;

const CLUSTERS: usize = 24;
/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn sluice(arguments: &[&str]) -> Output {
    let program = Programs::beside_me().unwrap().find("sluice").unwrap();
    Command::new(program).args(arguments).output().unwrap()
}

/// In how many clusters the add-on is.
async fn deployed(fleet: &Fleet) -> usize {
    let kind = Gvk::new("", "v1", "ConfigMap");
    let mut count = 0;
    for member in fleet.members.values() {
        let there = member.client.deployed(std::slice::from_ref(&kind)).await.unwrap();
        count += usize::from(there.iter().any(|object| object::name(object) == "policy"));
    }
    count
}

fn profile() -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "policy"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "policy"}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_whole_fleet_has_goes_when_somebody_approves() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [format!("--clusters={CLUSTERS}"), "--no-examples".into()];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy, namespace: default}\ndata: {a: b}\n";
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "policy", "namespace": "default"}, "data": {"policy.yaml": text}});
    let kind = Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster");
    for registration in fleet.management.list(&kind).await.unwrap() {
        // Only the label: with what was read, its version and status, it would be refused once the renderer has written the status.
        let (named, labels) = (&registration["metadata"], json!({"env": "fv"}));
        let metadata = json!({"name": named["name"], "namespace": named["namespace"], "labels": labels});
        let kind = (&registration["apiVersion"], &registration["kind"]);
        let label = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": metadata});
        fleet.management.apply(&label).await.unwrap();
    }
    fleet.management.apply(&content).await.unwrap();
    fleet.management.apply(&profile()).await.unwrap();
    until("all clusters have it", PATIENCE, async || (deployed(&fleet).await == CLUSTERS).then_some(()))
        .await;

    fleet.management.delete(&profile()).await.unwrap();
    let called = until("it is said that it waits", PATIENCE, async || {
        let said = sluice(&["problems", "--server", up.inspect_url(), "-o", "json"]);
        let said = String::from_utf8(said.stdout).unwrap();
        let (_, called) = said.split_once("`sluice approve ")?;
        assert!(said.contains("24 of 24 add-ons would be withdrawn at once"), "{said}");
        Some(called.split_once('`')?.0.to_owned())
    })
    .await;
    assert_eq!(deployed(&fleet).await, CLUSTERS);

    let kubeconfig = up.kubeconfig().display().to_string();
    let approved = sluice(&["approve", &called, "--kubeconfig", &kubeconfig]);
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    until("it goes", PATIENCE, async || (deployed(&fleet).await == 0).then_some(())).await;
    until("nothing is wrong any more", PATIENCE, async || {
        let said = sluice(&["problems", "--server", up.inspect_url()]).stdout;
        (said == b"no problems\n").then_some(())
    })
    .await;
}
