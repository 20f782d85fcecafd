//! Prometheus metrics, typed: no metric name or label exists outside this file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use metrics_process::Collector;
use sluice_bus::Span;

const ROWS: &str = "sluice_rows_total";
const HAPPENED: &str = "sluice_happened_total";
const PROBLEMS: &str = "sluice_problems_total";
const SHARDS: &str = "sluice_shards_owned";
const RESTARTS: &str = "sluice_shard_restarts_total";
const TASK_ENDS: &str = "sluice_task_ends_total";
const CONSUMERS: &str = "sluice_bus_consumers";
const LAG: &str = "sluice_shard_lag_rows";
const EVENT_TO_APPLIED: &str = "sluice_event_to_applied_seconds";
const CALLS: &str = "sluice_api_calls_total";
const CALL_SECONDS: &str = "sluice_api_call_seconds";
const STAGE_SECONDS: &str = "sluice_stage_seconds";
const PUBLISH_SECONDS: &str = "sluice_publish_seconds";
const TAKEOVER_SECONDS: &str = "sluice_takeover_seconds";
const EVALUATION_SECONDS: &str = "sluice_evaluation_seconds";
const PUBLISHED_BYTES: &str = "sluice_published_bytes_total";
const LIMITS: &str = "sluice_limits_hit_total";
const OPEN: &str = "sluice_problems_open";
const PROJECTIONS: &str = "sluice_projections_waiting";
const KUBERNETES_EVENTS: &str = "sluice_kubernetes_events_total";
const MEMORY: &str = "sluice_resident_memory_bytes";

/// Counters, and what each is about.
const COUNTERS: [(&str, &str); 9] = [
    (ROWS, "Rows of tables, by what was done with them"),
    (HAPPENED, "Things that happened, as in the journal"),
    (PROBLEMS, "Problems that were met; the bucket holds those that are open"),
    (RESTARTS, "How often shards of this replica restarted, by reason"),
    (TASK_ENDS, "Tasks that ended although they should not have, by task and how"),
    (CALLS, "Calls to API servers of managed clusters, by outcome"),
    (PUBLISHED_BYTES, "Bytes of the bodies of rows that were published, before they are compressed"),
    (LIMITS, "Scripts, templates and charts that were ended by a limit"),
    (KUBERNETES_EVENTS, "Kubernetes Events about drift, by what became of each"),
];
/// Gauges, and what each is about.
const GAUGES: [(&str, &str); 6] = [
    (SHARDS, "Shards that this replica works on"),
    (CONSUMERS, "Consumers that the bus keeps for this process"),
    (LAG, "Rows of the input table that a shard has not read"),
    (MEMORY, "Resident memory of this process"),
    (OPEN, "Problems of this process that are open, by what they are about"),
    (PROJECTIONS, "Objects that wait to be written to the management cluster"),
];
/// Histograms, and what each is about.
const HISTOGRAMS: [(&str, &str); 6] = [
    (EVENT_TO_APPLIED, "From the change of an object to its add-ons in the cluster"),
    (CALL_SECONDS, "How long calls to API servers of managed clusters took, by kind and outcome"),
    (STAGE_SECONDS, "From a row that was read until what follows from it was stored"),
    (PUBLISH_SECONDS, "How long groups of rows took until they were stored"),
    (TAKEOVER_SECONDS, "From the claim of a shard until its input was read to the end"),
    (EVALUATION_SECONDS, "How long decisions took, by what they were about: a row, other news, or the time"),
];

/// Where the metrics are used: the recorder asks for it, and looks at nothing in it.
static HERE: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// The metrics of one process. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    process: Collector,
    // What was registered once: each row counts several times, and a key is made of many parts.
    counters: DashMap<Series, Counter>,
    gauges: DashMap<Series, Gauge>,
    histograms: DashMap<Series, Histogram>,
}

/// A metric, and the values of its labels.
type Series = (&'static str, [&'static str; MOST_LABELS]);

