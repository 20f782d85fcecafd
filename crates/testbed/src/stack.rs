//! The pipeline as processes of its own: a server for the bus, simulated clusters, replicas of the stages.
//!
//! Everything ends when the [`Stack`] is dropped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::bus::BusServer;
use crate::kubeconfig::{KubeContext, contexts};
use crate::place::Inside;
use crate::process::{Launch, Process};
use crate::programs::Programs;
use crate::replica::{Replica, STAGES};
use crate::security::Security;

/// How long something may take to come up on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(90);
/// How long a replica that was asked to end may take: it needs a second, and the machine may be busy.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Simulated managed clusters.
    pub clusters: usize,
    /// Services of each of them that are there from the beginning, and are no event.
    pub services: usize,
    /// Replicas of each stage.
    pub replicas: usize,
    /// How long tombstones live, in seconds; the stages' own choice without it.
    pub tombstone_ttl: Option<u64>,
    /// For how many seconds clusters are remembered that are not registered any more; the stages' own choice without it.
    pub forget_after: Option<u64>,
    /// Nodes of the bus: one, or three.
    pub nodes: usize,
    /// Copies of each stream; at most as many as nodes.
    pub stream_replicas: usize,
    /// Whether stages may start while the nodes have not elected their leader.
    pub electing: bool,
    /// Whether the bus has TLS and a user for each stage.
    pub secured: bool,
    /// The address of this machine where clients reach the bus.
    pub bus_address: String,
    /// The address where the simulated clusters listen.
    pub clusters_address: String,
    /// Replicas that have a network of their own, by name.
    pub places: BTreeMap<String, Inside>,
    /// Variables of the environment of every stage, besides those of this process.
    pub environment: Vec<(String, String)>,
}

/// A running pipeline.
#[derive(Debug)]
pub struct Stack {
    dir: PathBuf,
    programs: Programs,
    options: Options,
    // Stages are dropped first: they would only complain about what is gone.
    replicas: BTreeMap<String, Replica>,
    simulator: Process,
    bus: BusServer,
    security: Option<Security>,
    clusters: Vec<KubeContext>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            clusters: 3,
            services: 0,
            replicas: 1,
            tombstone_ttl: None,
            forget_after: None,
            nodes: 1,
            stream_replicas: 1,
            electing: false,
            secured: false,
            bus_address: "127.0.0.1".to_owned(),
            clusters_address: "127.0.0.1".to_owned(),
            places: BTreeMap::new(),
            environment: Vec::new(),
        }
    }
}

// === impl Stack ===

impl Stack {
    /// Starts everything, with data and logs in `dir`, and waits until it is ready.
    ///
    /// # Errors
    /// What could not be started, with the end of its log.
    pub async fn start(dir: &Path, options: Options) -> anyhow::Result<Self> {
        let programs = Programs::beside_me()?;
        let (simulator, clusters) = simulator(&programs, dir, &options).await?;
        // The bus comes last, so that its nodes are still electing when the stages start, where that is wanted.
        let electing = options.electing;
        let (place, replicas) = (dir.to_path_buf(), BTreeMap::new());
        seed(&programs, dir).await?;
        let address = &options.bus_address;
        let security = options.secured.then(|| Security::make(&programs, dir, address)).transpose()?;
        let bus = BusServer::start_at(address, dir, options.nodes, security.as_ref()).await?;
        if !electing {
            bus.wait_until_healthy(START_TIMEOUT).await?;
        }
        let mut stack = Self { dir: place, programs, options, replicas, simulator, bus, security, clusters };
        for stage in STAGES {
            for number in 1..=stack.options.replicas {
                stack.start_replica(stage, number)?;
            }
        }
        stack.wait_until_ready().await?;
        Ok(stack)
    }

    /// The folder with data and logs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the programs are.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The kubeconfig with a context for each cluster; `management` is the current one.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// How to reach the clusters, the management cluster first.
    pub fn clusters(&self) -> &[KubeContext] {
        &self.clusters
    }

    /// The nodes of the bus.
    pub fn bus(&self) -> &BusServer {
        &self.bus
    }

    /// The nodes of the bus, to be damaged.
    pub fn bus_mut(&mut self) -> &mut BusServer {
        &mut self.bus
    }

    /// URLs of all nodes of the bus, separated by commas.
    pub fn nats_url(&self) -> String {
        self.bus.url()
    }

    /// Who may do what on the bus, where it has users.
    pub fn security(&self) -> Option<&Security> {
        self.security.as_ref()
    }

    /// The process of the simulated clusters.
    pub fn simulator(&self) -> &Process {
        &self.simulator
    }

    /// The replicas that were started and not killed, by name (`matcher-1`).
    pub fn replicas(&self) -> &BTreeMap<String, Replica> {
        &self.replicas
    }

