//! The running server and its clusters.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::{Cluster, DeleteOptions, Deleted, ListOptions, Write, WriteOptions};
use crate::faults::Faults;
use crate::http;
use crate::kinds::Endpoint;
use crate::kubeconfig;
use crate::status::ApiError;

/// How to start a fleet.
#[derive(Debug, Clone)]
pub struct FleetConfig {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Ids of the clusters, for example `management` and `cluster-1`.
    pub clusters: Vec<String>,
    /// Base URL by which clients reach the server, when it is not the listening address.
    pub advertise: Option<String>,
}

/// A running server with its clusters. It stops when dropped.
#[derive(Debug)]
pub struct SimFleet {
    shared: Arc<Shared>,
    addr: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What the server and its handles share.
#[derive(Debug)]
pub struct Shared {
    clusters: RwLock<BTreeMap<String, Arc<Cluster>>>,
    base_url: OnceLock<String>,
}

impl Default for FleetConfig {
    /// One management cluster on a free port of the loopback address.
    fn default() -> Self {
        let clusters = vec!["management".to_owned()];
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), clusters, advertise: None }
    }
}

// === impl SimFleet ===

impl SimFleet {
    /// Starts the server.
    pub async fn start(config: FleetConfig) -> anyhow::Result<Self> {
        let FleetConfig { listen, clusters, advertise } = config;
        let shared = Arc::new(Shared { clusters: RwLock::default(), base_url: OnceLock::new() });
        for id in &clusters {
            shared.add(id)?;
        }
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}; choose another address or port 0"))?;
        let addr = listener.local_addr()?;
        let base = advertise.unwrap_or_else(|| format!("http://{addr}"));
        shared.base_url.get_or_init(|| base.trim_end_matches('/').to_owned());
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(http::serve(listener, shared.clone(), stop.clone(), tasks.clone()));
        Ok(Self { shared, addr, stop, tasks })
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops serving and waits until all connections are closed.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Adds a cluster at run time.
    pub fn add_cluster(&self, id: &str) -> anyhow::Result<()> {
        self.shared.add(id)
    }

    /// Puts so many Services that are no event of anything into a cluster, which costs some hundred bytes for each. Whoever watches
    /// them lists again.
    ///
    /// # Errors
    /// When the cluster does not exist.
    pub fn fill(&self, id: &str, services: usize) -> anyhow::Result<()> {
        let cluster = self.shared.find(id).with_context(|| format!("there is no cluster {id:?}"))?;
        cluster.state().fill(services);
        Ok(())
    }

    /// Removes a cluster; its watches end, its objects are gone.
    pub fn remove_cluster(&self, id: &str) {
        self.shared.remove(id);
    }

    /// URL of the API server of a cluster.
    pub fn server_url(&self, id: &str) -> String {
        self.shared.server_url(id)
    }

    /// Bearer token of a cluster; empty when it does not exist.
    pub fn token(&self, id: &str) -> String {
        self.shared.find(id).map(|cluster| cluster.token().to_owned()).unwrap_or_default()
    }

    /// A kubeconfig with a context per cluster, named like it, the first of them current.
    pub fn kubeconfig(&self, ids: &[&str]) -> String {
        let context = |id: &&str| kubeconfig::Context {
            name: (*id).to_owned(),
            server: self.server_url(id),
            token: self.token(id),
        };
        kubeconfig::render(&ids.iter().map(context).collect::<Vec<_>>())
    }

    /// The fault knobs of a cluster.
    ///
    /// # Panics
    ///
    /// When the cluster does not exist.
    pub fn faults(&self, id: &str) -> Faults {
        match self.shared.find(id) {
            Some(cluster) => Faults::of(cluster),
            None => panic!("there is no cluster {id:?}; add it first"),
        }
    }

    /// One object, or `None`. `namespace` is empty for cluster-scoped kinds.
    pub fn get(&self, id: &str, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let (cluster, endpoint) = self.locate(id, api_version, kind).ok()?;
        let found = cluster.state().find(&endpoint.def, namespace, name).cloned()?;
        Some(found.to_value(endpoint.api_version(), &endpoint.def.kind))
    }

