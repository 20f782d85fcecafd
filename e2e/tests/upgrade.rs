//! An upgrade: replicas of the last release are replaced by those of this one, stage by stage, and back, under changes that go on all the
//! while. Nothing is lost, and nobody writes to an add-on whose cause did not change. `make upgrade` runs it.
//!
//! `SLUICE_FORMER` names a folder with the programs of the last release; `SLUICE_UPGRADE_ADDONS` how many add-ons stay as they are.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use sluice_e2e::survival::{Installation, Settings, Standing};
use sluice_testbed::{Programs, STAGES};

/// Longer than a replica may be unheard before others take over.
const PAUSE: Duration = Duration::from_secs(5);

fn former() -> Programs {
    let folder = std::env::var_os("SLUICE_FORMER").map(PathBuf::from);
    Programs::of_folder(
        folder.expect(
            "SLUICE_FORMER: a folder with the programs of the last release; `make upgrade` builds them",
        ),
    )
}

fn addons() -> usize {
    std::env::var("SLUICE_UPGRADE_ADDONS").map_or(5_000, |text| text.parse().unwrap())
}

/// Replaces the replicas of a stage one after the other: it is asked to end, and one of the other version takes its name.
async fn replace(
    installation: &mut Installation,
    programs: &Programs,
    stage: &'static str,
    to: &str,
) -> anyhow::Result<()> {
    installation.say(&format!("{stage} becomes {to}"));
    for number in 1..=2 {
        installation.stack.stop_replica(&format!("{stage}-{number}")).await?;
        installation.stack.start_replica_of(programs, stage, number)?;
        installation.stack.wait_until_ready().await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn untouched(installation: &Installation, before: &Standing, when: &str) -> anyhow::Result<()> {
    let count = Standing::of(installation).await?.same_versions(before)?;
    installation.say(&format!("{count} add-ons were not written to: {when}"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes and needs the last release: make upgrade"]
async fn versions_work_together_in_any_order_and_write_to_nothing_that_has_not_changed() {
    let (former, current) = (former(), Programs::beside_me().unwrap());
    let settings = Settings { secured: true, still: addons(), ..Settings::read().unwrap() };
    let faults = async |installation: &mut Installation| {
        let before = Standing::of(installation).await?;
        for stage in STAGES {
            replace(installation, &former, stage, "the last release").await?;
        }
        untouched(installation, &before, "back, in the direction of the data").await?;
        for stage in STAGES.into_iter().rev() {
            replace(installation, &current, stage, "this version").await?;
        }
        untouched(installation, &before, "forward, against it").await?;
        for stage in STAGES.into_iter().rev() {
            replace(installation, &former, stage, "the last release").await?;
        }
        for stage in STAGES {
            replace(installation, &current, stage, "this version").await?;
        }
        untouched(installation, &before, "and the other way round").await
    };
    settings.survive(faults).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make upgrade"]
async fn a_restart_of_everything_writes_to_nothing() {
    let settings = Settings { still: addons(), ..Settings::read().unwrap() };
    let faults = async |installation: &mut Installation| {
        for stage in STAGES {
            installation.kill_stage(stage)?;
        }
        for node in 0..settings.nodes {
            installation.stack.bus_mut().stop(node).await?;
        }
        for node in 0..settings.nodes {
            installation.stack.bus_mut().start_node(node).await?;
        }
        for stage in STAGES {
            installation.start_stage(stage)?;
        }
        installation.stack.wait_until_ready().await
    };
    settings.survive(faults).await.unwrap();
}
