//! The controllers of Sveltos, which write the same objects.

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
