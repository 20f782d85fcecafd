//! Fields of an object that others own, and which are ours.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_deployer_core::{Class, Failure, Live, Version, leave_excluded, own_fields};
use sluice_kube::segment;

use super::Site;

/// How an object is applied.
#[derive(Clone)]
pub(super) struct How {
    pub(super) against: Option<Version>,
    pub(super) make_namespace: bool,
    pub(super) watched: bool,
}

/// What is known of an object, and, where it is watched, which of its fields are ours.
pub(super) fn seen(object: &Value, watched: bool) -> Live {
    let fields = if watched { own_fields(&object["metadata"]) } else { None };
    Live { fields, ..Live::of(object) }
}

impl Site {
    /// An object without fields that others own, where it exists and there are fields that are left to them.
    pub(super) async fn as_allowed(
        &self,
        object: Arc<Value>,
        against: Option<&Version>,
        excluded: &[String],
    ) -> Result<Arc<Value>, Failure> {
        let key = ObjectKey::of(&object).filter(|_| !excluded.is_empty());
        let Some((key, against)) = key.zip(against) else { return Ok(object) };
        let Some((api, _)) = self.api(&key, &self.client).await? else { return Ok(object) };
        let there = api.get_opt(&segment(&key.name)).await.map_err(|error| self.failure(&error, true))?;
        match there {
            Some(there) if Live::of(&there.value).version() == *against => {
                Ok(Arc::new(leave_excluded((*object).clone(), &there.value, excluded)))
            }
            _ => Err(Failure::new(Class::Conflict, "the object has been modified")),
        }
    }
}
