//! A nats-server of one's own, with its data in a folder; it can be killed and started again on them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::net::TcpStream;

use super::process::{Launch, Process, free_port};
use super::programs::Programs;

const START_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// A running server.
#[derive(Debug)]
pub struct BusServer {
    dir: PathBuf,
    port: u16,
    process: Process,
}

// === impl BusServer ===

impl BusServer {
    /// Starts a server with its data in `dir` and waits until it takes connections.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(dir: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let store = dir.join("jetstream");
        // The same settings as in production, on one's own address.
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\nmax_payload: 8MB\njetstream {{\n  store_dir: {store:?}\n  sync_interval: \"2m\"\n}}\n"
        );
        std::fs::write(dir.join("nats.conf"), config)
            .with_context(|| format!("cannot write into {}", dir.display()))?;
        let process = launch(dir)?;
        let mut server = Self { dir: dir.to_path_buf(), port, process };
        server.wait_until_there().await?;
        Ok(server)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Kills it without warning and starts it again on the same address and data.
    ///
    /// # Errors
    /// When it does not come back.
    pub async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process = launch(&self.dir)?;
        self.wait_until_there().await
    }

    /// The version that `nats-server` says it is.
    pub fn version() -> String {
        let said = Command::new(Programs::nats_server()).arg("--version").output();
        said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default()
    }

    async fn wait_until_there(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            if let Some(status) = self.process.ended()? {
                bail!("nats-server ended with {status}: {}", self.process.log_end());
            }
            if Instant::now() > deadline {
                bail!("nats-server does not come up: {}", self.process.log_end());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

fn launch(dir: &Path) -> anyhow::Result<Process> {
    let config = dir.join("nats.conf").display().to_string();
    let launch = Launch::new("nats", Programs::nats_server(), vec!["--config".to_owned(), config], dir);
    Process::start(launch).context("nats-server is needed: put it on PATH or name it in SLUICE_NATS_SERVER")
}
