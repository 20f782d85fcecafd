//! `sluice show`: what is deployed, what users wrote, how it is rolled out, what of it is used, and which events there are.

mod addons;
mod dryrun;
mod events;
mod objects;
mod resources;
mod rollout;
mod usage;

use sluice_inspect::Shown;

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
    /// What profiles with `syncMode: DryRun` would change.
    Dryrun(dryrun::Args),
    /// Triggers: their EventSource, on how many clusters, and whether all is well.
    #[command(after_help = "Examples:
  sluice show triggers
  sluice show triggers -o wide")]
    Triggers(objects::Args),
    /// Profiles, those that triggers made too: on how many clusters, and whether all is well.
    #[command(after_help = "Examples:
  sluice show profiles
  sluice show profiles --namespace shop -o json")]
    Profiles(objects::InNamespace),
    /// Registered clusters: their version, their labels, and whether they can be reached.
    #[command(after_help = "Examples:
  sluice show clusters
  sluice show clusters --namespace default -o wide")]
    Clusters(objects::InNamespace),
    /// How many objects are events, of each EventSource on each cluster, and whether these are all.
    Events(events::Args),
    /// Which ConfigMaps, Secrets and other objects profiles and triggers use, and for which clusters.
    Usage(usage::Args),
    /// How a profile or trigger is rolled out: what it waits for, in which order it is applied, what is checked, and how each of its
    /// clusters stands.
    Rollout(rollout::Args),
    /// Objects of managed clusters, of the kinds that EventSources select, and what they say of their health.
    Resources(resources::Args),
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Addons(addons) => addons.run().await,
            What::Dryrun(args) => args.run().await,
            What::Triggers(args) => args.run(Shown::Triggers, None).await,
            What::Profiles(args) => args.run(Shown::Profiles).await,
            What::Clusters(args) => args.run(Shown::Clusters).await,
            What::Events(args) => args.run().await,
            What::Usage(args) => args.run().await,
            What::Rollout(args) => args.run().await,
            What::Resources(args) => args.run().await,
        }
    }
}
