//! Cells of workloads.

use serde_json::Value;

use super::view::{age, get, label_selector, list, number, or_none, pairs, text};
use crate::object::Object;

/// Replicas, containers and selector.
pub fn deployment(object: &Object) -> Vec<Value> {
    let number = |path: &[&str]| get(object, path).and_then(Value::as_i64).unwrap_or(0);
    let containers = || list(get(object, &["spec", "template", "spec", "containers"]));
    let names = |field: &str| {
        containers().filter_map(|container| container.get(field)?.as_str()).collect::<Vec<_>>().join(",")
    };
    vec![
        format!("{}/{}", number(&["status", "readyReplicas"]), number(&["spec", "replicas"])).into(),
        number(&["status", "updatedReplicas"]).into(),
        number(&["status", "availableReplicas"]).into(),
        age(object),
        names("name").into(),
        names("image").into(),
        label_selector(get(object, &["spec", "selector"])).into(),
    ]
}

/// Readiness, phase, restarts and place.
pub fn pod(object: &Object) -> Vec<Value> {
    let statuses = || list(get(object, &["status", "containerStatuses"]));
    let ready = statuses().filter(|status| status.get("ready") == Some(&Value::Bool(true))).count();
    let restarts: i64 = statuses().filter_map(|status| status.get("restartCount")?.as_i64()).sum();
    let total = list(get(object, &["spec", "containers"])).count();
    let text = |path: &[&str]| {
        get(object, path)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .unwrap_or("<none>")
            .to_owned()
    };
    let phase = if object.is_terminating() { "Terminating".into() } else { text(&["status", "phase"]) };
    vec![
        format!("{ready}/{total}").into(),
        phase.into(),
        restarts.to_string().into(),
        age(object),
        text(&["status", "podIP"]).into(),
        text(&["spec", "nodeName"]).into(),
    ]
}

/// Ready and wanted replicas.
pub fn stateful_set(object: &Object) -> Vec<Value> {
    let ready = number(object, &["status", "readyReplicas"]);
    vec![format!("{ready}/{}", number(object, &["spec", "replicas"])).into(), age(object)]
}

/// Counts of nodes, and which nodes.
pub fn daemon_set(object: &Object) -> Vec<Value> {
    let counts = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ];
    let mut cells: Vec<Value> =
        counts.iter().map(|field| number(object, &["status", field]).into()).collect();
    cells.push(or_none(&pairs(get(object, &["spec", "template", "spec", "nodeSelector"]))).into());
    cells.push(age(object));
    cells
}

/// Wanted, present and ready replicas.
pub fn replica_set(object: &Object) -> Vec<Value> {
    let paths: [&[&str]; 3] = [&["spec", "replicas"], &["status", "replicas"], &["status", "readyReplicas"]];
    let counts = paths.iter().map(|path| number(object, path).into());
    counts.chain([age(object)]).collect()
}

/// How many completions are done.
pub fn job(object: &Object) -> Vec<Value> {
    let done = number(object, &["status", "succeeded"]);
    let done = format!("{done}/{}", number(object, &["spec", "completions"]));
    vec!["Running".into(), done.into(), "".into(), age(object)]
}

/// Schedule and state.
pub fn cron_job(object: &Object) -> Vec<Value> {
    let suspend = get(object, &["spec", "suspend"]).cloned().unwrap_or_else(|| false.into());
    let zone = or_none(text(object, &["spec", "timeZone"]));
    vec![
        text(object, &["spec", "schedule"]).into(),
        zone.into(),
        suspend,
        0.into(),
        "<none>".into(),
        age(object),
    ]
}
