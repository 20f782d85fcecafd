//! What the pipeline survives on a bus of three nodes: each test is one fault under changes that go on all the while.
//! `make survive` runs them; one alone: `make survive ARGS=a_node_is_killed`. The environment chooses variants, see
//! `Settings`.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sluice_bus::Connection;
use sluice_e2e::survival::{Installation, Settings};
use sluice_testbed::STAGES;
use tokio::process::Command;

/// How long a bus may take until every copy is current.
const HEALING: Duration = Duration::from_secs(120);
/// Longer than a replica may be unheard before others take over.
const PAUSED: Duration = Duration::from_secs(6);

fn settings() -> Settings {
    Settings::read().unwrap()
}

/// The node that leads most streams, the one that leads the cluster, or any.
async fn choose(installation: &Installation, round: u32, any: usize) -> anyhow::Result<usize> {
    let bus = installation.stack.bus();
    let (what, node) = match round % 3 {
        0 => ("leads most streams", bus.busiest().await?),
        1 => ("leads the cluster", bus.meta_leader().await?),
        _ => ("was chosen by chance", any),
    };
    installation.say(&format!("node {node} {what}; streams led by each: {:?}", bus.view().await.leads()));
    Ok(node)
}

async fn healthy(installation: &Installation) -> anyhow::Result<()> {
    installation.stack.bus().wait_until_healthy(HEALING).await?;
    installation.say("the bus is healthy");
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(())
}

