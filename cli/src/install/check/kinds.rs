//! The definitions of the kinds, and their age.

use serde_json::Value;
use sluice_api::object;

use super::facts::Facts;
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "crd", see: "docs/operations/install.md#the-kinds" };
const INSTALL: &str = "helm upgrade --install sluice-crds deploy/helm/sluice-crds";

pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let found = match &facts.definitions {
        Ok(found) => found,
        Err(why) => return vec![AREA.skip("all", why)],
    };
    let judge_one = |wanted: Value| {
        let name = object::name(&wanted).to_owned();
        match found.get(&name) {
            None if facts.pre => AREA.fine(&name, "it comes with the chart sluice-crds"),
            None => AREA.wrong(&name, "it is not there: objects of this kind cannot be written", INSTALL),
            Some(there) => of_there(&name, &wanted, there),
        }
    };
    sluice_api::crd::all().into_iter().map(judge_one).collect()
}

fn of_there(name: &str, wanted: &Value, there: &Value) -> Finding {
    let lacks: Vec<_> =
        served(wanted).into_iter().filter(|version| !served(there).contains(version)).collect();
    if !lacks.is_empty() {
        return AREA.wrong(name, format!("it does not serve {}", lacks.join(", ")), INSTALL);
    }
    if !is_established(there) {
        return AREA.wrong(name, "the server has not established it", "kubectl describe crd says why");
    }
    let missing = fields(wanted, there);
    if let Some(first) = missing.first() {
        let says = format!("it is of another version: it lacks {} fields, {first} first", missing.len());
        return AREA.warn(name, format!("{says}; the server drops what users write there"), INSTALL);
    }
    AREA.fine(name, "it is there")
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten()
}

fn served(definition: &Value) -> Vec<&str> {
    let served = versions(definition).filter(|version| version["served"] == true);
    served.filter_map(|version| version["name"].as_str()).collect()
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// Paths of fields that one schema has and the other lacks.
fn fields(wanted: &Value, there: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for version in versions(wanted) {
        let other = versions(there).find(|other| other["name"] == version["name"]);
        let schema =
            |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
        lacking(&schema(version), &other.map(schema).unwrap_or_default(), "", &mut missing);
    }
    missing
}

fn lacking(wanted: &Value, there: &Value, path: &str, missing: &mut Vec<String>) {
    // Where any field is taken nothing is dropped.
    if there["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for (name, inner) in wanted["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match there["properties"].get(name) {
            Some(other) => lacking(inner, other, &path, missing),
            None => missing.push(path),
        }
    }
    if wanted["items"].is_object() {
        lacking(&wanted["items"], &there["items"], &format!("{path}[]"), missing);
    }
}
