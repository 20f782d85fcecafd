//! `sluice install`: what an installation in Kubernetes needs beside its manifests, and whether all of it is there.

mod accept_restore;
mod check;
mod secrets;

pub(crate) use self::secrets::secret as nkey_secret;

/// Arguments of `sluice install`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print what an installation lacks, each with its remedy; exit code 1 when something is wrong.
    Check(Box<check::Args>),
    /// Make the keys of stages and the accounts of the bus, as Secrets; what is there stays.
    Secrets(secrets::Args),
    /// Say that the management cluster, which was restored from a backup, is as it should be: renderers go on.
    AcceptRestore(accept_restore::Args),
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Check(args) => Box::pin(args.run()).await,
            Command::Secrets(args) => args.run().await,
            Command::AcceptRestore(args) => args.run().await,
        }
    }
}
