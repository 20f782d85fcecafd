//! Arguments of `sluice-agent`.

use std::path::PathBuf;
use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_kube::management_client;
use sluice_protocol::Role;
use sluice_runtime::{Access, ClusterFeed, CommonArgs, Context, access_feed, stop_on_signals};

/// Streams the changes of managed clusters onto the bus.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-agent", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    /// Kubeconfig of the management cluster, where registrations and kubeconfigs are.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Watch only this cluster, `namespace/name`; without it all registered clusters are shared by all agents.
    #[arg(long)]
    cluster: Option<String>,

    /// Kubeconfig of the cluster itself; then nothing of the management cluster is needed. Needs --cluster.
    #[arg(long, requires = "cluster")]
    cluster_kubeconfig: Option<PathBuf>,
}

impl Args {
    /// Runs until a signal.
    ///
    /// # Errors
    /// When arguments or the bus cannot be used.
    pub async fn run(self) -> anyhow::Result<()> {
        let only = self.cluster.as_deref().map(only).transpose()?;
        let tasks = stop_on_signals();
        let context = Context::start(Role::Agent(only.clone()), &self.common, &tasks).await?;
        let feed = match (&self.cluster_kubeconfig, &only) {
            (Some(path), Some(cluster)) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| anyhow::anyhow!("--cluster-kubeconfig {}: {error}", path.display()))?;
                own_cluster(cluster, &text)
            }
            _ => access_feed(&management_client(self.kubeconfig.as_deref()).await?, &tasks),
        };
        crate::run(context, feed, only).await
    }
}

fn only(text: &str) -> anyhow::Result<ClusterRef> {
    let parts = text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) =
        parts.ok_or_else(|| anyhow::anyhow!("--cluster {text:?}: write namespace/name"))?;
    Ok(ClusterRef::sveltos(namespace, name))
}

fn own_cluster(cluster: &ClusterRef, kubeconfig: &str) -> ClusterFeed {
    let feed = ClusterFeed::new();
    feed.put(
        cluster.clone(),
        Access { cluster: cluster.clone(), kubeconfig: Some(Ok(Arc::from(kubeconfig))), paused: false },
    );
    feed.set_synced();
    feed
}
