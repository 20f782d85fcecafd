//! The arguments that all stages share.

use std::net::SocketAddr;
use std::time::Duration;

use sluice_api::model::Onboarding;
use sluice_bus::BusOptions;
use sluice_protocol::Role;

use crate::clusters::{Accepted, IdentityNamespaces};
use crate::keys;
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

    /// How long tombstones live, in seconds: the longest time a stage may be away without a full comparison. Only counts when
    /// the bus is new.
    #[arg(long, env = "SLUICE_TOMBSTONE_TTL", default_value_t = 6 * 3600)]
    pub tombstone_ttl: u64,

    /// Shards of each table. Only counts when the bus is new.
    #[arg(long, env = "SLUICE_SHARDS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub shards: u16,

    /// Where the keys are with which Secrets are sealed on the bus, and read: a folder, `kubernetes`, or `kubernetes:` and a
    /// kubeconfig. A new bus is sealed when this is given; then every stage needs it.
    #[arg(long, env = "SLUICE_BUS_KEYS", value_name = "PLACE")]
    pub bus_keys: Option<String>,

    /// Copies of each stream. Only counts when the bus is new; 3 in production.
    #[arg(long, env = "SLUICE_STREAM_REPLICAS", default_value_t = 1)]
    pub stream_replicas: usize,
}

/// For how long clusters are remembered that are not registered any more.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ForgetArgs {
    // D-0502: status and rows of a cluster stay for a minute.
    /// How long a cluster is not registered before everything goes that is known of it, in seconds: rows, reports, summaries,
    /// problems. What it holds itself stays.
    #[arg(long, env = "SLUICE_FORGET_AFTER", value_name = "SECONDS", default_value_t = FORGET_AFTER.as_secs())]
    pub forget_after: u64,
}

/// What kubeconfigs of registered clusters may say.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AccessArgs {
    /// Kubeconfigs of registered clusters may name a proxy: whoever writes them says where their requests go. Programs and files they
    /// may never name.
    #[arg(long, env = "SLUICE_ALLOW_KUBECONFIG_PROXIES")]
    pub allow_kubeconfig_proxies: bool,

    /// Clusters that are registered in these namespaces may be reached with the identity that AWS, Google Cloud or Azure gives to this
    /// process (`spec.workloadIdentity`): whoever may register a cluster there says where its tokens go. `*` is every namespace.
    #[arg(
        long,
        env = "SLUICE_WORKLOAD_IDENTITY_NAMESPACES",
        value_name = "NAMESPACES",
        default_value = "",
        hide_default_value = true
    )]
    pub workload_identity_namespaces: IdentityNamespaces,
}

/// Which clusters of Cluster API are managed clusters.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OnboardArgs {
    /// Clusters of Cluster API count as managed clusters only when they have this annotation, whatever its value. All stages must be
    /// told the same.
    #[arg(
        long,
        env = "SLUICE_CAPI_ONBOARD_ANNOTATION",
        value_name = "ANNOTATION",
        default_value = "",
        hide_default_value = true
    )]
    pub capi_onboard_annotation: Onboarding,
}

impl AccessArgs {
    /// Which registrations count, and what they may say.
    pub fn accepted(&self, onboarding: OnboardArgs) -> Accepted {
        Accepted {
            proxies: self.allow_kubeconfig_proxies,
            onboarding: onboarding.capi_onboard_annotation,
            identities: self.workload_identity_namespaces.clone(),
        }
    }
}

/// The same where nobody says otherwise.
pub const FORGET_AFTER: Duration = Duration::from_secs(60);

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
            keys: keys::bus_keys(self.bus_keys.as_deref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Stage {
        #[command(flatten)]
        common: CommonArgs,
    }

    fn parse(arguments: &[&str]) -> Result<CommonArgs, String> {
        let all = ["stage"].iter().chain(arguments);
        Stage::try_parse_from(all).map(|stage| stage.common).map_err(|error| error.to_string())
    }

    #[test]
    fn a_replica_has_a_name_that_can_be_one_on_the_bus() {
        let own = parse(&["--name", "a"]).unwrap();
        assert_eq!(own.replica(), "a");
        let given = parse(&[]).unwrap().replica();
        assert!(given.ends_with(&std::process::id().to_string()), "{given}");
        assert!(given.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "{given}");
    }

    #[test]
    fn the_bus_is_told_who_connects_and_how_it_should_be_laid_out() {
        let args =
            parse(&["--name", "a", "--shards", "4", "--stream-replicas", "3", "--tombstone-ttl", "60"]);
        let options = args.unwrap().bus_options(Role::Matcher).unwrap();
        assert_eq!((options.name.as_str(), options.shards, options.replicas), ("sluice-matcher-a", 4, 3));
        assert_eq!(options.tombstone_ttl, Duration::from_secs(60));
        let never = parse(&["--tombstone-ttl", "0"]).unwrap().bus_options(Role::Matcher).unwrap();
        assert_eq!(never.tombstone_ttl, Duration::from_secs(1), "the server takes no shorter one");
    }

    #[test]
    fn a_number_of_shards_that_cannot_be_is_refused() {
        for number in ["0", "257", "-1", "many"] {
            let error = parse(&[&format!("--shards={number}")]).unwrap_err();
            assert!(error.contains("--shards"), "{error}");
        }
        assert_eq!(parse(&["--shards", "256"]).unwrap().shards, 256);
    }
}
