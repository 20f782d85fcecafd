//! The two rates of the bus: rows moved with nothing in between, and rows moved by a matcher.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use sluice_bus::{BareForm, Bus, BusError, BusOptions, Connection, bare_loop, wipe};
use sluice_tasks::Tasks;

use crate::measure::Lab;
use sluice_testbed::BusServer;

/// Shards of each table, as the stages choose them.
const SHARDS: u16 = 16;
/// Bytes of a row: about those of a small Service.
pub const ROW: usize = 700;
/// How often the matcher is asked how far it is.
const LOOK: Duration = Duration::from_millis(10);
/// The matcher is done when it has published nothing for this long.
const QUIET: Duration = Duration::from_secs(1);
/// It is not waited for any longer than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two beginnings of a measurement.
const PAUSE: Duration = Duration::from_millis(500);

/// Rows, and how long they took.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// How many.
    pub rows: f64,
    /// How long.
    pub elapsed: Duration,
}

// === impl Rate ===

impl Rate {
    /// Rows per second.
    pub fn per_second(&self) -> f64 {
        self.rows / self.elapsed.as_secs_f64().max(1e-6)
    }
}

/// The bare loop on a server of its own, with its data in `dir`.
///
/// # Errors
/// When the server cannot be started or does not answer.
pub async fn bare(dir: &Path, rows: u64, form: BareForm, nodes: usize) -> anyhow::Result<Rate> {
    let server = BusServer::start(dir, nodes, None).await?;
    server.wait_until_healthy(PATIENCE).await?;
    let bus = Bus::connect(&options(&server, nodes), &Tasks::default()).await?;
    let run = patient(&server, nodes, async || bare_loop(&bus, rows, ROW, form).await).await?;
    Ok(Rate { rows: run.rows as f64, elapsed: run.elapsed })
}

/// A bus with a copy of every stream on each node, laid out as the stages do it.
pub fn options(server: &BusServer, nodes: usize) -> BusOptions {
    BusOptions {
        connection: Connection::plain(server.url()),
        name: "sluice-loadtest".to_owned(),
        shards: SHARDS,
        replicas: nodes,
        tombstone_ttl: Duration::from_secs(3600),
        keys: sluice_bus::BusKeys::default(),
    }
}

/// Waits for the nodes and does something on their bus: a cluster that has just come up may not answer everything at once.
///
/// # Errors
/// When the bus does not come up, or what is done fails.
pub async fn patient<T>(
    server: &BusServer,
    nodes: usize,
    work: impl AsyncFn() -> Result<T, BusError>,
) -> anyhow::Result<T> {
    server.wait_until_healthy(PATIENCE).await?;
    let patience = Instant::now() + PATIENCE;
    loop {
        match work().await {
            Err(error) if nodes > 1 && Instant::now() < patience => {
                tracing::warn!(%error, "the measurement of the bus begins once more");
                tokio::time::sleep(PAUSE).await;
            }
            done => return Ok(done?),
        }
    }
}

/// One matcher alone takes every shard over and makes all reports again; its rate from the first row that it reads on. It
/// publishes nothing before it has read everything. Nothing else works afterwards.
///
/// # Errors
/// When the matcher does not come up or publishes nothing.
pub async fn matcher_alone(lab: &mut Lab) -> anyhow::Result<Rate> {
    let stack = &mut lab.stack;
    let others: Vec<String> =
        stack.replicas().keys().filter(|name| !name.starts_with("agent")).cloned().collect();
    for name in others {
        stack.kill_replica(&name)?;
    }
    wipe(&Connection::plain(stack.nats_url()), "REPORTS").await?;
    stack.start_replica("matcher", 1)?;
    let matcher = stack.replica("matcher-1")?;
    let deadline = Instant::now() + PATIENCE;
    let mut seen: Vec<Sample> = Vec::new();
    while seen.last().is_none_or(|last| last.rows < 1.0 || last.at.elapsed() < QUIET) {
        let published = seen.last().map_or(0.0, |last| last.rows);
        if Instant::now() > deadline {
            bail!("the matcher published {published} rows and then was not done in {PATIENCE:?}");
        }
        tokio::time::sleep(LOOK).await;
        // While it comes up it does not answer.
        let (stage, at) = ("stage=\"matcher\"", Instant::now());
        let read = matcher.metric("sluice_rows_total", &[stage, "outcome=\"read\""]).await.unwrap_or(0.0);
        let labels = [stage, "outcome=\"published\""];
        let rows = matcher.metric("sluice_rows_total", &labels).await.unwrap_or(0.0);
        if rows > published || (seen.is_empty() && read > 0.0) {
            seen.push(Sample { at, rows });
        }
    }
    rate(&seen).context("the matcher published too little to measure a rate")
}

/// So many rows had been published.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    rows: f64,
}

/// The rate until nine tenths of all rows have been published: the last ones come by and by.
fn rate(seen: &[Sample]) -> Option<Rate> {
    let all = seen.last()?.rows;
    let (from, to) = (seen.first()?, seen.iter().find(|sample| sample.rows >= all * 0.9)?);
    let elapsed = to.at.saturating_duration_since(from.at);
    (!elapsed.is_zero()).then_some(Rate { rows: to.rows - from.rows, elapsed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_rate_begins_with_the_first_row_that_is_read() {
        let begin = Instant::now();
        let sample = |(millis, rows)| Sample { at: begin + Duration::from_millis(millis), rows };
        let seen = [(0, 0.0), (900, 20.0), (1000, 55.0), (1100, 90.0), (3000, 100.0)].map(sample);
        assert!((rate(&seen).unwrap().per_second() - 90.0 / 1.1).abs() < 0.1);
        assert!(rate(&seen[..1]).is_none() && rate(&[]).is_none());
    }
}
