//! `sluice import --apply` and `--undo`, over what was recorded of Sveltos: nothing of it has a new uid, generation or content, and from
//! then on it is Sluice's. On simulated clusters, and on real API servers with a release that Helm has installed (`make e2e`).
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey, object};
use sluice_e2e::cluster_client::ClusterClient;
use sluice_e2e::control_plane::{ControlPlane, assets};
use sluice_e2e::fleet::{Fleet, Member};
use sluice_e2e::installed::Installation;
use sluice_e2e::taken_over::{
    Deployed, FORMER, Place, contents, deploy, import, managers, metadata, profiles,
};
use sluice_testbed::{Options, STAGES, Stack};

const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);
/// For so long nothing may change once everything is as it should be.
const STAYS: Duration = Duration::from_secs(3);

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> = all.filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// Simulated clusters, a bus, and no stage.
async fn simulated(dir: &Path) -> (Stack, Fleet) {
    let stack = Stack::start(dir, Options { clusters: 2, replicas: 0, ..Options::default() }).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig()).unwrap()).await.unwrap();
    for cluster in
        fleet.management.list(&Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster")).await.unwrap()
    {
        fleet.management.delete(&cluster).await.unwrap();
    }
    let places = ["default/workload", "prod/edge"].map(str::to_owned);
    (stack, fleet.called(&places.into()))
}

async fn is_there(fleet: &Fleet, (place, key): &Place) -> bool {
    fleet.at(place).unwrap().get(key).await.unwrap().is_some()
}

