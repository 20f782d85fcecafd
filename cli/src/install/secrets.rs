//! `sluice install secrets`: who stages are on the bus, and the keys with which they seal.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use sluice_api::ClusterRef;
use sluice_bus::{Alone, Seed, accounts, accounts_for, make_keys};
use sluice_protocol::Role;
use sluice_runtime::{Fate, HoldError, KeySecrets, hold_secret, secrets_of};

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
  sluice install secrets --namespace projectsveltos --shards 16 --cluster default/shop --rotate default/shop

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

    /// The same of a cluster that pulls: its deployer is in it too, and has the same account.
    #[arg(long = "pull-cluster", value_name = "NAMESPACE/NAME", value_parser = cluster)]
    pulling: Vec<ClusterRef>,

    /// Give this role a new key: agent, matcher, renderer, deployer, people, inspect, operator; or who is in a --cluster,
    /// `namespace/name`. Nothing but keys changes with it: whoever has an account must be named as before.
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
        let alone = self.alone();
        let roles = roles(&alone)?;
        if let Some(Role::Agent(Some(cluster))) = self.rotate.iter().find(|role| !roles.contains(role)) {
            bail!("--rotate {cluster}: it has no account; add --cluster {cluster}, or --pull-cluster");
        }
        if !self.rotate.is_empty() {
            self.changes_keys_alone(client.clone(), &alone).await?;
        }
        if !self.no_accounts {
            self.make_accounts(client.clone(), &roles, &alone).await?;
        }
        if !self.no_keys {
            // Who pulls reads what is sealed for its cluster.
            let pulling = self.pulling.iter().map(|cluster| Role::Deployer(Some(cluster.clone())));
            self.make_keys(client, roles.into_iter().chain(pulling)).await?;
        }
        Ok(())
    }

    /// Clusters that have an account of their own.
    fn alone(&self) -> Vec<Alone> {
        Alone::all(&self.clusters, &self.pulling)
    }

    async fn make_accounts(&self, client: Client, roles: &[Role], alone: &[Alone]) -> anyhow::Result<()> {
        let secrets = secrets_of(client, &self.namespace);
        let hold = async |name: &str, key: &str, text: &dyn Fn(Option<String>) -> Result<String, String>| {
            let bytes = |former: Option<Vec<u8>>| {
                let former =
                    former.map(String::from_utf8).transpose().map_err(|_| "it is no text".to_owned())?;
                text(former).map(String::into_bytes)
            };
            let held = hold_secret(&secrets, name, key, bytes).await;
            let (content, fate) = held.map_err(|error| told(&self.namespace, name, key, error))?;
            tell(&self.namespace, name, fate);
            anyhow::Ok(String::from_utf8(content)?)
        };
        let mut public = BTreeMap::new();
        for role in roles {
            let rotates = self.rotate.contains(role);
            let text = hold(&secret(role), SEED, &|former| seed(former.filter(|_| !rotates))).await?;
            let known = Seed::read(&text).context("a seed that was just made")?;
            public.insert(role.clone(), known.public_key());
        }
        let text = accounts(alone, self.shards, |role| public[role].clone());
        hold(ACCOUNTS.0, ACCOUNTS.1, &|_| Ok(text.clone())).await?;
        Ok(())
    }

    /// Who rotates a key means nobody else: an account that goes, or shards that nobody may read, would be a surprise.
    async fn changes_keys_alone(&self, client: Client, alone: &[Alone]) -> anyhow::Result<()> {
        let (name, key) = ACCOUNTS;
        let found = secrets_of(client, &self.namespace).get_opt(name).await;
        let found =
            found.map_err(|error| told(&self.namespace, name, key, HoldError::Server("get", error)))?;
        let text = found.and_then(|found| STANDARD.decode(found.value["data"][key].as_str()?).ok());
        let there = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
        kept(&there, alone, self.shards).map_err(|remedy| {
            anyhow::anyhow!("--rotate changes keys alone, and Secret {}/{name} {remedy}", self.namespace)
        })
    }

    async fn make_keys(&self, client: Client, roles: impl IntoIterator<Item = Role>) -> anyhow::Result<()> {
        let store = KeySecrets::of(client);
        for role in roles {
            make_keys(&store, &role).await.map_err(anyhow::Error::msg)?;
        }
        say!("all keys for sealed Secrets are there");
        Ok(())
    }
}

