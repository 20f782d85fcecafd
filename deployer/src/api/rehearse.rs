//! Trying what would be written, without writing it.

use std::sync::Arc;

use kube::api::{DeleteParams, PatchParams, Preconditions};
use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_deployer_core::{Failure, MANAGER, Reply, Version, leave_excluded};
use sluice_difference::{Hide, shown};
use sluice_kube::segment;

use super::Site;
use super::namespaces::is_lacking;
use crate::tenants::Caller;

impl Site {
    /// What the object would be like, as the server says itself, beside what it is now.
    pub(super) async fn rehearse(
        &self,
        object: &Arc<Value>,
        excluded: &[String],
        (make_namespace, hide): (bool, Hide),
        caller: &Caller,
    ) -> Result<Reply, Failure> {
        let (key, api, body) = self.applicable(object, caller).await?;
        let there = match self.api(&key, &self.client).await? {
            Some((api, _)) => {
                api.get_opt(&segment(&key.name)).await.map_err(|error| self.failure(&error, false))?
            }
            None => None,
        };
        let body = match &there {
            Some(there) if !excluded.is_empty() => leave_excluded(body, &there.value, excluded),
            _ => body,
        };
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force() };
        let after = match sluice_kube::apply(&api, &key.name, &params, &body).await {
            Ok(after) => after,
            // It would be made before.
            Err(error) if make_namespace && is_lacking(&error, &body) => {
                return Ok(Reply::Rehearsed { exists: false, difference: None });
            }
            Err(error) => return Err(caller.failure(&error, false)),
        };
        let (kind, name) = (&key.gvk.kind, &key.name);
        let headings = (format!("deployed: {kind} {name}"), format!("proposed: {kind} {name}"));
        let before = there.as_ref().map(|there| &there.value);
        let difference =
            before.and_then(|_| shown((&headings.0, &headings.1), before, Some(&after.value), hide));
        Ok(Reply::Rehearsed { exists: there.is_some(), difference })
    }

    /// Whether the deployer could delete exactly this object.
    pub(super) async fn rehearse_delete(
        &self,
        key: &ObjectKey,
        (uid, resource_version): Version,
    ) -> Result<Reply, Failure> {
        let caller = self.caller(None)?;
        let Some((api, _)) = self.api(key, &caller.client).await? else { return Ok(Reply::Done) };
        let preconditions = Preconditions { uid: Some(uid), resource_version: Some(resource_version) };
        let params =
            DeleteParams { dry_run: true, preconditions: Some(preconditions), ..DeleteParams::background() };
        match api.delete(&segment(&key.name), &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Reply::Done),
            Err(error) => Err(caller.failure(&error, true)),
            Ok(_) => Ok(Reply::Done),
        }
    }
}
