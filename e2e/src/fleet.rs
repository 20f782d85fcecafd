//! A management cluster and its managed clusters, by place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use sluice_api::cloud_event::CloudEvent;
use sluice_api::model::Cluster;
use sluice_testbed::Programs;

use crate::cluster_client::ClusterClient;
use crate::scenario::MANAGEMENT;

/// A managed cluster.
#[derive(Clone)]
pub struct Member {
    /// For what a test does in it and reads of it.
    pub client: ClusterClient,
    /// A kubeconfig for it alone, as its Secret holds it.
    pub kubeconfig: String,
}

/// All clusters of a test.
#[derive(Clone)]
pub struct Fleet {
    /// The management cluster.
    pub management: ClusterClient,
    /// The managed clusters by `namespace/name`.
    pub members: BTreeMap<String, Member>,
    /// URL of the bus that CloudEvents are sent over; empty while there is none.
    pub nats: String,
    /// The seed of the bus' operator, where the bus asks who connects.
    pub operator: Option<PathBuf>,
}

// === impl Fleet ===

impl Fleet {
    /// The contexts of a kubeconfig: `management`, and managed clusters that are registered in `default`.
    ///
    /// # Errors
    /// What is wrong with the kubeconfig.
    pub async fn of_kubeconfig(text: &str) -> anyhow::Result<Self> {
        let file = Kubeconfig::from_yaml(text)?;
        let (mut management, mut members) = (None, BTreeMap::new());
        for context in &file.contexts {
            let alone = Kubeconfig {
                current_context: Some(context.name.clone()),
                contexts: vec![context.clone()],
                ..file.clone()
            };
            // JSON is YAML.
            let kubeconfig = serde_json::to_string(&alone)?;
            let client = ClusterClient::connect(&kubeconfig).await?;
            if context.name == MANAGEMENT {
                management = Some(client);
            } else {
                members.insert(format!("default/{}", context.name), Member { client, kubeconfig });
            }
        }
        let management = management.context("the kubeconfig has no context management")?;
        Ok(Self { management, members, nats: String::new(), operator: None })
    }

    /// The same clusters. Those that nobody asks for have the names that are asked for and that none has: nothing in a cluster
    /// knows what it is called.
    #[must_use]
    pub fn called(&self, places: &BTreeSet<String>) -> Self {
        let mut fleet = self.clone();
        let free: Vec<&String> = self.members.keys().filter(|name| !places.contains(*name)).collect();
        let wanted = places.iter().filter(|place| *place != MANAGEMENT && !self.members.contains_key(*place));
        for (place, name) in wanted.zip(free) {
            if let Some(member) = fleet.members.remove(name) {
                fleet.members.insert(place.clone(), member);
            }
        }
        fleet
    }

    /// The cluster at a place.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(&self, place: &str) -> anyhow::Result<&ClusterClient> {
        if place == MANAGEMENT {
            return Ok(&self.management);
        }
        let member = self.members.get(place).with_context(|| format!("there is no cluster {place}"))?;
        Ok(&member.client)
    }

    /// Applies an object, or sends a CloudEvent. A registration of one of its members comes with the Secret that says how to reach it.
    ///
    /// # Errors
    /// What the server says.
    pub async fn apply(&self, place: &str, object: &Value) -> anyhow::Result<()> {
        if CloudEvent::is_meant(object) {
            return self.send(place, object).await;
        }
        let registered = Cluster::read(&Arc::new(object.clone())).filter(|_| place == MANAGEMENT);
        if let Some(cluster) = registered
            && let Some(member) = self.members.get(&cluster.id.path())
        {
            let key = cluster.kubeconfig.key.unwrap_or_else(|| "kubeconfig".to_owned());
            let secret = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": cluster.kubeconfig.secret, "namespace": cluster.id.namespace},
                "data": {key: STANDARD.encode(&member.kubeconfig)},
            });
            self.management.apply(&secret).await?;
        }
        self.at(place)?.apply(object).await.with_context(|| place.to_owned())
    }

    /// Sends a CloudEvent as people do.
    async fn send(&self, place: &str, event: &Value) -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("event.json");
        std::fs::write(&file, event.to_string())?;
        let sent = tokio::process::Command::new(Programs::beside_me()?.find("sluice")?)
            .args(["send", "--nats-url", &self.nats, "--cluster", place])
            .args(self.operator.iter().flat_map(|seed| ["--nats-nkey".as_ref(), seed.as_os_str()]))
            .arg(&file)
            .output()
            .await?;
        let error = String::from_utf8_lossy(&sent.stderr);
        anyhow::ensure!(sent.status.success(), "sluice send to {place}: {error}");
        Ok(())
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// What the server says.
    pub async fn delete(&self, place: &str, object: &Value) -> anyhow::Result<()> {
        self.at(place)?.delete(object).await.with_context(|| place.to_owned())
    }
}