/// So many labels a metric has at most.
const MOST_LABELS: usize = 3;

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// What problems are about. All else is an object.
const CLASSES: [&str; 12] = [
    "ClusterProfile",
    "ClusterSet",
    "EventBasedAddOn",
    "EventSource",
    "EventTrigger",
    "Profile",
    "RoleRequest",
    "SveltosCluster",
    "message",
    "row",
    "shard",
    OBJECT,
];
const OBJECT: &str = "object";

/// 1 ms to 65 s: the original's timers are in it too. Decisions take less: theirs begin at 16 µs.
fn buckets(name: &str) -> [f64; 17] {
    let first = if name == EVALUATION_SECONDS { 0.000_016 } else { 0.001 };
    std::array::from_fn(|power| first * 2_f64.powi(i32::try_from(power).unwrap_or(i32::MAX)))
}

impl Metrics {
    /// Describes everything; names begin with `sluice_`, but for what every process has.
    pub fn new() -> Self {
        let builder = HISTOGRAMS.iter().fold(PrometheusBuilder::new(), |builder, (name, _)| {
            let named = Matcher::Full((*name).to_owned());
            // Only a histogram without buckets is refused.
            builder.set_buckets_for_metric(named, &buckets(name)).unwrap_or_else(|_| PrometheusBuilder::new())
        });
        let recorder = builder.build_recorder();
        for (name, help) in COUNTERS {
            recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        }
        for (name, help) in GAUGES {
            recorder.describe_gauge(name.into(), None, help.into());
        }
        for (name, help) in HISTOGRAMS {
            recorder.describe_histogram(name.into(), Some(Unit::Seconds), help.into());
        }
        let process = Collector::default();
        metrics::with_local_recorder(&recorder, || process.describe());
        let (counters, gauges, histograms) = (DashMap::new(), DashMap::new(), DashMap::new());
        Self(Arc::new(Inner { handle: recorder.handle(), recorder, process, counters, gauges, histograms }))
    }

    fn counter(&self, name: &'static str, labels: &[(&'static str, &'static str)]) -> Counter {
        kept(&self.0.counters, name, labels, |key| self.0.recorder.register_counter(key, &HERE))
    }

    fn gauge(&self, name: &'static str, labels: &[(&'static str, &'static str)]) -> Gauge {
        kept(&self.0.gauges, name, labels, |key| self.0.recorder.register_gauge(key, &HERE))
    }

    fn histogram(&self, name: &'static str, labels: &[(&'static str, &'static str)]) -> Histogram {
        kept(&self.0.histograms, name, labels, |key| self.0.recorder.register_histogram(key, &HERE))
    }

    /// Counts a row; outcome is `read`, `published`, `malformed`, `refused` or `too_large`.
    pub fn row(&self, stage: &'static str, outcome: &'static str) {
        self.counter(ROWS, &[("stage", stage), ("outcome", outcome)]).increment(1);
    }

    /// Counts a journal line.
    pub fn count(&self, stage: &'static str, what: &'static str) {
        self.counter(HAPPENED, &[("stage", stage), ("outcome", what)]).increment(1);
    }

    /// Counts a problem.
    pub fn problem(&self, stage: &'static str) {
        self.counter(PROBLEMS, &[("stage", stage)]).increment(1);
    }

    /// Sets how many shards are worked on.
    pub fn shards_owned(&self, stage: &'static str, count: usize) {
        self.gauge(SHARDS, &[("stage", stage)]).set(count as f64);
    }

    /// Sets how often shards restarted for a reason; it never falls.
    pub fn shard_restarts(&self, stage: &'static str, reason: &'static str, count: u64) {
        self.counter(RESTARTS, &[("stage", stage), ("reason", reason)]).absolute(count);
    }

    /// Sets how often tasks have ended that should not have, by task and how; it never falls.
    pub fn task_ends(&self, ends: &BTreeMap<(&'static str, &'static str), u64>) {
        for (&(task, how), &count) in ends {
            self.counter(TASK_ENDS, &[("task", task), ("how", how)]).absolute(count);
        }
    }

