//! How commands for people find what runs: by their arguments, or beside a `sluice up`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, BusOptions};
use sluice_protocol::Role;
use sluice_runtime::NatsArgs;
use sluice_tasks::Tasks;

/// Where `sluice up` keeps its data, and in it the address of its bus for as long as it runs.
pub(crate) const DIR: &str = ".sluice";
pub(crate) const ADDRESS: &str = "nats.url";

/// Where the bus is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Reach {
    #[command(flatten)]
    nats: NatsArgs,
    /// How long tombstones live, in seconds, as the stages are told: the bus is held against it.
    #[arg(long, env = "SLUICE_TOMBSTONE_TTL", default_value_t = 6 * 3600, hide = true)]
    tombstone_ttl: u64,
}

/// What a bus is made with that is not there yet; of one that is there it says nothing.
const SHARDS: u16 = 16;

// === impl Reach ===

impl Reach {
    /// The arguments; where no address is given, and a `sluice up` runs in this folder, that of its bus.
    fn nats(&self) -> NatsArgs {
        let mut nats = self.nats.clone();
        let beside = std::fs::read_to_string(Path::new(DIR).join(ADDRESS));
        if let Ok(url) = beside
            && nats.nats_url == NatsArgs::DEFAULT_URL
        {
            url.trim().clone_into(&mut nats.nats_url);
        }
        nats
    }

    pub(crate) fn options(&self, role: Role) -> anyhow::Result<BusOptions> {
        Ok(BusOptions {
            name: format!("sluice-{}-{}", role.name(), std::process::id()),
            connection: self.nats().connection(role)?,
            shards: SHARDS,
            replicas: 1,
            tombstone_ttl: Duration::from_secs(self.tombstone_ttl.max(1)),
        })
    }

    pub(crate) async fn bus(&self, role: Role, tasks: &Tasks) -> anyhow::Result<Bus> {
        Ok(Bus::connect(&self.options(role)?, tasks).await?)
    }
}

/// The kubeconfig that is given, or that of a `sluice up` that runs in this folder.
pub(crate) fn kubeconfig(given: Option<&Path>) -> Option<PathBuf> {
    let dir = Path::new(DIR);
    let beside = dir.join(ADDRESS).exists().then(|| dir.join("kubeconfig"));
    given.map(Path::to_owned).or(beside)
}

/// A cluster as people write it: `namespace/name`, or with its kind before it.
///
/// # Errors
/// How to write it.
pub(crate) fn cluster(text: &str) -> anyhow::Result<ClusterRef> {
    let full = if text.contains(':') { text.to_owned() } else { format!("sveltos:{text}") };
    full.parse().with_context(|| format!("--cluster {text}: write <namespace>/<name>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_written_with_and_without_its_kind() {
        let sveltos = ClusterRef::sveltos("n", "c");
        assert_eq!(cluster("n/c").ok(), Some(sveltos.clone()));
        assert_eq!(cluster("sveltos:n/c").ok(), Some(sveltos));
        assert_eq!(cluster("capi:n/c").map(|cluster| cluster.to_string()).ok(), Some("capi:n/c".to_owned()));
        assert!(cluster("c").unwrap_err().to_string().starts_with("--cluster c: write <namespace>/<name>"));
    }
}
