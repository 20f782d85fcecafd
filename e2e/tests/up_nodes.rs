//! `sluice up` on a bus of three nodes, also after a run that was killed and left them behind.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sluice_e2e::up::Up;

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_come_up_again_after_a_killed_run_left_them_behind() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--nodes=3", "--clusters=1"].map(str::to_owned);
    let mut up = Up::start(dir.path(), &arguments).await.unwrap();
    let nodes = up.nats_url().split(',').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    up.kill().unwrap();
    drop(up);
    std::fs::remove_file(dir.path().join("up.out")).unwrap();
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    for node in nodes.iter().filter(|node| !up.nats_url().contains(node.as_str())) {
        let address = node.strip_prefix("nats://").unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(5), tokio::net::TcpStream::connect(address));
        assert!(answer.await.unwrap().is_err(), "{node} of the killed run still serves");
    }
}
