//! Telling people what a shard does: problems, journal, metrics.

use sluice_bus::{Observer, Voice};
use sluice_protocol::{Happened, Problem};

use crate::context::Context;

/// The voice of one shard.
#[derive(Clone, Debug)]
pub struct Reporter {
    context: Context,
    voice: Voice,
    shard: String,
}

impl Reporter {
    /// A reporter for `shard` of the context's stage.
    pub fn new(context: &Context, shard: impl Into<String>) -> Self {
        Self { context: context.clone(), voice: context.problems.voice(), shard: shard.into() }
    }

    /// The stage in whose name it reports.
    pub fn stage(&self) -> &'static str {
        self.context.stage
    }

    /// Something is wrong, or no longer.
    pub fn problem(&self, problem: Problem) {
        if let Some(error) = &problem.error {
            self.context.metrics.problem(self.context.stage);
            tracing::debug!(cluster = problem.cluster, object = problem.object, error, "problem");
            let object = format!("{}: {error}", problem.object);
            self.context.journal.happened(Happened::new(
                self.context.stage,
                "problem",
                &problem.cluster,
                object,
                0,
                0,
            ));
        }
        self.voice.report(problem);
    }

    /// Something happened.
    pub fn happened(&self, line: Happened) {
        let what = ["matched", "unmatched", "rendered", "applied", "withdrawn"]
            .into_iter()
            .find(|what| *what == line.what);
        self.context.metrics.happened(self.context.stage, what.unwrap_or("other"));
        if line.micros > 0 && line.what == "applied" {
            self.context.metrics.event_to_applied(line.micros);
        }
        self.context.journal.happened(line);
    }
}

impl Observer for Reporter {
    fn malformed(&self, subject: &str, reason: &str) {
        self.context.metrics.row(self.context.stage, "malformed");
        let text = format!("the message cannot be read: {reason}; delete it from its stream");
        self.problem(Problem::open(self.context.stage, "", format!("message {subject}"), text));
    }

    fn unreadable(&self, subject: &str, reason: &str) {
        self.context.metrics.row(self.context.stage, "malformed");
        tracing::warn!(subject, reason, "the body of a row cannot be read");
    }

    fn read(&self, pending: u64) {
        self.context.metrics.row(self.context.stage, "read");
        self.context.metrics.lag(self.context.stage, &self.shard, pending);
    }

    fn behind(&self, why: Option<&str>) {
        let object = format!("shard {}", self.shard);
        self.problem(match why {
            Some(why) => Problem::open(self.context.stage, "", object, why),
            None => Problem::healed(self.context.stage, "", object),
        });
    }

    fn published(&self) {
        self.context.metrics.row(self.context.stage, "published");
    }

    fn too_large(&self, subject: &str, reason: Option<&str>) {
        let object = format!("row {subject}");
        self.problem(match reason {
            Some(reason) => {
                self.context.metrics.row(self.context.stage, "too_large");
                Problem::open(self.context.stage, "", object, reason)
            }
            None => Problem::healed(self.context.stage, "", object),
        });
    }
}
