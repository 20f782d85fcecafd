//! The two rates of the bus: rows moved with nothing in between, and rows moved by a matcher.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use sluice_bus::{Bus, BusOptions, bare_loop, wipe};

use crate::measure::Lab;
use crate::stack::BusServer;

/// Shards of each table, as the stages choose them.
const SHARDS: u16 = 16;
/// Bytes of a row: about those of a small Service.
const ROW: usize = 700;
/// How often the matcher is asked how far it is.
const LOOK: Duration = Duration::from_millis(10);
/// The matcher is done when it has published nothing for this long.
const QUIET: Duration = Duration::from_secs(1);
/// It is not waited for any longer than this.
const PATIENCE: Duration = Duration::from_secs(120);

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
pub async fn bare(dir: &Path, rows: u64) -> anyhow::Result<Rate> {
    let server = BusServer::start(dir).await?;
    let options = BusOptions {
        url: server.url(),
        name: "sluice-loadtest".to_owned(),
        shards: SHARDS,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(3600),
    };
    let bus = Bus::connect(&options).await?;
    let run = bare_loop(&bus, rows, ROW).await?;
    Ok(Rate { rows: run.rows as f64, elapsed: run.elapsed })
}

/// One matcher alone takes every shard over and makes all reports again. Nothing else works afterwards.
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
    wipe(&stack.nats_url(), "REPORTS").await?;
    stack.start_replica("matcher", 1)?;
    let matcher = stack.replica("matcher-1")?;
    let deadline = Instant::now() + PATIENCE;
    let (mut first, mut last) = (Instant::now(), (Instant::now(), 0.0));
    while last.1 == 0.0 || last.0.elapsed() < QUIET {
        if Instant::now() > deadline {
            bail!("the matcher published {} rows and then was not done in {PATIENCE:?}", last.1);
        }
        let before = Instant::now();
        tokio::time::sleep(LOOK).await;
        // While it comes up it does not answer.
        let labels = ["stage=\"matcher\"", "outcome=\"published\""];
        let rows = matcher.metric("sluice_rows_total", &labels).await.unwrap_or(0.0);
        if rows > last.1 {
            if last.1 == 0.0 {
                first = before;
            }
            last = (Instant::now(), rows);
        }
    }
    Ok(Rate { rows: last.1, elapsed: last.0.saturating_duration_since(first) })
}
