//! One cluster, as a user sees it: any object of any kind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey, object};
use sluice_kube::{Raw, client_of_kubeconfig, resource_of};

/// Field manager of everything that tests write.
const MANAGER: &str = "scenario";
/// How long a kind may take to be served after its definition was applied.
const KIND_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// A cluster. Cheap to clone.
#[derive(Clone)]
pub struct ClusterClient {
    client: Client,
    kinds: Arc<Mutex<HashMap<Gvk, (ApiResource, bool)>>>,
}

// === impl ClusterClient ===

impl ClusterClient {
    /// The cluster of the current context of a kubeconfig.
    ///
    /// # Errors
    /// What is wrong with the kubeconfig.
    pub async fn connect(kubeconfig: &str) -> anyhow::Result<Self> {
        let client =
            client_of_kubeconfig(kubeconfig, sluice_kube::Trust::Own).await.map_err(anyhow::Error::msg)?;
        Ok(Self { client, kinds: Arc::default() })
    }

    /// Server-side apply; a status goes through its subresource. Waits for a kind that is not served yet.
    ///
    /// # Errors
    /// What the server says.
    pub async fn apply(&self, object: &Value) -> anyhow::Result<()> {
        let key = ObjectKey::of(object).context("an object without kind or name")?;
        let (api, namespaced) = self.api_when_there(&key).await?;
        let mut body = object.clone();
        if !namespaced && let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("namespace");
        }
        let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(&body));
        let deadline = Instant::now() + KIND_TIMEOUT;
        loop {
            match api.patch(&key.name, &params, &patch).await {
                // The definition went since the kind was found, and is there again a moment before the kind is served.
                Err(kube::Error::Api(status)) if is_unserved(&status) && Instant::now() < deadline => {
                    tokio::time::sleep(LOOK).await;
                }
                applied => break drop(applied.with_context(|| format!("apply {key}"))?),
            }
        }
        if let Some(status) = body.get("status") {
            // The rest would be the status' as well: a finalizer that is taken away later would stay.
            let named = json!({"name": key.name, "namespace": body.pointer("/metadata/namespace")});
            let body = json!({
                "apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": named, "status": status,
            });
            let applied = api.patch_status(&key.name, &params, &Patch::Apply(&body)).await;
            applied.with_context(|| format!("apply the status of {key}"))?;
        }
        Ok(())
    }

    /// Deletes an object; one that is not there is deleted.
    ///
    /// # Errors
    /// What the server says.
    pub async fn delete(&self, object: &Value) -> anyhow::Result<()> {
        let key = ObjectKey::of(object).context("an object without kind or name")?;
        let Some((api, _)) = self.api(&key.gvk, &key.namespace).await? else { return Ok(()) };
        match api.delete(&key.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error).with_context(|| format!("delete {key}")),
        }
    }

    /// Deletes an object that finalizers may hold, for which nobody is there.
    ///
    /// # Errors
    /// What the server says.
    pub async fn delete_held(&self, object: &Value) -> anyhow::Result<()> {
        self.delete(object).await?;
        let key = ObjectKey::of(object).context("an object without kind or name")?;
        let Some((api, _)) = self.api(&key.gvk, &key.namespace).await? else { return Ok(()) };
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        match api.patch(&key.name, &PatchParams::default(), &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error).with_context(|| format!("take the finalizers of {key}")),
        }
    }

    /// One object.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn get(&self, key: &ObjectKey) -> anyhow::Result<Option<Value>> {
        let Some((api, _)) = self.api(&key.gvk, &key.namespace).await? else { return Ok(None) };
        Ok(api.get_opt(&key.name).await?.map(|found| found.value))
    }

    /// All objects of a kind, everywhere; none when the kind is not served.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn list(&self, gvk: &Gvk) -> anyhow::Result<Vec<Value>> {
        let Some((resource, _)) = self.resource(gvk).await? else { return Ok(Vec::new()) };
        let api: Api<Raw> = Api::all_with(self.client.clone(), &resource);
        match api.list(&ListParams::default()).await {
            Ok(list) => Ok(list.items.into_iter().map(|found| found.complete(&resource)).collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| format!("list {gvk}")),
        }
    }

    /// The objects of these kinds that Sluice deployed.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn deployed(&self, kinds: &[Gvk]) -> anyhow::Result<Vec<Value>> {
        let mut found = Vec::new();
        for gvk in kinds {
            found.extend(self.list(gvk).await?.into_iter().filter(is_deployed));
        }
        Ok(found)
    }

    /// The client, for what is not here.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    async fn api_when_there(&self, key: &ObjectKey) -> anyhow::Result<(Api<Raw>, bool)> {
        let deadline = Instant::now() + KIND_TIMEOUT;
        loop {
            if let Some(found) = self.api(&key.gvk, &key.namespace).await? {
                return Ok(found);
            }
            if Instant::now() > deadline {
                bail!("{key}: the cluster has no kind {}", key.gvk);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn api(&self, gvk: &Gvk, namespace: &str) -> anyhow::Result<Option<(Api<Raw>, bool)>> {
        let Some((resource, namespaced)) = self.resource(gvk).await? else { return Ok(None) };
        let namespace = if namespace.is_empty() { "default" } else { namespace };
        let api = if namespaced {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        };
        Ok(Some((api, namespaced)))
    }

    /// Kinds that were found once are not looked for again.
    async fn resource(&self, gvk: &Gvk) -> anyhow::Result<Option<(ApiResource, bool)>> {
        let known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(gvk).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let found = match resource_of(&self.client, gvk).await {
            // A new group is in the list of groups a moment before its kinds can be asked for.
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            found => found.with_context(|| format!("look for {gvk}"))?,
        };
        if let Some(found) = &found {
            self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(gvk.clone(), found.clone());
        }
        Ok(found)
    }
}

/// Whether nobody serves the path of a kind: an answer about an object that is missing says so in another way.
fn is_unserved(status: &kube::core::Status) -> bool {
    status.code == 404 && status.message.starts_with("404 page not found")
}

/// Whether Sluice deployed an object.
pub fn is_deployed(value: &Value) -> bool {
    object::annotation(value, "projectsveltos.io/hash").is_some()
}
