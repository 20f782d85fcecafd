//! `sluice-agent`: this stage alone.

// D-1404: one binary for each stage.

use clap::Parser as _;

/// Rows and objects are parsed and built all the time: with the system's allocator that is a third of the work.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = sluice_agent::Args::parse();
    sluice_runtime::install_logs(args.log_format())?;
    args.run().await
}
