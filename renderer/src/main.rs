//! `sluice-renderer`: this stage alone.

use clap::Parser as _;

/// Rows and objects are parsed and built all the time: with the system's allocator that is a third of the work.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<()> {
    sluice_tera::serve_if_asked();
    start()
}

#[tokio::main]
async fn start() -> anyhow::Result<()> {
    let args = sluice_renderer::Args::parse();
    sluice_runtime::install_logs(args.log_format())?;
    args.run().await
}
