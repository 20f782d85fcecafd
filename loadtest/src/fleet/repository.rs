//! A chart repository with one chart: `policies`, which makes as many NetworkPolicies as its value `objects` says.

use std::io::Write as _;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::task::JoinSet;

const CHART: &str = "apiVersion: v2\nname: policies\nversion: 1.0.0\n";
const VALUES: &str = "objects: 1\n";
const TEMPLATE: &str = "\
{{- range $index := until (int .Values.objects) }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: front-{{ $.Release.Name }}-{{ $index }}
  namespace: {{ $.Release.Namespace }}
spec:
  podSelector:
    matchLabels:
      app: {{ printf \"app-%d\" $index | quote }}
  ingress:
  - from:
    - podSelector: {matchLabels: {app: internal}}
{{- end }}
";

/// It is served until this is dropped.
#[derive(Debug)]
pub struct Repository {
    url: String,
    _server: JoinSet<()>,
}

impl Repository {
    /// Serves it on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub async fn serve() -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let archive = archive()?;
        // JSON is YAML.
        let index = serde_json::json!({"apiVersion": "v1", "entries": {"policies": [
            {"name": "policies", "version": "1.0.0", "urls": ["policies-1.0.0.tgz"]}]}});
        let app = Router::new()
            .route("/index.yaml", get(move || async move { index.to_string() }))
            .route("/policies-1.0.0.tgz", get(move || async move { archive }))
            .fallback(|| async { StatusCode::NOT_FOUND });
        let mut server = JoinSet::new();
        #[expect(clippy::disallowed_methods, reason = "a chart that does not come fails the measurement")]
        server.spawn(async move { drop(axum::serve(listener, app).await) });
        Ok(Self { url, _server: server })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The chart, packed.
fn archive() -> anyhow::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let files = [("Chart.yaml", CHART), ("values.yaml", VALUES), ("templates/all.yaml", TEMPLATE)];
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("policies/{path}"), text.as_bytes())?;
    }
    let mut encoder = archive.into_inner()?;
    encoder.flush()?;
    Ok(encoder.finish()?)
}
