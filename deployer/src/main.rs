//! `sluice-deployer`: this stage alone.

use clap::Parser as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    sluice_runtime::install_defaults()?;
    sluice_deployer::Args::parse().run().await
}
