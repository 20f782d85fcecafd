//! The pure work of the stages on one core: scripts, templates, YAML, and what is sent to clusters.
//!
//! Scripts, templates and triggers are those of the scenarios; the objects are Services of about 3 KB.
#![allow(clippy::unwrap_used)]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use serde_json::{Map, Value, json};
use sluice_api::{ProfileId, yaml};
use sluice_deployer_core::prepare;
use sluice_protocol::rows::{Cause, Desired, Policy};
use sluice_script::cel::Rule;
use sluice_script::{Limits, Script};
use sluice_template::{Data, Env, Options, Program};

const BY_LABEL: &str = include_str!("../../e2e/scenarios/b-network-policy-by-lua/input/event-source.yaml");
const BY_PORT: &str = include_str!("../../e2e/scenarios/d-ingress-for-https/input/event-source.yaml");
const ADD_ON: &str = include_str!("../../e2e/scenarios/a-network-policy-by-label/input/add-on.yaml");
const CHOOSE: &str = "function evaluate()
    local chosen = {}
    for _, service in ipairs(resources) do
        if service.metadata.labels.sveltos == 'fv' then table.insert(chosen, service) end
    end
    return {resources = chosen}
end";
const RULE_BY_LABEL: &str = "resource.metadata.labels.sveltos == 'fv'";
const RULE_BY_PORT: &str = "resource.spec.ports.exists(p, p.port == 443 || p.port == 8443)";

fn main() {
    divan::main();
}

/// Evaluations of the two scripts.
#[divan::bench(args = ["by label", "by port"])]
fn lua(bencher: Bencher<'_, '_>, which: &str) {
    let source = if which == "by label" { BY_LABEL } else { BY_PORT };
    let script = Script::compile(text(source, "EventSource", "/spec/script").as_str()).unwrap();
    let (service, limits) = (service(), Limits::default());
    assert!(script.evaluate(&service, &limits).unwrap().matching);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| script.evaluate(black_box(&service), &limits).unwrap());
}

/// Evaluations of rules that ask what the two scripts ask.
#[divan::bench(args = [RULE_BY_LABEL, RULE_BY_PORT])]
fn cel(bencher: Bencher<'_, '_>, rule: &str) {
    let rule = Rule::compile(rule).unwrap();
    let (service, limits) = (service(), Limits::default());
    assert_eq!(rule.holds(&service, &limits), Ok(true));
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| rule.holds(black_box(&service), &limits).unwrap());
}

/// Choices among so many objects: the script of an `aggregatedSelection`.
#[divan::bench(args = [100, 1_000, 3_000])]
fn choose(bencher: Bencher<'_, '_>, count: usize) {
    let script = Script::compile(CHOOSE).unwrap();
    let named = |number: usize| {
        let mut service = service();
        service["metadata"]["name"] = format!("service-{number}").into();
        service
    };
    let services: Vec<Value> = (0..count).map(named).collect();
    let services: Vec<&Value> = services.iter().collect();
    let limits = Limits::default();
    assert_eq!(script.choose(&services, &limits).unwrap().len(), count);
    bencher
        .counter(ItemsCount::new(count))
        .bench_local(|| script.choose(black_box(&services), &limits).unwrap());
}

/// Renders of the NetworkPolicy template.
#[divan::bench]
fn render(bencher: Bencher<'_, '_>) {
    let (program, service) = (policy_template(), service());
    let limits = sluice_template::Limits::default();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        let dot = Data::Map(vec![("Resource", Data::Json(black_box(&service)))]);
        program.render(&dot, &Env::default(), &limits).unwrap()
    });
}

/// Rendered text becomes an object.
#[divan::bench]
fn parse_yaml(bencher: Bencher<'_, '_>) {
    let rendered = rendered();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| yaml::documents(black_box(&rendered)).unwrap());
}

/// Labels, annotations and the hash of an object that is to be applied.
#[divan::bench]
fn prepare_and_hash(bencher: Bencher<'_, '_>) {
    let desired = desired();
    assert!(prepare(&desired).1.is_empty());
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| prepare(black_box(&desired)));
}

/// Decoding an object, as every stage does with every row.
#[divan::bench]
fn decode_json(bencher: Bencher<'_, '_>) {
    let bytes = service().to_string();
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| serde_json::from_str::<Value>(black_box(&bytes)).unwrap());
}

/// A text in the object of this kind.
fn text(documents: &str, kind: &str, path: &str) -> String {
    let objects = yaml::documents(documents).unwrap();
    let object = objects.iter().find(|object| object["kind"] == kind).unwrap();
    object.pointer(path).and_then(Value::as_str).unwrap().to_owned()
}

fn policy_template() -> Program {
    let template = text(ADD_ON, "ConfigMap", "/data/networkpolicy.yaml");
    Program::compile("networkpolicy.yaml", &template, &Options::default()).unwrap()
}

fn rendered() -> String {
    let service = service();
    let dot = Data::Map(vec![("Resource", Data::Json(&service))]);
    policy_template().render(&dot, &Env::default(), &sluice_template::Limits::default()).unwrap()
}

/// A Service that both scripts match, of about 3 KB.
fn service() -> Value {
    let annotation = |number: usize| (format!("example.com/note-{number:02}"), Value::from("x".repeat(85)));
    let annotations: Map<String, Value> = (0..20).map(annotation).collect();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "my-service",
            "namespace": "default",
            "uid": "6f1a1e0c-9b0f-4d35-8a53-3f0d4b6f9a11",
            "resourceVersion": "123456",
            "creationTimestamp": "2024-05-01T12:00:00Z",
            "labels": {"sveltos": "fv", "app": "my-app", "team": "shop", "tier": "front"},
            "annotations": annotations,
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.96.12.13",
            "clusterIPs": ["10.96.12.13"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "selector": {"app.kubernetes.io/name": "MyApp"},
            "ports": [
                {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 9376},
                {"name": "https", "protocol": "TCP", "port": 443, "targetPort": 9377},
                {"name": "metrics", "protocol": "TCP", "port": 9090, "targetPort": 9090},
            ],
        },
        "status": {"loadBalancer": {}},
    });
    let size = service.to_string().len();
    assert!((2500..3500).contains(&size), "the Service has {size} bytes");
    service
}

fn desired() -> Desired {
    let objects = yaml::documents(&rendered()).unwrap();
    let policy = Policy {
        kind: "ConfigMap".into(),
        namespace: "projectsveltos".into(),
        name: "network-policy".into(),
        tier: 100,
        objects,
        ..Policy::default()
    };
    Desired {
        owner_kind: "ClusterProfile".into(),
        owner_namespace: String::new(),
        owner_name: "sveltos-abcdefghijkmnpqrstuv".into(),
        tier: 100,
        leave: false,
        dry_run: false,
        one_time: false,
        staged: false,
        hidden: false,
        allow_prune: String::new(),
        succeeds: Default::default(),
        lacks: std::collections::BTreeMap::new(),
        jobs: Vec::new(),
        redeploy: std::collections::BTreeSet::new(),
        extra_labels: Default::default(),
        extra_annotations: Default::default(),
        account: None,
        cause: Cause::Profile(ProfileId::cluster("p")),
        spec: Map::new(),
        policies: vec![policy],
    }
}
