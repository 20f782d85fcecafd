//! How commands for people find what runs: by their arguments, or beside a `sluice up`.

// D-1105: all answers are made in one place.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use sluice_api::model::Onboarding;
use sluice_bus::{Bus, BusKeys, BusOptions};
pub(crate) use sluice_inspect::{cluster, destination};
use sluice_kube::management_client;
use sluice_protocol::Role;
use sluice_runtime::{NatsArgs, bus_keys};
use sluice_tasks::Tasks;

/// Where `sluice up` keeps its data, and in it the address of its bus for as long as it runs.
pub(crate) const DIR: &str = ".sluice";
/// And the keys of its stages.
pub(crate) const KEYS: &str = "keys";
pub(crate) const ADDRESS: &str = "nats.url";
/// And that of its Inspect service.
pub(crate) const INSPECT: &str = "inspect.url";

/// Where the bus is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Reach {
    #[command(flatten)]
    nats: NatsArgs,
    /// How long tombstones live, in seconds, as the stages are told: the bus is held against it.
    #[arg(long, env = "SLUICE_TOMBSTONE_TTL", default_value_t = 6 * 3600, hide = true)]
    tombstone_ttl: u64,
    #[command(flatten)]
    keys: KeyPlace,
}

/// Where keys are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeyPlace {
    /// Where the keys are with which Secrets are read on a sealed bus: a folder, `kubernetes`, or `kubernetes:` and a kubeconfig.
    /// Without it those of a `sluice up` that runs in this folder; rows of Secrets are not shown without any.
    #[arg(long, env = "SLUICE_BUS_KEYS", value_name = "PLACE")]
    bus_keys: Option<String>,
}

impl KeyPlace {
    pub(crate) fn keys(&self) -> anyhow::Result<BusKeys> {
        let dir = Path::new(DIR);
        let beside = dir.join(ADDRESS).exists().then(|| dir.join(KEYS).display().to_string());
        bus_keys(self.bus_keys.clone().or(beside).as_deref())
    }
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
            keys: self.keys.keys()?,
        })
    }

    pub(crate) async fn bus(&self, role: Role, tasks: &Tasks) -> anyhow::Result<Bus> {
        Ok(Bus::connect(&self.options(role)?, tasks).await?)
    }
}

/// Where the management cluster is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Management {
    /// Kubeconfig of the management cluster.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// The annotation that clusters of Cluster API need, as the stages are told.
    #[arg(long, env = "SLUICE_CAPI_ONBOARD_ANNOTATION", default_value = "", hide = true)]
    capi_onboard_annotation: Onboarding,
}

// === impl Management ===

impl Management {
    /// Which clusters of Cluster API are managed clusters.
    pub(crate) fn onboarding(&self) -> Onboarding {
        self.capi_onboard_annotation.clone()
    }

    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        client(self.kubeconfig.as_deref()).await
    }
}

/// A client by the kubeconfig that is given, or by that of a `sluice up` that runs in this folder.
pub(crate) async fn client(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let dir = Path::new(DIR);
    let beside = dir.join(ADDRESS).exists().then(|| dir.join("kubeconfig"));
    management_client(kubeconfig.map(Path::to_owned).or(beside).as_deref()).await
}

/// What is asked for, unless it takes longer than this.
pub(crate) async fn in_time<T>(
    patience: Duration,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let Ok(done) = tokio::time::timeout(patience, work).await else {
        anyhow::bail!("no answer within {patience:?}")
    };
    done
}
