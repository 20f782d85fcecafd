//! Process-wide choices, made once at the top of every binary.

use std::io::IsTerminal as _;

use sluice_tasks::{Once, Tasks};
use tracing_subscriber::EnvFilter;

use crate::logs::{Json, LogFormat};

/// What is logged unless `RUST_LOG` says otherwise. The client of Kubernetes returns each of its errors as well, and an API
/// server that is away is told once, as a problem.
const LOGGED: &str = "warn,sluice=info,kube_client::client::builder=off";

/// Installs logging as text, as [`install_logs`].
///
/// # Errors
/// When logging was installed before.
pub fn install_defaults() -> anyhow::Result<()> {
    install_logs(LogFormat::Text)
}

/// Installs logging (`RUST_LOG`, default `info` for the pipeline) to standard error, in colours where somebody reads text. A line
/// that cannot be written is lost, and nothing else.
///
/// # Errors
/// When logging was installed before.
pub fn install_logs(format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let logs = logs.with_ansi(std::io::stderr().is_terminal()).log_internal_errors(false);
    let installed = match format {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.event_format(Json).fmt_fields(Json).try_init(),
    };
    installed.map_err(|error| anyhow::anyhow!("logging cannot be installed: {error}"))
}

// D-0703: a process stops in good order.
/// The tasks of this process. The first SIGINT or SIGTERM cancels their token, the second one ends the process at once.
pub fn stop_on_signals() -> Tasks {
    stop_on_signals_then(|| {})
}

/// The same; `last` is done before the second signal ends the process.
pub fn stop_on_signals_then(last: impl FnOnce() + Send + 'static) -> Tasks {
    let tasks = Tasks::default();
    let stop = tasks.stop().clone();
    tasks.spawn(Once::Signals, async move {
        signal().await;
        stop.cancel();
        signal().await;
        last();
        std::process::abort();
    });
    tasks
}

async fn signal() {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be handled");
            return std::future::pending().await;
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
