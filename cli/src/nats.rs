//! `sluice nats users`: who may do what on the bus, as configuration of its servers.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_bus::{Alone, Seed, accounts, variable};
use sluice_protocol::Role;

use crate::print::put;
use crate::reach::cluster;

/// Arguments of `sluice nats`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the accounts and users of the bus, with the rights of each.
    Users(Users),
}

/// Arguments of `sluice nats users`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice nats users --cluster default/cluster-1 > accounts.conf
  sluice nats users --nkeys keys/ --shards 32 --pull-cluster edge/shop-7")]
pub(crate) struct Users {
    /// A cluster whose agent gets a user of its own, `namespace/name`; as often as there are such clusters.
    #[arg(long = "cluster", value_name = "NAMESPACE/NAME", value_parser = cluster)]
    clusters: Vec<ClusterRef>,

    /// The same of a cluster that pulls: its deployer is in it too, and has the same user.
    #[arg(long = "pull-cluster", value_name = "NAMESPACE/NAME", value_parser = cluster)]
    pulling: Vec<ClusterRef>,

    /// Shards of each table, as the bus was made with.
    #[arg(long, env = "SLUICE_SHARDS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    shards: u16,

    /// Folder with a file for each user that holds the seed of its nkey; what is missing is made. Without it the keys
    /// are variables, which the server looks up in its environment.
    #[arg(long, value_name = "DIR")]
    nkeys: Option<PathBuf>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let Command::Users(users) = self.command;
        put!("{}", users.text()?);
        Ok(())
    }
}

impl Users {
    fn text(&self) -> anyhow::Result<String> {
        let alone = Alone::all(&self.clusters, &self.pulling);
        let agents = alone.iter().map(|alone| Role::Agent(Some(alone.cluster.clone())));
        let mut keys = std::collections::BTreeMap::new();
        for role in Role::OF_ALL_CLUSTERS.into_iter().chain(agents) {
            let key = match &self.nkeys {
                None => format!("${}", variable(&role)),
                Some(dir) => public_key(dir, &role)?,
            };
            anyhow::ensure!(
                keys.insert(role.clone(), key).is_none(),
                "--cluster, --pull-cluster: {role} is there twice; name each once"
            );
        }
        Ok(accounts(&alone, self.shards, |role| keys[role].clone()))
    }
}

/// Of the key that is in the user's file; a new one where there is none.
fn public_key(dir: &Path, role: &Role) -> anyhow::Result<String> {
    let path = dir.join(format!("{}.nk", role.to_string().replace('/', "_").replace(':', ".")));
    let named = || format!("--nkeys {}", path.display());
    if path.exists() {
        let text = std::fs::read_to_string(&path).with_context(named)?;
        let seed = Seed::read(&text).with_context(|| {
            format!("{}: no seed of a user's nkey in it; delete the file and a new one is made", named())
        })?;
        return Ok(seed.public_key());
    }
    std::fs::create_dir_all(dir).with_context(named)?;
    let seed = Seed::new();
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(named)?;
    writeln!(file, "{}", seed.secret()).with_context(named)?;
    Ok(seed.public_key())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn users(nkeys: Option<&Path>) -> Users {
        let clusters = ["default/cluster-1", "default/cluster-2", "default/cluster-3"];
        let clusters = clusters.iter().map(|text| cluster(text).unwrap()).collect();
        Users { clusters, pulling: Vec::new(), shards: 16, nkeys: nkeys.map(Path::to_owned) }
    }

    #[test]
    fn the_example_is_what_is_printed() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/nats/accounts.conf");
        let printed = users(None).text().unwrap();
        let command = "sluice nats users --cluster default/cluster-1 --cluster default/cluster-2 --cluster default/cluster-3";
        assert!(
            std::fs::read_to_string(path).is_ok_and(|text| text == printed),
            "deploy/nats/accounts.conf differs from what is printed: {command} > deploy/nats/accounts.conf"
        );
    }

    #[test]
    fn seeds_are_kept_in_files_and_never_printed() {
        let dir = tempfile::tempdir().unwrap();
        let text = users(Some(dir.path())).text().unwrap();
        assert_eq!(users(Some(dir.path())).text().unwrap(), text, "keys that are there are used again");
        let file = dir.path().join("agent.sveltos.default_cluster-1.nk");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let seeds: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(seeds.len(), 10);
        for seed in seeds {
            let seed = std::fs::read_to_string(seed).unwrap();
            assert!(seed.starts_with("SU") && !text.contains(seed.trim()));
        }
        std::fs::write(&file, "not a seed").unwrap();
        let error = format!("{:#}", users(Some(dir.path())).text().unwrap_err());
        assert!(
            error.contains("cluster-1.nk")
                && error.contains("delete the file")
                && !error.contains("not a seed")
        );
    }

    #[test]
    fn a_cluster_is_named_once() {
        let twice = cluster("a/b").unwrap();
        let users =
            Users { clusters: vec![twice.clone(), twice], pulling: Vec::new(), shards: 1, nkeys: None };
        assert!(users.text().unwrap_err().to_string().contains("twice"));
    }
}
