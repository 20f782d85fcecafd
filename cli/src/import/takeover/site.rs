//! The calls to one cluster.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_api::{Gvk, ObjectKey, ProfileId, object};
use sluice_deployer_core::{Inventory, Kept, Stored, without_marks};
use sluice_kube::{Raw, discover, resource_of, segment};

use super::fields::{Writer, moved};
use super::marks::{self, MANAGER};
use super::record::Record;

/// Objects of one answer.
const PAGE: u32 = 500;
/// Kinds that are listed at a time.
const LISTS: usize = 8;
/// Labels of deployed objects: the one of today, and one that versions before 2024 wrote.
const DEPLOYED: [&str; 2] = ["projectsveltos.io/reason", "projectsveltos.io/reference-name"];

/// A cluster to which profiles are deployed.
pub(super) struct Site {
    /// As people call it.
    pub(super) name: String,
    /// Where its registration is; the namespace of its Profiles.
    pub(super) namespace: String,
    pub(super) client: Client,
    pub(super) kept: Kept,
    /// Whether nothing is written.
    pub(super) dry_run: bool,
}

/// An object as it was found, without its content.
pub(super) struct Found {
    pub(super) key: ObjectKey,
    pub(super) object: Value,
    resource: ApiResource,
}

/// All kinds of a cluster.
pub(super) struct Kinds(BTreeMap<(String, String), (ApiResource, bool)>);

impl Kinds {
    /// Whether objects of a kind are in a namespace; what is not known is taken for that.
    pub(super) fn is_namespaced(&self, key: &ObjectKey) -> bool {
        let known = self.0.get(&(key.gvk.group.clone(), key.gvk.kind.clone()));
        known.is_none_or(|(_, is_namespaced)| *is_namespaced)
    }
}

// === impl Site ===

