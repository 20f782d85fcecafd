//! What Secrets hold goes through the whole pipeline, and a dump of the bus shows nothing of it.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey};
use sluice_bus::kit::{dump, with_words};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::up::Up;
use sluice_testbed::{Launch, Process, Programs};

/// Its length is a multiple of three: so is its text in base64 the same wherever it begins.
const MARKER: &str = "planted-secret-marker-01";
/// The same of what is no Secret: it shows that the dump shows something.
const SHOWN: &str = "planted-public-marker-02";
const PATIENCE: Duration = Duration::from_secs(90);
const SOURCE: &str = "default/cluster-1";

fn manifests() -> Vec<Value> {
    let selector = |kind: &str| {
        json!({"group": "", "version": "v1", "kind": kind,
        "labelFilters": [{"key": "share", "operation": "Equal", "value": "yes"}]})
    };
    let copy = "apiVersion: v1\nkind: {{ .Resource.kind }}\nmetadata: {name: \"{{ .Resource.metadata.name }}-copy\", namespace: default}\n\
        data: {{ .Resource.data | toJson }}\n";
    // What no object says is a Secret: a policy that comes from one.
    let policy = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: from-secret, namespace: default}}\ndata: {{is: {MARKER}}}\n"
    );
    let metadata = |name: &str| json!({"name": name});
    vec![
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": metadata("shared"),
            "spec": {"collectResources": true, "resourceSelectors": [selector("Secret"), selector("ConfigMap")]}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": metadata("copy"),
            "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "shared", "oneForEvent": true,
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "copy-of-it"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy-of-it", "namespace": "default",
            "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"copy.yaml": copy}}),
        json!({"apiVersion": "v1", "kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
            "metadata": {"name": "policy", "namespace": "default"}, "data": {"policy.yaml": STANDARD.encode(policy)}}),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": metadata("from-secret"),
            "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
                "policyRefs": [{"kind": "Secret", "namespace": "default", "name": "policy"}]}}),
    ]
}

fn object(kind: &str, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default", "labels": {"share": "yes"}}, "data": data})
}

fn secret(name: &str, text: &str, round: usize) -> Value {
    object("Secret", name, json!({"is": STANDARD.encode(text), "round": STANDARD.encode(round.to_string())}))
}

/// Waits for an object whose `data` has this.
async fn arrives(fleet: &Fleet, kind: &str, name: &str, data: (&str, &str)) {
    let key = ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: "default".into(), name: name.into() };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = fleet.at(SOURCE).unwrap().get(&key).await.unwrap();
        if found.as_ref().is_some_and(|found| found["data"][data.0] == data.1) {
            return;
        }
        assert!(Instant::now() < deadline, "{key} does not come with {}", data.0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Nothing of the marker is on the bus, and what is no Secret is.
async fn shows_nothing(up: &Up) {
    let dump = dump(up.nats_url()).await;
    assert!(dump.len() > 20 && !with_words(&dump, SHOWN).is_empty(), "the dump shows what is there");
    for words in [MARKER.to_owned(), STANDARD.encode(MARKER)] {
        assert_eq!(with_words(&dump, &words), Vec::<&str>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_secrets_hold_is_nowhere_on_the_bus_also_while_keys_change() {
    let dir = tempfile::tempdir().unwrap();
    let up = Up::start(dir.path(), &["--clusters=1".to_owned()]).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    for manifest in manifests() {
        fleet.apply(MANAGEMENT, &manifest).await.unwrap();
    }
    // One that fits into its row, and one whose content is stored apart.
    let large = MARKER.repeat(10_000);
    fleet.apply(SOURCE, &secret("small", MARKER, 0)).await.unwrap();
    fleet.apply(SOURCE, &secret("large", &large, 0)).await.unwrap();
    fleet.apply(SOURCE, &object("ConfigMap", "public", json!({"is": SHOWN}))).await.unwrap();
    arrives(&fleet, "Secret", "small-copy", ("is", &STANDARD.encode(MARKER))).await;
    arrives(&fleet, "Secret", "large-copy", ("is", &STANDARD.encode(&large))).await;
    arrives(&fleet, "ConfigMap", "public-copy", ("is", SHOWN)).await;
    arrives(&fleet, "ConfigMap", "from-secret", ("is", MARKER)).await;
    shows_nothing(&up).await;

    let keys = dir.path().join("up/keys");
    let before: Vec<_> = std::fs::read_dir(&keys).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let arguments = ["bus", "rotate-keys", "--nats-url", up.nats_url(), "--bus-keys", keys.to_str().unwrap()];
    let launch = Launch::new(
        "rotate",
        Programs::beside_me().unwrap().find("sluice").unwrap(),
        arguments.map(str::to_owned).to_vec(),
        dir.path(),
    );
    let mut rotation = Process::start(launch).unwrap();
    let (begun, mut round) = (Instant::now(), 0);
    let status = loop {
        if let Some(status) = rotation.ended().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < 2 * PATIENCE, "{}", rotation.log_end());
        round += 1;
        fleet.apply(SOURCE, &secret("small", MARKER, round)).await.unwrap();
        fleet.apply(SOURCE, &secret(&format!("during-{}", round % 3), MARKER, round)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(status.success(), "{}{}", rotation.output(), rotation.log_end());
    let after: Vec<_> = std::fs::read_dir(&keys).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(before.len(), after.len(), "each former key is gone: {after:?}");
    assert!(
        after.iter().filter(|name| name.to_string_lossy().ends_with(".identity-2")).count() == 4,
        "{after:?}"
    );
    round += 1;
    fleet.apply(SOURCE, &secret("small", MARKER, round)).await.unwrap();
    fleet.apply(SOURCE, &secret("after", MARKER, round)).await.unwrap();
    for name in ["small-copy", "after-copy"] {
        arrives(&fleet, "Secret", name, ("round", &STANDARD.encode(round.to_string()))).await;
    }
    arrives(&fleet, "Secret", "during-1-copy", ("is", &STANDARD.encode(MARKER))).await;
    shows_nothing(&up).await;
}
