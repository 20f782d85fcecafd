//! What is in `deploy` is installed on a real API server: each file of values by helm, manifests by kubectl.
//! `make e2e` runs them.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_e2e::control_plane::{ControlPlane, assets};
use sluice_e2e::installed::Installation;
use sluice_testbed::Programs;

const NAMESPACE: &str = "projectsveltos";
/// Kinds of other operators for which the chart has objects.
const FOREIGN: [(&str, &str, &str); 3] = [
    ("monitoring.coreos.com", "v1", "PodMonitor"),
    ("monitoring.coreos.com", "v1", "PrometheusRule"),
    ("keda.sh", "v1alpha1", "ScaledObject"),
];
/// What the API server makes and changes by itself.
const OF_THE_SERVER: [&str; 3] = ["leases.", "events", "apiservices."];

struct Fixture {
    dir: tempfile::TempDir,
    plane: ControlPlane,
    cluster: Installation,
}

impl Fixture {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let plane = ControlPlane::start(&assets().unwrap(), dir.path()).await.unwrap();
        let cluster = Installation::none(dir.path(), plane.server_url(), &plane.kubeconfig()).unwrap();
        Self { dir, plane, cluster }
    }

    fn admin(&self) -> PathBuf {
        self.dir.path().join("admin.kubeconfig")
    }

    /// Definitions of kinds of others, which take anything.
    fn define_foreign_kinds(&self) {
        for (group, version, kind) in FOREIGN {
            let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
            let schema =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
            let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": singular},
                    "versions": [{"name": version, "served": true, "storage": true, "schema": schema}]}});
            self.cluster.apply(&definition.to_string()).unwrap();
            let name = format!("crd/{plural}.{group}");
            self.cluster.kubectl(&["wait", "--for=condition=Established", &name]).unwrap();
        }
    }

    /// Every object of the cluster.
    fn everything(&self) -> BTreeSet<String> {
        let kinds = self.cluster.kubectl(&["api-resources", "--verbs=list", "--output=name"]).unwrap();
        let is_ours = |kind: &&str| !OF_THE_SERVER.iter().any(|theirs| kind.starts_with(theirs));
        let kinds = kinds.lines().filter(is_ours).collect::<Vec<_>>().join(",");
        let columns = "--output=custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name";
        let all = ["get", &kinds, "--all-namespaces", "--no-headers", "--ignore-not-found", columns];
        let named = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        self.cluster.kubectl(&all).unwrap().lines().map(named).collect()
    }

    /// The objects of the release that are there, each with its version.
    fn versions(&self, manifest: &Path) -> BTreeMap<String, String> {
        // Objects without a namespace are in that of the release; others say where they are, which a flag would contradict.
        let home = self.dir.path().join("home.kubeconfig");
        let context = format!("user: real, namespace: {NAMESPACE}}}");
        std::fs::write(&home, self.plane.kubeconfig().replace("user: real}", &context)).unwrap();
        let done = Command::new("kubectl")
            .args(["get", "--ignore-not-found", "--output", "json", "--filename"])
            .args([manifest, Path::new("--kubeconfig"), &home])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8(done.stdout).unwrap();
        let found: Value =
            if text.is_empty() { json!({"items": []}) } else { serde_json::from_str(&text).unwrap() };
        let read = |object: &Value| {
            let meta = &object["metadata"];
            let name = format!("{} {} {}", object["kind"], meta["namespace"], meta["name"]);
            (name, meta["resourceVersion"].as_str().unwrap().to_owned())
        };
        found["items"].as_array().unwrap().iter().map(read).collect()
    }

    fn sluice(&self, arguments: &[&str]) -> Output {
        Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.admin())
            .output()
            .unwrap()
    }

    /// Objects of a file or a folder that the server takes.
    fn applied(&self, flag: &str, what: &str) {
        let arguments = ["apply", "--server-side", "--validate=strict", flag, what];
        if let Err(error) = self.cluster.kubectl(&arguments) {
            panic!("{what}: {error:#}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn path(name: &str) -> String {
    root().join(name).display().to_string()
}

/// Every file of values: those beside the chart's own, and those that the chart is checked with.
fn files_of_values() -> BTreeSet<PathBuf> {
    let chart = root().join("deploy/helm/sluice");
    let of = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_values = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with("-values.yaml") || name.starts_with("values-")
    };
    of(chart.clone()).chain(of(chart.join("ci"))).filter(is_values).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn every_file_of_values_is_installed_upgraded_without_a_change_and_uninstalled() {
    let fixture = Fixture::start().await;
    let cluster = &fixture.cluster;
    fixture.define_foreign_kinds();
    cluster.kubectl(&["create", "namespace", "team-a"]).unwrap();
    let chart = cluster.prepare().unwrap().display().to_string();
    let files = files_of_values();
    assert!(files.len() >= 5, "{files:?}");
    for values in files {
        let name = values.file_name().unwrap().to_string_lossy().into_owned();
        let before = fixture.everything();
        let values = values.display().to_string();
        let with = [
            "sluice",
            &chart,
            "--namespace",
            NAMESPACE,
            "--no-hooks",
            "--values",
            &values,
            "--set",
            "image.registry=registry.example/sluice",
        ];
        cluster.helm(&[&["install"], &with[..]].concat()).unwrap();
        let manifest = fixture.dir.path().join("manifest.yaml");
        let text = cluster.helm(&["get", "manifest", "sluice", "--namespace", NAMESPACE]).unwrap();
        std::fs::write(&manifest, text).unwrap();
        // As the Job of the chart does, which is a hook.
        let made = fixture.sluice(&["install", "secrets", "--namespace", NAMESPACE]);
        assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
        let installed = fixture.versions(&manifest);
        assert!(installed.len() >= 15, "{name}: {installed:#?}");
        if name == "values-namespaced.yaml" {
            assert_rights_are_narrow(&fixture);
        }

        cluster.helm(&[&["upgrade"], &with[..]].concat()).unwrap();
        assert_eq!(
            fixture.versions(&manifest),
            installed,
            "{name}: the upgrade to the same has changed something"
        );

        cluster.helm(&["uninstall", "sluice", "--namespace", NAMESPACE, "--no-hooks"]).unwrap();
        assert_eq!(fixture.versions(&manifest), BTreeMap::new(), "{name}: objects of the release stay");
        let after = fixture.everything();
        let gone: Vec<_> = before.difference(&after).collect();
        assert!(gone.is_empty(), "{name}: not of the release, and gone: {gone:?}");
        let kept: BTreeSet<_> = after.difference(&before).map(String::as_str).collect();
        let of_setup = |object: &&str| {
            ["sluice-nats-", "sluice-bus-"]
                .iter()
                .any(|secret| object.starts_with(&format!("Secret {NAMESPACE} {secret}")))
        };
        let others: Vec<_> = kept.iter().filter(|object| !of_setup(object)).collect();
        assert!(others.is_empty(), "{name}: stays: {others:?}");
        assert!(kept.len() >= 10, "{name}: the keys are kept: {kept:?}");
        cluster.kubectl(&["delete", "secrets", "--all", "--namespace", NAMESPACE]).unwrap();
    }
    cluster.helm(&["uninstall", "sluice-crds"]).unwrap();
    let kept = fixture.everything().into_iter().filter(|object| {
        object.starts_with("CustomResourceDefinition") && object.ends_with(".projectsveltos.io")
    });
    assert_eq!(kept.count(), 13, "the definitions stay");
}

/// With Roles in one namespace stages have what they need there, and lack the same elsewhere.
fn assert_rights_are_narrow(fixture: &Fixture) {
    let check = ["install", "check", "--only", "rights", "--output", "json"];
    let errors = |more: &[&str]| {
        let done = fixture.sluice(&[&check[..], more].concat());
        let text = String::from_utf8(done.stdout).unwrap();
        let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(all.len() >= 40, "{text} {}", String::from_utf8_lossy(&done.stderr));
        let wrong = all.iter().filter(|one| one["level"] != "ok");
        wrong.map(|one| one["check"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(errors(&["--namespaces", NAMESPACE]), BTreeSet::new());
    let written = [
        "rights.deployer.clusterconfigurations",
        "rights.deployer.clusterconfigurations/status",
        "rights.deployer.clusterreports",
        "rights.deployer.clusterreports/status",
        "rights.deployer.clustersummaries",
        "rights.deployer.clustersummaries/status",
        "rights.deployer.events",
        "rights.deployer.sveltosclusters",
        "rights.renderer.clusters",
        "rights.renderer.eventreports",
        "rights.renderer.eventreports/status",
        "rights.renderer.events",
        "rights.renderer.profiles/status",
        "rights.renderer.sets/status",
        "rights.renderer.sveltosclusters",
        "rights.renderer.sveltosclusters/status",
    ];
    let written = BTreeSet::from(written.map(str::to_owned));
    assert_eq!(errors(&["--namespaces", "team-a"]), written);
    assert_eq!(errors(&[]), written);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn every_manifest_is_applied_to_a_real_server() {
    let fixture = Fixture::start().await;
    let overlay = |component: &str| {
        let folder = fixture.dir.path().join(format!("overlay-{component}"));
        std::fs::create_dir_all(&folder).unwrap();
        // kustomize takes paths that are relative to it.
        let up = "../".repeat(folder.components().count());
        let of =
            |name: &str| format!("{up}{}", path(&format!("deploy/kustomize/{name}")).trim_start_matches('/'));
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [{:?}]\ncomponents: [{:?}, {:?}]\n",
            of("base"),
            of("components/nats"),
            of(&format!("components/{component}"))
        );
        std::fs::write(folder.join("kustomization.yaml"), text).unwrap();
        folder.display().to_string()
    };
    fixture.applied("--kustomize", &path("deploy/kustomize/default"));
    // A Job never changes; where it is done its time runs out, and the next apply makes it anew.
    let job = ["delete", "job", "sluice-setup", "--namespace", NAMESPACE];
    for component in ["ha", "network-policies", "openshift"] {
        fixture.cluster.kubectl(&job).unwrap();
        fixture.applied("--kustomize", &overlay(component));
    }
    fixture.define_foreign_kinds();
    fixture.cluster.kubectl(&job).unwrap();
    fixture.applied("--kustomize", &overlay("monitoring"));
    fixture.cluster.kubectl(&job).unwrap();
    fixture.applied("--filename", &path("deploy/install.yaml"));
    fixture.applied("--kustomize", &path("deploy/agent"));
    for size in ["read", "apply", "admin"] {
        fixture.applied("--filename", &path(&format!("deploy/managed/{size}.yaml")));
    }
    fixture.cluster.kubectl(&job).unwrap();
    let checked = Command::new(root().join("scripts/check_charts.py"))
        .env("CHECK_CHARTS_SERVER", fixture.admin())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// What each size of deploy/managed may do with the kubeconfig that the script prints, and what it may not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd, kube-apiserver and helm: make e2e"]
async fn the_kubeconfig_of_a_managed_cluster_may_what_its_size_says() {
    let sizes: [(&str, [bool; 4]); 3] = [
        ("read", [true, false, false, false]),
        ("apply", [true, true, true, false]),
        ("admin", [true, true, true, true]),
    ];
    for (size, allowed) in sizes {
        let fixture = Fixture::start().await;
        fixture.applied("--filename", &path(&format!("deploy/managed/{size}.yaml")));
        fixture.cluster.aggregate().unwrap();
        let without = run_kubeconfig_script(&fixture);
        let said = String::from_utf8_lossy(&without.stderr);
        assert!(!without.status.success() && said.contains("has no token yet"), "{size}: {said}");
        let token = ["create", "token", "sluice", "--namespace", NAMESPACE, "--duration", "1h"];
        let token = STANDARD.encode(fixture.cluster.kubectl(&token).unwrap().trim());
        // As a controller does that does not run here.
        let patch = json!({"data": {"token": token}}).to_string();
        let arguments =
            ["patch", "secret", "sluice-token", "--namespace", NAMESPACE, "--type=merge", "--patch", &patch];
        fixture.cluster.kubectl(&arguments).unwrap();
        let printed = run_kubeconfig_script(&fixture);
        assert!(printed.status.success(), "{size}: {}", String::from_utf8_lossy(&printed.stderr));
        let kubeconfig = fixture.dir.path().join("shop.kubeconfig");
        std::fs::write(&kubeconfig, &printed.stdout).unwrap();
        let calls: [&[&str]; 4] = [
            &["get", "namespaces"],
            &["create", "configmap", "a", "--namespace", "default"],
            &["get", "secrets", "--all-namespaces"],
            &["get", "clusterroles"],
        ];
        for (call, allowed) in calls.into_iter().zip(allowed) {
            let done =
                Command::new("kubectl").args(call).arg("--kubeconfig").arg(&kubeconfig).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.success(), allowed, "{size}: kubectl {}: {said}", call.join(" "));
            assert!(allowed || said.contains("(Forbidden)") || said.contains("forbidden"), "{size}: {said}");
        }
    }
}

/// `deploy/managed/kubeconfig.sh` for a context that knows the authority of the server.
fn run_kubeconfig_script(fixture: &Fixture) -> Output {
    let authority = fixture.dir.path().join("certificates/apiserver.crt");
    let mine = fixture.dir.path().join("mine.kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: shop\ncontexts: [{{name: shop, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: {:?}, certificate-authority: {:?}}}}}]\nusers: [{{name: u, user: {{token: {:?}}}}}]\n",
        fixture.plane.server_url(),
        authority,
        fixture.plane.token()
    );
    std::fs::write(&mine, text).unwrap();
    Command::new(root().join("deploy/managed/kubeconfig.sh"))
        .arg("shop")
        .env("KUBECONFIG", &mine)
        .output()
        .unwrap()
}
