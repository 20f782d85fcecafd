#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_bus::{BusReport, ServerReport, StreamReport};
use sluice_kube::Discovered;

use super::facts::ClusterFacts;
use super::rights::needs;
use super::*;

const NOW: i64 = 1_800_000_000;

fn server(minor: &str) -> Discovered {
    let kinds = [
        "apps/v1/Deployment",
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        "rbac.authorization.k8s.io/v1/ClusterRole",
        "policy/v1/PodDisruptionBudget",
        "networking.k8s.io/v1/NetworkPolicy",
        "authorization.k8s.io/v1/SubjectAccessReview",
        "authentication.k8s.io/v1/TokenReview",
    ];
    Discovered {
        version: format!("v1.{minor}.1"),
        major: "1".into(),
        minor: minor.into(),
        api_versions: kinds.map(str::to_owned).into(),
    }
}

fn bus() -> BusReport {
    let node = |number: u32| ServerReport {
        url: format!("tls://nats-{number}:4222"),
        name: format!("nats-{number}"),
        version: "2.15.1".into(),
        max_payload: 8 << 20,
        authenticates: true,
        encrypts: true,
    };
    let stream = |number: u32| StreamReport {
        name: format!("CHANGES-0{number}"),
        leader: Some(format!("nats-{number}")),
        replicas: 3,
        current: 3,
        lag: 0,
        rows: 1,
        bytes: 1,
    };
    let owners = BTreeMap::from([("a-1".to_owned(), 8), ("a-2".to_owned(), 8)]);
    BusReport {
        servers: (1..=3).map(node).collect(),
        api_level: 2,
        streams: (1..=3).map(stream).collect(),
        store: (10, Some(100)),
        sealed: Some(true),
        owners: ["agent", "matcher", "renderer", "deployer"]
            .map(|stage| (stage.to_owned(), owners.clone()))
            .into(),
        problems: Vec::new(),
    }
}

fn deployment(stage: &str, replicas: u64) -> Value {
    let labels = json!({"app.kubernetes.io/part-of": "sluice", "app.kubernetes.io/component": stage});
    json!({"metadata": {"name": format!("sluice-{stage}"), "namespace": "projectsveltos", "labels": labels},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"image": "r/sluice:0.1.0"}]}}},
        "status": {"readyReplicas": replicas}})
}

