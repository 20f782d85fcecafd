//! `sluice install secrets`: who stages are on the bus, and the keys with which they seal.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use kube::Client;
use sluice_api::ClusterRef;
use sluice_bus::{Seed, accounts, make_keys};
use sluice_protocol::Role;
use sluice_runtime::KeySecrets;

use super::kept::{Fate, KeptSecrets};
use crate::print::say;
use crate::reach::{Management, cluster};

/// The key of an nkey's seed in its Secret.
const SEED: &str = "seed";
/// The Secret with the accounts of the servers, and the key in it.
const ACCOUNTS: (&str, &str) = ("sluice-nats-accounts", "accounts.conf");

/// Arguments of `sluice install secrets`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice install secrets --namespace projectsveltos --shards 16
  sluice install secrets --namespace projectsveltos --shards 16 --cluster default/shop
  sluice install secrets --namespace projectsveltos --shards 16 --rotate matcher

Makes a Secret sluice-nats-<role> with `seed` for each role of the bus, and sluice-nats-accounts with `accounts.conf` for its servers;
and the keys for sealed Secrets, projectsveltos/sluice-bus-<stage>. What is there stays, so call it as often as you like.
Servers and stages take a new key up by themselves, as soon as Kubernetes has brought it to them.")]
pub(super) struct Args {
    /// Namespace of the installation.
    #[arg(long, default_value = "projectsveltos")]
    namespace: String,

    /// Shards of each table, as the bus is made with.
    #[arg(long, env = "SLUICE_SHARDS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    shards: u16,

    /// A cluster whose agent runs beside it and has an account of its own, `namespace/name`; as often as there are such clusters.
    /// One that is left out loses its account.
    #[arg(long = "cluster", value_name = "NAMESPACE/NAME", value_parser = cluster)]
    clusters: Vec<ClusterRef>,

    /// Give this role a new key: agent, matcher, renderer, deployer, people, inspect, operator.
    #[arg(long, value_name = "ROLE", value_parser = role)]
    rotate: Vec<Role>,

    /// Make no accounts: the bus has others.
    #[arg(long)]
    no_accounts: bool,

    /// Make no keys for sealed Secrets.
    #[arg(long)]
    no_keys: bool,

    #[command(flatten)]
    management: Management,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        ensure!(
            !self.no_accounts || self.rotate.is_empty(),
            "--rotate: there is nothing to rotate with --no-accounts; leave one of them out"
        );
        let client = self.management.client().await?;
        let roles = roles(&self.clusters)?;
        if !self.no_accounts {
            self.make_accounts(client.clone(), &roles).await?;
        }
        if !self.no_keys {
            self.make_keys(client, &roles).await?;
        }
        Ok(())
    }

    async fn make_accounts(&self, client: Client, roles: &[Role]) -> anyhow::Result<()> {
        let secrets = KeptSecrets::new(client, &self.namespace);
        let mut public = BTreeMap::new();
        for role in roles {
            let rotates = self.rotate.contains(role);
            let (text, fate) = secrets
                .hold(&secret(role), SEED, |former| seed(former.filter(|_| !rotates).as_deref()))
                .await?;
            let known = Seed::read(&text).context("a seed that was just made")?;
            public.insert(role.clone(), known.public_key());
            tell(&self.namespace, &secret(role), fate);
        }
        let text = accounts(&self.clusters, self.shards, |role| public[role].clone());
        let (_, fate) = secrets.hold(ACCOUNTS.0, ACCOUNTS.1, |_| Ok(text.clone())).await?;
        tell(&self.namespace, ACCOUNTS.0, fate);
        Ok(())
    }

    async fn make_keys(&self, client: Client, roles: &[Role]) -> anyhow::Result<()> {
        let store = KeySecrets::of(client);
        for role in roles {
            make_keys(&store, role).await.map_err(anyhow::Error::msg)?;
        }
        say!("all keys for sealed Secrets are there");
        Ok(())
    }
}

/// All roles of the bus, with the agents that serve one cluster.
fn roles(clusters: &[ClusterRef]) -> anyhow::Result<Vec<Role>> {
    let mut roles: Vec<Role> = Role::OF_ALL_CLUSTERS.to_vec();
    for cluster in clusters {
        let role = Role::Agent(Some(cluster.clone()));
        ensure!(!roles.contains(&role), "--cluster: {} is there twice; name each once", cluster.path());
        roles.push(role);
    }
    Ok(roles)
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::OF_ALL_CLUSTERS.into_iter().find(|role| role.name() == text);
    known.ok_or_else(|| {
        format!("there is no role {text:?}: {}", Role::OF_ALL_CLUSTERS.map(|role| role.name()).join(", "))
    })
}

/// The Secret of a role's nkey; two clusters whose names differ only in letters that no name of a Secret has get different ones.
fn secret(role: &Role) -> String {
    let Role::Agent(Some(cluster)) = role else { return format!("sluice-nats-{}", role.name()) };
    format!("sluice-nats-agent.{}.{}", cluster.namespace, cluster.name)
}

/// The seed that was there; a new one where there is none.
fn seed(former: Option<&str>) -> anyhow::Result<String> {
    let Some(former) = former else { return Ok(Seed::new().secret()) };
    Seed::read(former).context("it is no seed of a user's nkey; delete the Secret, and a new one is made")?;
    Ok(former.to_owned())
}

fn tell(namespace: &str, name: &str, fate: Fate) {
    let what = match fate {
        Fate::Made => "made",
        Fate::Changed => "changed",
        Fate::Kept => "kept",
    };
    say!("secret {namespace}/{name} {what}");
}