    /// Sets how many consumers the bus keeps.
    pub fn bus_consumers(&self, stage: &'static str, count: usize) {
        self.gauge(CONSUMERS, &[("stage", stage)]).set(count as f64);
    }

    /// Sets how many rows a shard has not read yet.
    pub fn lag(&self, stage: &'static str, shard: &str, rows: u64) {
        let labels = vec![Label::new("stage", stage), Label::new("shard", shard.to_owned())];
        self.0.recorder.register_gauge(&Key::from_parts(LAG, labels), &HERE).set(rows as f64);
    }

    /// Notes how long an event took until its add-ons were applied.
    pub fn event_to_applied(&self, micros: i64) {
        self.histogram(EVENT_TO_APPLIED, &[]).record(micros as f64 / 1e6);
    }

    /// Counts a call to a managed cluster, and how long it took. The kind of call is `read`, `list`, `apply`, `delete` or
    /// `inventory`; the outcome is `ok`, `conflict`, `refused`, `transient` or `unanswered`.
    pub fn call(&self, stage: &'static str, call: &'static str, outcome: &'static str, took: Duration) {
        self.counter(CALLS, &[("stage", stage), ("outcome", outcome)]).increment(1);
        let labels = [("stage", stage), ("call", call), ("outcome", outcome)];
        self.histogram(CALL_SECONDS, &labels).record(took.as_secs_f64());
    }

    /// Counts the bytes of a row that was published.
    pub fn published_bytes(&self, stage: &'static str, bytes: usize) {
        self.counter(PUBLISHED_BYTES, &[("stage", stage)]).increment(bytes as u64);
    }

    /// Counts something that a limit has ended.
    pub fn limit_hit(&self, stage: &'static str) {
        self.counter(LIMITS, &[("stage", stage)]).increment(1);
    }

    /// Counts a Kubernetes Event about drift; outcome is `written`, `left_out` or `lost`.
    pub fn kubernetes_event(&self, stage: &'static str, outcome: &'static str) {
        self.counter(KUBERNETES_EVENTS, &[("stage", stage), ("outcome", outcome)]).increment(1);
    }

    /// Notes how long something took.
    pub fn took(&self, stage: &'static str, span: Span, duration: Duration) {
        let stage = ("stage", stage);
        let about = |what| self.histogram(EVALUATION_SECONDS, &[stage, ("kind", what)]);
        let histogram = match span {
            Span::Stage => self.histogram(STAGE_SECONDS, &[stage]),
            Span::Publish => self.histogram(PUBLISH_SECONDS, &[stage]),
            Span::Takeover => self.histogram(TAKEOVER_SECONDS, &[stage]),
            Span::Row => about("row"),
            Span::External => about("external"),
            Span::Tick => about("tick"),
        };
        histogram.record(duration.as_secs_f64());
    }

    /// Sets how many problems are open, by the first word of what they are about.
    pub fn problems_open(&self, stage: &'static str, open: &BTreeMap<String, usize>) {
        let mut counts = CLASSES.map(|class| (class, 0));
        for (word, count) in open {
            let class = CLASSES.iter().position(|class| class == word).unwrap_or(CLASSES.len() - 1);
            counts[class].1 += count;
        }
        for (class, count) in counts {
            self.gauge(OPEN, &[("stage", stage), ("class", class)]).set(count as f64);
        }
    }

    /// Sets how many objects wait to be written to the management cluster.
    pub fn projections_waiting(&self, stage: &'static str, count: usize) {
        self.gauge(PROJECTIONS, &[("stage", stage)]).set(count as f64);
    }

    /// What histograms were told is put into their buckets. Without it, what nobody scrapes would be kept one by one.
    pub fn upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        metrics::with_local_recorder(&self.0.recorder, || self.0.process.collect());
        self.gauge(MEMORY, &[]).set(resident_bytes() as f64);
        self.0.handle.render()
    }
}

