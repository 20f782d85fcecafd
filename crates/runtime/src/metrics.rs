//! Prometheus metrics, typed: no metric name or label exists outside this file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Rows {
    stage: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Restart {
    stage: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Stage {
    stage: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TaskEnd {
    task: &'static str,
    how: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Shard {
    stage: &'static str,
    shard: String,
}

/// The metrics of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    rows: Family<Rows, Counter>,
    outcomes: Family<Rows, Counter>,
    problems: Family<Stage, Counter>,
    shards: Family<Stage, Gauge>,
    restarts: Family<Restart, Counter>,
    task_ends: Family<TaskEnd, Counter>,
    consumers: Family<Stage, Gauge>,
    lag: Family<Shard, Gauge>,
    event_to_applied: Histogram,
    calls: Family<Rows, Counter>,
    memory: Gauge<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers everything under the prefix `sluice_`.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("sluice");
        let metrics = Self {
            rows: Family::default(),
            outcomes: Family::default(),
            problems: Family::default(),
            shards: Family::default(),
            restarts: Family::default(),
            task_ends: Family::default(),
            consumers: Family::default(),
            lag: Family::default(),
            // 1 ms to 65 s: the original's timers are in it too.
            event_to_applied: Histogram::new(exponential_buckets(0.001, 2.0, 17)),
            calls: Family::default(),
            memory: Gauge::default(),
            registry: Arc::default(),
        };
        registry.register("rows", "Rows of tables, by what was done with them", metrics.rows.clone());
        registry.register("happened", "Things that happened, as in the journal", metrics.outcomes.clone());
        registry.register(
            "problems",
            "Problems that were met; the bucket holds those that are open",
            metrics.problems.clone(),
        );
        registry.register("shards_owned", "Shards that this replica works on", metrics.shards.clone());
        registry.register(
            "shard_restarts",
            "How often shards of this replica restarted, by reason",
            metrics.restarts.clone(),
        );
        registry.register(
            "task_ends",
            "Tasks that ended although they should not have, by task and how",
            metrics.task_ends.clone(),
        );
        registry.register(
            "bus_consumers",
            "Consumers that the bus keeps for this process",
            metrics.consumers.clone(),
        );
        registry.register(
            "shard_lag_rows",
            "Rows of the input table that a shard has not read",
            metrics.lag.clone(),
        );
        registry.register(
            "event_to_applied_seconds",
            "From the change of an object to its add-ons in the cluster",
            metrics.event_to_applied.clone(),
        );
        registry.register(
            "api_calls",
            "Calls to API servers of managed clusters, by outcome",
            metrics.calls.clone(),
        );
        registry.register("resident_memory_bytes", "Resident memory of this process", metrics.memory.clone());
        Self { registry: Arc::new(registry), ..metrics }
    }

    /// Counts a row; outcome is `read`, `published`, `malformed` or `too_large`.
    pub fn row(&self, stage: &'static str, outcome: &'static str) {
        self.rows.get_or_create(&Rows { stage, outcome }).inc();
    }

    /// Counts a journal line.
    pub fn count(&self, stage: &'static str, what: &'static str) {
        self.outcomes.get_or_create(&Rows { stage, outcome: what }).inc();
    }

    /// Counts a problem.
    pub fn problem(&self, stage: &'static str) {
        self.problems.get_or_create(&Stage { stage }).inc();
    }

    /// Sets how many shards are worked on.
    pub fn shards_owned(&self, stage: &'static str, count: usize) {
        self.shards.get_or_create(&Stage { stage }).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets how often shards restarted for a reason; it never falls.
    pub fn shard_restarts(&self, stage: &'static str, reason: &'static str, count: u64) {
        self.restarts.get_or_create(&Restart { stage, reason }).inner().store(count, Ordering::Relaxed);
    }

    /// Sets how often tasks have ended that should not have, by task and how; it never falls.
    pub fn task_ends(&self, ends: &BTreeMap<(&'static str, &'static str), u64>) {
        for (&(task, how), &count) in ends {
            self.task_ends.get_or_create(&TaskEnd { task, how }).inner().store(count, Ordering::Relaxed);
        }
    }

    /// Sets how many consumers the bus keeps.
    pub fn bus_consumers(&self, stage: &'static str, count: usize) {
        self.consumers.get_or_create(&Stage { stage }).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets how many rows a shard has not read yet.
    pub fn lag(&self, stage: &'static str, shard: &str, rows: u64) {
        let shard = Shard { stage, shard: shard.to_owned() };
        self.lag.get_or_create(&shard).set(i64::try_from(rows).unwrap_or(i64::MAX));
    }

    /// Notes how long an event took until its add-ons were applied.
    pub fn event_to_applied(&self, micros: i64) {
        self.event_to_applied.observe(micros as f64 / 1e6);
    }

    /// Counts a call to a managed cluster; outcome is `ok`, `conflict`, `refused`, `transient` or
    /// `unanswered`.
    pub fn call(&self, stage: &'static str, outcome: &'static str) {
        self.calls.get_or_create(&Rows { stage, outcome }).inc();
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        self.memory.set(resident_bytes());
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            text.clear();
            if writeln!(text, "# metrics cannot be encoded: {error}").is_err() {
                tracing::warn!(%error, "metrics cannot be encoded");
            }
        }
        text
    }
}

fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(metrics: &Metrics, line: &str) {
        let text = metrics.text();
        assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
    }

    #[test]
    fn everything_is_counted_under_its_name_and_labels() {
        let metrics = Metrics::new();
        metrics.row("agent", "published");
        metrics.row("agent", "published");
        metrics.count("deployer", "applied");
        metrics.problem("matcher");
        metrics.call("deployer", "conflict");
        metrics.lag("renderer", "03", 7);
        metrics.shards_owned("matcher", 4);
        metrics.bus_consumers("matcher", 9);
        for line in [
            r#"sluice_rows_total{stage="agent",outcome="published"} 2"#,
            r#"sluice_happened_total{stage="deployer",outcome="applied"} 1"#,
            r#"sluice_problems_total{stage="matcher"} 1"#,
            r#"sluice_api_calls_total{stage="deployer",outcome="conflict"} 1"#,
            r#"sluice_shard_lag_rows{stage="renderer",shard="03"} 7"#,
            r#"sluice_shards_owned{stage="matcher"} 4"#,
            r#"sluice_bus_consumers{stage="matcher"} 9"#,
        ] {
            has(&metrics, line);
        }
    }

    #[test]
    fn what_a_shard_has_not_read_goes_down_again_and_fits_whatever_it_is() {
        let metrics = Metrics::new();
        metrics.lag("renderer", "03", u64::MAX);
        has(&metrics, &format!(r#"sluice_shard_lag_rows{{stage="renderer",shard="03"}} {}"#, i64::MAX));
        metrics.lag("renderer", "03", 0);
        has(&metrics, r#"sluice_shard_lag_rows{stage="renderer",shard="03"} 0"#);
    }

    #[test]
    fn the_way_of_an_event_is_in_seconds() {
        let metrics = Metrics::new();
        metrics.event_to_applied(1_500);
        metrics.event_to_applied(70_000_000);
        has(&metrics, r#"sluice_event_to_applied_seconds_bucket{le="0.001"} 0"#);
        has(&metrics, r#"sluice_event_to_applied_seconds_bucket{le="0.002"} 1"#);
        has(&metrics, r#"sluice_event_to_applied_seconds_bucket{le="65.536"} 1"#);
        has(&metrics, "sluice_event_to_applied_seconds_count 2");
    }

    #[test]
    fn restarts_are_those_of_the_process_however_often_they_are_told() {
        let metrics = Metrics::new();
        for count in [3, 3, 5] {
            metrics.shard_restarts("agent", "deposed", count);
        }
        has(&metrics, r#"sluice_shard_restarts_total{stage="agent",reason="deposed"} 5"#);
    }

    #[test]
    fn ends_of_tasks_are_shown_by_task_and_how() {
        let metrics = Metrics::new();
        for count in [1, 2] {
            metrics.task_ends(&BTreeMap::from([(("feed", "panicked"), count)]));
        }
        let line = r#"sluice_task_ends_total{task="feed",how="panicked"} 2"#;
        assert!(metrics.text().lines().any(|found| found == line), "{}", metrics.text());
    }
}
