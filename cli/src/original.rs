//! Who writes the same objects: the controllers of Sveltos, and our stages.

use serde_json::Value;
use sluice_api::object;

/// By the names of their Deployments, with what each writes.
pub(crate) const CONTROLLERS: [(&str, &str); 6] = [
    ("addon-controller", "deploys profiles"),
    ("event-manager", "makes profiles of events"),
    ("sveltos-agent-manager", "writes EventReports"),
    ("sc-manager", "writes the status of SveltosClusters"),
    ("hc-manager", "writes the status of health checks"),
    ("access-manager", "makes tenants' accounts"),
];

/// Whether a Deployment is one of these, and has replicas: what to do then.
pub(crate) fn stop_it(deployment: &Value) -> Option<String> {
    let (namespace, name) = (object::namespace(deployment), object::name(deployment));
    let runs = deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(0) > 0;
    let is_one = CONTROLLERS.iter().any(|(controller, _)| *controller == name);
    (runs && is_one).then(|| format!("kubectl -n {namespace} scale deployment {name} --replicas=0"))
}

/// The same of a stage of ours.
pub(crate) fn stop_us(deployment: &Value) -> Option<String> {
    let (namespace, name) = (object::namespace(deployment), object::name(deployment));
    let runs = deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(0) > 0;
    let writes = ["renderer", "deployer"].iter().any(|stage| {
        object::label(deployment, "app.kubernetes.io/part-of") == Some("sluice")
            && object::label(deployment, "app.kubernetes.io/component") == Some(stage)
    });
    (runs && writes).then(|| format!("kubectl -n {namespace} scale deployment {name} --replicas=0"))
}
