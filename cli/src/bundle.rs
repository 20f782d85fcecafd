//! `sluice bundle`: what a bug report needs, in one archive.
//!
//! What goes in holds nothing of Secrets: statuses, problems, logs and metrics have no values ([`sluice_api::secrets`]), and of rows only heads
//! are read. What cannot be had is said in `missing.txt`, and the rest is there.

mod pods;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::json;
use sluice_bus::{Bus, ReadSpec, check, look_until, owners, problem_feed};
use sluice_protocol::{Role, Shard, Table};
use sluice_tasks::Tasks;

use crate::print::say;
use crate::reach::{self, Management, Reach};

/// How long one part may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Heads of each stream.
const HEADS: usize = 2_000;
const TABLES: [(&str, Table); 4] = [
    ("changes", Table::Changes),
    ("reports", Table::Reports),
    ("desired", Table::Desired),
    ("status", Table::Status),
];

/// Arguments of `sluice bundle`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice bundle --nats-url nats://127.0.0.1:4222 --nats-nkey operator.nk --kubeconfig management.yaml
  sluice bundle --to report.tgz --lines 500

Look into it before you give it away: it names your clusters, namespaces and objects. It holds no value of a Secret.")]
pub(crate) struct Args {
    /// The archive; by default sluice-bundle-<time>.tgz.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Namespace of the installation, for its pods, logs and metrics.
    #[arg(long, default_value = "projectsveltos")]
    namespace: String,
    /// Lines of each log.
    #[arg(long, default_value_t = 2_000)]
    lines: i64,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
}

/// What has been collected.
#[derive(Debug, Default)]
struct Parts {
    files: Vec<(String, Vec<u8>)>,
    missing: Vec<String>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let now = jiff::Timestamp::now();
        let path = self
            .to
            .clone()
            .unwrap_or_else(|| format!("sluice-bundle-{}.tgz", now.strftime("%Y%m%dT%H%M%SZ")).into());
        let mut parts = Parts::default();
        parts.put("version.json", &json!({"sluice": env!("CARGO_PKG_VERSION"), "made": now.to_string()}));
        Box::pin(self.bus(&mut parts)).await;
        match self.management.client().await {
            Ok(client) => pods::collect(&client, &self.namespace, self.lines, &mut parts).await,
            Err(error) => parts.miss("the management cluster", &format!("{error:#}")),
        }
        let missing = parts.missing.len();
        let archive = parts.archive(now.as_second())?;
        std::fs::write(&path, archive).with_context(|| format!("--to {}", path.display()))?;
        say!("{} holds what is known; look into it before you give it away", path.display());
        if missing > 0 {
            eprintln!("sluice: {missing} parts could not be had; missing.txt in it says which, and why");
        }
        Ok(())
    }

    async fn bus(&self, parts: &mut Parts) {
        let options = match self.reach.options(Role::Operator) {
            Ok(options) => options,
            Err(error) => return parts.miss("the bus", &format!("{error:#}")),
        };
        let Some(report) =
            parts.had("bus.json", in_time(Box::pin(async { Ok(check(&options).await?) })).await)
        else {
            return;
        };
        parts.put("bus.json", &report);
        // Connecting makes what is missing, which a look must not.
        if !report.problems.is_empty() {
            return parts.miss("rows and problems", "the bus is not as it should be: bus.json says how");
        }
        let tasks = Tasks::default();
        if let Some(bus) =
            parts.had("rows and problems", in_time(Box::pin(self.reach.bus(Role::Operator, &tasks))).await)
        {
            let problems = in_time(async {
                let feed = problem_feed(&bus, tasks.stop().clone());
                feed.synced().await;
                Ok(feed.values())
            });
            if let Some(problems) = parts.had("problems.json", problems.await) {
                parts.put("problems.json", &problems);
            }
            for (name, table) in TABLES {
                let file = format!("rows/{name}.txt");
                if let Some(text) = parts.had(&file, in_time(Box::pin(rows(&bus, table))).await) {
                    parts.files.push((file, text.into_bytes()));
                }
            }
        }
        tasks.stop().cancel();
    }
}

/// The owners of a table's shards, and the heads of its rows: subject, digest, when the server has stored it.
async fn rows(bus: &Bus, table: Table) -> anyhow::Result<String> {
    use std::fmt::Write as _;
    use std::ops::ControlFlow::{Break, Continue};
    let mut text = String::new();
    for holder in owners(bus, table).await? {
        writeln!(text, "owner {} {} since {}", holder.key, holder.member, holder.since)?;
    }
    let mut streams: Vec<String> = (0..bus.shards()).map(|shard| table.stream(Shard::new(shard))).collect();
    // One table has all of its shards in one stream.
    streams.dedup();
    for stream in streams {
        let spec = ReadSpec { heads_only: true, estimated: true, ..ReadSpec::all(stream.clone()) };
        let mut heads = Vec::new();
        look_until(bus, &spec, |stored| {
            let head = &stored.row.head;
            let gone = if head.tombstone { " gone" } else { "" };
            heads.push(format!("{stream} {} {} at {}{gone}\n", stored.row.subject, head.digest, stored.at));
            if heads.len() < HEADS { Continue(()) } else { Break(()) }
        })
        .await?;
        text.extend(heads);
    }
    Ok(text)
}

async fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    reach::in_time(PATIENCE, work).await
}

// === impl Parts ===

impl Parts {
    fn put(&mut self, file: &str, value: &impl Serialize) {
        match serde_json::to_vec_pretty(value) {
            Ok(text) => self.files.push((file.to_owned(), text)),
            Err(error) => self.miss(file, &error.to_string()),
        }
    }

    fn miss(&mut self, what: &str, why: &str) {
        self.missing.push(format!("{what}: {why}"));
    }

    /// What was had; what was not is missing.
    fn had<T>(&mut self, what: &str, found: anyhow::Result<T>) -> Option<T> {
        found.inspect_err(|error| self.miss(what, &format!("{error:#}"))).ok()
    }

    /// All of it as a compressed archive.
    fn archive(mut self, time: i64) -> std::io::Result<Vec<u8>> {
        if !self.missing.is_empty() {
            self.files.push(("missing.txt".to_owned(), (self.missing.join("\n") + "\n").into_bytes()));
        }
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        for (path, content) in &self.files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(u64::try_from(time).unwrap_or(0));
            archive.append_data(&mut header, format!("sluice-bundle/{path}"), content.as_slice())?;
        }
        archive.into_inner()?.finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_missing_is_said_in_the_archive() {
        let mut parts = Parts::default();
        parts.put("version.json", &json!({"sluice": "1"}));
        assert!(parts.had("bus.json", anyhow::Ok(7)).is_some());
        assert!(parts.had::<()>("problems.json", Err(anyhow::anyhow!("no answer"))).is_none());
        let archive = parts.archive(0).unwrap();
        let mut found = Vec::new();
        for entry in tar::Archive::new(flate2::read::GzDecoder::new(&archive[..])).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            found.push((entry.path().unwrap().display().to_string(), text));
        }
        assert_eq!(found[0].0, "sluice-bundle/version.json");
        assert_eq!(
            found[1],
            ("sluice-bundle/missing.txt".to_owned(), "problems.json: no answer\n".to_owned())
        );
    }
}
