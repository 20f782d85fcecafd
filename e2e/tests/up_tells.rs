//! What `sluice up` tells of its start.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::up::Up;

/// How long a line may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lines that begin with this, once there are so many.
async fn told(up: &Up, begin: &str, many: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = up.output();
        let lines: Vec<_> =
            output.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect();
        if lines.len() >= many {
            return lines;
        }
        assert!(Instant::now() < deadline, "{many} lines {begin:?} do not come: {output}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_profile_is_rendered_once_for_each_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let up = Up::start(dir.path(), &[]).await.unwrap();
    told(&up, "applied", 3).await;
    // What is told after this is told after everything of the start.
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "labels": {"sveltos": "fv"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    fleet.apply("default/cluster-1", &service).await.unwrap();
    told(&up, "applied    default/cluster-1    sveltos-", 1).await;
    let mut rendered = BTreeMap::<String, usize>::new();
    for line in told(&up, "rendered", 4).await {
        let mut words = line.split_whitespace().skip(1).map(str::to_owned);
        *rendered.entry(words.by_ref().take(2).collect::<Vec<_>>().join(" ")).or_default() += 1;
    }
    assert_eq!(rendered.values().copied().collect::<Vec<_>>(), [1, 1, 1, 1], "{rendered:?}");
}
