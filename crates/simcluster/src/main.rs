//! The binary: simulated clusters until SIGTERM.

use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    sluice_simcluster::Args::parse().run().await
}
