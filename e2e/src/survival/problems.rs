//! The open problems, as `sluice problems -o json` prints them.

use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use sluice_testbed::Programs;

/// A line of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Problem {
    /// The stage that met it.
    pub stage: String,
    /// The cluster, or empty when it concerns all.
    pub cluster: String,
    /// The user's object it is about, and what within it.
    pub object: String,
    /// What is wrong and what to do.
    pub error: String,
}

/// What is open now.
///
/// # Errors
/// When the command fails.
pub fn problems(programs: &Programs, nats_url: &str) -> anyhow::Result<Vec<Problem>> {
    let arguments = ["problems", "-o", "json", "--nats-url", nats_url];
    let said = Command::new(programs.find("sluice")?).args(arguments).output()?;
    if !said.status.success() {
        bail!("sluice problems: {}", String::from_utf8_lossy(&said.stderr));
    }
    let text = String::from_utf8_lossy(&said.stdout);
    let lines = text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned()));
    lines.collect()
}
