//! Arguments of `sluice-matcher`.

use sluice_protocol::Role;
use sluice_runtime::{CommonArgs, Context, LogArgs, LogFormat, stop_on_signals};

/// Decides which changed objects are events.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-matcher", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    logs: LogArgs,
}

impl Args {
    /// How logs are to be written.
    pub fn log_format(&self) -> LogFormat {
        self.logs.log_format
    }

    /// Runs until a signal.
    ///
    /// # Errors
    /// When arguments or the bus cannot be used.
    pub async fn run(self) -> anyhow::Result<()> {
        let context = Context::start(Role::Matcher, &self.common, &stop_on_signals()).await?;
        crate::run(context).await
    }
}
