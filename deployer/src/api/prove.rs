//! What is sent to apply an object, and trying it.

use kube::Api;
use kube::api::PatchParams;
use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_deployer_core::{Class, Failure, Reply};
use sluice_kube::Raw;

use super::{MANAGER, Site};
use crate::tenants::Caller;
use crate::{failure, own};

impl Site {
    /// What is sent to apply it, and where to.
    pub(super) async fn applicable(
        &self,
        object: &Value,
        caller: &Caller,
    ) -> Result<(ObjectKey, Api<Raw>, Value), Failure> {
        let key = ObjectKey::of(object)
            .ok_or_else(|| Failure::new(Class::Refused, "the object has no kind or name"))?;
        let Some((api, namespace)) = self.api(&key, &caller.client).await? else {
            return Err(failure::no_kind(&key.gvk));
        };
        if self.is_management() {
            own::check(&key, object, namespace.as_deref())?;
        }
        let mut body = object.clone();
        if let Some(namespace) = namespace {
            body["metadata"]["namespace"] = namespace.into();
        } else if let Some(metadata) = body["metadata"].as_object_mut() {
            // Who rendered it did not know that the kind has none: that of its release was put there.
            metadata.remove("namespace");
        }
        Ok((key, api, body))
    }

    /// Whether the caller could write it, whatever is there.
    pub(super) async fn prove(&self, object: &Value, caller: &Caller) -> Result<Reply, Failure> {
        let (key, api, body) = self.applicable(object, caller).await?;
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force() };
        match sluice_kube::apply(&api, &key.name, &params, &body).await {
            Ok(_) => Ok(Reply::Done),
            Err(error) => Err(caller.failure(&error, false)),
        }
    }
}
