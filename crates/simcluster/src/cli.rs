//! Command line of the binary.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::{FleetConfig, SimFleet};

/// Simulated Kubernetes clusters: one management cluster and any number of managed ones.
#[derive(Debug, Parser)]
#[command(name = "sluice-simcluster", version)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Number of managed clusters, named cluster-1, cluster-2 and so on.
    #[arg(long, default_value_t = 1)]
    clusters: usize,
    /// Services of each managed cluster that are there from the beginning, and are no event of anything.
    #[arg(long, default_value_t = 0)]
    services: usize,
    /// Where to write a kubeconfig with a context per cluster.
    #[arg(long)]
    kubeconfig_out: Option<PathBuf>,
    /// Base URL by which clients reach this process, when it is not the listening address.
    #[arg(long)]
    advertise: Option<String>,
}

// === impl Args ===

impl Args {
    /// Serves until SIGTERM or SIGINT.
    pub async fn run(self) -> anyhow::Result<()> {
        let managed = (1..=self.clusters).map(|number| format!("cluster-{number}"));
        let clusters: Vec<String> = std::iter::once("management".to_owned()).chain(managed).collect();
        let config =
            FleetConfig { listen: self.listen, clusters: clusters.clone(), advertise: self.advertise };
        let fleet = SimFleet::start(config).await?;
        for cluster in clusters.iter().skip(1).filter(|_| self.services > 0) {
            fleet.fill(cluster, self.services)?;
        }
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        if let Some(path) = &self.kubeconfig_out {
            let ids: Vec<&str> = clusters.iter().map(String::as_str).collect();
            write_atomically(path, &fleet.kubeconfig(&ids)).with_context(|| {
                format!(
                    "cannot write the kubeconfig to {}; choose a writable --kubeconfig-out",
                    path.display()
                )
            })?;
        }
        println!("ready addr={}", fleet.addr());
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        fleet.shutdown().await;
        Ok(())
    }
}

/// Readers see the whole file or none.
fn write_atomically(path: &Path, text: &str) -> std::io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    std::fs::write(&partial, text)?;
    std::fs::rename(&partial, path)
}
