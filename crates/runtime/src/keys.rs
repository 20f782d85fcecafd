//! Where a process has the keys with which Secrets are sealed on the bus: files, or Secrets of the management cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use anyhow::bail;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Api, ApiResource, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_bus::{BusKeys, KeyFiles, KeyStore, StoredKeys};
use sluice_kube::{Raw, management_client, remedy_of_denial};
use sluice_protocol::Role;
use tokio::sync::OnceCell;

use crate::held::{HoldError, hold_secret, secrets_of};

/// The place that stands for the management cluster.
const KUBERNETES: &str = "kubernetes";

/// The keys of a process whose arguments say this.
///
/// # Errors
/// When that is no place.
pub fn bus_keys(place: Option<&str>) -> anyhow::Result<BusKeys> {
    let Some(place) = place else { return Ok(BusKeys::default()) };
    Ok(match (place, place.strip_prefix("kubernetes:")) {
        ("" | "kubernetes:", _) => {
            bail!("--bus-keys {place:?}: write a folder, kubernetes, or kubernetes: and a kubeconfig")
        }
        (KUBERNETES, _) => BusKeys::at(KeySecrets::new(None)),
        (_, Some(kubeconfig)) => BusKeys::at(KeySecrets::new(Some(kubeconfig.into()))),
        (folder, None) => BusKeys::at(KeyFiles::new(folder)),
    })
}

/// Keys in Secrets of the management cluster, `projectsveltos/sluice-bus-<stage>`: one for each stage, so that each may be given to
/// its stage alone.
pub struct KeySecrets {
    kubeconfig: Option<PathBuf>,
    client: OnceCell<Client>,
}

impl fmt::Debug for KeySecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySecrets").field("kubeconfig", &self.kubeconfig).finish_non_exhaustive()
    }
}

impl KeySecrets {
    /// In the cluster of this kubeconfig; without one, in that which `KUBECONFIG` names, or this process runs in.
    pub fn new(kubeconfig: Option<PathBuf>) -> Self {
        Self { kubeconfig, client: OnceCell::new() }
    }

    /// In the cluster of this client.
    pub fn of(client: Client) -> Self {
        Self { kubeconfig: None, client: OnceCell::new_with(Some(client)) }
    }

    /// All keys of a role, by their names.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&self, role: &Role) -> Result<BTreeMap<String, Vec<u8>>, String> {
        self.load(&role.to_string()).await
    }

    async fn client(&self) -> Result<&Client, String> {
        let made = self.client.get_or_try_init(|| management_client(self.kubeconfig.as_deref())).await;
        made.map_err(|error| format!("--bus-keys {KUBERNETES}: {error}"))
    }

    async fn secrets(&self) -> Result<Api<Raw>, String> {
        Ok(secrets_of(self.client().await?.clone(), NAMESPACE))
    }

    async fn find(&self, stage: &str) -> Result<Option<Value>, String> {
        let found = self.secrets().await?.get_opt(&name(stage)).await;
        Ok(found.map_err(|error| told(stage, "get secrets", &error))?.map(|found| found.value))
    }

    async fn put(&self, stage: &str, key: &str, bytes: &[u8]) -> Result<(), String> {
        let (secrets, name) = (self.secrets().await?, name(stage));
        let kept = |former: Option<Vec<u8>>| Ok(former.unwrap_or_else(|| bytes.to_vec()));
        let mut held = hold_secret(&secrets, &name, key, kept).await;
        if let Err(HoldError::Server("create", Error::Api(status))) = &held
            && status.code == 404
        {
            self.make_namespace(stage).await?;
            held = hold_secret(&secrets, &name, key, kept).await;
        }
        held.map(drop).map_err(|error| match error {
            HoldError::Server(verb, error) => told(stage, &format!("{verb} secrets"), &error),
            HoldError::Refused(why) => format!("Secret {NAMESPACE}/{name}: data.{key}: {why}"),
            HoldError::Busy => format!("the Secret {NAMESPACE}/{name} changes all the time"),
        })
    }

    async fn make_namespace(&self, stage: &str) -> Result<(), String> {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Namespace"), "namespaces");
        let namespaces: Api<Raw> = Api::all_with(self.client().await?.clone(), &resource);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        match namespaces.create(&PostParams::default(), &Raw::from(namespace)).await {
            Err(Error::Api(status)) if status.code == 409 => Ok(()),
            made => made.map(drop).map_err(|error| told(stage, "create namespaces", &error)),
        }
    }

    async fn take_away(&self, stage: &str, key: &str) -> Result<(), String> {
        let patch = json!({"data": {key: null}});
        let secrets = self.secrets().await?;
        match secrets.patch(&name(stage), &PatchParams::default(), &Patch::Merge(patch)).await {
            Err(Error::Api(status)) if status.code == 404 => Ok(()),
            patched => patched.map(drop).map_err(|error| told(stage, "patch secrets", &error)),
        }
    }
}

