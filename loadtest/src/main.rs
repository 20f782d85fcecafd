//! The load generator. See the library.

use clap::Parser as _;

#[tokio::main]
async fn main() -> anyhow::Result<std::process::ExitCode> {
    sluice_runtime::install_defaults()?;
    sluice_loadtest::Args::parse().run().await
}