/// All roles of the bus, with the agents that serve one cluster.
fn roles(alone: &[Alone]) -> anyhow::Result<Vec<Role>> {
    let mut roles: Vec<Role> = Role::OF_ALL_CLUSTERS.to_vec();
    for Alone { cluster, .. } in alone {
        let role = Role::Agent(Some(cluster.clone()));
        ensure!(
            !roles.contains(&role),
            "--cluster, --pull-cluster: {} is there twice; name each once",
            cluster.path()
        );
        roles.push(role);
    }
    Ok(roles)
}

/// Whether accounts that are there are for these clusters and shards; what to add otherwise.
fn kept(there: &str, alone: &[Alone], shards: u16) -> Result<(), String> {
    let (known, of) = accounts_for(there);
    if of != 0 && of != shards {
        return Err(format!("is for {of} shards; add --shards {of}"));
    }
    match known.iter().find(|known| !alone.contains(known)) {
        Some(Alone { cluster: lost, pulls }) => Err(format!(
            "has an account for who is in {lost}; add {} {lost}, or take it away first, by a call without --rotate",
            if *pulls { "--pull-cluster" } else { "--cluster" }
        )),
        None => Ok(()),
    }
}

fn role(text: &str) -> Result<Role, String> {
    if text.contains('/') {
        return cluster(text).map(|cluster| Role::Agent(Some(cluster)));
    }
    let known = Role::OF_ALL_CLUSTERS.into_iter().find(|role| role.name() == text);
    known.ok_or_else(|| {
        format!(
            "there is no role {text:?}: {}, or namespace/name of a cluster",
            Role::OF_ALL_CLUSTERS.map(|role| role.name()).join(", ")
        )
    })
}

/// The Secret of a role's nkey. No name of a namespace has a dot: no two clusters have one name.
pub(crate) fn secret(role: &Role) -> String {
    let Role::Agent(Some(cluster)) = role else { return format!("sluice-nats-{}", role.name()) };
    format!("sluice-nats-agent.{}.{}", cluster.namespace, cluster.name)
}

/// The seed that was there; a new one where there is none.
fn seed(former: Option<String>) -> Result<String, String> {
    let Some(former) = former else { return Ok(Seed::new().secret()) };
    match Seed::read(&former) {
        Some(_) => Ok(former),
        None => Err("it is no seed of a user's nkey".to_owned()),
    }
}

/// What API servers say of Secrets may repeat what is in them: only the code is told.
fn told(namespace: &str, name: &str, key: &str, error: HoldError) -> anyhow::Error {
    let says = match error {
        HoldError::Refused(why) => format!("data.{key}: {why}; delete the Secret, and call this again"),
        HoldError::Busy => "it changes all the time; is this command running twice?".to_owned(),
        HoldError::Server(_, kube::Error::Api(status)) if status.code == 404 => {
            format!("there is no namespace {namespace}: kubectl create namespace {namespace}")
        }
        HoldError::Server(verb, kube::Error::Api(status)) => format!(
            "{} {}; this account needs the right to {verb} Secrets in {namespace}",
            status.code, status.reason
        ),
        HoldError::Server(..) => "the management cluster does not answer; is --kubeconfig right?".to_owned(),
    };
    anyhow::anyhow!("Secret {namespace}/{name}: {says}")
}

