//! What runs in the management cluster: our Deployments and Secrets, and controllers that would write the same.

use serde_json::Value;
use sluice_api::model::NAMESPACE;
use sluice_api::object;

use super::facts::Facts;
use super::finding::{Area, Finding};
use crate::original::{CONTROLLERS, stop_it};

const AREA: Area = Area { name: "install", see: "docs/operations/install.md" };
const COEXIST: Area = Area { name: "sveltos", see: "docs/migration.md#one-writer-at-a-time" };
const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];

pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let deployments = match &facts.deployments {
        Ok(deployments) => deployments,
        Err(why) => return vec![AREA.skip("deployments", why)],
    };
    let mut findings: Vec<Finding> = CONTROLLERS.map(|(name, does)| other(deployments, name, does)).into();
    if facts.pre {
        return findings;
    }
    let ours: Vec<&Value> = deployments.iter().filter(|object| is_ours(object, &facts.namespace)).collect();
    findings.extend(STAGES.map(|stage| of_stage(&ours, stage)));
    findings.push(versions(&ours));
    findings.push(spread(&ours));
    findings.extend(secrets(facts));
    findings
}

fn other(deployments: &[Value], name: &str, does: &str) -> Finding {
    let named = deployments.iter().filter(|object| object::name(object) == name);
    match named.filter_map(stop_it).next() {
        None => COEXIST.fine(name, "it does not run"),
        Some(remedy) => COEXIST.wrong(
            name,
            format!("it runs: it {does}, and so does Sluice; both would write the same"),
            remedy,
        ),
    }
}

fn is_ours(object: &Value, namespace: &str) -> bool {
    object::namespace(object) == namespace
        && object::label(object, "app.kubernetes.io/part-of") == Some("sluice")
}

fn component(object: &Value) -> &str {
    object::label(object, "app.kubernetes.io/component").unwrap_or_default()
}

fn replicas(object: &Value, path: &str) -> u64 {
    object.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn of_stage(ours: &[&Value], stage: &str) -> Finding {
    let Some(there) = ours.iter().find(|object| component(object) == stage) else {
        let remedy =
            "helm upgrade --install sluice deploy/helm/sluice; where it runs elsewhere, this can be left";
        return AREA.warn(stage, format!("there is no Deployment of the {stage} in this namespace"), remedy);
    };
    let (wanted, ready) = (replicas(there, "/spec/replicas"), replicas(there, "/status/readyReplicas"));
    let says = format!("{ready} of {wanted} replicas are ready");
    AREA.hold(
        ready >= wanted && wanted > 0,
        stage,
        says,
        "kubectl describe its pods; /readyz says what a stage waits for",
    )
}

fn versions(ours: &[&Value]) -> Finding {
    let image = |object: &&Value| {
        let image = object
            .pointer("/spec/template/spec/containers/0/image")
            .and_then(Value::as_str)
            .unwrap_or_default();
        image.rsplit_once(':').map_or(image, |(_, tag)| tag).to_owned()
    };
    let mut tags: Vec<String> = ours.iter().map(image).collect();
    tags.sort();
    tags.dedup();
    let says = format!("images have the tags {}", tags.join(", "));
    AREA.prefer(
        tags.len() < 2,
        "versions",
        says,
        "versions N and N-1 work together; end the upgrade when you can",
    )
}

fn spread(ours: &[&Value]) -> Finding {
    let alone: Vec<&str> = ours
        .iter()
        .filter(|object| replicas(object, "/spec/replicas") == 1)
        .map(|object| component(object))
        .collect();
    let says = if alone.is_empty() {
        "no stage depends on one replica".to_owned()
    } else {
        format!("one replica: {}", alone.join(", "))
    };
    AREA.prefer(alone.is_empty(), "replicas", says, "two of each: then a node may go")
}

fn secrets(facts: &Facts) -> Vec<Finding> {
    let there = match &facts.secrets {
        Ok(there) => there,
        Err(why) => return vec![AREA.skip("secrets", why)],
    };
    let has = |namespace: &str, name: &str| there.contains(&(namespace.to_owned(), name.to_owned()));
    let remedy = "sluice install secrets makes it; where the bus has accounts of its own, this can be left";
    let accounts = has(&facts.namespace, "sluice-nats-accounts");
    let mut findings = vec![AREA.prefer(
        accounts,
        "accounts",
        format!("Secret sluice-nats-accounts {}", if accounts { "is there" } else { "is not there" }),
        remedy,
    )];
    if accounts {
        findings.extend(STAGES.iter().chain(&["inspect", "operator", "people"]).map(|role| {
            let name = format!("sluice-nats-{role}");
            let is_there = has(&facts.namespace, &name);
            AREA.hold(
                is_there,
                &format!("nkey.{role}"),
                format!("Secret {name}"),
                "sluice install secrets makes it",
            )
        }));
    }
    if facts.bus.as_ref().is_ok_and(|bus| bus.sealed == Some(true)) {
        findings.extend(STAGES.iter().chain(&["inspect"]).map(|stage| {
            let name = format!("sluice-bus-{stage}");
            let is_there = has(NAMESPACE, &name);
            let says = format!("Secret {NAMESPACE}/{name}, with which it reads sealed rows");
            AREA.prefer(
                is_there,
                &format!("key.{stage}"),
                says,
                "sluice install secrets makes it, unless the keys are in files",
            )
        }));
    }
    findings
}
