//! What every binary repeats: arguments, telemetry, the admin endpoint, stopping, and Kubernetes clients.
//!
//! ```text
//! Args ─► Context { bus, metrics, problems, journal, stop } ─► a stage's `run(context, config)`
//! ```

#![forbid(unsafe_code)]

mod admin;
mod apply;
mod args;
mod clusters;
mod context;
mod defaults;
mod metrics;
mod nats;
mod projector;
mod raw;
mod reporter;
mod watch;

/// Rows and objects are parsed and built all the time: a third of the work of the pure cores was the system's allocator.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub use admin::serve;
pub use apply::apply;
pub use args::CommonArgs;
pub use clusters::{Access, ClusterFeed, access_feed, client_of_kubeconfig, management_client};
pub use context::{Context, Readiness, count_shards};
pub use defaults::{install_defaults, stop_on_signals, stop_on_signals_then};
pub use metrics::Metrics;
pub use nats::NatsArgs;
pub use projector::Projector;
pub use raw::Raw;
pub use reporter::Reporter;
pub use watch::{WatchEvent, resource_of, watch, watch_versioned};
