//! The admin endpoint: `/metrics`, `/healthz`, `/readyz`.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio_util::sync::CancellationToken;

use crate::context::Readiness;
use crate::metrics::Metrics;

/// Serves until `stop`; returns the address.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(
    addr: SocketAddr,
    metrics: Metrics,
    ready: Readiness,
    stop: CancellationToken,
) -> anyhow::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(addr)
        .await
        .map_err(|error| anyhow::anyhow!("--http-addr {addr}: {error}"))?;
    let bound = listener.local_addr()?;
    let app = Router::new()
        .route("/metrics", get(text))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .with_state((metrics, ready));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await {
            tracing::error!(%error, "the admin endpoint ended");
        }
    });
    Ok(bound)
}

async fn text(State((metrics, _)): State<(Metrics, Readiness)>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.text())
}

async fn readiness(State((_, ready)): State<(Metrics, Readiness)>) -> impl IntoResponse {
    match ready.missing() {
        None => (StatusCode::OK, "ready".to_owned()),
        Some(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {missing}")),
    }
}
