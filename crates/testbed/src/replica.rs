//! One replica of one stage.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;

use crate::ports::steady_port;
use crate::process::{Launch, Process};
use crate::web::Connection;

/// The stages, in the direction of the data.
pub const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];

/// How long a replica may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running replica. It ends when this is dropped.
#[derive(Debug)]
pub struct Replica {
    stage: &'static str,
    name: String,
    admin: String,
    process: Process,
}

// === impl Replica ===

impl Replica {
    /// Starts it with an admin endpoint on a free port.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(stage: &'static str, mut launch: Launch) -> anyhow::Result<Self> {
        let host = launch.place.as_ref().map_or("127.0.0.1", |place| &place.address);
        let admin = format!("{host}:{}", steady_port()?);
        launch.arguments.push(format!("--http-addr={admin}"));
        let name = launch.name.clone();
        Ok(Self { stage, name, admin, process: Process::start(launch)? })
    }

    /// `matcher` for example: what its metrics and problems are named after.
    pub fn stage(&self) -> &'static str {
        self.stage
    }

    /// Tells replicas of one stage apart, and names the log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// For what only a process can tell: how it ended, that it is to be killed.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The last lines that it has logged, for errors.
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }

    /// Sends it a signal by name, `STOP` for example.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        self.process.signal(signal)
    }

    /// Whether it says that it is ready.
    pub async fn is_ready(&self) -> bool {
        matches!(self.ask("/readyz").await, Ok((200, _)))
    }

    /// The sum of all series of a metric that carry these labels (`stage="matcher"`); 0 without any.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> anyhow::Result<f64> {
        let (_, text) = self.ask("/metrics").await?;
        Ok(sum(&text, name, labels))
    }

    /// Every series of a metric, by its labels as they are written.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn series(&self, name: &str) -> anyhow::Result<BTreeMap<String, f64>> {
        let (_, text) = self.ask("/metrics").await?;
        let labels = |line: &str| {
            let (series, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
            (series.is_empty() || series.starts_with('{')).then_some((series.to_owned(), value.parse().ok()?))
        };
        Ok(text.lines().filter_map(labels).collect())
    }

    async fn ask(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let asked = async { Connection::open(&self.admin).await?.get(path, "").await };
        // A paused process takes connections and never answers.
        let answer = tokio::time::timeout(PATIENCE, asked).await.context("no answer")??;
        Ok((answer.code, String::from_utf8_lossy(&answer.body).into_owned()))
    }
}

fn sum(text: &str, name: &str, labels: &[&str]) -> f64 {
    let of_this = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
            && labels.iter().all(|label| line.contains(label))
    };
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    text.lines().filter(of_this).filter_map(value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_by_label() {
        let text = "# TYPE rows counter\nrows_total{stage=\"a\",outcome=\"read\"} 3\n\
            rows_total{stage=\"a\",outcome=\"published\"} 4\nrows_total_more{stage=\"a\"} 9\nplain 2\n";
        assert_eq!(sum(text, "rows_total", &["stage=\"a\""]), 7.0);
        assert_eq!(sum(text, "rows_total", &["outcome=\"read\""]), 3.0);
        assert_eq!((sum(text, "plain", &[]), sum(text, "absent", &[])), (2.0, 0.0));
    }
}
