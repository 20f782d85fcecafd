//! `sluice show`: what is deployed, and what users wrote.

mod addons;
mod objects;

/// Arguments of `sluice show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// What is deployed where, and because of which profile.
    Addons(addons::Addons),
    /// Triggers: their EventSource, on how many clusters, and whether all is well.
    #[command(after_help = "Examples:
  sluice show triggers
  sluice show triggers -o wide")]
    Triggers(objects::Args),
    /// Profiles, those that triggers made too: on how many clusters, and whether all is well.
    #[command(after_help = "Examples:
  sluice show profiles
  sluice show profiles --namespace shop -o json")]
    Profiles(objects::Args),
    /// Registered clusters: their version, their labels, and whether they can be reached.
    #[command(after_help = "Examples:
  sluice show clusters
  sluice show clusters --namespace default -o wide")]
    Clusters(objects::Args),
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Addons(addons) => addons.run().await,
            What::Triggers(args) => args.run(objects::Shown::Triggers).await,
            What::Profiles(args) => args.run(objects::Shown::Profiles).await,
            What::Clusters(args) => args.run(objects::Shown::Clusters).await,
        }
    }
}