fn tell(namespace: &str, name: &str, fate: Fate) {
    let what = match fate {
        Fate::Made => "made",
        Fate::Changed => "changed",
        Fate::Kept => "kept",
    };
    say!("secret {namespace}/{name} {what}");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser as _;
    use sluice_kube::{Trust, client_of_kubeconfig};
    use sluice_simcluster::{FleetConfig, SimFleet};

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(more: &[&str]) -> Args {
        Command::parse_from(["secrets"].iter().chain(more)).args
    }

    /// What the Secrets hold that were made, by name and key.
    async fn held(client: &Client, roles: &[Role]) -> BTreeMap<String, String> {
        let secrets = secrets_of(client.clone(), "projectsveltos");
        let names = roles.iter().map(|role| (secret(role), SEED));
        let mut found = BTreeMap::new();
        for (name, key) in names.chain([(ACCOUNTS.0.to_owned(), ACCOUNTS.1)]) {
            let there = secrets.get(&name).await.unwrap().value;
            let text = STANDARD.decode(there["data"][key].as_str().unwrap()).unwrap();
            found.insert(name, String::from_utf8(text).unwrap());
        }
        found
    }

    #[tokio::test]
    async fn what_was_made_is_kept_and_only_what_is_rotated_changes() {
        let fleet =
            SimFleet::start(FleetConfig { clusters: vec!["management".into()], ..FleetConfig::default() });
        let fleet = fleet.await.unwrap();
        let kubeconfig = fleet.kubeconfig(&["management"]);
        let client = client_of_kubeconfig(&kubeconfig, Trust::Own).await.unwrap();
        let shop = args(&["--cluster", "default/shop"]);
        let roles = roles(&shop.alone()).unwrap();
        // Keys come first: they make the namespace where it is missing.
        shop.make_keys(client.clone(), roles.clone()).await.unwrap();
        shop.make_accounts(client.clone(), &roles, &shop.alone()).await.unwrap();
        let first = held(&client, &roles).await;
        assert_eq!(first.len(), roles.len() + 1);
        let accounts = &first[ACCOUNTS.0];
        for role in &roles {
            let seed = &first[&secret(role)];
            assert!(accounts.contains(&Seed::read(seed).unwrap().public_key()), "{role}");
            assert!(!accounts.contains(seed.as_str()), "the seed of {role} is in the accounts");
        }
        shop.make_accounts(client.clone(), &roles, &shop.alone()).await.unwrap();
        assert_eq!(held(&client, &roles).await, first, "nothing was asked for");
        let rotated = args(&["--cluster", "default/shop", "--rotate", "matcher"]);
        rotated.make_accounts(client.clone(), &roles, &rotated.alone()).await.unwrap();
        let then = held(&client, &roles).await;
        let changed: Vec<&String> = then.keys().filter(|name| then[*name] != first[*name]).collect();
        assert_eq!(changed, ["sluice-nats-accounts", "sluice-nats-matcher"]);
        let rotated = args(&["--cluster", "default/shop", "--rotate", "default/shop"]);
        rotated.changes_keys_alone(client.clone(), &rotated.alone()).await.unwrap();
        rotated.make_accounts(client.clone(), &roles, &rotated.alone()).await.unwrap();
        let last = held(&client, &roles).await;
        let changed: Vec<&String> = last.keys().filter(|name| last[*name] != then[*name]).collect();
        assert_eq!(changed, ["sluice-nats-accounts", "sluice-nats-agent.default.shop"]);
        let error = args(&["--rotate", "agent"]).changes_keys_alone(client.clone(), &[]).await.unwrap_err();
        assert!(
            error.to_string().ends_with(
                "add --cluster sveltos:default/shop, or take it away first, by a call without --rotate"
            ),
            "{error}"
        );
        fleet.shutdown().await;
    }

    #[test]
    fn a_rotation_takes_nobodys_account_and_changes_no_shards() {
        let [one, other] = ["c", "d"].map(|name| ClusterRef::sveltos("n", name));
        let both = Alone::all(std::slice::from_ref(&one), &[other]);
        let there = accounts(&both, 4, |role| role.to_string());
        assert_eq!(kept(&there, &both, 4), Ok(()));
        assert_eq!(kept("", &both, 4), Ok(()), "there are none yet");
        assert!(kept(&there, &both, 16).unwrap_err().ends_with("add --shards 4"));
        assert!(kept(&there, &both[..1], 4).unwrap_err().contains("add --pull-cluster sveltos:n/d"));
        assert_eq!(role("n/c"), Ok(Role::Agent(Some(one))));
        assert!(role("n/").is_err());
    }

    #[test]
    fn what_is_no_seed_is_refused_and_nothing_of_it_is_told() {
        let error = seed(Some("secret text".into())).unwrap_err();
        assert!(!error.contains("secret text"), "{error}");
        let error = told("n", "s", SEED, HoldError::Refused(error)).to_string();
        assert!(
            error.starts_with("Secret n/s: data.seed: ") && error.contains("delete the Secret"),
            "{error}"
        );
        assert!(role("nobody").unwrap_err().contains("matcher"));
    }
}
