//! `sluice problems`: what cannot be done, and why.

use std::time::Duration;

use sluice_bus::problem_feed;
use sluice_protocol::Role;
use sluice_protocol::report::ProblemRow;
use sluice_runtime::{CommonArgs, Context, Metrics, Readiness, stop_on_signals};

use crate::table::Table;

/// Arguments of `sluice problems`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice problems --nats-url nats://127.0.0.1:4222
  sluice problems -o json | jq -r .error")]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonArgs,
    /// Format.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// Leave the header out.
    #[arg(long)]
    no_headers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    /// One JSON object a line.
    Json,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        let context =
            Context::connect(Role::People, &self.common, Metrics::new(), Readiness::default(), &tasks)
                .await?;
        let feed = problem_feed(&context.bus, tasks.stop().clone());
        tokio::time::timeout(Duration::from_secs(10), feed.synced())
            .await
            .map_err(|_| anyhow::anyhow!("the bus does not answer"))?;
        let problems = feed.values();
        if self.output == Format::Json {
            for problem in problems {
                println!("{}", serde_json::to_string(&problem)?);
            }
            return Ok(());
        }
        if problems.is_empty() {
            println!("no problems");
            return Ok(());
        }
        let mut rows: Vec<[String; 4]> = problems.into_iter().map(cells).collect();
        rows.sort();
        let mut table = Table::new(&["STAGE", "CLUSTER", "OBJECT", "PROBLEM"], self.no_headers);
        rows.into_iter().for_each(|row| table.add(row));
        print!("{table}");
        Ok(())
    }
}

fn cells(row: ProblemRow) -> [String; 4] {
    let ProblemRow { stage, cluster, object, error, .. } = row;
    [stage, cluster, object, error]
}
