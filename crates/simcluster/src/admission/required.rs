//! What the built-in kinds cannot be without.

use serde_json::Value;

use crate::object::Json;
use crate::status::Cause;

/// What is missing or does not fit together.
pub fn check(body: &Json, kind: &str) -> Vec<Cause> {
    let nothing = Value::Null;
    let spec = body.get("spec").unwrap_or(&nothing);
    match kind {
        "Service" => check_service(spec),
        "Pod" => check_containers(spec, "spec"),
        "Ingress" if spec.get("rules").is_none() && spec.get("defaultBackend").is_none() => {
            let why = "either `defaultBackend` or `rules` must be specified";
            vec![Cause::invalid("spec", "[]", why)]
        }
        "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet" => {
            let mut causes = check_selector(spec);
            causes.extend(check_template(spec));
            causes
        }
        "Job" => check_template(spec),
        _ => Vec::new(),
    }
}

fn check_service(spec: &Value) -> Vec<Cause> {
    let text = |field: &str| spec.get(field).and_then(Value::as_str);
    let portless = text("type") == Some("ExternalName") || text("clusterIP") == Some("None");
    if portless || spec.get("ports").is_some() { Vec::new() } else { vec![Cause::required("spec.ports", "")] }
}

fn check_selector(spec: &Value) -> Vec<Cause> {
    let Some(selector) = spec.get("selector") else { return vec![Cause::required("spec.selector", "")] };
    let labels = spec.pointer("/template/metadata/labels");
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let fits = |(name, value): (&String, &Value)| labels.and_then(|labels| labels.get(name)) == Some(value);
    if wanted.into_iter().flatten().all(fits) {
        return Vec::new();
    }
    let shown = labels.cloned().unwrap_or_default().to_string();
    vec![Cause::invalid(
        "spec.template.metadata.labels",
        &shown,
        "`selector` does not match template `labels`",
    )]
}

fn check_template(spec: &Value) -> Vec<Cause> {
    let pod = spec.pointer("/template/spec").unwrap_or(&Value::Null);
    check_containers(pod, "spec.template.spec")
}

fn check_containers(pod: &Value, path: &str) -> Vec<Cause> {
    let containers = pod.get("containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        vec![Cause::required(format!("{path}.containers"), "")]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn fields(kind: &str, spec: Value) -> Vec<String> {
        let body = json!({"spec": spec});
        check(body.as_object().unwrap(), kind).into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(fields("Service", json!({})), ["spec.ports"]);
        assert_eq!(fields("Service", json!({"clusterIP": "None"})), Vec::<String>::new());
        assert_eq!(fields("Ingress", json!({})), ["spec"]);
        assert_eq!(fields("Deployment", json!({})), ["spec.selector", "spec.template.spec.containers"]);
        assert_eq!(fields("ConfigMap", json!({})), Vec::<String>::new());
    }

    #[test]
    fn a_selector_must_fit_its_template() {
        let spec = |label: &str| {
            let template =
                json!({"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "c"}]}});
            json!({"selector": {"matchLabels": {"app": "x"}}, "template": template})
        };
        assert_eq!(fields("Deployment", spec("x")), Vec::<String>::new());
        assert_eq!(fields("Deployment", spec("y")), ["spec.template.metadata.labels"]);
    }
}