    /// All objects of a kind in a namespace, or everywhere when `namespace` is empty.
    pub fn list(
        &self,
        id: &str,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> Result<Vec<Value>, ApiError> {
        let (cluster, endpoint) = self.locate(id, api_version, kind)?;
        let options = ListOptions { namespace: namespace.into(), ..ListOptions::default() };
        let page = cluster.state().list(&endpoint, &options)?;
        Ok(page
            .objects
            .iter()
            .map(|object| object.to_value(endpoint.api_version(), &endpoint.def.kind))
            .collect())
    }

    /// Server-side apply of an object by `manager`, taking over conflicting fields. A `status` is
    /// applied too, through the subresource where there is one.
    pub fn apply(&self, id: &str, manager: &str, object: Value) -> Result<Value, ApiError> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let metadata = object.get("metadata");
        let (name, mut namespace) = (
            text(metadata.and_then(|metadata| metadata.get("name"))),
            text(metadata.and_then(|metadata| metadata.get("namespace"))),
        );
        let (cluster, endpoint) =
            self.locate(id, &text(object.get("apiVersion")), &text(object.get("kind")))?;
        if endpoint.def.namespaced && namespace.is_empty() {
            namespace = "default".into();
        }
        let options = WriteOptions { field_manager: manager.into(), force: true, ..WriteOptions::default() };
        let write = Write {
            endpoint: &endpoint,
            namespace: &namespace,
            name: &name,
            subresource: "",
            options: &options,
        };
        let has_status = endpoint.version().status && object.get("status").is_some();
        let mut state = cluster.state();
        let mut written = state.apply(object.clone(), &write)?;
        if has_status {
            written = state.apply(object, &Write { subresource: "status", ..write })?;
        }
        Ok(written.object.to_value(endpoint.api_version(), &endpoint.def.kind))
    }

    /// Deletes an object; `false` when finalizers hold it back.
    pub fn delete(
        &self,
        id: &str,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<bool, ApiError> {
        let (cluster, endpoint) = self.locate(id, api_version, kind)?;
        let options = WriteOptions::default();
        let write = Write { endpoint: &endpoint, namespace, name, subresource: "", options: &options };
        let deleted = cluster.state().delete(&write, &DeleteOptions::default())?;
        Ok(matches!(deleted, Deleted::Gone(_)))
    }

    fn locate(&self, id: &str, api_version: &str, kind: &str) -> Result<(Arc<Cluster>, Endpoint), ApiError> {
        let cluster = self.shared.find(id).ok_or_else(ApiError::unknown_path)?;
        let endpoint =
            cluster.state().registry().by_kind(api_version, kind).ok_or_else(ApiError::unknown_path)?;
        Ok((cluster, endpoint))
    }
}

impl Drop for SimFleet {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// === impl Shared ===

impl Shared {
    /// The cluster of this id.
    pub fn find(&self, id: &str) -> Option<Arc<Cluster>> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Ids of all clusters.
    pub fn ids(&self) -> Vec<String> {
        self.clusters.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Adds a cluster.
    pub fn add(&self, id: &str) -> anyhow::Result<()> {
        let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if id.is_empty() || !id.chars().all(valid) {
            bail!("the cluster id {id:?} must consist of letters, digits, '-', '_' and '.'");
        }
        let mut clusters = self.clusters.write().unwrap_or_else(PoisonError::into_inner);
        if clusters.contains_key(id) {
            bail!("the cluster {id:?} exists already");
        }
        // The token keeps clusters apart in tests; it guards nothing.
        clusters.insert(id.to_owned(), Arc::new(Cluster::new(id, &format!("token-of-{id}"))));
        Ok(())
    }

    /// Removes a cluster; says whether it existed.
    pub fn remove(&self, id: &str) -> bool {
        let removed = self.clusters.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        removed.inspect(|cluster| cluster.cut_watches()).is_some()
    }

    /// URL of the API server of a cluster.
    pub fn server_url(&self, id: &str) -> String {
        format!("{}/clusters/{id}", self.base_url.get().map(String::as_str).unwrap_or_default())
    }
}
