//! `sluice bus`: what the bus is like, giving it more replicas, and its keys.

use std::time::Duration;

use anyhow::Context as _;
use sluice_bus::{BusOptions, BusReport, Rotation, SEALED_FOR, check, retire, rotate, scale, seal};
use sluice_protocol::Role;
use sluice_runtime::{CommonArgs, NatsArgs};
use sluice_tasks::Tasks;

use crate::print::{put, say};
use crate::reach::Reach;
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
    /// Give stages new keys, with which Secrets are sealed for them, while everything works on. Exit code 1 while rows are still
    /// sealed with former ones: call it with --retire later.
    #[command(after_help = "Examples:
  sluice bus rotate-keys --bus-keys kubernetes
  sluice bus rotate-keys --bus-keys /etc/sluice/keys --stage matcher
  sluice bus rotate-keys --bus-keys kubernetes --retire")]
    RotateKeys {
        #[command(flatten)]
        reach: Reach,
        /// Only this one.
        #[arg(long, value_parser = SEALED_FOR)]
        stage: Option<String>,
        /// Make no new key: only take those away that no row is sealed with any more.
        #[arg(long)]
        retire: bool,
        /// How long to wait until no row is sealed with former keys, in seconds.
        #[arg(long, default_value_t = 120)]
        wait: u64,
    },
    /// Seal a bus that was made without, from the next start of each process on. They need --bus-keys from then on.
    #[command(after_help = "Examples:
  sluice bus seal --nats-url nats://bus:4222
  sluice bus seal --nats-url tls://n0:4222,tls://n1:4222,tls://n2:4222 --nats-nkey operator.nk")]
    Seal {
        #[command(flatten)]
        nats: NatsArgs,
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
            Command::RotateKeys { reach, stage, retire, wait } => {
                rotate_keys(&reach, stage, retire, Duration::from_secs(wait)).await?;
            }
            Command::Seal { nats } => {
                seal(&nats.connection(Role::Operator)?).await?;
                say!("the bus is sealed from the next start of each process on; give each --bus-keys");
            }
        }
        Ok(())
    }
}

/// For each stage, one after the other; all of them also where one has rows left.
async fn rotate_keys(
    reach: &Reach,
    stage: Option<String>,
    only_retire: bool,
    patience: Duration,
) -> anyhow::Result<()> {
    let tasks = Tasks::default();
    let store = reach.options(Role::Operator)?.keys.store;
    let store = store.context("no --bus-keys: say where the keys of the stages are")?;
    let bus = reach.bus(Role::Operator, &tasks).await?;
    anyhow::ensure!(bus.is_sealed(), "this bus is not sealed; `sluice bus seal` seals it");
    let (mut left, stages) =
        (0, SEALED_FOR.iter().filter(|name| stage.as_deref().is_none_or(|only| only == **name)));
    for stage in stages {
        let Rotation { key, gone, rows } = match only_retire {
            true => retire(&bus, &*store, stage, patience).await?,
            false => rotate(&bus, &*store, stage, patience).await?,
        };
        let verb = if only_retire { "reads with" } else { "has the new key" };
        match key.as_str() {
            "" => say!("{stage} has no key"),
            key => say!("{stage} {verb} {key}; {} former keys are gone", gone.len()),
        }
        if rows > 0 {
            say!("{stage}: {rows} rows are still sealed with former keys");
        }
        left += rows;
    }
    tasks.stop().cancel();
    anyhow::ensure!(
        left == 0,
        "{left} rows are still sealed with former keys, which stay; call it with --retire later"
    );
    Ok(())
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
