//! The admin endpoint: `/metrics`, `/healthz`, `/readyz`.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use sluice_tasks::{End, Once, Tasks};

use crate::context::Readiness;
use crate::metrics::Metrics;

/// What the endpoint shows.
#[derive(Clone)]
struct Shown {
    metrics: Metrics,
    ready: Readiness,
    tasks: Tasks,
}

/// Serves until the process stops; returns the address.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(
    addr: SocketAddr,
    metrics: Metrics,
    ready: Readiness,
    tasks: &Tasks,
) -> anyhow::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(addr)
        .await
        .map_err(|error| anyhow::anyhow!("--http-addr {addr}: {error}"))?;
    let bound = listener.local_addr()?;
    let app = Router::new()
        .route("/metrics", get(text))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .with_state(Shown { metrics, ready, tasks: tasks.clone() });
    let stop = tasks.stop().clone();
    tasks.spawn(Once::Admin, async move {
        if let Err(error) = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await {
            tracing::error!(%error, "the admin endpoint ended");
        }
        End::Early
    });
    Ok(bound)
}

async fn text(State(Shown { metrics, tasks, .. }): State<Shown>) -> impl IntoResponse {
    metrics.task_ends(&tasks.ends());
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.text())
}

async fn readiness(State(Shown { ready, .. }): State<Shown>) -> impl IntoResponse {
    match ready.missing() {
        None => (StatusCode::OK, "ready".to_owned()),
        Some(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {missing}")),
    }
}
