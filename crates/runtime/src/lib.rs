//! What every binary repeats: arguments, telemetry, the admin endpoint, stopping, the registered clusters, and what is written back to the
//! management cluster.
//!
//! ```text
//! Args ─► Context { bus, metrics, problems, journal, stop } ─► a stage's `run(context, config)`
//! ```

#![forbid(unsafe_code)]

mod admin;
mod args;
mod clusters;
mod context;
mod defaults;
mod held;
mod inside;
mod keys;
#[cfg(any(test, feature = "test-kit"))]
pub mod kit;
mod logs;
mod metrics;
mod nats;
mod projector;
mod reporter;

pub use admin::serve;
pub use args::{AccessArgs, CommonArgs, ForgetArgs, OnboardArgs};
pub use clusters::{
    Accepted, Access, ClusterFeed, IdentityNamespaces, access_feed, access_feed_of, kubeconfig_key,
};
pub use context::{Context, Readiness, count_shards};
pub use defaults::{install_defaults, install_logs, stop_on_signals, stop_on_signals_then};
pub use held::{Fate, HoldError, hold_secret, secrets_of};
pub use inside::{InsideArgs, own_access, registered_access};
pub use keys::{KeySecrets, bus_keys};
pub use logs::{LogArgs, LogFormat};
pub use metrics::Metrics;
pub use nats::NatsArgs;
pub use projector::Projector;
pub use reporter::Reporter;