impl Site {
    fn config_maps(&self) -> Api<Raw> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource("ConfigMap", "configmaps"))
    }

    /// What the server serves.
    pub(super) async fn kinds(&self) -> anyhow::Result<Kinds> {
        let served = discover(&self.client).await.context("it does not say what it serves")?;
        let mut named = BTreeSet::new();
        let mut kinds = Kinds(BTreeMap::new());
        for text in &served.api_versions {
            let mut parts: Vec<&str> = text.split('/').collect();
            let (Some(kind), Some(version)) = (parts.pop(), parts.pop()) else { continue };
            let group = parts.pop().unwrap_or_default();
            // Among kinds, the list names versions of groups as well.
            let is_kind = kind.starts_with(|letter: char| letter.is_ascii_uppercase());
            if !is_kind || !named.insert((group.to_owned(), kind.to_owned())) {
                continue;
            }
            if let Some(found) = resource_of(&self.client, &Gvk::new(group, version, kind)).await? {
                kinds.0.insert((group.to_owned(), kind.to_owned()), found);
            }
        }
        Ok(kinds)
    }

    /// The metadata of everything that says that a profile deployed it, and which kinds could not be listed.
    pub(super) async fn deployed(&self, kinds: &Kinds) -> (Vec<Found>, Vec<String>) {
        let each = |(resource, label)| async move { (self.list(resource, label).await, resource) };
        let all = kinds.0.values().flat_map(|(resource, _)| DEPLOYED.map(|label| (resource, label)));
        let answers: Vec<_> = futures::stream::iter(all).map(each).buffered(LISTS).collect().await;
        let (mut found, mut failed) = (BTreeMap::new(), BTreeSet::new());
        for (answer, resource) in answers {
            match answer {
                Ok(some) => found.extend(some.into_iter().map(|one| (one.key.clone(), one))),
                // What has no list is no object.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => {}
                Err(error) => drop(failed.insert(format!("{}: {error}", resource.kind))),
            }
        }
        (found.into_values().collect(), failed.into_iter().collect())
    }

    async fn list(&self, resource: &ApiResource, label: &str) -> Result<Vec<Found>, kube::Error> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let (mut found, mut params) = (Vec::new(), ListParams::default().labels(label).limit(PAGE));
        let gvk = Gvk::new(&*resource.group, &*resource.version, &*resource.kind);
        loop {
            let page = api.list_metadata(&params).await?;
            for item in page.items {
                let Ok(metadata) = serde_json::to_value(&item.metadata) else { continue };
                let object = json!({"metadata": metadata});
                found.push(Found { key: marks::key(&object, &gvk), object, resource: resource.clone() });
            }
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return Ok(found),
            }
        }
    }

    /// The metadata of one object; `None` where there is none.
    pub(super) async fn read(&self, key: &ObjectKey) -> anyhow::Result<Option<Found>> {
        let Some((resource, is_namespaced)) = resource_of(&self.client, &key.gvk).await? else {
            return Ok(None);
        };
        let namespace = Some(&*key.namespace).filter(|_| is_namespaced);
        let api = self.api(&resource, namespace);
        let Some(found) = api.get_metadata_opt(&segment(&key.name)).await? else { return Ok(None) };
        let object = json!({"metadata": serde_json::to_value(&found.metadata)?});
        Ok(Some(Found { key: key.clone(), object, resource }))
    }

    fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }

    /// Writes marks and managers of an object; whether anything was to be changed. A change of its metadata alone makes no new
    /// generation of it.
    pub(super) async fn rewrite(
        &self,
        found: &Found,
        marks: Option<Value>,
        is_from: impl Fn(&Value) -> bool,
        to: &Writer,
    ) -> anyhow::Result<bool> {
        let is_marked = marks.is_some();
        if self.dry_run {
            return Ok(is_marked || moved(marks::entries(&found.object), is_from, to).is_some());
        }
        let api = self.api(&found.resource, Some(&found.key.namespace));
        let (name, params) = (
            segment(&found.key.name),
            PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() },
        );
        let mut object = found.object.clone();
        if let Some(mut patch) = marks {
            patch["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
            let patched = api.patch_metadata(&name, &params, &Patch::Merge(&patch)).await?;
            object["metadata"] = serde_json::to_value(&patched.metadata)?;
        }
        let Some(entries) = moved(marks::entries(&object), is_from, to) else { return Ok(is_marked) };
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"managedFields": entries, "resourceVersion": version}});
        api.patch_metadata(&name, &params, &Patch::Merge(&patch)).await?;
        Ok(true)
    }

    /// Takes all marks off an object.
    pub(super) async fn unmark(&self, found: &Found) -> anyhow::Result<()> {
        if !self.dry_run {
            let api = self.api(&found.resource, Some(&found.key.namespace));
            let patch = Patch::Merge(without_marks());
            api.patch_metadata(&segment(&found.key.name), &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    /// Secrets with Helm's records of a release.
    pub(super) async fn records(&self, namespace: &str, release: &str) -> anyhow::Result<Vec<Value>> {
        let resource = resource("Secret", "secrets");
        let api: Api<Raw> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let params = ListParams::default().labels(&format!("owner=helm,name={release}"));
        let list = api.list(&params).await?;
        Ok(list.items.into_iter().map(|secret| secret.value).collect())
    }

    /// All inventories.
    pub(super) async fn inventories(&self) -> anyhow::Result<Vec<Stored>> {
        let params =
            ListParams::default().labels(&format!("{}={}", sluice_api::model::INVENTORY, self.kept.label()));
        let list = self.config_maps().list(&params).await?;
        Ok(list
            .items
            .iter()
            .filter_map(|object| Stored::from_object(&object.value, self.kept).ok())
            .collect())
    }

    /// Writes an inventory; what one has already that is there stays in it.
    pub(super) async fn write_inventory(&self, mut inventory: Inventory) -> anyhow::Result<()> {
        let name = self.kept.object_name(&inventory.id());
        let known = self.config_maps().get_opt(&name).await?;
        let known = known.map(|object| Stored::from_object(&object.value, self.kept)).transpose()?;
        if let Some(known) = &known {
            inventory.objects.extend(known.inventory.objects.iter().cloned());
            // What was taken over before may be as Sluice has made it since.
            inventory.adopted.retain(|path, _| !known.inventory.releases.contains_key(path));
            inventory.adopted.extend(known.inventory.adopted.clone());
            for (path, release) in &known.inventory.releases {
                inventory.releases.insert(path.clone(), release.clone());
            }
            inventory.redeployed.clone_from(&known.inventory.redeployed);
            inventory.renewed = known.inventory.renewed + 1;
        }
        let object = inventory.to_object(self.kept)?;
        self.put(object, known.map(|known| known.version)).await
    }

    pub(super) async fn delete_inventory(&self, profile: &ProfileId) -> anyhow::Result<()> {
        self.delete(&self.kept.object_name(profile)).await
    }

    /// What a former take-over has written down.
    pub(super) async fn record(&self) -> anyhow::Result<Record> {
        let found = self.config_maps().get_opt(Record::name(self.kept)).await?;
        found.map_or_else(|| Ok(Record::default()), |object| Record::from_object(&object.value))
    }

    pub(super) async fn write_record(&self, record: &Record) -> anyhow::Result<()> {
        let known = self.config_maps().get_opt(Record::name(self.kept)).await?;
        let version = known.map(|object| {
            let text = |field: &str| object::text(&object.value, &["metadata", field]).to_owned();
            (text("uid"), text("resourceVersion"))
        });
        self.put(record.to_object(self.kept)?, version).await
    }

    pub(super) async fn delete_record(&self) -> anyhow::Result<()> {
        self.delete(Record::name(self.kept)).await
    }

    async fn delete(&self, config_map: &str) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        match self.config_maps().delete(config_map, &kube::api::DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            done => Ok(done.map(drop)?),
        }
    }

    /// Creates a ConfigMap, or replaces this version of it.
    async fn put(&self, mut object: Value, version: Option<(String, String)>) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        let name = object::name(&object).to_owned();
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        let api = self.config_maps();
        if let Some((uid, version)) = version {
            object["metadata"]["uid"] = uid.into();
            object["metadata"]["resourceVersion"] = version.into();
            api.replace(&name, &params, &Raw::from(object)).await?;
            return Ok(());
        }
        let object = Raw::from(object);
        match api.create(&params, &object).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let namespaces: Api<Raw> =
                    Api::all_with(self.client.clone(), &resource("Namespace", "namespaces"));
                let namespace =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
                namespaces.create(&params, &Raw::from(namespace)).await?;
                api.create(&params, &object).await?;
            }
            done => drop(done?),
        }
        Ok(())
    }
}

/// A kind of the core group.
fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
    }
}
