//! `sluice-deployer`: this stage alone.

use clap::Parser as _;

/// Rows and objects are parsed and built all the time: with the system's allocator that is a third of the work.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    sluice_runtime::install_defaults()?;
    sluice_deployer::Args::parse().run().await
}
