//! A bus with TLS and users, as `deploy/nats` describes it: certificates, keys and accounts in a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::programs::Programs;

/// The cluster in the namespace `default` whose agent has a user of its own.
pub const LONER: &str = "hostile";

/// The cluster in the namespace `default` that pulls: its agent and its deployer have a user of their own.
pub const PULLER: &str = "shop";

/// What the nodes and the stages need to know each other.
#[derive(Clone, Debug)]
pub struct Security {
    folder: PathBuf,
}

// === impl Security ===

impl Security {
    /// Makes certificates for nodes at this address, the key of each user, and the accounts that the nodes include.
    ///
    /// # Errors
    /// What cannot be made: `openssl` is needed.
    pub fn make(programs: &Programs, dir: &Path, address: &str) -> anyhow::Result<Self> {
        let folder = dir.join("security");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/dev-certificates.sh");
        output(Command::new(script).arg(folder.join("tls")).arg(address))?;
        let mut users = Command::new(programs.find("sluice")?);
        let accounts = output(
            users
                .args(["nats", "users", "--cluster", &format!("default/{LONER}")])
                .args(["--pull-cluster", &format!("default/{PULLER}"), "--nkeys"])
                .arg(folder.join("nkeys")),
        )?;
        std::fs::write(folder.join("accounts.conf"), accounts)?;
        Ok(Self { folder })
    }

    /// The part of a node's configuration that says how it proves itself, for clients and for other nodes.
    pub(super) fn tls(&self) -> String {
        let file = |name: &str| self.folder.join("tls").join(name).display().to_string();
        format!(
            "tls {{\n  cert_file: {:?}\n  key_file: {:?}\n  ca_file: {:?}\n  verify: true\n  timeout: 2\n}}\n",
            file("server.pem"),
            file("server-key.pem"),
            file("ca.pem")
        )
    }

    /// The accounts, as a node's configuration includes them: relative to it.
    pub(super) fn accounts(&self) -> &'static str {
        "include \"security/accounts.conf\"\n"
    }

    /// A file in the folder, by its path there.
    pub fn file(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// What a stage says of itself, or who is in a cluster, by the name of its key.
    pub fn arguments(&self, stage: &str) -> Vec<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        vec![
            format!("--nats-nkey={}", file(&format!("nkeys/{stage}.nk"))),
            format!("--nats-ca={}", file("tls/ca.pem")),
            format!("--nats-cert={}", file("tls/client.pem")),
            format!("--nats-key={}", file("tls/client-key.pem")),
        ]
    }
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let named = format!("{command:?}");
    let said = command.output().context(named.clone())?;
    if !said.status.success() {
        bail!("{named}: {}", String::from_utf8_lossy(&said.stderr));
    }
    Ok(said.stdout)
}
