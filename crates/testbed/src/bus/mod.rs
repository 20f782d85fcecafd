//! The bus: one nats-server or a cluster of three, with their data in a folder. Each node can be killed, paused, stopped
//! and started again on its data, or on none.
//!
//! ```text
//! BusServer ─► Node (process, ports, store)      kill, pause, stop, start, wipe
//!     └──────► View (what the nodes say)          who leads, who lags, how many consumers
//! ```

mod node;
mod view;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::process::Process;
use crate::programs::Programs;
use crate::security::Security;
use node::{Addresses, Node};
pub use view::View;

const LOOK: Duration = Duration::from_millis(100);
/// A cluster that starts cold has its leader after about seven seconds.
const ELECTION: Duration = Duration::from_secs(60);

/// The running nodes of a bus; they end when this is dropped.
#[derive(Debug)]
pub struct BusServer {
    nodes: Vec<Node>,
}

// === impl BusServer ===

impl BusServer {
    /// Starts so many nodes with their data in `dir`, and waits until each takes connections. Several nodes have no
    /// leader yet: see [`Self::wait_until_led`].
    ///
    /// # Errors
    /// When one cannot be started.
    pub async fn start(dir: &Path, nodes: usize, security: Option<&Security>) -> anyhow::Result<Self> {
        Self::start_at("127.0.0.1", dir, nodes, security).await
    }

    /// The same, for clients at another address of this machine.
    ///
    /// # Errors
    /// When one cannot be started.
    pub async fn start_at(
        address: &str,
        dir: &Path,
        nodes: usize,
        security: Option<&Security>,
    ) -> anyhow::Result<Self> {
        let free = |_| Addresses::free(address);
        let all: Vec<Addresses> = (0..nodes).map(free).collect::<anyhow::Result<_>>()?;
        let routes: Vec<u16> = all.iter().map(|addresses| addresses.route).collect();
        let mut server = Self { nodes: Vec::new() };
        for (index, addresses) in all.into_iter().enumerate() {
            server.nodes.push(Node::new(dir, index, addresses, &routes, security)?);
        }
        for node in &mut server.nodes {
            node.launch()?;
        }
        for node in &mut server.nodes {
            node.wait_until_there().await?;
        }
        Ok(server)
    }

    /// The URLs of all nodes, separated by commas.
    pub fn url(&self) -> String {
        let urls: Vec<String> = self.nodes.iter().map(Node::url).collect();
        urls.join(",")
    }

    /// The URL of one node.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn url_of(&self, index: usize) -> anyhow::Result<String> {
        Ok(self.node(index)?.url())
    }

    /// How many nodes there are, whether they run or not.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The processes of the nodes that run.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.nodes.iter().filter_map(Node::process)
    }

    /// Kills a node without warning.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self, index: usize) -> anyhow::Result<()> {
        self.node_mut(index)?.kill()
    }

    /// Starts a node that does not run, on its address and whatever is in its store; waits until it takes connections.
    ///
    /// # Errors
    /// When it does not come back.
    pub async fn start_node(&mut self, index: usize) -> anyhow::Result<()> {
        let node = self.node_mut(index)?;
        node.launch()?;
        node.wait_until_there().await
    }

    /// Kills a node and starts it again on its data.
    ///
    /// # Errors
    /// When it does not come back.
    pub async fn kill_and_restart(&mut self, index: usize) -> anyhow::Result<()> {
        self.kill(index)?;
        self.start_node(index).await
    }

    /// Asks a node to end, and waits until it has.
    ///
    /// # Errors
    /// When it does not run, or does not end.
    pub async fn stop(&mut self, index: usize) -> anyhow::Result<()> {
        self.node_mut(index)?.stop().await
    }

    /// Pauses a node: its connections stay open, and nothing answers.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&self, index: usize) -> anyhow::Result<()> {
        self.node(index)?.signal("STOP")
    }

    /// Lets a paused node go on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume(&self, index: usize) -> anyhow::Result<()> {
        self.node(index)?.signal("CONT")
    }

    /// Deletes what a node that does not run has stored.
    ///
    /// # Errors
    /// When it runs, or its files cannot be deleted.
    pub fn wipe_store(&self, index: usize) -> anyhow::Result<()> {
        self.node(index)?.wipe_store()
    }

    /// What the nodes that answer say now.
    pub async fn view(&self) -> View {
        let mut view = View::new(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            match node.says().await {
                Ok((said, ailment)) => {
                    view.take(index, node.name(), said);
                    if let Some(ailment) = ailment {
                        view.unwell(index, &ailment);
                    }
                }
                Err(error) => view.unwell(index, &format!("{error:#}")),
            }
        }
        view
    }

    /// The node that leads the cluster itself.
    ///
    /// # Errors
    /// When none does for a minute.
    pub async fn meta_leader(&self) -> anyhow::Result<usize> {
        self.wait_until_led().await
    }

    /// The node that leads most streams.
    ///
    /// # Errors
    /// When no stream has a leader.
    pub async fn busiest(&self) -> anyhow::Result<usize> {
        self.view().await.busiest().context("no stream of the bus has a leader")
    }

    /// The node that leads a stream.
    ///
    /// # Errors
    /// When none does.
    pub async fn leader_of(&self, stream: &str) -> anyhow::Result<usize> {
        let view = self.view().await;
        view.leader_of(stream).with_context(|| format!("stream {stream} has no leader, or does not exist"))
    }

    /// Consumers on all nodes.
    pub async fn consumers(&self) -> usize {
        self.view().await.consumers()
    }

    /// Waits until the cluster has a leader, and says which node it is.
    ///
    /// # Errors
    /// When it takes longer than a minute; with the ends of the logs.
    pub async fn wait_until_led(&self) -> anyhow::Result<usize> {
        let deadline = Instant::now() + ELECTION;
        loop {
            if let Some(leader) = self.view().await.meta_leader() {
                return Ok(leader);
            }
            if Instant::now() > deadline {
                bail!("the bus has no leader after {ELECTION:?}: {}", self.log_ends());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until every node runs, everything has a leader and every copy is current.
    ///
    /// # Errors
    /// What is not well after so long, with the ends of the logs.
    pub async fn wait_until_healthy(&self, patience: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            let Some(ailment) = self.view().await.ailment() else { return Ok(()) };
            if Instant::now() > deadline {
                bail!("after {patience:?} {ailment}: {}", self.log_ends());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The version that `nats-server` says it is.
    pub fn version() -> String {
        let said = Command::new(Programs::nats_server()).arg("--version").output();
        said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default()
    }

    fn log_ends(&self) -> String {
        let ends = self.processes().map(Process::log_end);
        ends.collect::<Vec<_>>().join("\n")
    }

    fn node(&self, index: usize) -> anyhow::Result<&Node> {
        let count = self.nodes.len();
        self.nodes.get(index).with_context(|| format!("there is no node {index} of the bus; it has {count}"))
    }

    fn node_mut(&mut self, index: usize) -> anyhow::Result<&mut Node> {
        let count = self.nodes.len();
        self.nodes
            .get_mut(index)
            .with_context(|| format!("there is no node {index} of the bus; it has {count}"))
    }
}
