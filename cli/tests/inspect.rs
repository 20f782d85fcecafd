//! Commands print the same whether a server answers, or this process: beside a `sluice up`, which serves.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

mod common;

use common::{Running, client, value};

/// What has not come by now will not.
const PATIENCE: Duration = Duration::from_secs(60);

fn sluice(arguments: &[&str], more: &[&str], dir: &Path) -> (Option<i32>, String, String) {
    common::sluice(arguments[0], &[&arguments[1..], more].concat(), dir)
}

/// Makes the Service that the example waits for.
async fn create_service(kubeconfig: &str) {
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "default", "labels": {"sveltos": "fv"}},
        "spec": {"selector": {"app.kubernetes.io/name": "MyApp"}, "ports": [{"port": 80}]}});
    let gvk = kube::api::GroupVersionKind::gvk("", "v1", "Service");
    let resource = kube::api::ApiResource::from_gvk(&gvk);
    let client = client(kubeconfig, "cluster-1").await;
    let api: kube::Api<kube::api::DynamicObject> = kube::Api::namespaced_with(client, "default", &resource);
    api.create(&kube::api::PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
}

/// A problem that opens and is resolved is told to who watches, by a server and without.
async fn problems_are_watched(kubeconfig: &str, server: &str, dir: &Path) {
    let start = |more: &[&str]| Running::start(&[&["problems", "--watch"][..], more].concat(), dir);
    let mut watching = [start(&[]), start(&["--server", server])];
    watching.iter_mut().for_each(|watching| drop(watching.line("no problems")));
    let gvk = kube::api::GroupVersionKind::gvk("lib.projectsveltos.io", "v1beta1", "EventTrigger");
    let resource = kube::api::ApiResource::from_gvk(&gvk);
    let api: kube::Api<kube::api::DynamicObject> =
        kube::Api::all_with(client(kubeconfig, "management").await, &resource);
    let wrong = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "wrong"},
        "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "{{ ("}});
    api.create(&kube::api::PostParams::default(), &serde_json::from_value(wrong).unwrap()).await.unwrap();
    watching
        .iter_mut()
        .for_each(|watching| assert!(watching.line("EventTrigger wrong").starts_with("opened ")));
    api.delete("wrong", &kube::api::DeleteParams::default()).await.unwrap();
    watching
        .iter_mut()
        .for_each(|watching| assert!(watching.line("EventTrigger wrong").starts_with("resolved ")));
}

/// Waits until a command prints this.
fn until(arguments: &[&str], word: &str, dir: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !sluice(arguments, &[], dir).1.contains(word) {
        assert!(
            Instant::now() < deadline,
            "{arguments:?} never prints {word:?}: {:?}",
            sluice(arguments, &[], dir)
        );
    }
}

const TRIGGER: &str = "
apiVersion: lib.projectsveltos.io/v1alpha1
kind: EventBasedAddOn
metadata: {name: service-network-policy}
spec:
  clusterSelector: env=other
  eventSourceName: sveltos-service
  oneForEvent: true
  policyRefs: [{kind: ConfigMap, namespace: default, name: network-policy}]
";

/// A profile with a chart that lies beside it.
const CHARTED: [(&str, &str); 4] = [
    (
        "profile.yaml",
        "
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {name: charted}
spec:
  clusterSelector: {matchLabels: {env: fv}}
  helmCharts:
  - {repositoryURL: https://charts.example, repositoryName: r, chartName: r/web, chartVersion: 1.0.0, releaseName: site, releaseNamespace: web}
",
    ),
    ("sources/sources.yaml", "charts: [{repository: https://charts.example, chart: web, path: web}]\n"),
    ("sources/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
    ("sources/web/templates/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-a-chart}\n"),
];

const CLUSTER: &str = "--cluster=default/cluster-1";

/// What is asked, and a part of what is printed.
const QUESTIONS: &[(&[&str], &str)] = &[
    (&["trace", "NetworkPolicy/front-web", CLUSTER], "| deployer |"),
    (&["trace", "NetworkPolicy/front-web", CLUSTER, "-o", "json"], "\"stage\":\"matcher\""),
    (&["trace", "NetworkPolicy/front-wob", CLUSTER], ""),
    (&["explain", CLUSTER, "trigger", "service-network-policy"], "| deployed "),
    (
        &["explain", CLUSTER, "trigger", "service-network-polici", "-o", "json"],
        "there is service-network-policy",
    ),
    (&["explain", CLUSTER, "object", "NetworkPolicy/front-web"], "| wanted "),
    (
        &["explain", CLUSTER, "event", "svc/web", "-n", "default"],
        "EventBasedAddOn service-network-policy listens to ",
    ),
    (&["explain", CLUSTER, "event", "Service/wob", "-o", "json"], "there is Service default/web"),
    (&["explain", CLUSTER, "event", "web"], ""),
    (&["problems"], "no problems"),
    (&["shards", "--stage", "renderer"], "| renderer |"),
    (&["shards", "-o", "json"], "\"stage\":\"agent\""),
    (&["shards", "-o", "yaml"], "stage: agent\n"),
    (&["show", "addons", "-o", "wide"], "front-web"),
    (&["show", "addons", "--cluster", "cluster-9"], ""),
    (&["show", "clusters"], "env=fv"),
    (&["show", "clusters", "-o", "json"], "env=fv"),
    (&["show", "clusters", "-o", "yaml"], "labels:\n- env=fv\n"),
    (&["show", "triggers", "--no-headers"], "| service-network-policy "),
    (&["show", "triggers", "-o", "json"], "\"of\":\"sveltos-service\""),
    (&["show", "profiles", "-o", "wide"], "| ClusterProfile | "),
    (&["show", "profiles", "-o", "yaml"], "kind: ClusterProfile\n"),
    (&["show", "profiles", "--namespace", "nowhere", "-o", "json"], ""),
    (&["show", "events"], "| sveltos-service | 1       | yes      |"),
    (&["show", "events", CLUSTER, "-o", "json"], "\"complete\":\"yes\""),
    (&["show", "events", "--event-source", "sveltos-servis"], ""),
    (&["show", "usage", "--kind", "ConfigMap", "-o", "wide"], "| default/cluster-1 | "),
    (&["show", "usage", "--name", "network-policy", "-o", "json"], "/service-network-policy"),
    (&["show", "usage", "--name", "network-polici"], ""),
    (&["show", "rollout", "EventBasedAddOn/service-network-policy"], "| NetworkPolicy |"),
    (&["show", "rollout", "EventBasedAddOn/service-network-policy", "-o", "json"], "\"state\":\"has it\""),
    (&["show", "rollout", "EventBasedAddOn/service-network-polici"], ""),
    (&["show", "resources", "--kind", "Service", "--no-headers"], "| default/cluster-1 | v1/Service | "),
    (&["show", "resources", "--cluster", "cluster-1", "--full"], "  kind: Service\n"),
    (&["show", "resources", "--cluster", "cluster-9"], ""),
    (&["diff", "manifests"], "-  name: front-web"),
    (&["diff", "manifests", "--cluster=default/cluster-9"], ""),
    (&["diff", "charted"], "+  name: of-a-chart"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_command_prints_the_same_with_a_server_and_without() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    std::fs::create_dir(dir.join("manifests")).unwrap();
    std::fs::write(dir.join("manifests/trigger.yaml"), TRIGGER).unwrap();
    for (file, text) in CHARTED {
        let file = dir.join("charted").join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let mut up = Running::start(&["up", "--clusters=1"], dir);
    let ready = up.line("ready ");
    let server = value(&ready, "inspect");
    assert_eq!(std::fs::read_to_string(dir.join(".sluice/inspect.url")).unwrap(), server);
    let mut events = Running::start(&["events", "--server", &server, CLUSTER, "--stage=deployer"], dir);
    // Nothing is told of what was before: it listens once it is known to the server, which this asks.
    let (code, ..) = sluice(&["shards"], &["--server", &server], dir);
    assert_eq!(code, Some(0));
    let kubeconfig = value(&ready, "kubeconfig");
    create_service(&kubeconfig).await;
    until(&["show", "addons"], "front-web", dir);
    until(&["explain", CLUSTER, "trigger", "service-network-policy"], "is provisioned", dir);
    assert!(events.line("applied").starts_with("applied    default/cluster-1"));
    for (question, part) in QUESTIONS {
        let here = sluice(question, &[], dir);
        let there = sluice(question, &["--server", &server], dir);
        assert_eq!(here, there, "{question:?}");
        assert!(here.1.contains(part), "{question:?} prints {here:?}");
        assert_eq!(part.is_empty(), here.1.is_empty(), "{question:?} prints {here:?}");
    }
    problems_are_watched(&kubeconfig, &server, dir).await;
}

#[test]
fn a_server_that_anybody_could_ask_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, says) = sluice(&["inspect", "--listen=0.0.0.0:0"], &[], dir.path());
    assert_eq!(code, Some(1));
    assert!(says.contains("--listen 0.0.0.0:0: ") && says.contains("--authenticate kubernetes"), "{says}");
}

/// Neither bus nor management cluster are there: it serves all the same, and says so.
#[test]
fn a_server_serves_while_everything_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens");
    std::fs::write(&tokens, "secret\n").unwrap();
    let away = ["--nats-url=nats://127.0.0.1:9", "--kubeconfig=/nowhere/kubeconfig"];
    let arguments = [&["inspect", "--listen=127.0.0.1:0", "--token-file=tokens"][..], &away].concat();
    let mut server = Running::start(&arguments, dir.path());
    let url = value(&server.line("ready "), "inspect");
    let asked = |more: &[&str]| sluice(&["shards", "--server", &url], more, dir.path());
    let (code, _, says) = asked(&["--token-file=tokens"]);
    assert_eq!((code, says.as_str()), (Some(1), "sluice: the bus has not been reached yet; ask again\n"));
    let (_, _, says) = asked(&[]);
    assert!(says.starts_with("sluice: a token is needed"), "{says}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, says) = sluice(&["shards", "--server=http://127.0.0.1:9"], &[], dir.path());
    assert_eq!(code, Some(1));
    assert!(says.starts_with("sluice: --server http://127.0.0.1:9: "), "{says}");
    let (_, _, says) = sluice(&["shards", "--server=127.0.0.1:9"], &[], dir.path());
    assert!(says.contains("write http://host:port or https://host:port"), "{says}");
}
