//! Plain requests to an API server, whatever stands behind the kubeconfig.

use anyhow::Context as _;
use http::{Method, Request};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

/// A client of one API server.
#[derive(Clone)]
pub struct Server {
    client: Client,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// HTTP status code.
    pub code: u16,
    /// The JSON body; of a watch, the list of its events.
    pub body: Value,
}

// === impl Server ===

impl Server {
    /// A client for the current context of a kubeconfig.
    pub async fn connect(kubeconfig: &str) -> anyhow::Result<Self> {
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // An answer is the answer, also when it is 504.
        config.default_retry = false;
        Ok(Self { client: Client::try_from(config)? })
    }

    /// Whether the server answers `/readyz` with success.
    pub async fn is_ready(&self) -> bool {
        let Ok(request) = Request::get("/readyz").body(Body::empty()) else { return false };
        self.client.send(request).await.is_ok_and(|response| response.status().is_success())
    }

    /// The minor version of Kubernetes, `1.36`.
    pub async fn version(&self) -> anyhow::Result<String> {
        let answer = self.call("GET", "/version", &[], None).await?.body;
        let part = |name: &str| answer[name].as_str().unwrap_or_default().trim_end_matches('+').to_owned();
        Ok(format!("{}.{}", part("major"), part("minor")))
    }

    /// Sends one request and reads the whole answer.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> anyhow::Result<Response> {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes())?).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        let response = self.client.send(request.body(Body::from(bytes))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await?;
        let text = std::str::from_utf8(&bytes).context("the answer is not UTF-8")?;
        Ok(Response { code, body: parse(text) })
    }
}

/// One JSON value, a list of several one a line, or the text itself.
fn parse(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    lines.map_or_else(|_| Value::from(text.trim()), Value::Array)
}
