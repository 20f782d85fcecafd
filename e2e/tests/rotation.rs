//! Keys and accounts of the bus change by command while everything runs: nothing is lost, nothing is restarted, and who has a former key is refused.
//! `make e2e` runs it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_bus::{Connection, Credentials};
use sluice_e2e::cluster_client::ClusterClient;
use sluice_e2e::installed::{Installation, Running};
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::two_clusters::{TwoClusters, folder};
use sluice_testbed::{Launch, Process, Programs, Replica, STAGES, steady_port};

const TIMEOUT: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(200);
/// Pause between two events.
const BEAT: Duration = Duration::from_millis(200);
/// Kubernetes brings a Secret to one pod this much later than to another: longer than it takes others to take shards over.
const LAG: Duration = Duration::from_secs(5);
/// What a problem says of a row for which the matcher has no key.
const LACKS_KEY: &str = "of which matcher has none here";
const ROLES: [&str; 7] = ["renderer", "agent", "matcher", "deployer", "inspect", "people", "operator"];
const SEALED: [&str; 4] = ["matcher", "renderer", "deployer", "inspect"];

/// Copies each Secret and each ConfigMap that asks for it.
fn manifests() -> [Value; 3] {
    let selector = |kind: &str| {
        json!({"group": "", "version": "v1", "kind": kind,
        "labelFilters": [{"key": "share", "operation": "Equal", "value": "yes"}]})
    };
    let copy = "apiVersion: v1\nkind: {{ .Resource.kind }}\nmetadata: {name: \"{{ .Resource.metadata.name }}-copy\", namespace: default}\n\
        data: {{ .Resource.data | toJson }}\n";
    [
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "shared"},
            "spec": {"collectResources": true, "resourceSelectors": [selector("Secret"), selector("ConfigMap")]}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "copy"},
            "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "shared", "oneForEvent": true,
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "copy-of-it"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy-of-it", "namespace": "default",
            "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"copy.yaml": copy}}),
    ]
}

/// An event: every other one is a Secret, whose rows are sealed.
fn event(number: usize, round: &str) -> Value {
    let (kind, round) = match number % 2 {
        0 => ("Secret", STANDARD.encode(round)),
        _ => ("ConfigMap", round.to_owned()),
    };
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": format!("event-{number}"), "namespace": "default",
        "labels": {"share": "yes"}}, "data": {"round": round}})
}

/// What is deployed: uid and content, by name.
async fn copies(member: &ClusterClient) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    for kind in ["Secret", "ConfigMap"] {
        for object in member.list(&Gvk::new("", "v1", kind)).await.unwrap() {
            let text = |pointer: &str| {
                object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            if let Some(name) = text("/metadata/name").strip_suffix("-copy") {
                found.insert(name.to_owned(), (text("/metadata/uid"), text("/data/round")));
            }
        }
    }
    found
}

/// Events that go on until they are asked to end.
struct Events {
    stop: Arc<AtomicBool>,
    made: Arc<std::sync::Mutex<BTreeMap<String, Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Events {
    /// One object is made, then one of those that are there is changed, and so on.
    fn start(member: ClusterClient) -> Self {
        let (stop, made) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (stopped, noted): (_, Arc<std::sync::Mutex<BTreeMap<String, Value>>>) =
            (stop.clone(), Arc::clone(&made));
        #[expect(clippy::disallowed_methods, reason = "its end is waited for, and a panic fails the test")]
        let task = tokio::spawn(async move {
            let mut beat: usize = 0;
            while !stopped.load(Ordering::Relaxed) {
                let newest = beat / 2;
                let number = if beat.is_multiple_of(2) { newest } else { beat * 7_919 / 16 % (newest + 1) };
                let object = event(number, &beat.to_string());
                member.apply(&object).await.unwrap();
                noted.lock().unwrap().insert(format!("event-{number}"), object["data"]["round"].clone());
                beat += 1;
                tokio::time::sleep(BEAT).await;
            }
        });
        Self { stop, made, task }
    }

    /// All that were made, each with what it holds now.
    fn made(&self) -> BTreeMap<String, Value> {
        self.made.lock().unwrap().clone()
    }

    async fn end(self) -> BTreeMap<String, Value> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        Arc::into_inner(self.made).unwrap().into_inner().unwrap()
    }
}

/// Everything that runs, and what was seen of it.
struct World {
    run: PathBuf,
    admin: PathBuf,
    installation: Installation,
    running: Running,
    /// The second replica of each stage.
    others: Vec<Replica>,
    inspect: Process,
    served: String,
    member: ClusterClient,
    uids: BTreeMap<String, String>,
}

impl World {
    fn sluice(&self, arguments: &[&str]) -> std::process::Output {
        let program = Programs::beside_me().unwrap().find("sluice").unwrap();
        Command::new(program).args(arguments).output().unwrap()
    }

    fn seed(&self, role: &str) -> PathBuf {
        self.run.join(format!("sluice-nats-{role}/seed"))
    }

