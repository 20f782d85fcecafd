//! For tests of the shells: a stage on a bus of the test's own.
#![allow(clippy::unwrap_used)]

pub use sluice_bus::kit::{Server, row, told, until, write};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::args::CommonArgs;
use crate::context::{Context, Readiness};
use crate::metrics::Metrics;
use crate::nats::NatsArgs;

/// The arguments of a stage on this bus, which has one shard.
pub fn args(server: &Server) -> CommonArgs {
    CommonArgs {
        nats: NatsArgs::plain(server.url()),
        http_addr: ([127, 0, 0, 1], 0).into(),
        name: Some("test".into()),
        tombstone_ttl: 3600,
        shards: 1,
        stream_replicas: 1,
        bus_keys: None,
    }
}

/// What a stage needs of its process, without an admin endpoint.
///
/// # Panics
/// When the bus cannot be used.
pub async fn context(server: &Server, role: Role, tasks: &Tasks) -> Context {
    drop(crate::install_defaults());
    let (metrics, ready) = (Metrics::new(), Readiness::default());
    Context::connect(role, &args(server), metrics, ready, tasks).await.unwrap()
}

/// Runs a stage until `script` has ended.
///
/// # Panics
/// When the script does, or the stage ends with an error.
pub async fn with_stage(
    server: &Server,
    role: Role,
    stage: impl AsyncFnOnce(Context) -> anyhow::Result<()>,
    script: impl AsyncFnOnce(&Context),
) {
    let tasks = Tasks::default();
    let context = context(server, role, &tasks).await;
    let copy = context.clone();
    let script = async {
        script(&copy).await;
        tasks.stop().cancel();
    };
    let (ended, ()) = tokio::join!(stage(context), script);
    ended.unwrap();
}
