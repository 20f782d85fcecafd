//! `sluice shards`: who works on what.

use sluice_inspect::shards;
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::reach::Reach;
use crate::table::{Format, Output, Table, time};

const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];

/// Arguments of `sluice shards`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice shards --stage matcher
  sluice shards -o json | jq -r .replica | sort | uniq -c

It reads rows that people have no right to: with accounts, use the operator's.")]
pub(crate) struct Args {
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
        let bus = self.reach.bus(Role::Operator, &Tasks::default()).await?;
        let found = shards(&bus, self.stage.as_deref()).await?;
        if self.output.output == Format::Json {
            for shard in found {
                println!("{}", serde_json::to_string(&shard)?);
            }
            return Ok(());
        }
        let mut table = Table::new(&["STAGE", "SHARD", "REPLICA", "SINCE"], self.output.no_headers);
        for shard in found {
            table.add([shard.stage.to_owned(), shard.shard, shard.replica, time(shard.since)]);
        }
        print!("{table}");
        Ok(())
    }
}
