//! `sluice bus`: what the bus is like, and giving it more replicas.

use std::time::Duration;

use sluice_bus::{BusOptions, BusReport, check, scale};
use sluice_protocol::Role;
use sluice_runtime::{CommonArgs, NatsArgs};

use crate::print::{put, say};
use crate::table::{Format, Output};

/// Arguments of `sluice bus`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print servers, streams and owners; exit code 1 when something is not as it should be.
    #[command(after_help = "Examples:
  sluice bus check --nats-url nats://bus:4222
  sluice bus check -o json")]
    Check {
        #[command(flatten)]
        common: CommonArgs,
        /// Print one JSON object, as -o json does.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Give every stream another number of replicas, while everything works on.
    #[command(after_help = "Examples:
  sluice bus scale --replicas 3
  sluice bus scale --nats-url nats://bus:4222 --replicas 1")]
    Scale {
        #[command(flatten)]
        nats: NatsArgs,
        /// Copies of each stream; as many servers are needed.
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=5))]
        replicas: u8,
    },
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Check { common, json, output } => {
                let options = BusOptions {
                    tombstone_ttl: Duration::from_secs(common.tombstone_ttl.max(1)),
                    ..common.bus_options(Role::People)?
                };
                let report = check(&options).await?;
                let format = if json { Format::Json } else { output.output };
                match (Output { output: format, ..output }).data(&report)? {
                    Some(data) => put!("{data}"),
                    None => print(&report, output.no_headers),
                }
                anyhow::ensure!(report.problems.is_empty(), "{} things are wrong", report.problems.len());
            }
            Command::Scale { nats, replicas } => {
                let tell = |stream: &str| say!("{stream} has {replicas} replicas");
                let changed = scale(&nats.connection(Role::Operator)?, replicas.into(), tell).await?;
                say!("{changed} streams were changed");
            }
        }
        Ok(())
    }
}

fn print(report: &BusReport, no_headers: bool) {
    for server in &report.servers {
        let name = if server.name.is_empty() { "no answer" } else { &server.name };
        say!("server {:<32} {name} {}", server.url, server.version);
    }
    say!("JetStream API level {}", report.api_level);
    say!();
    if !no_headers {
        say!(
            "{:<16} {:<12} {:>8} {:>6} {:>8} {:>12}",
            "STREAM",
            "LEADER",
            "REPLICAS",
            "LAG",
            "ROWS",
            "BYTES"
        );
    }
    for stream in &report.streams {
        say!(
            "{:<16} {:<12} {:>8} {:>6} {:>8} {:>12}",
            stream.name,
            stream.leader.as_deref().unwrap_or("-"),
            format!("{}/{}", stream.current, stream.replicas),
            stream.lag,
            stream.rows,
            stream.bytes
        );
    }
    for (stage, owners) in &report.owners {
        say!();
        owners.iter().for_each(|(member, shards)| say!("{stage:<10} {member:<32} {shards:>6} shards"));
    }
    if !report.problems.is_empty() {
        say!();
    }
    report.problems.iter().for_each(|problem| say!("problem: {problem}"));
}
