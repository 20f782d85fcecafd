//! One nats-server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::net::TcpStream;

use super::view::Said;
use crate::ports::steady_port;
use crate::process::{Launch, Process};
use crate::programs::Programs;
use crate::security::Security;
use crate::web::Connection;

const START_TIMEOUT: Duration = Duration::from_secs(30);
/// A node writes everything down before it ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// A paused node takes connections and never answers.
const PATIENCE: Duration = Duration::from_secs(2);

/// The ports of a node, but for that of clients all on the loopback address.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// Where clients reach it.
    host: String,
    client: u16,
    monitor: u16,
    /// For the other nodes.
    pub(super) route: u16,
}

/// A node, running or not.
#[derive(Debug)]
pub(super) struct Node {
    dir: PathBuf,
    name: String,
    addresses: Addresses,
    /// Whether it takes encrypted connections only.
    secured: bool,
    process: Option<Process>,
}

// === impl Addresses ===

impl Addresses {
    /// Ports that are free now.
    pub(super) fn free(host: &str) -> anyhow::Result<Self> {
        let host = host.to_owned();
        Ok(Self { host, client: steady_port()?, monitor: steady_port()?, route: steady_port()? })
    }
}

// === impl Node ===

impl Node {
    /// Writes its configuration; it does not run yet.
    pub(super) fn new(
        dir: &Path,
        index: usize,
        addresses: Addresses,
        routes: &[u16],
        security: Option<&Security>,
    ) -> anyhow::Result<Self> {
        let (dir, name) = (dir.to_path_buf(), format!("nats-{}", index + 1));
        let node = Self { dir, name, addresses, secured: security.is_some(), process: None };
        let text = configuration(&node.name, &node.addresses, &node.store(), routes, security);
        std::fs::write(node.config(), text)
            .with_context(|| format!("cannot write {}", node.config().display()))?;
        Ok(node)
    }

    /// Its name in the cluster, and that of its log.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where clients connect.
    pub(super) fn url(&self) -> String {
        let scheme = if self.secured { "tls" } else { "nats" };
        format!("{scheme}://{}:{}", self.addresses.host, self.addresses.client)
    }

    /// Its process, while it runs.
    pub(super) fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Starts it.
    pub(super) fn launch(&mut self) -> anyhow::Result<()> {
        if self.process.is_some() {
            bail!("node {} of the bus runs already; kill or stop it first", self.name);
        }
        let arguments = vec!["--config".to_owned(), self.config().display().to_string()];
        let launch = Launch::new(&self.name, Programs::nats_server(), arguments, &self.dir);
        let process = Process::start(launch)
            .context("nats-server is needed: put it on PATH or name it in SLUICE_NATS_SERVER")?;
        self.process = Some(process);
        Ok(())
    }

    /// Waits until it takes connections.
    pub(super) async fn wait_until_there(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let Addresses { host, client, .. } = self.addresses.clone();
        while TcpStream::connect((host.as_str(), client)).await.is_err() {
            let process = self.running()?;
            if let Some(status) = process.ended()? {
                bail!("nats-server ended with {status}: {}", process.log_end());
            }
            if Instant::now() > deadline {
                bail!("nats-server does not come up: {}", process.log_end());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.running()?.kill()?;
        self.process = None;
        Ok(())
    }

    /// Asks it to end and waits.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        let process = self.running()?;
        process.signal("TERM")?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while process.ended()?.is_none() {
            if Instant::now() > deadline {
                bail!("nats-server did not end within {STOP_TIMEOUT:?}: {}", process.log_end());
            }
            tokio::time::sleep(LOOK).await;
        }
        self.process = None;
        Ok(())
    }

    /// Sends it a signal by name.
    pub(super) fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let process = self.process.as_ref().with_context(|| self.away())?;
        process.signal(signal)
    }

    /// Deletes its data.
    pub(super) fn wipe_store(&self) -> anyhow::Result<()> {
        if self.process.is_some() {
            bail!("node {} of the bus runs; kill or stop it before its store is deleted", self.name);
        }
        let store = self.store();
        std::fs::remove_dir_all(&store).with_context(|| format!("cannot delete {}", store.display()))
    }

    /// What it says about its streams and consumers, and what it says is wrong with itself.
    pub(super) async fn says(&self) -> anyhow::Result<(Said, Option<String>)> {
        if self.process.is_none() {
            bail!(self.away());
        }
        let authority = format!("127.0.0.1:{}", self.addresses.monitor);
        let asked = async {
            let mut connection = Connection::open(&authority).await?;
            let health = connection.get("/healthz", "").await?;
            let streams = connection.get("/jsz?streams=1&consumers=1", "").await?.success()?;
            anyhow::Ok((health, streams))
        };
        let (health, streams) = tokio::time::timeout(PATIENCE, asked).await.context("no answer")??;
        let ailment = health.success().err().map(|error| error.to_string());
        Ok((serde_json::from_slice(&streams.body).context("the answer of /jsz cannot be read")?, ailment))
    }

    fn running(&mut self) -> anyhow::Result<&mut Process> {
        let away = self.away();
        self.process.as_mut().context(away)
    }

    fn away(&self) -> String {
        format!("node {} of the bus does not run", self.name)
    }

    fn config(&self) -> PathBuf {
        self.dir.join(format!("{}.conf", self.name))
    }

    fn store(&self) -> PathBuf {
        self.dir.join(&self.name)
    }
}

/// The same settings as in production, on one's own addresses.
fn configuration(
    name: &str,
    addresses: &Addresses,
    store: &Path,
    routes: &[u16],
    security: Option<&Security>,
) -> String {
    let tls = security.map(Security::tls).unwrap_or_default();
    let accounts = security.map(Security::accounts).unwrap_or_default();
    let Addresses { host, client, monitor, route } = addresses;
    let one = format!(
        "server_name: \"{name}\"\nlisten: \"{host}:{client}\"\nhttp: \"127.0.0.1:{monitor}\"\nmax_payload: 8MB\n\
        jetstream {{\n  store_dir: {store:?}\n  sync_interval: \"2m\"\n}}\n{tls}{accounts}"
    );
    if routes.len() < 2 {
        return one;
    }
    let routes: Vec<String> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    let routes = routes.join(", ");
    format!(
        "{one}cluster {{\n  name: sluice\n  listen: \"127.0.0.1:{route}\"\n  routes: [{routes}]\n{tls}}}\n"
    )
}
