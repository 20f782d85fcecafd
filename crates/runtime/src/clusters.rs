//! The registered clusters and how to reach them: registrations and kubeconfig Secrets of the management
//! cluster.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher;
use kube::{Client, Config};
use sluice_api::ClusterRef;
use sluice_bus::Feed;
use sluice_tasks::{End, Kept, Tasks};

use crate::watch::watch;

mod registrations;

use registrations::{Kind, Registrations};

/// How to reach a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which cluster.
    pub cluster: ClusterRef,
    /// Its kubeconfig, or why there is none. `None` when the cluster is not registered any more.
    pub kubeconfig: Option<Result<Arc<str>, String>>,
    /// Whether its user asked to leave it alone (`spec.paused`): nothing is written to it, what happens in it is followed.
    pub paused: bool,
}

/// Access by cluster.
pub type ClusterFeed = Feed<ClusterRef, Access>;

/// A client for the management cluster: a kubeconfig file, or the one of the environment, or in-cluster.
///
/// # Errors
/// When the file cannot be read or names nothing that can be used.
pub async fn management_client(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)
                .map_err(|error| anyhow::anyhow!("--kubeconfig {}: {error}", path.display()))?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.map_err(|error| {
            anyhow::anyhow!("no --kubeconfig, KUBECONFIG or in-cluster configuration can be used: {error}")
        })?,
    };
    Ok(Client::try_from(without_needless_tls(config))?)
}

/// Plain HTTP needs no certificates: a container without any must reach the simulated clusters.
fn without_needless_tls(mut config: Config) -> Config {
    if config.cluster_url.scheme_str() == Some("http") {
        config.root_cert.get_or_insert_default();
    }
    config
}

/// A client for the cluster of a kubeconfig.
///
/// # Errors
/// What is wrong with the kubeconfig.
pub async fn client_of_kubeconfig(text: &str) -> Result<Client, String> {
    let file =
        Kubeconfig::from_yaml(text).map_err(|error| format!("the kubeconfig cannot be read: {error}"))?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|error| format!("the kubeconfig cannot be used: {error}"))?;
    config.connect_timeout = Some(std::time::Duration::from_secs(5));
    Client::try_from(without_needless_tls(config))
        .map_err(|error| format!("the kubeconfig cannot be used: {error}"))
}

/// Follows registrations and Secrets until the process stops.
pub fn access_feed(client: &Client, tasks: &Tasks) -> ClusterFeed {
    let (feed, state) = (ClusterFeed::new(), Arc::new(Mutex::new(Registrations::default())));
    for kind in Kind::ALL {
        let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), tasks.stop().clone());
        tasks.keep(Kept::Registrations, move || {
            let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), stop.clone());
            async move {
                let config = watcher::Config::default();
                watch(client, kind.gvk(), String::new(), config, |event| {
                    state.lock().unwrap_or_else(PoisonError::into_inner).take(kind, event, &feed);
                    !stop.is_cancelled()
                })
                .await;
                End::Early
            }
        });
    }
    feed
}
