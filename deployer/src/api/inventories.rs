//! Inventories: a ConfigMap each.

use kube::Api;
use kube::api::{ListParams, PostParams};
use sluice_api::model::{INVENTORY, NAMESPACE};
use sluice_api::{ProfileId, object};
use sluice_deployer_core::{Class, Failure, Inventory, Live, MANAGER, Reply, Stored, Version};
use sluice_kube::Raw;

use super::Site;

impl Site {
    /// All of the cluster.
    pub(super) async fn inventories(&self) -> Result<Reply, Failure> {
        let params = ListParams::default().labels(&format!("{INVENTORY}={}", self.kept.label()));
        let list = self.config_maps().list(&params).await.map_err(|error| self.failure(&error, false))?;
        let read = |object: Raw| match Stored::from_object(&object.value, self.kept) {
            Ok(stored) => Some(stored),
            Err(error) => {
                tracing::warn!(%error, "an inventory is left alone");
                None
            }
        };
        Ok(Reply::Inventories(list.items.into_iter().filter_map(read).collect()))
    }

    /// That of a profile.
    pub(super) async fn read_inventory(&self, profile: &ProfileId) -> Result<Reply, Failure> {
        let found = self.config_maps().get_opt(&self.kept.object_name(profile)).await;
        let Some(object) = found.map_err(|error| self.failure(&error, false))? else {
            return Ok(Reply::Inventory(None));
        };
        let stored = Stored::from_object(&object.value, self.kept).map_err(|error| {
            let remedy = "restore it, or delete it and what it listed by hand";
            Failure::new(Class::Refused, format!("{error}; {remedy}"))
        })?;
        Ok(Reply::Inventory(Some(stored)))
    }

    /// Creates it, or replaces exactly the version it was planned against: a deposed owner changes nothing.
    pub(super) async fn write_inventory(
        &self,
        inventory: &Inventory,
        against: Option<Version>,
    ) -> Result<Reply, Failure> {
        let refused = |error: serde_json::Error| Failure::new(Class::Refused, error.to_string());
        let mut object = inventory.to_object(self.kept).map_err(refused)?;
        let (api, planned) = (self.config_maps(), against.is_some());
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        if let Some((uid, version)) = against {
            object["metadata"]["uid"] = uid.into();
            object["metadata"]["resourceVersion"] = version.into();
        }
        let name = object::name(&object).to_owned();
        let raw = Raw::from(object);
        let mut result = write(&api, &name, &params, &raw, planned).await;
        if let Err(kube::Error::Api(status)) = &result
            && status.code == 404
            && !planned
        {
            self.make_namespace(NAMESPACE, &self.caller(None)?).await?;
            result = write(&api, &name, &params, &raw, planned).await;
        }
        let stored = result.map_err(|error| self.failure(&error, planned))?;
        Ok(Reply::Written(Live::of(&stored.value).version()))
    }
}

async fn write(
    api: &Api<Raw>,
    name: &str,
    params: &PostParams,
    object: &Raw,
    planned: bool,
) -> kube::Result<Raw> {
    if planned { api.replace(name, params, object).await } else { api.create(params, object).await }
}
