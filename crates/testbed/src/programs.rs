//! Where the project's own programs are: beside the one that runs, as the build leaves them.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

/// The folders that may hold the project's programs.
#[derive(Clone, Debug)]
pub struct Programs {
    folders: Vec<PathBuf>,
}

// === impl Programs ===

impl Programs {
    /// The folder of the running program and the one above it: test programs are one level deeper.
    ///
    /// # Errors
    /// When the system does not say where this program is.
    pub fn beside_me() -> anyhow::Result<Self> {
        let me = std::env::current_exe().context("the system does not say where this program is")?;
        Ok(Self { folders: me.ancestors().skip(1).take(2).map(PathBuf::from).collect() })
    }

    /// Those of a folder: of another version, for example.
    pub fn of_folder(folder: PathBuf) -> Self {
        Self { folders: vec![folder] }
    }

    /// The path of a program.
    ///
    /// # Errors
    /// When it has not been built.
    pub fn find(&self, name: &str) -> anyhow::Result<PathBuf> {
        let mut paths = self.folders.iter().map(|folder| folder.join(name));
        match paths.find(|path| path.is_file()) {
            Some(path) => Ok(path),
            None => bail!(
                "there is no {name} in {:?}; build the programs first, in the same profile: cargo build --workspace --bins",
                self.folders
            ),
        }
    }

    /// The nats-server: `SLUICE_NATS_SERVER`, or the one on PATH.
    pub fn nats_server() -> PathBuf {
        std::env::var_os("SLUICE_NATS_SERVER").map_or_else(|| "nats-server".into(), PathBuf::from)
    }
}
