//! Telling people what a shard does: problems, journal, metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluice_bus::{Observer, ProblemSource, Span};
use sluice_protocol::problem::Class;
use sluice_protocol::{About, JournalEntry, Problem};

use crate::context::Context;
use crate::metrics::Metrics;

/// The source of one shard.
#[derive(Clone, Debug)]
pub struct Reporter {
    context: Context,
    source: ProblemSource,
    lag: Arc<Lag>,
}

/// What a shard has not read, for as long as somebody works on it here.
#[derive(Debug)]
struct Lag {
    metrics: Metrics,
    stage: &'static str,
    shard: String,
    /// What was said last, plus one; 0 before anything was.
    told: AtomicU64,
}

impl Lag {
    fn tell(&self, rows: u64) {
        let said = rows.saturating_add(1);
        if self.told.swap(said, Ordering::Relaxed) != said {
            self.metrics.lag(self.stage, &self.shard, rows);
        }
    }
}

impl Drop for Lag {
    /// Another replica has it now, or nobody.
    fn drop(&mut self) {
        if self.told.load(Ordering::Relaxed) > 0 {
            self.metrics.lag(self.stage, &self.shard, 0);
        }
    }
}

impl Reporter {
    /// A reporter for `shard` of the context's stage.
    pub fn new(context: &Context, shard: impl Into<String>) -> Self {
        let (metrics, stage, shard) = (context.metrics.clone(), context.stage, shard.into());
        let lag = Arc::new(Lag { metrics, stage, shard, told: AtomicU64::default() });
        Self { context: context.clone(), source: context.problems.source(), lag }
    }

    /// The stage in whose name it reports.
    pub fn stage(&self) -> &'static str {
        self.context.stage
    }

    /// Something is wrong, or no longer.
    pub fn problem(&self, problem: Problem) {
        if let Some(fault) = &problem.fault {
            self.context.metrics.problem(self.context.stage);
            if fault.class == Class::Limit {
                self.context.metrics.limit_hit(self.context.stage);
            }
            tracing::debug!(cluster = problem.cluster, about = %problem.about, error = %fault, "problem");
            let object = format!("{}: {fault}", problem.about);
            self.context.journal.record(JournalEntry::new(
                self.context.stage,
                "problem",
                &problem.cluster,
                object,
                0,
                0,
            ));
        }
        self.source.report(problem);
    }

    /// A message that anybody may have sent is not what it should be.
    pub fn refused(&self) {
        self.context.metrics.row(self.context.stage, "refused");
    }

    /// So many objects wait to be written to the management cluster.
    pub fn projections(&self, waiting: usize) {
        self.context.metrics.projections_waiting(self.context.stage, waiting);
    }

    /// Something happened.
    pub fn record(&self, entry: JournalEntry) {
        let what = ["matched", "unmatched", "rendered", "applied", "drifted", "reloaded", "withdrawn"]
            .into_iter()
            .find(|what| *what == entry.what);
        self.context.metrics.count(self.context.stage, what.unwrap_or("other"));
        if entry.micros > 0 && entry.what == "applied" {
            self.context.metrics.event_to_applied(entry.micros);
        }
        self.context.journal.record(entry);
    }
}

impl Observer for Reporter {
    fn malformed(&self, subject: &str, reason: &str) {
        self.context.metrics.row(self.context.stage, "malformed");
        let text = format!("the message cannot be read: {reason}; delete it from its stream");
        self.problem(Problem::open(self.context.stage, "", About::Message(subject.to_owned()), text));
    }

    fn unreadable(&self, subject: &str, reason: &str) {
        self.context.metrics.row(self.context.stage, "malformed");
        tracing::warn!(subject, reason, "the body of a row cannot be read");
    }

    fn read(&self, pending: u64) {
        self.context.metrics.row(self.context.stage, "read");
        self.lag.tell(pending);
    }

    fn tell(&self, line: JournalEntry) {
        self.record(line);
    }

    fn behind(&self, why: Option<&str>) {
        let about = About::Shard(self.lag.shard.clone());
        self.problem(match why {
            Some(why) => Problem::open(self.context.stage, "", about, why),
            None => Problem::resolved(self.context.stage, "", about),
        });
    }

    fn published(&self, bytes: usize) {
        self.context.metrics.row(self.context.stage, "published");
        self.context.metrics.published_bytes(self.context.stage, bytes);
    }

    fn took(&self, span: Span, duration: Duration) {
        self.context.metrics.took(self.context.stage, span, duration);
    }

    fn too_large(&self, subject: &str, reason: Option<&str>) {
        let about = About::Row(subject.to_owned());
        self.problem(match reason {
            Some(reason) => {
                self.context.metrics.row(self.context.stage, "too_large");
                Problem::open(self.context.stage, "", about, reason)
            }
            None => Problem::resolved(self.context.stage, "", about),
        });
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::Role;
    use sluice_tasks::Tasks;

    use super::*;
    use crate::kit::{self, Server};

    fn line(what: &str, micros: i64) -> JournalEntry {
        JournalEntry::new("deployer", what, "c", "p", 10 + micros, 10)
    }

    #[tokio::test]
    async fn only_what_was_applied_is_the_end_of_an_events_way() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Deployer(None), &tasks).await;
        let reporter = Reporter::new(&context, "03");
        assert_eq!(reporter.stage(), "deployer");
        // Where nobody knows when it began, and where it did not end in a cluster, it says nothing of the way.
        for (what, micros) in [("applied", 0), ("withdrawn", 5_000), ("applied", 3_000), ("made up", 1)] {
            reporter.record(line(what, micros));
        }
        Observer::read(&reporter, 7);
        Observer::published(&reporter, 7);
        Observer::took(&reporter, Span::Publish, Duration::from_millis(3));
        let text = context.metrics.text();
        for line in [
            r#"sluice_publish_seconds_count{stage="deployer"} 1"#,
            r#"sluice_published_bytes_total{stage="deployer"} 7"#,
            "sluice_event_to_applied_seconds_count 1",
            r#"sluice_happened_total{stage="deployer",outcome="applied"} 2"#,
            r#"sluice_happened_total{stage="deployer",outcome="withdrawn"} 1"#,
            r#"sluice_happened_total{stage="deployer",outcome="other"} 1"#,
            r#"sluice_shard_lag_rows{stage="deployer",shard="03"} 7"#,
            r#"sluice_rows_total{stage="deployer",outcome="published"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
        }
        drop(reporter);
        let text = context.metrics.text();
        assert!(
            text.contains(r#"sluice_shard_lag_rows{stage="deployer",shard="03"} 0"#),
            "it is somebody else's"
        );
        tasks.stop().cancel();
    }
}
