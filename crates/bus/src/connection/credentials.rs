//! How the server knows who we are. What a file holds is read for each connection and forgotten.

// D-1210: secrets of the process are in files, and files are read for every connection.

use std::path::{Path, PathBuf};

use async_nats::{Auth, AuthError, ConnectOptions};
use sluice_protocol::Role;

use crate::connection::seed::Seed;
use crate::error::BusError;

/// How the server knows who we are. Holds the names of files only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// It does not ask, or the certificate says it.
    #[default]
    None,
    /// A file with a user's JWT and seed, as `nsc` writes it.
    Creds(PathBuf),
    /// A file with the seed of a user's nkey.
    Nkey(PathBuf),
    /// A name, and a file with the password.
    User {
        /// As the server's configuration has it.
        name: String,
        /// Holds the password and nothing else; read for each connection.
        password_file: PathBuf,
    },
}

/// What is wrong with a file, without a word of what is in it.
type Reason = String;

impl Credentials {
    /// Reads the file once.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the flag says; names the flag and the remedy.
    pub(crate) fn check(&self) -> Result<(), BusError> {
        self.answer(b"").map(drop).map_err(BusError::Unsuitable)
    }

    /// Options that read the file whenever a server asks.
    pub(crate) fn options(&self) -> ConnectOptions {
        if *self == Self::None {
            return ConnectOptions::new();
        }
        let credentials = self.clone();
        ConnectOptions::with_auth_callback(move |nonce| {
            std::future::ready(credentials.answer(&nonce).map_err(AuthError::new))
        })
    }

    /// What the operator is told when the server says no.
    pub(crate) fn refused(&self, role: &Role) -> String {
        let remedy = match self {
            Self::None => {
                "it wants to know who we are; give --nats-creds, --nats-nkey, or --nats-user with --nats-password-file"
                    .to_owned()
            }
            Self::Creds(path) => format!("it refuses the user of --nats-creds {}", path.display()),
            Self::Nkey(path) => format!("it does not know the nkey of --nats-nkey {}", path.display()),
            Self::User { name, .. } => {
                format!("it refuses --nats-user {name} with the password of --nats-password-file")
            }
        };
        format!("{remedy}. Add the user to its configuration (`sluice nats users` prints one for {role})")
    }

    fn answer(&self, nonce: &[u8]) -> Result<Auth, Reason> {
        let mut auth = Auth::new();
        match self {
            Self::None => {}
            Self::User { name, password_file } => {
                auth.username = Some(name.clone());
                auth.password = Some(password(password_file)?);
            }
            Self::Nkey(path) => {
                let text = read("--nats-nkey", path)?;
                let pair = seed("--nats-nkey", path, Some(&text))?;
                auth.nkey = Some(pair.public_key());
                auth.signature = Some(sign(&pair, nonce)?);
            }
            Self::Creds(path) => {
                let text = read("--nats-creds", path)?;
                let jwt = block(&text, "USER JWT").filter(|jwt| jwt.split('.').count() == 3);
                let jwt = jwt.ok_or_else(|| {
                    wrong("--nats-creds", path, "no user's JWT in it; write it with `nsc generate creds`")
                })?;
                let pair = seed("--nats-creds", path, block(&text, "NKEY SEED"))?;
                auth.jwt = Some(jwt.to_owned());
                auth.signature = Some(sign(&pair, nonce)?);
            }
        }
        Ok(auth)
    }
}

fn wrong(flag: &str, path: &Path, reason: &str) -> Reason {
    format!("{flag} {}: {reason}", path.display())
}

fn read(flag: &str, path: &Path) -> Result<String, Reason> {
    std::fs::read_to_string(path)
        .map_err(|error| wrong(flag, path, &format!("{error}; name a file that this process may read")))
}

/// Editors and Secrets end a file with a new line; no password does.
fn password(path: &Path) -> Result<String, Reason> {
    let text = read("--nats-password-file", path)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(wrong("--nats-password-file", path, "is empty; write the password into it"));
    }
    Ok(password.to_owned())
}

/// The line between `BEGIN … <name>` and `END … <name>`.
fn block<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.starts_with("---") && line.contains("BEGIN") && line.contains(name))?;
    lines.find(|line| !line.is_empty()).filter(|line| !line.starts_with("---"))
}

fn seed(flag: &str, path: &Path, text: Option<&str>) -> Result<Seed, Reason> {
    text.and_then(Seed::read)
        .ok_or_else(|| wrong(flag, path, "no seed of a user's nkey in it; such a seed begins with SU"))
}

