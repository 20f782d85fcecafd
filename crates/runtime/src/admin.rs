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
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.text())
}

async fn readiness(State(Shown { ready, .. }): State<Shown>) -> impl IntoResponse {
    match ready.missing() {
        None => (StatusCode::OK, "ready".to_owned()),
        Some(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {missing}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// The status and the body of an answer.
    async fn get(addr: SocketAddr, path: &str) -> (u16, String) {
        let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    #[tokio::test]
    async fn a_process_is_healthy_while_it_waits_and_ready_when_everything_is_there() {
        let (ready, tasks) = (Readiness::default(), Tasks::default());
        ready.wait_for("the bus");
        ready.wait_for("the registered clusters");
        let addr = serve(([127, 0, 0, 1], 0).into(), Metrics::new(), ready.clone(), &tasks).await.unwrap();
        assert_eq!(get(addr, "/healthz").await, (200, "ok".to_owned()));
        assert_eq!(get(addr, "/readyz").await, (503, "waiting for the bus".to_owned()));
        ready.done("the bus");
        assert_eq!(get(addr, "/readyz").await, (503, "waiting for the registered clusters".to_owned()));
        ready.done("the registered clusters");
        assert_eq!(get(addr, "/readyz").await, (200, "ready".to_owned()));
        assert_eq!(get(addr, "/nothing").await.0, 404);
        tasks.stop().cancel();
    }

    #[tokio::test]
    async fn metrics_have_what_tasks_came_to() {
        let (metrics, tasks) = (Metrics::new(), Tasks::default());
        metrics.row("matcher", "read");
        let addr = serve(([127, 0, 0, 1], 0).into(), metrics, Readiness::default(), &tasks).await.unwrap();
        // Its end is the end of its shard, and of nothing else.
        tasks.group("00").spawn(Once::Call, async { End::Early }).await.unwrap();
        let (status, text) = get(addr, "/metrics").await;
        assert_eq!(status, 200);
        let has = |line: &str| assert!(text.contains(line), "{line}: {text}");
        has(r#"sluice_rows_total{stage="matcher",outcome="read"} 1"#);
        has(r#"sluice_task_ends_total{task="call",how="early"} 1"#);
    }

    #[tokio::test]
    async fn an_address_that_is_taken_is_named_with_its_argument() {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = taken.local_addr().unwrap();
        let served = serve(addr, Metrics::new(), Readiness::default(), &Tasks::default()).await;
        let error = served.unwrap_err().to_string();
        assert!(error.starts_with(&format!("--http-addr {addr}: ")), "{error}");
    }
}
