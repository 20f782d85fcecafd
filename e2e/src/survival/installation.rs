//! The pipeline, its clusters, and what they must hold.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey};
use sluice_dryrun::Sources;
use sluice_testbed::manifests;
use sluice_testbed::{Connection, KubeContext, Options, Process, Stack};
use tempfile::TempDir;

use super::changes::{CLUSTERS, Changes, first, still};
use super::pacer::Pacer;
use super::watcher::Watcher;
use crate::chart_server::serve_charts;
use crate::cluster_client::is_deployed;
use crate::fleet::Fleet;
use crate::scenario::{MANAGEMENT, State, differences};

/// How long the clusters may take until they are as they should be.
const TIMEOUT: Duration = Duration::from_secs(90);
/// They must stay so for this long.
const STAYS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(250);

/// Two replicas of each stage over simulated clusters, with what the clusters must hold by now.
pub struct Installation {
    // Processes end before their folder goes.
    /// For tests that kill, stop or cut off one of them.
    pub stack: Stack,
    /// Clients of the management cluster and of the managed ones.
    pub fleet: Fleet,
    /// What happened in them.
    pub watcher: Watcher,
    management: State,
    /// What is compared in each cluster.
    kinds: Vec<Gvk>,
    /// The number of the next change, over all storms and pacers.
    changes: Arc<AtomicU64>,
    started: Instant,
    _charts: Option<Process>,
    dir: Option<TempDir>,
}

// === impl Installation ===

impl Installation {
    /// Starts two replicas of each stage, puts triggers and Services into place, and waits until all is well.
    ///
    /// # Errors
    /// What could not be started, or what is different.
    pub async fn start(tombstone_ttl: Option<u64>) -> anyhow::Result<Self> {
        Self::start_on(Options { clusters: CLUSTERS, replicas: 2, tombstone_ttl, ..Options::default() }).await
    }

    /// The same with any number of replicas, nodes of the bus and copies of its streams.
    ///
    /// # Errors
    /// What could not be started, or what is different; the logs are kept then.
    pub async fn start_on(options: Options) -> anyhow::Result<Self> {
        Self::start_with(options, None).await
    }

