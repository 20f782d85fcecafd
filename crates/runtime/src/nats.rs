//! The arguments that say where the bus is and who we are.

use std::path::PathBuf;

use anyhow::bail;
use sluice_bus::{Connection, Credentials, Tls};
use sluice_protocol::Role;

/// Where the bus is and who we are on it: the same for everybody who connects. Secrets are in files, never in arguments.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NatsArgs {
    /// NATS servers, separated by commas.
    #[arg(long, env = "SLUICE_NATS_URL", default_value = Self::DEFAULT_URL)]
    pub nats_url: String,

    /// File with a user's JWT and seed, as `nsc` writes it.
    #[arg(long, env = "SLUICE_NATS_CREDS", value_name = "FILE")]
    pub nats_creds: Option<PathBuf>,

    /// File with the seed of a user's nkey.
    #[arg(long, env = "SLUICE_NATS_NKEY", value_name = "FILE")]
    pub nats_nkey: Option<PathBuf>,

    /// Name of a user with a password. Needs --nats-password-file.
    #[arg(long, env = "SLUICE_NATS_USER", value_name = "NAME")]
    pub nats_user: Option<String>,

    /// File with the password of --nats-user.
    #[arg(long, env = "SLUICE_NATS_PASSWORD_FILE", value_name = "FILE")]
    pub nats_password_file: Option<PathBuf>,

    /// File with the certificates of who signs servers. Without it those count whom this machine trusts.
    #[arg(long, env = "SLUICE_NATS_CA", value_name = "FILE")]
    pub nats_ca: Option<PathBuf>,

    /// File with our certificate. Needs --nats-key.
    #[arg(long, env = "SLUICE_NATS_CERT", value_name = "FILE")]
    pub nats_cert: Option<PathBuf>,

    /// File with the private key of --nats-cert.
    #[arg(long, env = "SLUICE_NATS_KEY", value_name = "FILE")]
    pub nats_key: Option<PathBuf>,

    /// Encrypt before the first word of the server, which then needs `handshake_first`.
    #[arg(long, env = "SLUICE_NATS_TLS_FIRST")]
    pub nats_tls_first: bool,
}

impl NatsArgs {
    /// Where the bus is unless it is said otherwise.
    pub const DEFAULT_URL: &str = "nats://127.0.0.1:4222";

    /// A server that asks for nothing.
    pub fn plain(url: impl Into<String>) -> Self {
        Self { nats_url: url.into(), ..Self::default() }
    }

    /// How to reach the bus.
    ///
    /// # Errors
    /// When the arguments contradict each other, one lacks another, or a file cannot be used.
    pub fn connection(&self, role: Role) -> anyhow::Result<Connection> {
        let connection = Connection {
            url: self.nats_url.clone(),
            credentials: self.credentials()?,
            tls: self.tls()?,
            role,
        };
        connection.check()?;
        Ok(connection)
    }

    fn credentials(&self) -> anyhow::Result<Credentials> {
        let user = match (&self.nats_user, &self.nats_password_file) {
            (Some(name), Some(file)) => {
                Some(Credentials::User { name: name.clone(), password_file: file.clone() })
            }
            (Some(name), None) => bail!(
                "--nats-user {name}: no password; name the file that holds it with --nats-password-file"
            ),
            (None, Some(file)) => {
                bail!("--nats-password-file {}: no user; name it with --nats-user", file.display())
            }
            (None, None) => None,
        };
        let creds = self.nats_creds.clone().map(Credentials::Creds);
        let nkey = self.nats_nkey.clone().map(Credentials::Nkey);
        match (creds, nkey, user) {
            (Some(one), None, None) | (None, Some(one), None) | (None, None, Some(one)) => Ok(one),
            (None, None, None) => Ok(Credentials::None),
            _ => bail!(
                "--nats-creds, --nats-nkey and --nats-user: more than one of them; we can be one user only, so leave the others out, also from the environment"
            ),
        }
    }

    fn tls(&self) -> anyhow::Result<Tls> {
        let identity = match (&self.nats_cert, &self.nats_key) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            (Some(file), None) => {
                bail!("--nats-cert {}: no private key; name its file with --nats-key", file.display())
            }
            (None, Some(file)) => {
                bail!("--nats-key {}: no certificate; name its file with --nats-cert", file.display())
            }
        };
        Ok(Tls { ca: self.nats_ca.clone(), identity, first: self.nats_tls_first })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Args {
        #[command(flatten)]
        nats: NatsArgs,
    }

    fn said(arguments: &[&str]) -> String {
        let all = ["stage"].iter().chain(arguments);
        let args = Args::try_parse_from(all).unwrap();
        args.nats.connection(Role::Matcher).map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    }

    #[test]
    fn what_is_half_given_or_contradicts_itself_is_named_with_the_remedy() {
        let nothing: [&str; 0] = [];
        assert_eq!(said(&nothing), "fine");
        assert_eq!(said(&["--nats-url", "nats://a:1,tls://b", "--nats-tls-first"]), "fine");
        let cases: [(&[&str], &[&str]); 9] = [
            (&["--nats-creds", "a", "--nats-nkey", "b"], &["--nats-creds", "--nats-nkey", "more than one"]),
            (&["--nats-user", "a", "--nats-password-file", "p", "--nats-nkey", "b"], &["more than one"]),
            (&["--nats-user", "a"], &["--nats-user a", "--nats-password-file"]),
            (&["--nats-password-file", "p"], &["--nats-password-file p", "--nats-user"]),
            (&["--nats-cert", "c"], &["--nats-cert c", "--nats-key"]),
            (&["--nats-key", "k"], &["--nats-key k", "--nats-cert"]),
            (&["--nats-creds", "/nowhere/a.creds"], &["--nats-creds /nowhere/a.creds", "may read"]),
            (&["--nats-ca", "/nowhere/ca.pem"], &["--nats-ca /nowhere/ca.pem", "PEM"]),
            (&["--nats-url", "nats://me:secret@host"], &["--nats-url", "--nats-password-file"]),
        ];
        for (arguments, words) in cases {
            let said = said(arguments);
            assert!(words.iter().all(|word| said.contains(word)) && !said.contains("secret"), "{said}");
        }
    }
}
