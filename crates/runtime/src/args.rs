//! The arguments that all stages share.

use std::net::SocketAddr;
use std::time::Duration;

use sluice_bus::BusOptions;
use sluice_protocol::Role;

use crate::nats::NatsArgs;

/// Arguments of every stage.
#[derive(Clone, Debug, clap::Args)]
pub struct CommonArgs {
    /// Where the bus is and who we are on it.
    #[command(flatten)]
    pub nats: NatsArgs,

    /// Where metrics and health are served; port 0 takes a free one.
    #[arg(long, env = "SLUICE_HTTP_ADDR", default_value = "127.0.0.1:0")]
    pub http_addr: SocketAddr,

    /// Name of this replica, different for each. Default: host name and process number.
    #[arg(long, env = "SLUICE_NAME")]
    pub name: Option<String>,

    /// How long tombstones live, in seconds: the longest time a stage may be away without a full comparison.
    #[arg(long, env = "SLUICE_TOMBSTONE_TTL", default_value_t = 6 * 3600)]
    pub tombstone_ttl: u64,

    /// Shards of each table. Only counts when the bus is new.
    #[arg(long, env = "SLUICE_SHARDS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub shards: u16,

    /// Copies of each stream. Only counts when the bus is new; 3 in production.
    #[arg(long, env = "SLUICE_STREAM_REPLICAS", default_value_t = 1)]
    pub stream_replicas: usize,
}

impl CommonArgs {
    /// The name of this replica.
    pub fn replica(&self) -> String {
        let host = || std::env::var("HOSTNAME").unwrap_or_else(|_| "local".into());
        let clean =
            |text: String| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "-");
        self.name.clone().unwrap_or_else(|| clean(format!("{}-{}", host(), std::process::id())))
    }

    /// What the bus needs to know.
    ///
    /// # Errors
    /// When the arguments about the bus contradict each other, or name a file that cannot be used.
    pub fn bus_options(&self, role: Role) -> anyhow::Result<BusOptions> {
        Ok(BusOptions {
            name: format!("sluice-{}-{}", role.name(), self.replica()),
            connection: self.nats.connection(role)?,
            shards: self.shards,
            replicas: self.stream_replicas,
            tombstone_ttl: Duration::from_secs(self.tombstone_ttl.max(1)),
        })
    }
}