/// What stands for a metric with these labels, which is registered when it is used for the first time.
fn kept<H: Clone>(
    all: &DashMap<Series, H>,
    name: &'static str,
    labels: &[(&'static str, &'static str)],
    register: impl FnOnce(&Key) -> H,
) -> H {
    debug_assert!(labels.len() <= MOST_LABELS, "{name} has more labels");
    let mut series: Series = (name, [""; MOST_LABELS]);
    series.1.iter_mut().zip(labels).for_each(|(kept, (_, value))| *kept = value);
    if let Some(handle) = all.get(&series) {
        return handle.clone();
    }
    let handle = register(&key(name, labels));
    all.insert(series, handle.clone());
    handle
}

fn key(name: &'static str, labels: &[(&'static str, &'static str)]) -> Key {
    let labels: Vec<Label> =
        labels.iter().map(|(name, value)| Label::from_static_parts(name, value)).collect();
    Key::from_parts(name, labels)
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
        metrics.call("deployer", "apply", "conflict", std::time::Duration::from_millis(3));
        metrics.lag("renderer", "03", 7);
        metrics.shards_owned("matcher", 4);
        metrics.bus_consumers("matcher", 9);
        metrics.published_bytes("renderer", 100);
        metrics.limit_hit("matcher");
        metrics.projections_waiting("renderer", 3);
        metrics.kubernetes_event("deployer", "lost");
        metrics.took("matcher", Span::Stage, Duration::from_millis(3));
        metrics.took("matcher", Span::Row, Duration::from_micros(20));
        let open = [("EventTrigger", 2), ("Service", 3), ("Secret", 4)];
        metrics.problems_open("matcher", &open.map(|(word, count)| (word.to_owned(), count)).into());
        for line in [
            r#"sluice_published_bytes_total{stage="renderer"} 100"#,
            r#"sluice_limits_hit_total{stage="matcher"} 1"#,
            r#"sluice_kubernetes_events_total{stage="deployer",outcome="lost"} 1"#,
            r#"sluice_projections_waiting{stage="renderer"} 3"#,
            r#"sluice_stage_seconds_bucket{stage="matcher",le="0.004"} 1"#,
            r#"sluice_evaluation_seconds_bucket{stage="matcher",kind="row",le="0.000016"} 0"#,
            r#"sluice_evaluation_seconds_bucket{stage="matcher",kind="row",le="0.000032"} 1"#,
            r#"sluice_problems_open{stage="matcher",class="EventTrigger"} 2"#,
            r#"sluice_problems_open{stage="matcher",class="object"} 7"#,
            r#"sluice_problems_open{stage="matcher",class="shard"} 0"#,
            r#"sluice_rows_total{stage="agent",outcome="published"} 2"#,
            r#"sluice_happened_total{stage="deployer",outcome="applied"} 1"#,
            r#"sluice_problems_total{stage="matcher"} 1"#,
            r#"sluice_api_calls_total{stage="deployer",outcome="conflict"} 1"#,
            r#"sluice_api_call_seconds_bucket{stage="deployer",call="apply",outcome="conflict",le="0.002"} 0"#,
            r#"sluice_api_call_seconds_bucket{stage="deployer",call="apply",outcome="conflict",le="0.004"} 1"#,
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
        has(&metrics, r#"sluice_shard_lag_rows{stage="renderer",shard="03"} 18446744073709552000"#);
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
    fn every_metric_says_what_it_is_and_the_process_is_among_them() {
        let metrics = Metrics::new();
        metrics.row("agent", "read");
        metrics.event_to_applied(1);
        metrics.upkeep();
        let text = metrics.text();
        for line in [
            "# TYPE sluice_rows_total counter",
            "# HELP sluice_rows_total Rows of tables, by what was done with them",
            "# TYPE sluice_event_to_applied_seconds histogram",
            "# TYPE process_cpu_seconds_total counter",
            "# TYPE process_start_time_seconds gauge",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
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
