//! Numbers of a Prometheus. One that is a Service of the cluster is reached through the API server, as `kubectl get --raw` does:
//! nothing needs a way into the cluster. Others are asked from here.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use sluice_api::model::{MetricServer, Metrics, ServiceAddress};
use sluice_kube::outside::OwnHosts;
use sluice_kube::segment;

use outside::Outside;

mod outside;

/// For how long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer. One number needs a few hundred.
const LIMIT: usize = 1 << 20;

/// Who asks for numbers.
pub(super) struct Asker<'a> {
    /// For the cluster, with the rights of who asks.
    pub(super) client: &'a Client,
    /// Hosts of the own network that tenants may name.
    pub(super) hosts: &'a OwnHosts,
    pub(super) of_tenant: bool,
}

/// A server that is asked.
enum Server<'a> {
    Inside(&'a Client, &'a ServiceAddress),
    Outside(Outside),
}

// === impl Asker ===

impl Asker<'_> {
    /// All numbers that a check asks for, by the names that its script knows.
    ///
    /// # Errors
    /// Which query has no answer, and why.
    pub(super) async fn fetch(&self, metrics: &Metrics) -> Result<BTreeMap<String, f64>, String> {
        let server = in_time(self.server(&metrics.source)).await?;
        let mut numbers = BTreeMap::new();
        for (name, query) in &metrics.queries {
            let answer = in_time(server.ask(&asked(metrics, query))).await;
            let number = answer.and_then(|answer| number(&answer));
            numbers.insert(name.clone(), number.map_err(|why| format!("metric query {name:?}: {why}"))?);
        }
        Ok(numbers)
    }

    async fn server<'s>(&'s self, source: &'s MetricServer) -> Result<Server<'s>, String> {
        Ok(match source {
            MetricServer::Service(service) => Server::Inside(self.client, service),
            MetricServer::Outside { url, secret } => {
                Server::Outside(Outside::open(url, secret.as_ref(), self).await?)
            }
        })
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let answer = tokio::time::timeout(TIMEOUT, work).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
}

// === impl Server ===

impl Server<'_> {
    async fn ask(&self, asked: &str) -> Result<Value, String> {
        match self {
            Self::Inside(client, service) => ask_inside(client, &format!("{}{asked}", proxy(service))).await,
            Self::Outside(outside) => outside.ask(asked).await,
        }
    }
}

async fn ask_inside(client: &Client, path: &str) -> Result<Value, String> {
    let request = Request::get(path).body(Body::empty());
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

/// Where the API server passes on what is asked of a Service.
fn proxy(ServiceAddress { scheme, namespace, name, port }: &ServiceAddress) -> String {
    format!("/api/v1/namespaces/{namespace}/services/{scheme}:{name}:{port}/proxy")
}

/// Path of a query.
fn asked(metrics: &Metrics, query: &str) -> String {
    let parts =
        metrics.path.split('/').filter(|part| !part.is_empty() && !part.chars().all(|one| one == '.'));
    let path: Vec<_> = parts.map(segment).collect();
    format!("/{}?query={}", path.join("/"), encoded(query))
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

    fn service(port: &str) -> ServiceAddress {
        ServiceAddress {
            scheme: "http".into(),
            namespace: "monitoring".into(),
            name: "prometheus".into(),
            port: port.into(),
        }
    }

    fn metrics(query: &str) -> Metrics {
        let source = MetricServer::Service(service("9090"));
        Metrics { source, path: "/api/v1/query".into(), queries: vec![("errors".into(), query.into())] }
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
        let path = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy";
        assert_eq!(proxy(&service("9090")), path);
        assert_eq!(
            asked(&metrics(""), "sum(x{a=\"b\"})&e=f"),
            "/api/v1/query?query=sum%28x%7Ba%3D%22b%22%7D%29%26e%3Df"
        );
        let up = Metrics { path: "/../../../secrets?x=/y".into(), ..metrics("") };
        assert_eq!(asked(&up, "1"), "/secrets%3Fx%3D/y?query=1");
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
        let (client, hosts) = (api.client(), OwnHosts::All);
        let asker = Asker { client: &client, hosts: &hosts, of_tenant: true };
        let numbers = asker.fetch(&metrics("sum(errors)")).await.unwrap();
        assert_eq!(numbers, [("errors".to_owned(), 0.5)].into());
        let other = Metrics { source: MetricServer::Service(service("80")), ..metrics("x") };
        assert!(asker.fetch(&other).await.unwrap_err().starts_with("metric query \"errors\": "));
    }
}
