//! The registered clusters and how to reach them: registrations and kubeconfig Secrets of the management
//! cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher;
use kube::{Client, Config};
use serde_json::Value;
use sluice_api::model::{Cluster, KubeconfigRef, LIB_GROUP};
use sluice_api::{ClusterRef, Gvk, object};
use sluice_bus::Feed;
use tokio_util::sync::CancellationToken;

use crate::watch::{WatchEvent, watch};

/// How to reach a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which cluster.
    pub cluster: ClusterRef,
    /// Its kubeconfig, or why there is none. `None` when the cluster is not registered any more.
    pub kubeconfig: Option<Result<Arc<str>, String>>,
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

#[derive(Default)]
struct Registrations {
    clusters: BTreeMap<(u8, ClusterRef), Arc<Cluster>>,
    secrets: BTreeMap<(String, String), Value>,
    listed: [bool; 3],
}

/// Follows registrations and Secrets until `stop`.
pub fn access_feed(client: &Client, stop: &CancellationToken) -> ClusterFeed {
    let (feed, state) = (ClusterFeed::new(), Arc::new(Mutex::new(Registrations::default())));
    let kinds = [
        (0, Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster")),
        (1, Gvk::new("cluster.x-k8s.io", "v1beta2", "Cluster")),
        (2, Gvk::new("", "v1", "Secret")),
    ];
    for (index, gvk) in kinds {
        let (client, feed, state, stop) = (client.clone(), feed.clone(), state.clone(), stop.clone());
        tokio::spawn(async move {
            let config = watcher::Config::default();
            watch(client, gvk, String::new(), config, |event| {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.take(index, event);
                state.publish(&feed);
                !stop.is_cancelled()
            })
            .await;
        });
    }
    feed
}

impl Registrations {
    fn take(&mut self, index: u8, event: WatchEvent) {
        match event {
            WatchEvent::Trouble(error) => {
                tracing::warn!(error, "the management cluster cannot be watched; trying again")
            }
            WatchEvent::Listed(objects) => {
                if index == 2 {
                    self.secrets.clear();
                } else {
                    self.clusters.retain(|(kind, _), _| *kind != index);
                }
                objects.into_iter().for_each(|object| self.put(index, object));
                if let Some(listed) = self.listed.get_mut(usize::from(index)) {
                    *listed = true;
                }
            }
            WatchEvent::Applied(object) => self.put(index, object),
            WatchEvent::Deleted(object) if index == 2 => drop(self.secrets.remove(&place(&object))),
            WatchEvent::Deleted(object) => {
                if let Some(cluster) = Cluster::read(&Arc::new(object)) {
                    self.clusters.remove(&(index, cluster.id));
                }
            }
        }
    }

    fn put(&mut self, index: u8, object: Value) {
        if index == 2 {
            // Only what can be a kubeconfig is kept; other Secrets are none of this process's business.
            let named =
                self.clusters.values().any(|cluster| cluster.kubeconfig.secret == object::name(&object));
            if named || object::name(&object).ends_with("kubeconfig") {
                self.secrets.insert(place(&object), object);
            }
        } else if let Some(cluster) = Cluster::read(&Arc::new(object)) {
            self.clusters.insert((index, cluster.id.clone()), Arc::new(cluster));
        }
    }

    fn publish(&self, feed: &ClusterFeed) {
        if !self.listed.iter().all(|listed| *listed) {
            return;
        }
        for cluster in self.clusters.values() {
            let secret = self.secrets.get(&(cluster.id.namespace.clone(), cluster.kubeconfig.secret.clone()));
            let kubeconfig = kubeconfig(&cluster.kubeconfig, secret).map(Into::into);
            let access = Access { cluster: cluster.id.clone(), kubeconfig: Some(kubeconfig) };
            if feed.get(&cluster.id).as_ref() != Some(&access) {
                feed.put(cluster.id.clone(), access);
            }
        }
        for id in feed.keys() {
            if !self.clusters.keys().any(|(_, known)| *known == id) {
                feed.remove(&id, Access { cluster: id.clone(), kubeconfig: None });
            }
        }
        feed.set_synced();
    }
}

fn place(object: &Value) -> (String, String) {
    (object::namespace(object).to_owned(), object::name(object).to_owned())
}

fn kubeconfig(reference: &KubeconfigRef, secret: Option<&Value>) -> Result<String, String> {
    let name = &reference.secret;
    let secret = secret
        .ok_or_else(|| format!("Secret {name} does not exist; create it with the cluster's kubeconfig"))?;
    let data = secret.get("data").and_then(Value::as_object);
    let value = match &reference.key {
        Some(key) => data
            .and_then(|data| data.get(key))
            .ok_or_else(|| format!("Secret {name} has no key {key} (spec.kubeconfigKeyName)"))?,
        None => data
            .and_then(|data| data.values().next())
            .ok_or_else(|| format!("Secret {name} is empty; put the kubeconfig under any key"))?,
    };
    let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| format!("Secret {name}: the value is not base64 of text"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_kubeconfig_is_found_or_its_absence_explained() {
        let of = |key: Option<&str>, secret: Option<Value>| {
            kubeconfig(&KubeconfigRef { secret: "s".into(), key: key.map(str::to_owned) }, secret.as_ref())
        };
        let secret = json!({"data": {"any": STANDARD.encode("text")}});
        assert_eq!(of(None, Some(secret.clone())).unwrap(), "text");
        assert!(of(Some("other"), Some(secret)).unwrap_err().contains("no key other"));
        assert!(of(None, None).unwrap_err().contains("does not exist"));
        assert!(of(None, Some(json!({"data": {"a": "%"}}))).unwrap_err().contains("base64"));
    }
}