/// Kills a node, and starts it again when it was away for so long.
async fn away(installation: &mut Installation, node: usize, time: Duration) -> anyhow::Result<()> {
    installation.say(&format!("node {node} is killed"));
    installation.stack.bus_mut().kill(node)?;
    tokio::time::sleep(time).await;
    installation.say(&format!("node {node} is started"));
    installation.stack.bus_mut().start_node(node).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_node_is_killed_and_comes_back_unnoticed() {
    let settings = Settings { unnoticed: true, ..settings() };
    let mut dice = settings.dice();
    let faults = async |installation: &mut Installation| {
        for round in 0..3 * settings.rounds {
            let node = choose(installation, round, dice.roll(settings.nodes)).await?;
            away(installation, node, settings.away).await?;
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn two_nodes_are_away_and_nothing_is_lost() {
    let settings = settings();
    let mut dice = settings.dice();
    let faults = async |installation: &mut Installation| {
        for _ in 0..settings.rounds {
            let stays = dice.roll(settings.nodes);
            let gone: Vec<usize> = (0..settings.nodes).filter(|&node| node != stays).collect();
            installation.say(&format!("nodes {gone:?} are killed"));
            for &node in &gone {
                installation.stack.bus_mut().kill(node)?;
            }
            tokio::time::sleep(settings.away + Duration::from_secs(2)).await;
            installation.say(&format!("nodes {gone:?} are started"));
            for &node in &gone {
                installation.stack.bus_mut().start_node(node).await?;
            }
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_node_is_paused_unnoticed() {
    let settings = Settings { unnoticed: true, ..settings() };
    let mut dice = settings.dice();
    let faults = async |installation: &mut Installation| {
        for round in 0..3 * settings.rounds {
            let node = choose(installation, round, dice.roll(settings.nodes)).await?;
            installation.say(&format!("node {node} is paused"));
            installation.stack.bus().pause(node)?;
            tokio::time::sleep(settings.away).await;
            installation.say(&format!("node {node} goes on"));
            installation.stack.bus().resume(node)?;
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn all_nodes_are_restarted_one_after_the_other_unnoticed() {
    let settings = Settings { unnoticed: true, ..settings() };
    let faults = async |installation: &mut Installation| {
        for node in (0..settings.rounds).flat_map(|_| 0..settings.nodes) {
            installation.say(&format!("node {node} is asked to end"));
            installation.stack.bus_mut().stop(node).await?;
            installation.say(&format!("node {node} is started"));
            installation.stack.bus_mut().start_node(node).await?;
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_node_loses_its_store_and_gets_everything_again() {
    let settings = settings();
    let mut dice = settings.dice();
    let faults = async |installation: &mut Installation| {
        for round in 0..settings.rounds {
            let node = choose(installation, round, dice.roll(settings.nodes)).await?;
            installation.stack.bus_mut().kill(node)?;
            installation.stack.bus().wipe_store(node)?;
            installation.say(&format!("node {node} was killed and its store deleted"));
            tokio::time::sleep(settings.away).await;
            installation.stack.bus_mut().start_node(node).await?;
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn every_stage_is_killed_and_paused_while_nodes_die() {
    let settings = settings();
    let mut dice = settings.dice();
    let faults = async |installation: &mut Installation| {
        for stage in (0..settings.rounds).flat_map(|_| STAGES) {
            let name = format!("{stage}-{}", 1 + dice.roll(2));
            installation.say(&format!("{name} is killed"));
            installation.stack.kill_replica(&name)?;
            tokio::time::sleep(Duration::from_secs(dice.roll(5) as u64)).await;
            if dice.roll(2) == 0 {
                away(installation, dice.roll(settings.nodes), settings.away).await?;
            }
            let number = if name.ends_with('1') { 1 } else { 2 };
            installation.stack.start_replica(stage, number)?;
            installation.stack.wait_until_ready().await?;
            let name = format!("{stage}-{}", 1 + dice.roll(2));
            installation.say(&format!("{name} is paused"));
            installation.stack.replica(&name)?.signal("STOP")?;
            tokio::time::sleep(PAUSED).await;
            installation.stack.replica(&name)?.signal("CONT")?;
            installation.say(&format!("{name} goes on"));
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn every_stream_is_deleted_and_no_add_on_goes() {
    let settings = settings();
    let faults = async |installation: &mut Installation| {
        for _ in 0..settings.rounds {
            let deleted = sluice_bus::wipe(&Connection::plain(installation.stack.nats_url()), "").await?;
            installation.say(&format!("{deleted} streams and buckets were deleted"));
            anyhow::ensure!(deleted > 10, "only {deleted} streams were there to be deleted");
            // Longer than memberships, refreshing and completeness take.
            tokio::time::sleep(Duration::from_secs(15)).await;
            healthy(installation).await?;
        }
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn streams_with_one_copy_get_three_under_load() {
    let settings = Settings { stream_replicas: 1, ..settings() };
    let faults = async |installation: &mut Installation| {
        anyhow::ensure!(
            installation.stack.bus().view().await.fewest_copies() == 1,
            "the streams have copies already"
        );
        let program = installation.stack.programs().find("sluice")?;
        let url = installation.stack.nats_url();
        installation.say("sluice bus scale begins");
        let scale = ["bus", "scale", "--nats-url", &url, "--replicas", "3"];
        let said = Command::new(program).args(scale).output().await?;
        anyhow::ensure!(said.status.success(), "sluice bus scale: {}", String::from_utf8_lossy(&said.stderr));
        installation.say("sluice bus scale ended");
        healthy(installation).await?;
        let copies = installation.stack.bus().view().await.fewest_copies();
        anyhow::ensure!(copies == 3, "a stream has {copies} copies");
        // The copies are worth something: a node may go now.
        let node = choose(installation, 0, 0).await?;
        away(installation, node, settings.away).await
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn stages_that_start_during_the_election_wait_for_it() {
    let settings = Settings { electing: true, ..settings() };
    settings.survive(async |_: &mut Installation| Ok(())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_bus_with_users_and_tls_loses_a_node() {
    let settings = Settings { secured: true, unnoticed: true, ..settings() };
    let faults = async |installation: &mut Installation| {
        let node = choose(installation, 0, 0).await?;
        away(installation, node, settings.away).await?;
        healthy(installation).await
    };
    settings.survive(faults).await.unwrap();
}