    /// The same with the charts of a folder that has a `sources.yaml`.
    ///
    /// # Errors
    /// What could not be started, or what is different; the logs are kept then.
    pub async fn start_with(mut options: Options, sources: Option<&Path>) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("sluice-survival-").tempdir()?;
        let (clusters, started) = (options.clusters, Instant::now());
        let (mut management, mut charts) = (State::default(), None);
        if let Some(sources) = sources {
            let (server, mirrors) = serve_charts(dir.path(), sources)?;
            options.environment.extend([
                ("SLUICE_CHART_MIRRORS".to_owned(), mirrors.join(",")),
                ("SLUICE_CHART_HOSTS".to_owned(), "127.0.0.1".to_owned()),
            ]);
            (management, charts) = (State::with(Sources::read(sources)?), server);
        }
        let stack = match Stack::start(dir.path(), options).await {
            Ok(stack) => stack,
            Err(error) => return Err(error.context(format!("the logs are in {}", dir.keep().display()))),
        };
        let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig())?).await?;
        let (watcher, changes, dir) = (Watcher::start(&fleet), Arc::default(), Some(dir));
        let kinds = vec![
            Gvk::new("networking.k8s.io", "v1", "NetworkPolicy"),
            Gvk::new("", "v1", "ConfigMap"),
            Gvk::new("", "v1", "Secret"),
        ];
        let mut installation =
            Self { stack, fleet, watcher, management, kinds, changes, started, _charts: charts, dir };
        match installation.fill(clusters).await {
            Ok(()) => Ok(installation),
            Err(error) => Err(error.context(format!("the logs are in {}", installation.keep()))),
        }
    }

    /// Puts triggers, registrations and Services into place, and waits until all is well.
    async fn fill(&mut self, clusters: usize) -> anyhow::Result<()> {
        for (_, object) in manifests::management() {
            self.apply(object).await?;
        }
        for number in 1..=clusters {
            self.apply(registration(number)).await?;
        }
        for member in self.fleet.members.values() {
            first(&member.client).await?;
        }
        self.wait_until_equal(&[]).await
    }

    /// Adds this many Services that nobody ever edits, over all clusters, and waits until their add-ons are there.
    ///
    /// # Errors
    /// What the servers say, or what is different.
    pub async fn add_still(&mut self, count: usize) -> anyhow::Result<()> {
        let each = count.div_ceil(self.fleet.members.len().max(1));
        for member in self.fleet.members.values() {
            still(&member.client, each).await?;
        }
        self.wait_until_equal(&[]).await
    }

    /// Tells what happens to whoever runs the test, with the seconds since its begin.
    pub fn say(&self, what: &str) {
        eprintln!("{:7.1} s  {what}", self.started.elapsed().as_secs_f64());
    }

    /// Creates or replaces an object of the management cluster.
    ///
    /// # Errors
    /// What the server says.
    pub async fn apply(&mut self, object: Value) -> anyhow::Result<()> {
        self.fleet.apply(MANAGEMENT, &object).await?;
        self.management.apply(MANAGEMENT, object)
    }

    /// Waits until an object of the management cluster has a status: a renderer knows it.
    ///
    /// # Errors
    /// When it gets none.
    pub async fn until_known(&self, object: &Value) -> anyhow::Result<()> {
        let key = ObjectKey::of(object).context("an object without kind or name")?;
        let deadline = Instant::now() + TIMEOUT;
        while self.fleet.management.get(&key).await?.is_none_or(|found| found["status"].is_null()) {
            if Instant::now() > deadline {
                bail!("{key} has no status after {TIMEOUT:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Deletes an object of the management cluster.
    ///
    /// # Errors
    /// What the server says.
    pub async fn delete(&mut self, object: &Value) -> anyhow::Result<()> {
        self.fleet.delete(MANAGEMENT, object).await?;
        self.management.delete(MANAGEMENT, object)
    }

    /// Begins the next storm, in all clusters but `except`. The one before must be over.
    pub fn storm(&self, total: u64, except: &[&str]) -> Changes {
        let first = self.changes.fetch_add(total, Ordering::Relaxed);
        Changes::begin(&self.fleet, first, total, except)
    }

    /// Begins changes at a rate, in all clusters but `except`. The storm before must be over.
    pub fn pace(&self, rate: u32, except: &[&str]) -> Pacer {
        Pacer::begin(&self.fleet, self.changes.clone(), rate, except)
    }

    /// Compares objects of this kind, too.
    pub fn compare(&mut self, kind: Gvk) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Waits until every cluster but `except` holds what `sluice build` says, and stays so.
    ///
    /// # Errors
    /// What is different; the logs are kept then.
    pub async fn wait_until_equal(&mut self, except: &[&str]) -> anyhow::Result<()> {
        let (deadline, mut since) = (Instant::now() + TIMEOUT, None::<Instant>);
        loop {
            let found = self.differences(except).await?;
            if found.is_empty() {
                let begin = *since.get_or_insert_with(Instant::now);
                if begin.elapsed() > STAYS {
                    return Ok(());
                }
            } else {
                since = None;
                if Instant::now() > deadline {
                    let shown: Vec<&str> = found.iter().take(20).map(String::as_str).collect();
                    let (count, logs) = (found.len(), self.keep());
                    bail!("{count} differences after {TIMEOUT:?}, logs in {logs}:\n{}", shown.join("\n"));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What is wrong now, compared with `sluice build` of what is there now.
    ///
    /// # Errors
    /// When a cluster does not answer.
    pub async fn differences(&self, except: &[&str]) -> anyhow::Result<Vec<String>> {
        let built = self.present(except).await?.build()?;
        let mut found = Vec::new();
        for (cluster, member) in &self.fleet.members {
            if except.contains(&cluster.as_str()) {
                continue;
            }
            let wanted = built.clusters.get(cluster).map(Vec::as_slice).unwrap_or_default();
            found.extend(differences(cluster, wanted, &member.client.deployed(&self.kinds).await?));
        }
        Ok(found)
    }

    /// The input of `sluice build`: what the test wrote, and what the clusters hold besides Sluice's objects.
    async fn present(&self, except: &[&str]) -> anyhow::Result<State> {
        let mut state = self.management.clone();
        for (cluster, member) in &self.fleet.members {
            if except.contains(&cluster.as_str()) {
                continue;
            }
            for service in member.client.list(&Gvk::new("", "v1", "Service")).await? {
                if !is_deployed(&service) {
                    state.apply(cluster, service)?;
                }
            }
        }
        Ok(state)
    }

    /// Ends all replicas of a stage at once, without warning.
    ///
    /// # Errors
    /// When none runs.
    pub fn kill_stage(&mut self, stage: &str) -> anyhow::Result<()> {
        let replicas = self.stack.replicas().values().filter(|replica| replica.stage() == stage);
        let names: Vec<String> = replicas.map(|replica| replica.name().to_owned()).collect();
        anyhow::ensure!(!names.is_empty(), "no replica of {stage} runs");
        names.iter().try_for_each(|name| self.stack.kill_replica(name))
    }

    /// Starts both replicas of a stage.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn start_stage(&mut self, stage: &'static str) -> anyhow::Result<()> {
        (1..=2).try_for_each(|number| self.stack.start_replica(stage, number))
    }

    /// Turns the fault knobs of a simulated cluster.
    ///
    /// # Errors
    /// What the simulator says.
    pub async fn faults(&self, cluster: &str, knobs: Value) -> anyhow::Result<()> {
        self.knobs(http::Method::PUT, cluster, &knobs).await.map(drop)
    }

    /// Whether as many writes have come to a simulated cluster as its knob `writesLeft` said: their answer waits.
    ///
    /// # Errors
    /// What the simulator says.
    pub async fn is_held(&self, cluster: &str) -> anyhow::Result<bool> {
        let knobs = self.knobs(http::Method::GET, cluster, &Value::Null).await?;
        Ok(knobs["writesLeft"] == 0)
    }

    async fn knobs(&self, method: http::Method, cluster: &str, knobs: &Value) -> anyhow::Result<Value> {
        let access: Option<&KubeContext> = self.stack.clusters().iter().find(|access| access.name == cluster);
        let access = access.with_context(|| format!("there is no cluster {cluster}"))?;
        let mut connection = Connection::open(&access.authority).await?;
        let path = format!("/_sim/clusters/{cluster}/faults");
        let body = knobs.to_string().into();
        let answer = connection.call(method, &path, "", "application/json", body).await?;
        Ok(serde_json::from_slice(&answer.success()?.body)?)
    }

    /// The replica that works on a shard of a stage.
    ///
    /// # Errors
    /// When nobody does, or nobody says.
    pub fn owner(&self, stage: &str, shard: usize) -> anyhow::Result<String> {
        let url = self.stack.nats_url();
        let arguments = ["shards", "--stage", stage, "-o", "json", "--nats-url", &url];
        let said = Command::new(self.stack.programs().find("sluice")?).args(arguments).output()?;
        let text = String::from_utf8_lossy(&said.stdout);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_it = |line: &Value| line["shard"].as_str().is_some_and(|text| text.parse() == Ok(shard));
        let owner = lines.into_iter().find(is_it);
        let named = owner.as_ref().and_then(|line| line["replica"].as_str());
        named.map(str::to_owned).with_context(|| format!("nobody has shard {shard} of {stage}: {text}"))
    }

    /// Keeps data and logs when the test ends; says where they are.
    pub fn keep(&mut self) -> String {
        let kept = self.dir.take().map(TempDir::keep);
        kept.unwrap_or_else(|| self.stack.dir().to_path_buf()).display().to_string()
    }
}

/// The registration of a cluster, with the label that triggers select.
pub(super) fn registration(number: usize) -> Value {
    json!({
        "apiVersion": "lib.projectsveltos.io/v1beta1",
        "kind": "SveltosCluster",
        "metadata": {
            "name": format!("cluster-{number}"),
            "namespace": "default",
            "labels": {manifests::CLUSTER_LABEL: "true", "number": number.to_string()},
        },
        "spec": {},
    })
}
