//! A cluster that pulls, on a network of its own: from inside the bus alone can be reached, from outside nothing. Its link is taken
//! down while everything changes. `make survive` runs it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_e2e::fleet::{Fleet, Member};
use sluice_e2e::own_way::{inside_together, kubeconfig_of, registration};
use sluice_e2e::survival::{Installation, Watcher, Window, resident, service};
use sluice_e2e::until::until_so;
use sluice_testbed::{Launch, Options, PULLER, Place, Process, Replica, contexts, manifests, steady_port};

/// Changes a second, in all clusters together.
const RATE: u32 = 20;
/// A silence is told after half a minute, and a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(150);
/// A cut that nobody may call a silence.
const SHORT: Duration = Duration::from_secs(5);
/// Objects whose add-ons are there when memory is looked at.
const OBJECTS: usize = 300;
const CLUSTER: &str = "default/shop";

/// A cluster in a place, who is in it, and what the test sees of it.
struct Pulling {
    // Who is in it ends before the cluster does, and all before the place.
    within: Vec<Replica>,
    watcher: Watcher,
    _window: Window,
    _cluster: Process,
    kubeconfig: std::path::PathBuf,
    installation: Installation,
    place: Place,
}

/// A simulated cluster that nobody outside reaches; its port.
async fn cluster_in(
    place: &Place,
    installation: &Installation,
    dir: &Path,
) -> anyhow::Result<(Process, u16)> {
    let (port, file) = (steady_port()?, dir.join("place"));
    let arguments =
        vec![format!("--listen=127.0.0.1:{port}"), format!("--kubeconfig-out={}", file.display())];
    let program = installation.stack.programs().find("sluice-simcluster")?;
    let launch = Launch::new("cluster-inside", program, arguments, dir);
    let process = Process::start(Launch { place: Some(place.closed()), ..launch })?;
    until_so("the cluster is there", PATIENCE, async || Ok(file.exists())).await?;
    Ok((process, port))
}

// === impl Pulling ===

impl Pulling {
    async fn start(mut installation: Installation, place: Place) -> anyhow::Result<Self> {
        let dir = installation.stack.dir().to_path_buf();
        let (cluster, port) = cluster_in(&place, &installation, &dir).await?;
        let text = std::fs::read_to_string(dir.join("place"))?;
        let found = contexts(&text)?.into_iter().find(|context| context.name == "cluster-1");
        let kubeconfig = dir.join("inside.yaml");
        std::fs::write(&kubeconfig, kubeconfig_of(&found.context("there is no cluster-1")?))?;
        is_apart(&installation, &place, port).await?;

        let window = Window::open(place.closed(), port).await?;
        let seen =
            Fleet::of_kubeconfig(&text.replace(&format!(":{port}"), &format!(":{}", window.port()))).await?;
        let member: Member = seen.members.into_values().next().context("there is no cluster")?;
        installation.apply(registration(PULLER, &json!({"pullMode": true}))).await?;
        // Only now, so that nobody is given a kubeconfig.
        installation.fleet.members.insert(CLUSTER.to_owned(), member.clone());
        let alone = Fleet { members: [(CLUSTER.to_owned(), member)].into(), ..installation.fleet.clone() };
        let watcher = Watcher::start(&alone);
        let (within, _window, _cluster) = (Vec::new(), window, cluster);
        Ok(Self { within, watcher, _window, _cluster, kubeconfig, installation, place })
    }

    /// Agent and deployer, as `sluice register cluster --pull` prints them.
    fn enter(&mut self, number: usize) -> anyhow::Result<()> {
        let place = Some(self.place.closed());
        self.within.push(inside_together(&self.installation.stack, number, &self.kubeconfig, place)?);
        Ok(())
    }

    /// Waits until the registration says this of the connection.
    async fn until_called(&self, word: &str) -> anyhow::Result<()> {
        until_so(&format!("the cluster is {word}"), PATIENCE, async || {
            let kind = Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster");
            let all = self.installation.fleet.management.list(&kind).await?;
            let own = all.iter().find(|one| object::name(one) == PULLER);
            Ok(own.is_some_and(|one| one["status"]["connectionStatus"] == word))
        })
        .await?;
        self.installation.say(&format!("the cluster is {word}"));
        Ok(())
    }

    /// Everything is as it should be, and nothing went whose cause lived.
    async fn has_caught_up(&mut self) -> anyhow::Result<()> {
        self.until_called("Healthy").await?;
        self.installation.wait_until_equal(&[]).await?;
        self.installation.say("it has caught up");
        self.installation.watcher.verdict(|_| 0).await?;
        self.watcher.verdict(|_| 0).await
    }