    /// One replica.
    ///
    /// # Errors
    /// When it does not run.
    pub fn replica(&self, name: &str) -> anyhow::Result<&Replica> {
        self.replicas.get(name).with_context(|| format!("there is no replica {name}"))
    }

    /// Starts a replica, which must not run.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_replica(&mut self, stage: &'static str, number: usize) -> anyhow::Result<()> {
        self.start_replica_of(&self.programs.clone(), stage, number)
    }

    /// Starts a replica of another version, which must not run.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_replica_of(
        &mut self,
        programs: &Programs,
        stage: &'static str,
        number: usize,
    ) -> anyhow::Result<()> {
        let name = format!("{stage}-{number}");
        let mut arguments = vec![format!("--nats-url={}", self.bus.url()), format!("--name={name}")];
        if stage != "matcher" {
            arguments.push(format!("--kubeconfig={}", self.kubeconfig().display()));
        }
        arguments.push(format!("--bus-keys={}", self.dir.join("keys").display()));
        arguments.push(format!("--stream-replicas={}", self.options.stream_replicas));
        if let Some(seconds) = self.options.tombstone_ttl {
            arguments.push(format!("--tombstone-ttl={seconds}"));
        }
        if let Some(seconds) = self.options.forget_after.filter(|_| ["renderer", "deployer"].contains(&stage))
        {
            arguments.push(format!("--forget-after={seconds}"));
        }
        arguments.extend(self.security.iter().flat_map(|security| security.arguments(stage)));
        let program = programs.find(&format!("sluice-{stage}"))?;
        let environment = self.options.environment.clone();
        let place = self.options.places.get(&name).cloned();
        let launch = Launch { environment, place, ..Launch::new(&name, program, arguments, &self.dir) };
        let replica = Replica::start(stage, launch)?;
        self.replicas.insert(name, replica);
        Ok(())
    }

    /// Kills a replica without warning.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill_replica(&mut self, name: &str) -> anyhow::Result<()> {
        let mut replica =
            self.replicas.remove(name).with_context(|| format!("there is no replica {name}"))?;
        replica.process().kill()
    }

    /// Asks a replica to end (SIGTERM); how it ended.
    ///
    /// # Errors
    /// When it does not run, or does not end.
    pub async fn stop_replica(&mut self, name: &str) -> anyhow::Result<ExitStatus> {
        let mut replica =
            self.replicas.remove(name).with_context(|| format!("there is no replica {name}"))?;
        replica.signal("TERM")?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            match replica.process().ended()? {
                Some(status) => return Ok(status),
                None if Instant::now() > deadline => bail!("{name} does not end: {}", replica.log_end()),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Waits until every replica says that it is ready.
    ///
    /// # Errors
    /// The replica that is not, and the end of its log.
    pub async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        for replica in self.replicas.values_mut() {
            while !replica.is_ready().await {
                if let Some(status) = replica.process().ended()? {
                    bail!("{} ended with {status}: {}", replica.name(), replica.log_end());
                }
                if Instant::now() > deadline {
                    bail!("{} is not ready: {}", replica.name(), replica.log_end());
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }
}

/// CRDs, namespace, registrations and kubeconfig Secrets.
async fn seed(programs: &Programs, dir: &Path) -> anyhow::Result<()> {
    let kubeconfig = dir.join("kubeconfig").display().to_string();
    let arguments = vec![
        "seed".to_owned(),
        format!("--kubeconfig={kubeconfig}"),
        format!("--clusters-kubeconfig={kubeconfig}"),
        "--no-examples".to_owned(),
    ];
    let launch = Launch::new("seed", programs.find("sluice")?, arguments, dir);
    let mut seed = Process::start(launch)?;
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match seed.ended()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("sluice seed ended with {status}: {}", seed.log_end()),
            None if Instant::now() > deadline => bail!("sluice seed does not end: {}", seed.log_end()),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

async fn simulator(
    programs: &Programs,
    dir: &Path,
    options: &Options,
) -> anyhow::Result<(Process, Vec<KubeContext>)> {
    let file = dir.join("kubeconfig");
    let arguments = vec![
        format!("--listen={}:0", options.clusters_address),
        format!("--clusters={}", options.clusters),
        format!("--services={}", options.services),
        format!("--kubeconfig-out={}", file.display()),
    ];
    let launch = Launch::new("simcluster", programs.find("sluice-simcluster")?, arguments, dir);
    let mut process = Process::start(launch)?;
    let deadline = Instant::now() + START_TIMEOUT;
    while !file.exists() {
        if let Some(status) = process.ended()? {
            bail!("the simulated clusters ended with {status}: {}", process.log_end());
        }
        if Instant::now() > deadline {
            bail!("the simulated clusters do not come up: {}", process.log_end());
        }
        tokio::time::sleep(LOOK).await;
    }
    let accesses = contexts(&std::fs::read_to_string(&file)?)?;
    Ok((process, accesses))
}