async fn wait_until_gone(fleet: &Fleet, places: &[Place]) {
    let deadline = Instant::now() + TIMEOUT;
    for place in places {
        while is_there(fleet, place).await {
            assert!(Instant::now() < deadline, "{place:?} is there after {TIMEOUT:?}");
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// After the stages have begun: what nobody wants goes, the rest stays as it is, and goes with its cause.
async fn becomes_ours(fleet: &Fleet, deployed: &Deployed, before: &[Value], logs: impl Fn() -> String) {
    wait_until_gone(fleet, &deployed.stale).await;
    let deadline = Instant::now() + TIMEOUT;
    // Profiles by the names that Sveltos drew are replaced by ours.
    while profiles(fleet).await.unwrap().is_empty() {
        assert!(Instant::now() < deadline, "no profile is made: {}", logs());
        tokio::time::sleep(LOOK).await;
    }
    let quiet = Instant::now();
    while quiet.elapsed() < STAYS {
        assert_eq!(contents(fleet, &deployed.wanted).await.unwrap(), before);
        tokio::time::sleep(LOOK).await;
    }
    for trigger in &deployed.triggers {
        fleet.management.delete(trigger).await.unwrap();
    }
    wait_until_gone(fleet, &deployed.wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sveltos_has_deployed_becomes_ours_and_nothing_of_it_changes() {
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        let (mut stack, fleet) = simulated(dir.path()).await;
        let deployed = deploy(&case, &fleet).await.unwrap();
        let before = contents(&fleet, &deployed.wanted).await.unwrap();
        let (code, said) = import(&stack.kubeconfig(), &["--apply", "--dry-run"]).unwrap();
        assert_eq!(code, 0, "{}: {said}", case.display());
        assert!(
            managers(&fleet, &deployed.stale[0]).await.unwrap().contains(&format!("{FORMER} Apply")),
            "it was a dry run"
        );
        // Twice, as somebody does whom something has interrupted.
        for _ in 0..2 {
            let (code, said) = import(&stack.kubeconfig(), &["--apply"]).unwrap();
            assert_eq!(code, 0, "{}: {said}", case.display());
        }
        for place in deployed.wanted.iter().chain(&deployed.stale) {
            assert_eq!(
                managers(&fleet, place).await.unwrap(),
                ["sluice Apply"],
                "{}: {place:?}",
                case.display()
            );
        }
        for stage in STAGES {
            stack.start_replica(stage, 1).unwrap();
        }
        stack.wait_until_ready().await.unwrap();
        let logs = || {
            case.display().to_string()
                + &stack
                    .replicas()
                    .values()
                    .map(sluice_testbed::Replica::log_end)
                    .collect::<Vec<_>>()
                    .join("\n")
        };
        becomes_ours(&fleet, &deployed, &before, logs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_over_can_be_given_back() {
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        let (stack, fleet) = simulated(dir.path()).await;
        let deployed = deploy(&case, &fleet).await.unwrap();
        let all: Vec<Place> = deployed.wanted.iter().chain(&deployed.stale).cloned().collect();
        let before = metadata(&fleet, &all).await.unwrap();
        for way in ["--apply", "--undo"] {
            let (code, said) = import(&stack.kubeconfig(), &[way]).unwrap();
            assert_eq!(code, 0, "{}: {said}", case.display());
        }
        assert_eq!(metadata(&fleet, &all).await.unwrap(), before, "{}", case.display());
        for member in fleet.members.values() {
            let left = member.client.list(&Gvk::new("", "v1", "ConfigMap")).await.unwrap();
            assert!(left.iter().all(|object| !object::name(object).starts_with("sluice")), "{left:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_over_while_somebody_else_writes() {
    let dir = tempfile::tempdir().unwrap();
    let (stack, fleet) = simulated(dir.path()).await;
    let deployed = deploy(&cases()[0], &fleet).await.unwrap();
    let running = |name: &str, labels: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "x", "image": "x"}]}}}})
    };
    let ours = json!({"app.kubernetes.io/part-of": "sluice", "app.kubernetes.io/component": "deployer"});
    for deployment in [running("addon-controller", json!({})), running("sluice-deployer", ours)] {
        fleet.management.apply(&deployment).await.unwrap();
        for way in ["--apply", "--undo"] {
            let (code, said) = import(&stack.kubeconfig(), &[way]).unwrap();
            let remedy = format!("scale deployment {} --replicas=0", object::name(&deployment));
            assert!(code == 2 && said.contains(&remedy), "{said}");
        }
        fleet.management.delete(&deployment).await.unwrap();
    }
    assert_eq!(managers(&fleet, &deployed.wanted[0]).await.unwrap(), [format!("{FORMER} Apply")]);
}

/// Real API servers, and the chart of Sluice in the first of them.
struct Real {
    dir: tempfile::TempDir,
    planes: Vec<ControlPlane>,
    fleet: Fleet,
    installation: Installation,
}

impl Real {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut planes = Vec::new();
        for name in ["management", "workload", "edge"] {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            planes.push(ControlPlane::start(&assets().unwrap(), &folder).await.unwrap());
        }
        let values = Path::new(env!("CARGO_MANIFEST_DIR")).join("rights/values.yaml");
        let admin = planes[0].kubeconfig();
        let installation =
            Installation::install(dir.path(), planes[0].server_url(), &admin, &values).unwrap();
        // Its pods are processes here, which start later.
        installation
            .kubectl(&["scale", "deployment", "--all", "--namespace", "projectsveltos", "--replicas=0"])
            .unwrap();
        let management = ClusterClient::connect(&admin).await.unwrap();
        let mut fleet =
            Fleet { management, members: Default::default(), nats: String::new(), operator: None };
        for (place, plane) in ["default/workload", "prod/edge"].iter().zip(&planes[1..]) {
            let kubeconfig = plane.kubeconfig();
            let client = ClusterClient::connect(&kubeconfig).await.unwrap();
            fleet.members.insert((*place).to_owned(), Member { client, kubeconfig });
        }
        Self { dir, planes, fleet, installation }
    }

    fn admin(&self) -> PathBuf {
        self.dir.path().join("admin.kubeconfig")
    }

    /// Installs a chart as Sveltos does, in the first managed cluster.
    fn helm_install(&self, arguments: &[&str]) {
        let kubeconfig = self.dir.path().join("workload.kubeconfig");
        std::fs::write(&kubeconfig, self.planes[1].kubeconfig()).unwrap();
        let chart = sources().join("password");
        let done = Command::new(std::env::var("HELM").unwrap())
            .args(["install", "site"])
            .arg(&chart)
            .args(["--namespace", "web", "--create-namespace", "--kubeconfig"])
            .arg(&kubeconfig)
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("import/sources")
}

/// What the release has.
fn of_release() -> Vec<Place> {
    let key = |group: &str, kind: &str| ObjectKey {
        gvk: Gvk::new(group, "v1", kind),
        namespace: "web".into(),
        name: "site".into(),
    };
    [key("", "Secret"), key("apps", "Deployment")].map(|key| ("default/workload".to_owned(), key)).into()
}

/// A profile with this chart, and what Sveltos says of it.
async fn chart_profile(fleet: &Fleet, values: &str) {
    let profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "site",
            "finalizers": ["clusterprofilefinalizer.projectsveltos.io"]},
        "spec": {"clusterRefs": [{"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "namespace": "default", "name": "workload"}],
            "helmCharts": [{"repositoryURL": "https://charts.example.com", "repositoryName": "example", "chartName": "example/password",
                "chartVersion": "1.4.0", "releaseName": "site", "releaseNamespace": "web", "helmChartAction": "Install", "values": values}]}});
    fleet.apply("management", &profile).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn on_real_api_servers_helms_releases_stay_until_their_values_change() {
    let real = Real::start().await;
    let fleet = &real.fleet;
    let deployed = deploy(&cases()[0], fleet).await.unwrap();
    real.helm_install(&["--set", "length=20"]);
    chart_profile(fleet, "length: 20").await;
    let summary = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterSummary",
        "metadata": {"name": "site-sveltos-workload", "namespace": "default", "finalizers": ["clustersummaryfinalizer.projectsveltos.io"],
            "ownerReferences": [{"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "name": "site", "uid": "1"}]},
        "spec": {"clusterNamespace": "default", "clusterName": "workload", "clusterType": "Sveltos", "clusterProfileSpec": {}},
        "status": {"helmReleaseSummaries": [{"releaseName": "site", "releaseNamespace": "web", "status": "Managing", "valuesHash": "MQ=="}]}});
    fleet.apply("management", &summary).await.unwrap();

    let (wanted, releases) = (deployed.wanted.clone(), of_release());
    let (before, installed) =
        (contents(fleet, &wanted).await.unwrap(), contents(fleet, &releases).await.unwrap());
    let original = metadata(fleet, &[&wanted[..], &releases].concat()).await.unwrap();
    for way in ["--apply", "--undo"] {
        let (code, said) = import(&real.admin(), &[way]).unwrap();
        assert_eq!(code, 0, "{said}");
    }
    for (after, before) in
        metadata(fleet, &[&wanted[..], &releases].concat()).await.unwrap().iter().zip(&original)
    {
        assert_eq!(after, before);
    }
    let (code, said) = import(&real.admin(), &["--apply"]).unwrap();
    assert_eq!(code, 0, "{said}");
    for place in wanted.iter().chain(&releases) {
        assert_eq!(managers(fleet, place).await.unwrap(), ["sluice Apply"], "{place:?}");
    }

    let folder = real.dir.path().join("run");
    std::fs::create_dir_all(&folder).unwrap();
    let running = real.installation.start(&folder, &sources()).await.unwrap();
    becomes_ours(fleet, &deployed, &before, || running.log_ends()).await;
    wait_for_status(fleet, "Provisioned", &running.log_ends()).await;
    assert_eq!(contents(fleet, &releases).await.unwrap(), installed, "what Helm drew is there");
    // Other values are another release.
    chart_profile(fleet, "length: 24").await;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let now = contents(fleet, &releases).await.unwrap();
        if now[0]["data"]["password"] != installed[0]["data"]["password"] {
            assert_eq!(now[0]["metadata"]["uid"], installed[0]["metadata"]["uid"]);
            break;
        }
        assert!(Instant::now() < deadline, "{}", running.log_ends());
        tokio::time::sleep(LOOK).await;
    }
    let profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "site"}});
    fleet.management.delete(&profile).await.unwrap();
    wait_until_gone(fleet, &releases).await;
}

async fn wait_for_status(fleet: &Fleet, wanted: &str, logs: &str) {
    let key = ObjectKey {
        gvk: Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary"),
        namespace: "default".into(),
        name: "site-sveltos-workload".into(),
    };
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let summary = fleet.management.get(&key).await.unwrap().unwrap_or_default();
        if summary["status"]["featureSummaries"].to_string().contains(wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "{summary}\n{logs}");
        tokio::time::sleep(LOOK).await;
    }
}
