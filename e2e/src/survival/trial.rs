//! One trial: a healthy pipeline, changes all the while, a fault, and what must be true afterwards.

// D-1308: real processes are killed.

use std::fmt::Display;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use sluice_testbed::Options;

use super::changes::CLUSTERS;
use super::installation::Installation;
use super::standing::Standing;

/// The changes run for this long before the fault and after it.
const AROUND: Duration = Duration::from_secs(3);
/// How long the nodes of the bus may take until every copy is current.
const HEALING: Duration = Duration::from_secs(120);
/// How long readers that were replaced may take to go: a node of the bus forgets a consumer after 30 seconds without
/// interest, and asks again one or two minutes later when its leader was away at that time.
const RESTING: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(500);
/// Shards of the three tables that are read.
const SHARDS_READ: usize = 3 * 16;
/// Small tables that each replica follows, taken over all of them: one is that of the keys for which rows are sealed.
const FEEDS: usize = 3;

/// What a trial is made of; the environment replaces each of it, so that variants need no other test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `SLUICE_SURVIVE_RATE`: changes a second.
    pub rate: u32,
    /// `SLUICE_SURVIVE_SEED`: what is left to chance.
    pub seed: u64,
    /// `SLUICE_SURVIVE_ROUNDS`: how often a fault is repeated.
    pub rounds: u32,
    /// `SLUICE_SURVIVE_AWAY`: how long a node is away, in seconds.
    pub away: Duration,
    /// `SLUICE_SURVIVE_CONSUMERS`: how many consumers the bus may hold at rest.
    pub consumers: usize,
    /// `SLUICE_SURVIVE_NODES`: nodes of the bus.
    pub nodes: usize,
    /// Copies of each stream.
    pub stream_replicas: usize,
    /// Whether the stages start while the nodes are still electing.
    pub electing: bool,
    /// Whether the bus has TLS and users.
    pub secured: bool,
    /// Whether a stage may notice the fault at all.
    pub unnoticed: bool,
    /// Add-ons whose causes nobody edits: nothing may be written to them.
    pub still: usize,
}

/// Chance that is the same in every run with the same seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

// === impl Settings ===

impl Settings {
    /// What the environment says, and the usual rest.
    ///
    /// # Errors
    /// The variable that is no number.
    pub fn read() -> anyhow::Result<Self> {
        let nodes = number("SLUICE_SURVIVE_NODES", 3)?;
        Ok(Self {
            rate: number("SLUICE_SURVIVE_RATE", 40)?,
            seed: number("SLUICE_SURVIVE_SEED", 1)?,
            rounds: number("SLUICE_SURVIVE_ROUNDS", 1)?,
            away: Duration::from_secs(number("SLUICE_SURVIVE_AWAY", 8)?),
            consumers: number("SLUICE_SURVIVE_CONSUMERS", SHARDS_READ + 8 * FEEDS)?,
            nodes,
            stream_replicas: nodes,
            electing: false,
            secured: false,
            unnoticed: false,
            still: 0,
        })
    }

    /// The chance of this trial.
    pub fn dice(&self) -> Dice {
        Dice(self.seed)
    }

    /// Runs a trial: two replicas of each stage, changes before, during and after `faults`, and in the end the clusters
    /// as `sluice build` says, nothing deleted whose cause lived, and no reader too many.
    ///
    /// # Errors
    /// What is not so; the logs are kept then.
    pub async fn survive(
        &self,
        faults: impl AsyncFnOnce(&mut Installation) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let options = Options {
            clusters: CLUSTERS,
            replicas: 2,
            nodes: self.nodes,
            stream_replicas: self.stream_replicas,
            electing: self.electing,
            secured: self.secured,
            ..Options::default()
        };
        let mut installation = Installation::start_on(options).await?;
        let done = Box::pin(self.run(&mut installation, faults)).await;
        done.map_err(|error| {
            error.context(format!("seed {}; the logs are in {}", self.seed, installation.keep()))
        })
    }

    async fn run(
        &self,
        installation: &mut Installation,
        faults: impl AsyncFnOnce(&mut Installation) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if self.still > 0 {
            installation.add_still(self.still).await?;
        }
        let before = Standing::of(installation).await?;
        installation.say(&format!("{} changes a second begin", self.rate));
        let pacer = installation.pace(self.rate, &[]);
        tokio::time::sleep(AROUND).await;
        Box::pin(faults(installation)).await.context("the fault itself")?;
        tokio::time::sleep(AROUND).await;
        let made = pacer.finish().await?;
        installation.say(&format!("{made} changes were made"));
        installation.stack.bus().wait_until_healthy(HEALING).await?;
        installation.say("the bus is healthy");
        installation.wait_until_equal(&[]).await?;
        installation.say("the clusters are as they should be");
        installation.watcher.verdict(|_| 0).await?;
        let after = Standing::of(installation).await?;
        after.same_addons(&before)?;
        let still = after.same_versions(&before)?;
        installation.say(&format!("nothing was written to {still} add-ons whose causes nobody edits"));
        if self.unnoticed {
            after.same_owners(&before)?;
        }
        self.at_rest(installation).await
    }

    /// Waits until the bus holds no more consumers than are needed, and the replicas count the same.
    async fn at_rest(&self, installation: &Installation) -> anyhow::Result<()> {
        let deadline = Instant::now() + RESTING;
        loop {
            let view = installation.stack.bus().view().await;
            let mut counted = 0.0;
            for replica in installation.stack.replicas().values() {
                counted += replica.metric("sluice_bus_consumers", &[]).await?;
            }
            let found = view.consumers();
            if found <= self.consumers && counted == found as f64 {
                installation.say(&format!("{found} consumers at rest"));
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "the bus holds {found} consumers at rest, at most {} are needed, and the replicas count {counted}: {:?}",
                    self.consumers,
                    view.consumers_by_stream()
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

// === impl Dice ===

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed >> 33) % (sides.max(1) as u64)).unwrap_or(0)
    }
}

fn number<T>(name: &str, usual: T) -> anyhow::Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    let Ok(text) = std::env::var(name) else { return Ok(usual) };
    text.parse().map_err(|error| anyhow::anyhow!("{name}={text:?}: {error}; write a number, or leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_same_for_the_same_seed_and_reaches_every_side() {
        let roll = |seed| {
            let mut dice = Dice(seed);
            (0..40).map(|_| dice.roll(3)).collect::<Vec<_>>()
        };
        assert_eq!(roll(1), roll(1));
        assert_ne!(roll(1), roll(2));
        assert!((0..3).all(|side| roll(1).contains(&side)));
    }
}