fn established(mut definition: Value) -> Value {
    definition["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
    definition
}

/// An installation in which all is well.
fn well() -> Facts {
    let name = |definition: &Value| sluice_api::object::name(definition).to_owned();
    let secret = |name: String| ("projectsveltos".to_owned(), name);
    let roles = ["agent", "matcher", "renderer", "deployer", "inspect", "operator", "people", "accounts"];
    let of_nats = roles.map(|role| secret(format!("sluice-nats-{role}")));
    let of_bus = roles.map(|role| secret(format!("sluice-bus-{role}")));
    Facts {
        pre: false,
        areas: AREAS.to_vec(),
        namespace: "projectsveltos".into(),
        now: NOW,
        server: Ok(server("36")),
        ahead: Some(0),
        namespaces: Ok(BTreeSet::from(["projectsveltos".to_owned()])),
        definitions: Ok(sluice_api::crd::all()
            .into_iter()
            .map(|one| (name(&one), established(one)))
            .collect()),
        deployments: Ok(["agent", "matcher", "renderer", "deployer"]
            .map(|stage| deployment(stage, 2))
            .into()),
        secrets: Ok(of_nats.into_iter().chain(of_bus).collect()),
        rights: Ok(needs(&[], false).map(|need| (need, true)).collect()),
        bus: Ok(bus()),
        problems: Ok(BTreeMap::new()),
        clusters: Ok(vec![ClusterFacts {
            name: "default/shop".into(),
            ends: vec![("token", NOW + 90 * 86_400)],
            server: Ok(server("36")),
        }]),
    }
}

/// The checks that do not hold.
fn failing(facts: &Facts) -> Vec<(String, Level)> {
    let findings = judge(facts);
    for finding in findings.iter().filter(|finding| matches!(finding.level, Level::Error | Level::Warning)) {
        assert!(!finding.remedy.is_empty() && !finding.says.is_empty(), "{finding:?}");
    }
    findings
        .into_iter()
        .filter(|finding| finding.level != Level::Ok)
        .map(|finding| (finding.check, finding.level))
        .collect()
}

fn expect(change: impl FnOnce(&mut Facts), expected: &[(&str, Level)]) {
    let mut facts = well();
    change(&mut facts);
    let expected: Vec<_> = expected.iter().map(|(check, level)| ((*check).to_owned(), *level)).collect();
    assert_eq!(failing(&facts), expected);
}

#[test]
fn where_all_is_well_more_than_forty_checks_say_so() {
    assert_eq!(failing(&well()), []);
    let findings = judge(&well());
    assert!(findings.len() > 80, "{}", findings.len());
    let names: BTreeSet<&String> = findings.iter().map(|finding| &finding.check).collect();
    assert_eq!(names.len(), findings.len(), "two checks have one name");
    let before = judge(&Facts { pre: true, areas: AREAS[..3].to_vec(), ..well() });
    assert!(before.len() >= 25 && before.iter().all(|finding| finding.level == Level::Ok), "{before:#?}");
}

#[test]
fn each_thing_that_is_wrong_is_named_alone() {
    use Level::{Error, Skipped, Warning};
    expect(|facts| facts.server = Ok(server("30")), &[("api.version", Error)]);
    expect(|facts| facts.server = Err("refused".into()), &[("api.answers", Error)]);
    expect(|facts| facts.ahead = Some(-90), &[("api.clock", Warning)]);
    expect(|facts| facts.namespaces = Ok(BTreeSet::new()), &[("api.namespace", Error)]);
    expect(
        |facts| drop(facts.definitions.as_mut().unwrap().remove("sets.lib.projectsveltos.io")),
        &[("crd.sets.lib.projectsveltos.io", Error)],
    );
    expect(
        |facts| {
            // As the original has it: what a definition does not name is dropped.
            let older =
                facts.definitions.as_mut().unwrap().get_mut("eventtriggers.lib.projectsveltos.io").unwrap();
            let spec = older.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
            spec["x-kubernetes-preserve-unknown-fields"] = json!(false);
            spec["properties"].as_object_mut().unwrap().remove("oneForEvent");
        },
        &[("crd.eventtriggers.lib.projectsveltos.io", Warning)],
    );
    expect(
        |facts| {
            let mut other = deployment("x", 1);
            other["metadata"] = json!({"name": "event-manager", "namespace": "sveltos"});
            facts.deployments.as_mut().unwrap().push(other);
        },
        &[("sveltos.event-manager", Error)],
    );
    expect(|facts| drop(facts.deployments.as_mut().unwrap().remove(1)), &[("install.matcher", Warning)]);
    expect(
        |facts| facts.rights.as_mut().unwrap().last_mut().unwrap().1 = false,
        &[("rights.inspect.tokenreviews", Error)],
    );
    expect(|facts| facts.rights = Err("forbidden".into()), &[("rights.all", Skipped)]);
    expect(|facts| facts.bus = Err("no answer".into()), &[("bus.answers", Error)]);
    let with = |change: fn(&mut BusReport)| move |facts: &mut Facts| change(facts.bus.as_mut().unwrap());
    expect(with(|bus| bus.servers[0].max_payload = 1 << 20), &[("bus.message", Error)]);
    expect(with(|bus| bus.streams[1].leader = None), &[("bus.leaders", Error)]);
    expect(with(|bus| bus.store = (95, Some(100))), &[("bus.disk", Warning)]);
    expect(with(|bus| bus.sealed = Some(false)), &[("bus.sealed", Warning)]);
    expect(
        with(|bus| drop(bus.owners.insert("deployer".into(), BTreeMap::new()))),
        &[("bus.owners.deployer", Error)],
    );
    expect(|facts| facts.problems = Ok(BTreeMap::from([("agent".into(), 2)])), &[("bus.problems", Warning)]);
    let cluster = |change: fn(&mut ClusterFacts)| {
        move |facts: &mut Facts| change(&mut facts.clusters.as_mut().unwrap()[0])
    };
    expect(cluster(|one| one.server = Err("away".into())), &[("cluster.default/shop.answers", Error)]);
    expect(cluster(|one| one.server = Ok(server("33"))), &[("cluster.default/shop.lists", Warning)]);
    expect(cluster(|one| one.ends = vec![("token", NOW - 1)]), &[("cluster.default/shop.token", Error)]);
    expect(
        cluster(|one| one.ends = vec![("certificate", NOW + 86_400)]),
        &[("cluster.default/shop.certificate", Warning)],
    );
}

#[test]
fn every_page_that_a_check_names_has_the_heading() {
    for finding in judge(&well()) {
        let (page, heading) = finding.see.split_once('#').unwrap_or((finding.see, ""));
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|_| panic!("{}: there is no {page}", finding.check));
        let as_link = |line: &str| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let has =
            heading.is_empty() || text.lines().any(|line| line.starts_with('#') && as_link(line) == heading);
        assert!(has, "{}: {page} has no heading {heading}", finding.check);
    }
}