    fn connection(&self, seed: &Path) -> Connection {
        Connection {
            credentials: Credentials::Nkey(seed.to_owned()),
            ..Connection::plain(self.running.url())
        }
    }

    async fn until<T>(&mut self, what: &str, mut look: impl AsyncFnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = look(self).await {
                return found;
            }
            if Instant::now() > deadline {
                let others: Vec<_> = self.others.iter().map(Replica::log_end).collect();
                panic!("{what}: not within {TIMEOUT:?}\n{}{}", self.running.log_ends(), others.concat());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What is open, as a command or the service says; why it cannot say.
    fn problems(&self, of: &[&str]) -> String {
        let said = self.sluice(&[&["problems", "-o", "json"], of].concat());
        String::from_utf8([said.stdout, said.stderr].concat()).unwrap()
    }

    /// All replicas that began still run, and are ready; what happens from now on is deployed; and nothing is wrong.
    async fn works(&mut self, what: &str, events: &Events) {
        for stage in STAGES {
            let ready = async |this: &mut Self| {
                let other = this.others.iter_mut().find(|other| other.stage() == stage).unwrap();
                for replica in [this.running.replica(stage).unwrap(), other] {
                    let ended = replica.process().ended().unwrap();
                    assert!(ended.is_none(), "{what}: a {stage} has ended: {ended:?} {}", replica.log_end());
                    if !replica.is_ready().await {
                        return None;
                    }
                }
                Some(())
            };
            self.until(&format!("{what}: {stage} is ready"), ready).await;
        }
        let count = events.made().len() + 2;
        let fresh = async |_: &mut Self| (events.made().len() >= count).then_some(());
        self.until("two more events", fresh).await;
        let made = events.made();
        let deployed = async |this: &mut Self| {
            let there = copies(&this.member).await;
            made.keys().all(|name| there.contains_key(name)).then_some(there)
        };
        let there = self.until(&format!("{what}: what has happened is deployed"), deployed).await;
        self.keeps(what, &there);
        let (url, seed) = (self.running.url().to_owned(), self.seed("people"));
        let bus = ["--nats-url", &url, "--nats-nkey", seed.to_str().unwrap()];
        let served = ["--server", &self.served.clone()];
        for of in [&bus[..], &served[..]] {
            let silent = async |this: &mut Self| this.problems(of).is_empty().then_some(());
            let told = self.problems(of);
            self.until(&format!("{what}: no problem is open: {told}"), silent).await;
        }
        assert!(self.inspect.ended().unwrap().is_none(), "{}", self.inspect.log_end());
    }

    /// What was deployed is what it was.
    fn keeps(&mut self, what: &str, there: &BTreeMap<String, (String, String)>) {
        for (name, uid) in &self.uids {
            assert_eq!(there.get(name).map(|(uid, _)| uid), Some(uid), "{what}: {name} was deleted");
        }
        self.uids = there.iter().map(|(name, (uid, _))| (name.clone(), uid.clone())).collect();
    }

    /// A role gets a new key; Kubernetes brings it to pods in this order.
    async fn change(&mut self, role: &str, how: &[&str], servers_first: bool) {
        let former = self.run.join(format!("former-{role}-{}.nk", how.len()));
        std::fs::copy(self.seed(role), &former).unwrap();
        let thief = self.connection(&former).client("thief").await.unwrap();
        self.installation.make_secrets(how).unwrap();
        let mut order = [format!("sluice-nats-{role}"), "sluice-nats-accounts".to_owned()];
        if servers_first {
            order.reverse();
        }
        for secret in order {
            self.installation.mounted(&self.run, &secret).unwrap();
            if secret == "sluice-nats-accounts" {
                self.running.reload_bus().unwrap();
            }
            tokio::time::sleep(LAG).await;
        }
        assert_ne!(std::fs::read(&former).unwrap(), std::fs::read(self.seed(role)).unwrap());
        self.until("the end of a connection with the former key", async |_| {
            (thief.connection_state() != State::Connected).then_some(())
        })
        .await;
        let refused = self.connection(&former).client("thief").await.unwrap_err().to_string();
        assert!(refused.contains("does not know the nkey"), "{refused}");
        self.connection(&self.seed(role)).client("new").await.unwrap();
    }

    /// New keys for sealed rows. The matcher's are mounted: they come only after a problem says that it lacks one.
    async fn rotate_keys(&mut self, more: &[&str]) {
        let (url, seed) = (self.running.url(), self.seed("operator"));
        let keys = format!("kubernetes:{}", self.admin.display());
        let seed = seed.to_str().unwrap();
        let arguments = ["bus", "rotate-keys", "--nats-url", url, "--nats-nkey", seed, "--bus-keys", &keys];
        let arguments = arguments.iter().chain(more).map(|argument| (*argument).to_owned()).collect();
        let program = Programs::beside_me().unwrap().find("sluice").unwrap();
        let mut rotation = Process::start(Launch::new("rotate-keys", program, arguments, &self.run)).unwrap();
        if more.is_empty() {
            let served = ["--server", &self.served.clone()];
            let lacks = async |this: &mut Self| this.problems(&served).contains(LACKS_KEY).then_some(());
            self.until("a problem says that the matcher lacks a key", lacks).await;
            self.installation.mounted(&self.run, "sluice-bus-matcher").unwrap();
        }
        let status = self.until("the end of the rotation", async |_| rotation.ended().unwrap()).await;
        assert!(status.success(), "{}{}", rotation.output(), rotation.log_end());
        self.installation.mounted(&self.run, "sluice-bus-matcher").unwrap();
    }

    /// The names of the keys of a stage.
    fn keys(&self, stage: &str) -> Vec<String> {
        let secret = format!("sluice-bus-{stage}");
        let found = ["get", "secret", &secret, "--namespace", "projectsveltos", "--output", "json"];
        let found: Value = serde_json::from_str(&self.installation.kubectl(&found).unwrap()).unwrap();
        let names = found["data"].as_object().unwrap().keys().cloned();
        names.filter(|name| name.starts_with("identity-")).collect()
    }

    fn delete_secret(&self, name: &str) {
        self.installation.kubectl(&["delete", "secret", name, "--namespace", "projectsveltos"]).unwrap();
    }

    async fn start(dir: &Path, installation: Installation, member: ClusterClient) -> Self {
        let run = folder(dir, "run").unwrap();
        let running = installation.start(&run, &run).await.unwrap();
        let programs = Programs::beside_me().unwrap();
        let other = |stage| installation.start_stage(&run, stage, running.url(), &[], &programs).unwrap();
        let others = STAGES.map(other).into();
        for role in ROLES {
            installation.mounted(&run, &format!("sluice-nats-{role}")).unwrap();
        }
        let kubeconfig = installation.kubeconfig_of("sluice-inspect").unwrap();
        let listen = format!("127.0.0.1:{}", steady_port().unwrap());
        let arguments = [
            "inspect".to_owned(),
            format!("--listen={listen}"),
            format!("--nats-url={}", running.url()),
            format!("--nats-nkey={}", run.join("sluice-nats-inspect/seed").display()),
            format!("--bus-keys=kubernetes:{}", kubeconfig.display()),
            format!("--kubeconfig={}", kubeconfig.display()),
        ];
        let launch = Launch::new("inspect", programs.find("sluice").unwrap(), arguments.to_vec(), &run);
        let inspect = Process::start(launch).unwrap();
        let (served, admin) = (format!("http://{listen}"), dir.join("admin.kubeconfig"));
        Self { run, admin, installation, running, others, inspect, served, member, uids: BTreeMap::new() }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn keys_and_accounts_change_while_everything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let clusters = TwoClusters::start(dir.path(), "values.yaml").await.unwrap();
    let TwoClusters { management: _management, managed: _managed, installation, fleet } = clusters;
    for object in manifests() {
        fleet.apply(MANAGEMENT, &object).await.unwrap();
    }
    let member = fleet.at("default/one").unwrap().clone();
    let mut world = World::start(dir.path(), installation, member.clone()).await;
    let events = Events::start(member.clone());
    world.works("before", &events).await;

    for (number, role) in ROLES.into_iter().enumerate() {
        world.change(role, &["--rotate", role], number % 2 == 0).await;
        world.works(role, &events).await;
    }
    // Secrets that are lost are made again, with other keys.
    for secret in ["sluice-nats-matcher", "sluice-nats-accounts"] {
        world.delete_secret(secret);
    }
    world.change("matcher", &[], true).await;
    world.works("a key on the bus that was lost", &events).await;

    world.rotate_keys(&[]).await;
    for stage in SEALED {
        assert_eq!(world.keys(stage), ["identity-2"], "{stage}");
    }
    world.works("keys of sealed rows", &events).await;
    // Who has the new keys alone can read all rows.
    let (url, programs) = (world.running.url().to_owned(), Programs::beside_me().unwrap());
    for stage in STAGES {
        let former = world.running.replica(stage).unwrap().process();
        former.kill().unwrap();
        let next = world.installation.start_stage(&world.run, stage, &url, &[], &programs).unwrap();
        world.running.replace(next);
    }
    world.works("replicas that begin after it", &events).await;

    world.delete_secret("sluice-bus-renderer");
    world.rotate_keys(&["--stage", "renderer"]).await;
    assert_eq!(world.keys("renderer"), ["identity-3"]);
    world.works("a key of sealed rows that was lost", &events).await;

    let made = events.end().await;
    let last = async |world: &mut World| {
        let there = copies(&world.member).await;
        let holds =
            |(name, round): (&String, &Value)| there.get(name).is_some_and(|(_, copied)| copied == round);
        made.iter().all(holds).then_some(there)
    };
    let there = world.until("the last of all", last).await;
    world.keeps("the end", &there);
    assert!(there.len() == made.len() && made.len() > 100, "{} of {}", there.len(), made.len());
}
