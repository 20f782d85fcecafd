//! `sluice shards`: who works on what.

use sluice_inspect::{STAGES, Shard};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::reach::Reach;
use crate::table::{Output, Table, time};

/// Arguments of `sluice shards`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice shards --stage matcher
  sluice shards -o json | jq -r .replica | sort | uniq -c

It reads rows that people have no right to: with accounts, use the operator's.")]
pub(crate) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    /// Only this stage.
    #[arg(long, value_parser = STAGES)]
    stage: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: None };
        let tasks = Tasks::default();
        let found = self.served.answers(here, &tasks).await?.shards(self.stage.as_deref()).await?;
        Ok(self.output.print(found, |found| table(found, self.output))?)
    }
}

fn table(shards: Vec<Shard>, output: Output) -> Table {
    let mut table = Table::new(&["STAGE", "SHARD", "REPLICA", "SINCE"], output.no_headers);
    for shard in shards {
        table.add([shard.stage.to_string(), shard.shard, shard.replica, time(shard.since)]);
    }
    table
}
