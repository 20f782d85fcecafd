//! Numbers of a Prometheus that is a Service of the cluster. It is reached through the API server, as `kubectl get --raw` does: nothing
//! needs a way into the cluster, and nothing outside of it can be asked.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use sluice_api::model::{Metrics, ServiceAddress};
use sluice_kube::segment;

/// For how long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer. One number needs a few hundred.
const LIMIT: usize = 1 << 20;

/// All numbers that a check asks for, by the names that its script knows.
///
/// # Errors
/// Which query has no answer, and why.
pub(super) async fn fetch(metrics: &Metrics, client: &Client) -> Result<BTreeMap<String, f64>, String> {
    let mut numbers = BTreeMap::new();
    for (name, query) in &metrics.queries {
        let answer = match tokio::time::timeout(TIMEOUT, ask(metrics, query, client)).await {
            Ok(answer) => answer.and_then(|answer| number(&answer)),
            Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        numbers.insert(name.clone(), answer.map_err(|why| format!("metric query {name:?}: {why}"))?);
    }
    Ok(numbers)
}

async fn ask(metrics: &Metrics, query: &str, client: &Client) -> Result<Value, String> {
    let request = Request::get(proxied(metrics, query)).body(Body::empty());
    let answer = client.send(request.map_err(|error| error.to_string())?).await;
    let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
    let read = Limited::new(body, LIMIT).collect().await;
    let body = read.map_err(|error| format!("its answer cannot be read: {error}"))?.to_bytes();
    let answer = serde_json::from_slice::<Value>(&body);
    if !head.status.is_success() {
        let said = answer.ok().and_then(|status| Some(status.get("message")?.as_str()?.to_owned()));
        return Err(said.unwrap_or_else(|| head.status.to_string()));
    }
    answer.map_err(|_| "the answer is none of a Prometheus".to_owned())
}

/// Path of a query as the API server passes it on.
fn proxied(metrics: &Metrics, query: &str) -> String {
    let Metrics { service: ServiceAddress { scheme, namespace, name, port }, path, .. } = metrics;
    let parts = path.split('/').filter(|part| !part.is_empty() && !part.chars().all(|one| one == '.'));
    let path: Vec<_> = parts.map(segment).collect();
    format!(
        "/api/v1/namespaces/{namespace}/services/{scheme}:{name}:{port}/proxy/{}?query={}",
        path.join("/"),
        encoded(query)
    )
}

/// A value of a query string.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// The one number of an answer.
fn number(answer: &Value) -> Result<f64, String> {
    if answer["status"] != "success" {
        return Err("the answer is none of a Prometheus".to_owned());
    }
    let (data, all) = (&answer["data"], &answer["data"]["result"]);
    let value = match data["resultType"].as_str() {
        Some("scalar") => all,
        Some("vector") => match all.as_array().map_or(&[][..], Vec::as_slice) {
            [one] => &one["value"],
            [] => return Err("it has no result".to_owned()),
            many => {
                return Err(format!(
                    "it has {} results; let it have one, with sum() or a selector",
                    many.len()
                ));
            }
        },
        _ => return Err("its result is neither a scalar nor a vector".to_owned()),
    };
    let text = value[1].as_str().unwrap_or_default();
    text.parse().map_err(|_| format!("its value {text:?} is no number"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_kube::fake_api::FakeApi;

    use super::*;

    fn metrics(query: &str) -> Metrics {
        let service = ServiceAddress {
            scheme: "http".into(),
            namespace: "monitoring".into(),
            name: "prometheus".into(),
            port: "9090".into(),
        };
        Metrics { service, path: "/api/v1/query".into(), queries: vec![("errors".into(), query.into())] }
    }

    fn vector(values: &[&str]) -> Value {
        let results: Vec<_> =
            values.iter().map(|value| json!({"metric": {}, "value": [1.5, value]})).collect();
        json!({"status": "success", "data": {"resultType": "vector", "result": results}})
    }

    #[test]
    fn one_number_is_an_answer() {
        assert_eq!(number(&vector(&["0.25"])), Ok(0.25));
        let scalar = json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "3"]}});
        assert_eq!(number(&scalar), Ok(3.0));
        assert!(number(&vector(&[])).unwrap_err().contains("no result"));
        assert!(number(&vector(&["1", "2"])).unwrap_err().contains("2 results"));
        assert!(number(&json!({"status": "error"})).is_err() && number(&json!(null)).is_err());
        assert!(number(&vector(&["x"])).unwrap_err().contains("no number"));
        let matrix = json!({"status": "success", "data": {"resultType": "matrix", "result": []}});
        assert!(number(&matrix).unwrap_err().contains("neither"));
    }

    #[test]
    fn a_query_leads_nowhere_else() {
        let path = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy/api/v1/query";
        assert_eq!(proxied(&metrics("a/b?c&d"), ""), format!("{path}?query="));
        assert_eq!(
            proxied(&metrics(""), "sum(x{a=\"b\"})&e=f"),
            format!("{path}?query=sum%28x%7Ba%3D%22b%22%7D%29%26e%3Df")
        );
        let up = Metrics { path: "/../../../secrets".into(), ..metrics("") };
        assert!(proxied(&up, "1").contains("/proxy/secrets?query=1"));
    }

    #[tokio::test]
    async fn numbers_come_through_the_api_server() {
        drop(sluice_runtime::install_defaults());
        let api = FakeApi::start(|request: &sluice_kube::fake_api::Request| {
            match request
                .path
                .contains("/services/http:prometheus:9090/proxy/api/v1/query?query=sum%28errors%29")
            {
                true => (200, vector(&["0.5"]).to_string()),
                false => (404, json!({"kind": "Status", "message": "no such port", "code": 404}).to_string()),
            }
        });
        let numbers = fetch(&metrics("sum(errors)"), &api.client()).await.unwrap();
        assert_eq!(numbers, [("errors".to_owned(), 0.5)].into());
        let other =
            Metrics { service: ServiceAddress { port: "80".into(), ..metrics("").service }, ..metrics("x") };
        assert!(fetch(&other, &api.client()).await.unwrap_err().starts_with("metric query \"errors\": "));
    }
}