impl KeyStore for KeySecrets {
    fn load<'a>(&'a self, stage: &'a str) -> StoredKeys<'a, BTreeMap<String, Vec<u8>>> {
        Box::pin(async move {
            let found = self.find(stage).await?.unwrap_or_default();
            let data = found["data"].as_object().into_iter().flatten();
            let decode = |(key, value): (&String, &Value)| {
                let bytes = STANDARD.decode(value.as_str().unwrap_or_default());
                Ok((
                    key.clone(),
                    bytes.map_err(|_| {
                        format!("Secret {NAMESPACE}/{}: data.{key} is no base64", name(stage))
                    })?,
                ))
            };
            data.map(decode).collect()
        })
    }

    fn add<'a>(&'a self, stage: &'a str, name: &'a str, bytes: Vec<u8>) -> StoredKeys<'a, ()> {
        Box::pin(async move { self.put(stage, name, &bytes).await })
    }

    fn remove<'a>(&'a self, stage: &'a str, name: &'a str) -> StoredKeys<'a, ()> {
        Box::pin(self.take_away(stage, name))
    }
}

/// The Secret of a stage; that of an agent of one cluster has the cluster in its name.
fn name(stage: &str) -> String {
    let clean = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    format!("sluice-bus-{}", stage.to_lowercase().chars().map(clean).collect::<String>())
}

/// What API servers say of Secrets may repeat what is in them: only the code is told, and which call it answers.
fn told(stage: &str, call: &str, error: &Error) -> String {
    let (code, remedy) = match error {
        Error::Api(status) => {
            (format!("{} {}", status.code, status.reason), remedy_of_denial(&status.message))
        }
        _ => ("no answer".to_owned(), ""),
    };
    let name = name(stage);
    let said = match remedy {
        "" => code,
        _ => {
            let (verb, resource) = call.split_once(' ').unwrap_or((call, "secrets"));
            format!("this process cannot {verb} resource \"{resource}\": {code}")
        }
    };
    format!(
        "Secret {NAMESPACE}/{name}: {said}; let this process get, create and patch it, or name a folder with --bus-keys{remedy}"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_kube::client_of_kubeconfig;
    use sluice_simcluster::{FleetConfig, SimFleet};

    use super::*;

    const MANAGEMENT: &str = "management";

    async fn store(fleet: &SimFleet) -> KeySecrets {
        let kubeconfig = fleet.kubeconfig(&[MANAGEMENT]);
        KeySecrets::of(client_of_kubeconfig(&kubeconfig, sluice_kube::Trust::Own).await.unwrap())
    }

    #[test]
    fn a_place_is_a_folder_or_the_management_cluster() {
        assert!(bus_keys(None).unwrap().store.is_none());
        for (place, kind) in
            [("/keys", "KeyFiles"), ("kubernetes", "KeySecrets"), ("kubernetes:/etc/k", "KeySecrets")]
        {
            assert!(format!("{:?}", bus_keys(Some(place)).unwrap()).contains(kind), "{place}");
        }
        for none in ["", "kubernetes:"] {
            assert!(bus_keys(Some(none)).unwrap_err().to_string().contains("--bus-keys"), "{none}");
        }
    }

    #[tokio::test]
    async fn what_is_there_stays_and_each_stage_has_its_own() {
        let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
        let (one, other) = (store(&fleet).await, store(&fleet).await);
        assert!(one.load("matcher").await.unwrap().is_empty());
        let (first, second) =
            tokio::join!(one.add("matcher", "digest", vec![1]), other.add("matcher", "digest", vec![2]));
        assert_eq!((first, second), (Ok(()), Ok(())));
        let kept = one.load("matcher").await.unwrap();
        assert_eq!(kept, other.load("matcher").await.unwrap(), "both have what came first");
        one.add("matcher", "identity-1", vec![3]).await.unwrap();
        one.add("agent.sveltos:default/c", "digest", vec![4]).await.unwrap();
        assert_eq!(one.load("matcher").await.unwrap().len(), 2);
        one.remove("matcher", "identity-1").await.unwrap();
        assert_eq!(one.load("matcher").await.unwrap(), kept);
        one.remove("renderer", "identity-1").await.unwrap();
        fleet.shutdown().await;
    }
}
