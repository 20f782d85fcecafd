//! What ConfigMaps and Secrets hold that pods read: only what tells it from another content leaves this place.

use sluice_api::ObjectKey;
use sluice_deployer_core::{Failure, Live, Reply, content_digest};
use sluice_kube::segment;

use super::Site;
use crate::failure;

impl Site {
    /// Reads one; the deployer does it for itself, whoever has deployed the workload.
    pub(super) async fn content(&self, key: &ObjectKey) -> Result<Reply, Failure> {
        let Some((api, _)) = self.api(key, &self.client).await? else { return Ok(Reply::Content(None)) };
        match api.get_opt(&segment(&key.name)).await {
            Ok(Some(object)) => {
                let mut object = object.value;
                object["kind"] = key.gvk.kind.clone().into();
                Ok(Reply::Content(Some((Live::of(&object).version(), content_digest(&object)))))
            }
            Ok(None) => Ok(Reply::Content(None)),
            // No object can be called so.
            Err(error) if failure::was_not_sent(&error) => Ok(Reply::Content(None)),
            Err(error) => Err(self.failure(&error, false)),
        }
    }
}
