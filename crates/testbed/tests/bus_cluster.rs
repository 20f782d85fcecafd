//! The bed of the tests that damage a bus of three nodes: it must know who leads and who is behind.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sluice_bus::{Bus, BusOptions, Connection};
use sluice_tasks::Tasks;
use sluice_testbed::BusServer;

const PATIENCE: Duration = Duration::from_secs(60);
const SHARDS: u16 = 2;

async fn lay_out(server: &BusServer) -> Bus {
    let options = BusOptions {
        connection: Connection::plain(server.url()),
        name: "bus-cluster".to_owned(),
        shards: SHARDS,
        replicas: server.nodes(),
        tombstone_ttl: Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    Bus::connect(&options, &Tasks::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_killed_paused_and_emptied_and_become_healthy_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = BusServer::start(dir.path(), 3, None).await.unwrap();
    assert_eq!(server.url().split(',').count(), 3);
    server.wait_until_led().await.unwrap();
    let bus = lay_out(&server).await;
    server.wait_until_healthy(PATIENCE).await.unwrap();
    let view = server.view().await;
    assert_eq!((view.fewest_copies(), view.leads().iter().sum::<usize>()), (3, view.streams().len()));

    // The leader dies: another one leads, and the cluster is not well until it is back.
    let leader = server.leader_of("CHANGES-00").await.unwrap();
    server.kill(leader).unwrap();
    assert!(server.view().await.ailment().unwrap().contains("does not run"));
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while server.leader_of("CHANGES-00").await.is_err() {
        assert!(tokio::time::Instant::now() < deadline, "nobody leads CHANGES-00");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_ne!(server.leader_of("CHANGES-00").await.unwrap(), leader);

    // It comes back without its data, and gets everything again.
    assert!(server.start_node((leader + 1) % 3).await.unwrap_err().to_string().contains("runs already"));
    assert!(server.wipe_store((leader + 1) % 3).unwrap_err().to_string().contains("runs"));
    server.wipe_store(leader).unwrap();
    server.start_node(leader).await.unwrap();
    server.wait_until_healthy(PATIENCE).await.unwrap();
    assert_eq!(server.view().await.fewest_copies(), 3);

    // A paused node is no node.
    let busiest = server.busiest().await.unwrap();
    server.pause(busiest).unwrap();
    assert!(server.view().await.ailment().unwrap().contains("no answer"));
    server.resume(busiest).unwrap();
    server.wait_until_healthy(PATIENCE).await.unwrap();

    // And a node that is asked to end does.
    let meta = server.meta_leader().await.unwrap();
    server.stop(meta).await.unwrap();
    server.start_node(meta).await.unwrap();
    server.wait_until_healthy(PATIENCE).await.unwrap();
    assert_eq!(bus.shards(), SHARDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_alone_is_killed_and_comes_back_on_its_data() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = BusServer::start(dir.path(), 1, None).await.unwrap();
    server.wait_until_healthy(PATIENCE).await.unwrap();
    lay_out(&server).await;
    let before = server.view().await.streams().clone();
    server.kill_and_restart(0).await.unwrap();
    server.wait_until_healthy(PATIENCE).await.unwrap();
    assert!(before.contains("CHANGES-01"));
    assert_eq!((server.view().await.streams(), server.busiest().await.unwrap()), (&before, 0));
}
