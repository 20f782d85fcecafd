//! `sluice problems`: what cannot be done, and why.

use std::time::Duration;

use sluice_bus::problem_feed;
use sluice_protocol::Role;
use sluice_runtime::{CommonArgs, Context, Metrics, Readiness, stop_on_signals};

/// Arguments of `sluice problems`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonArgs,
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
        for problem in feed.values() {
            println!("{}", serde_json::to_string(&problem)?);
        }
        Ok(())
    }
}
