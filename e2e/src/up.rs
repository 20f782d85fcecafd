//! A running `sluice up`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use sluice_testbed::{Launch, Process, Programs};

/// How long it may take to come up on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

/// The process; it and everything that it started end when this is dropped.
#[derive(Debug)]
pub struct Up {
    process: Process,
    kubeconfig: PathBuf,
    nats: String,
    inspect: String,
    admin: String,
}

// === impl Up ===

impl Up {
    /// Starts it with its data in `dir`, and waits until it serves.
    ///
    /// # Errors
    /// When it does not come up; with the end of its log.
    pub async fn start(dir: &Path, arguments: &[String]) -> anyhow::Result<Self> {
        let mut all = vec!["up".to_owned(), format!("--dir={}", dir.join("up").display())];
        all.extend(arguments.iter().cloned());
        let launch = Launch::new("up", Programs::beside_me()?.find("sluice")?, all, dir);
        let mut process = Process::start(Launch { graceful: true, ..launch })?;
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let output = process.output();
            if let Some(line) = output.lines().find(|line| line.starts_with("ready ")) {
                let kubeconfig = value(line, "kubeconfig")?.into();
                let (nats, inspect) = (value(line, "nats")?, value(line, "inspect")?);
                let admin = value(line, "admin")?;
                return Ok(Self { process, kubeconfig, nats, inspect, admin });
            }
            if let Some(status) = process.ended()? {
                bail!("sluice up ended with {status}: {}", process.log_end());
            }
            if Instant::now() > deadline {
                bail!("sluice up does not come up: {}", process.log_end());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The kubeconfig with its clusters.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// URL of its bus.
    pub fn nats_url(&self) -> &str {
        &self.nats
    }

    /// URL of its Inspect service.
    pub fn inspect_url(&self) -> &str {
        &self.inspect
    }

    /// URL of its metrics and its health.
    pub fn admin_url(&self) -> &str {
        &self.admin
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has told so far.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Ends it without warning; what it has started stays.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }

    /// What it has logged last, for errors.
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn value(line: &str, name: &str) -> anyhow::Result<String> {
    let found = line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.map(str::to_owned).with_context(|| format!("the line {line:?} of sluice up has no {name}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_ready_line_is_read_by_name() {
        let line = "ready kubeconfig=/a/kubeconfig nats=nats://127.0.0.1:1 admin=http://127.0.0.1:2 inspect=http://127.0.0.1:3";
        assert_eq!(value(line, "nats").unwrap(), "nats://127.0.0.1:1");
        assert!(value(line, "other").is_err());
    }
}