    /// Whether the cluster that pulls has what this profile deploys.
    async fn has(&self, number: usize) -> anyhow::Result<bool> {
        let maps = self.installation.fleet.at(CLUSTER)?.list(&Gvk::new("", "v1", "ConfigMap")).await?;
        Ok(maps.iter().any(|map| object::name(map) == name_of(number)))
    }

    /// What a profile deploys to all clusters while one is cut off.
    async fn roll_out(&mut self, number: usize) -> anyhow::Result<()> {
        for object in profile(number) {
            self.installation.apply(object).await?;
        }
        Ok(())
    }

    async fn is_cut_off_and_back(&mut self) -> anyhow::Result<()> {
        let pacer = self.installation.pace(RATE, &[]);
        self.place.cut()?;
        self.installation.say("the link is down");
        self.roll_out(1).await?;
        tokio::time::sleep(SHORT).await;
        self.place.join()?;
        self.installation.say("the link is up");
        pacer.finish().await?;
        self.has_caught_up().await?;

        let pacer = self.installation.pace(RATE, &[]);
        self.place.cut()?;
        self.installation.say("the link is down");
        self.roll_out(2).await?;
        self.until_called("Down").await?;
        ensure!(!self.has(2).await?, "it was not cut off");
        // Who is in it begins anew without a bus.
        self.within.clear();
        (1..=2).try_for_each(|number| self.enter(number))?;
        tokio::time::sleep(SHORT).await;
        self.place.join()?;
        self.installation.say("the link is up");
        self.until_called("Healthy").await?;
        pacer.finish().await?;
        self.has_caught_up().await
    }

    async fn play(&mut self) -> anyhow::Result<()> {
        (1..=2).try_for_each(|number| self.enter(number))?;
        self.has_caught_up().await?;
        self.is_cut_off_and_back().await?;
        ensure!(self.has(1).await? && self.has(2).await?, "what was written while it was away is missing");
        self.tell_memory().await
    }

    /// What agent and deployer need when the cluster has some hundred objects and add-ons.
    async fn tell_memory(&mut self) -> anyhow::Result<()> {
        self.within.clear();
        self.enter(1)?;
        let client = self.installation.fleet.at(CLUSTER)?.clone();
        for number in 0..OBJECTS {
            client.apply(&service(&format!("still-{number}"), manifests::EACH, 80)).await?;
        }
        self.installation.wait_until_equal(&[]).await?;
        let needed = resident(self.within.first().context("nobody is in it")?.pid())?;
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let needed = needed >> 20;
        self.installation.say(&format!("memory with {OBJECTS} objects ({profile}): {needed} MiB"));
        Ok(())
    }
}

/// From inside the bus can be reached, and the management cluster cannot; from outside nothing.
async fn is_apart(installation: &Installation, place: &Place, port: u16) -> anyhow::Result<()> {
    let url = installation.stack.bus().url_of(0)?;
    let bus = url.trim_start_matches("tls://");
    ensure!(place.reaches(bus)?, "the bus cannot be reached from inside");
    let management = &installation.stack.clusters()[0].authority;
    let (_, outer) = management.rsplit_once(':').context("a port")?;
    for address in [management.clone(), format!("{}:{outer}", place.outside())] {
        ensure!(!place.reaches(&address)?, "the management cluster can be reached from inside at {address}");
    }
    ensure!(place.reaches(&format!("127.0.0.1:{port}"))?, "the cluster cannot be reached from inside");
    for address in ["127.0.0.1", place.address()] {
        let connected = tokio::net::TcpStream::connect((address, port)).await;
        ensure!(connected.is_err(), "the cluster can be reached from outside at {address}");
    }
    Ok(())
}

fn name_of(number: usize) -> String {
    format!("while-away-{number}")
}

fn profile(number: usize) -> [Value; 2] {
    let name = name_of(number);
    let text =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
            .to_string();
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a.yaml": text}}),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": name},
            "spec": {"clusterSelector": {"matchLabels": {manifests::CLUSTER_LABEL: "true"}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_cluster_that_pulls_on_a_network_of_its_own_catches_up_when_its_link_was_down() {
    if let Some(why) = Place::refused() {
        eprintln!("skipped: {why}");
        return;
    }
    let place = Place::make(1).unwrap();
    let options = Options {
        clusters: 2,
        replicas: 2,
        nodes: 3,
        stream_replicas: 3,
        secured: true,
        bus_address: place.outside().to_owned(),
        ..Options::default()
    };
    let installation = Installation::start_on(options).await.unwrap();
    let mut pulling = Pulling::start(installation, place).await.unwrap();
    if let Err(error) = pulling.play().await {
        panic!("{error:#}; the logs are in {}", pulling.installation.keep());
    }
}
