//! `sluice-renderer`: this stage alone.

use clap::Parser as _;

fn main() -> anyhow::Result<()> {
    sluice_tera::serve_if_asked();
    start()
}

#[tokio::main]
async fn start() -> anyhow::Result<()> {
    sluice_runtime::install_defaults()?;
    sluice_renderer::Args::parse().run().await
}
