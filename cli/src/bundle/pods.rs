//! Pods of an installation: what runs, what they log, what they measure.

use kube::Client;
use kube::api::{Api, ListParams, LogParams};
use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_kube::{Raw, resource_of};

use super::{Parts, in_time};

/// What selects them.
const OURS: &str = "app.kubernetes.io/part-of=sluice";
/// Where stages tell their metrics.
const METRICS: u16 = 9090;

/// Adds all of it.
pub(super) async fn collect(client: &Client, namespace: &str, lines: i64, parts: &mut Parts) {
    let server = in_time(async { Ok(client.apiserver_version().await?.git_version) }).await;
    if let Some(version) = parts.had("management cluster", server) {
        parts.put("management.json", &json!({ "version": version }));
    }
    for (file, gvk) in
        [("deployments.json", Gvk::new("apps", "v1", "Deployment")), ("pods.json", Gvk::new("", "v1", "Pod"))]
    {
        let Some(found) = parts.had(file, in_time(list(client, &gvk, namespace)).await) else { continue };
        parts.put(file, &found.iter().map(shown).collect::<Vec<_>>());
        if gvk.kind == "Pod" {
            for pod in &found {
                of_pod(client, namespace, object::name(pod), lines, parts).await;
            }
        }
    }
}

async fn list(client: &Client, gvk: &Gvk, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let Some((resource, _)) = resource_of(client, gvk).await? else { return Ok(Vec::new()) };
    let api: Api<Raw> = Api::namespaced_with(client.clone(), namespace, &resource);
    let found = api.list(&ListParams::default().labels(OURS)).await?;
    Ok(found.items.into_iter().map(|object| object.value).collect())
}

/// What is told of it: images, arguments, names of Secrets, conditions; environments name files and addresses, and may hold what an admin put there.
fn shown(found: &Value) -> Value {
    let mut shown = json!({"metadata": {}, "spec": found["spec"], "status": found["status"]});
    for field in ["name", "labels", "creationTimestamp", "generation"] {
        shown["metadata"][field] = found["metadata"][field].clone();
    }
    for path in ["/spec/containers", "/spec/template/spec/containers"] {
        for container in shown.pointer_mut(path).and_then(Value::as_array_mut).into_iter().flatten() {
            for variable in container["env"].as_array_mut().into_iter().flatten() {
                let is_ours = variable["name"].as_str().is_some_and(|name| name.starts_with("SLUICE_"));
                if !is_ours && variable["value"].is_string() {
                    variable["value"] = json!("not shown");
                }
            }
        }
    }
    shown
}

async fn of_pod(client: &Client, namespace: &str, name: &str, lines: i64, parts: &mut Parts) {
    use k8s_openapi::api::core::v1::Pod;
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for (file, previous) in [(format!("logs/{name}.log"), false), (format!("logs/{name}.previous.log"), true)]
    {
        let parameters =
            LogParams { tail_lines: Some(lines), previous, timestamps: true, ..LogParams::default() };
        match in_time(async { Ok(pods.logs(name, &parameters).await?) }).await {
            Ok(text) => parts.files.push((file, text.into_bytes())),
            // Most containers have not run before.
            Err(_) if previous => {}
            Err(error) => parts.miss(&file, &format!("{error:#}")),
        }
    }
    let url = format!("/api/v1/namespaces/{namespace}/pods/{name}:{METRICS}/proxy/metrics");
    let asked = in_time(async { Ok(client.request_text(http::Request::get(url).body(Vec::new())?).await?) });
    let file = format!("metrics/{name}.txt");
    if let Some(text) = parts.had(&file, asked.await) {
        parts.files.push((file, text.into_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_an_admin_has_put_into_the_environment_is_not_shown() {
        let env = json!([{"name": "SLUICE_NATS_URL", "value": "nats://n"}, {"name": "PASSWORD", "value": "secret"}]);
        let pod = json!({"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": {"containers": [{"env": env}]}, "status": {}});
        let text = shown(&pod).to_string();
        assert!(
            text.contains("nats://n") && !text.contains("secret") && !text.contains("annotations"),
            "{text}"
        );
    }
}