fn sign(seed: &Seed, nonce: &[u8]) -> Result<Vec<u8>, Reason> {
    seed.sign(nonce).ok_or_else(|| "the nkey cannot sign; make a new one".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A file with this in it, as long as the folder is there.
    fn file(dir: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = dir.path().join("file");
        std::fs::write(&path, text).unwrap();
        path
    }

    fn user(password_file: PathBuf) -> Credentials {
        Credentials::User { name: "me".into(), password_file }
    }

    #[test]
    fn a_password_is_its_file_without_the_line_break_at_its_end() {
        let dir = tempfile::tempdir().unwrap();
        for (text, password) in [("secret", "secret"), ("secret\r\n", "secret"), (" a b \n\n", " a b ")] {
            let auth = user(file(&dir, text)).answer(b"").unwrap();
            assert_eq!((auth.username.as_deref(), auth.password.as_deref()), (Some("me"), Some(password)));
        }
        for nothing in ["", "\n"] {
            let error = user(file(&dir, nothing)).check().unwrap_err().to_string();
            assert!(error.contains("--nats-password-file") && error.contains("is empty"), "{error}");
        }
    }

    #[test]
    fn the_two_blocks_of_a_creds_file_are_found_between_their_marks() {
        let (dir, seed) = (tempfile::tempdir().unwrap(), Seed::new());
        let text = |jwt: &str, seed: &str| {
            format!(
                "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n*** IMPORTANT ***\n-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
            )
        };
        let good = Credentials::Creds(file(&dir, &text("a.b.c", &seed.secret())));
        let auth = good.answer(b"nonce").unwrap();
        assert_eq!((auth.jwt.as_deref(), auth.signature), (Some("a.b.c"), seed.sign(b"nonce")));
        for (jwt, seed, named) in
            [("a.b", seed.secret(), "JWT"), ("a.b.c", "SU".into(), "seed"), ("", seed.secret(), "JWT")]
        {
            let error = Credentials::Creds(file(&dir, &text(jwt, &seed))).answer(b"").err().unwrap();
            assert!(error.contains("--nats-creds") && error.contains(named), "{error}");
            assert!(seed.len() < 3 || !error.contains(&seed), "{error}");
        }
    }

    #[test]
    fn who_is_refused_is_told_which_flag_and_for_which_role() {
        let said = |credentials: &Credentials| credentials.refused(&Role::Matcher);
        assert!(said(&Credentials::None).contains("give --nats-creds, --nats-nkey, or --nats-user"));
        assert!(said(&Credentials::Nkey("seed".into())).contains("--nats-nkey seed"));
        assert!(said(&user("password".into())).contains("--nats-user me"));
        assert!(said(&Credentials::Creds("me.creds".into())).ends_with("prints one for matcher)"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_its_flag() {
        let missing = Path::new("/nowhere/at/all");
        for (flag, credentials) in [
            ("--nats-nkey", Credentials::Nkey(missing.into())),
            ("--nats-creds", Credentials::Creds(missing.into())),
            ("--nats-password-file", user(missing.into())),
        ] {
            let error = credentials.check().unwrap_err().to_string();
            assert!(error.contains(&format!("{flag} /nowhere/at/all: ")), "{error}");
        }
        assert!(Credentials::None.check().is_ok());
    }

    #[test]
    fn an_nkey_proves_itself_by_what_the_server_gives_to_sign() {
        let (dir, seed) = (tempfile::tempdir().unwrap(), Seed::new());
        let auth = Credentials::Nkey(file(&dir, &seed.secret())).answer(b"nonce").unwrap();
        assert_eq!((auth.nkey, auth.signature), (Some(seed.public_key()), seed.sign(b"nonce")));
        assert_eq!((auth.jwt, auth.password), (None, None));
    }

    #[test]
    fn a_file_is_read_for_every_connection() {
        let (dir, seeds) = (tempfile::tempdir().unwrap(), [Seed::new(), Seed::new()]);
        let credentials = Credentials::Nkey(dir.path().join("file"));
        for seed in seeds {
            file(&dir, &seed.secret());
            assert_eq!(credentials.answer(b"").unwrap().nkey, Some(seed.public_key()));
        }
    }

    #[test]
    fn blocks_end_where_the_next_mark_begins() {
        assert_eq!(block("---BEGIN USER JWT---\n\n  a.b.c  \n---END---", "USER JWT"), Some("a.b.c"));
        for none in
            ["", "a.b.c", "BEGIN USER JWT\na.b.c", "---BEGIN USER JWT---\n---END---", "---BEGIN USER JWT---"]
        {
            assert_eq!(block(none, "USER JWT"), None, "{none}");
        }
    }
}
