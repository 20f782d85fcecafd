//! Objects that have a name which users may give to their own: those are never written over, nor deleted.
//!
//! Who decides that something is to be written may not have heard yet of what a user has written a moment before.

use kube::api::{DeleteParams, Preconditions};
use kube::core::Status;
use kube::{Api, Error};
use serde_json::Value;
use sluice_api::model::MADE_OF_EVENTS;
use sluice_api::{ObjectKey, object};
use sluice_kube::{Raw, segment};

use super::send::{Target, as_new};

/// Whether users write objects of this kind too.
pub(super) fn is_shared(key: &ObjectKey) -> bool {
    key.gvk.kind == "ClusterProfile"
}

/// Creates the object, or writes it where one is there that was made of events as well. That is asked only where there is one.
pub(super) async fn apply_own(target: &Target<'_>, wanted: &str) -> Result<(), Error> {
    match target.object(&as_new(wanted)?).await {
        Err(Error::Api(status)) if status.code == 409 => {}
        done => return done,
    }
    match target.api.get_opt(&segment(&target.key.name)).await? {
        Some(there) if !is_own(&there.value) => {
            let message = format!("{} is somebody else's", target.key);
            Err(Error::Api(Box::new(Status { code: 409, message, ..Status::default() })))
        }
        _ => target.object(wanted).await,
    }
}

/// Deletes the object where it was made of events.
pub(super) async fn delete_own(api: &Api<Raw>, key: &ObjectKey) -> Result<(), Error> {
    let Some(there) = api.get_opt(&segment(&key.name)).await?.filter(|there| is_own(&there.value)) else {
        return Ok(());
    };
    let uid = Some(object::text(&there.value, &["metadata", "uid"]).to_owned());
    let preconditions = Some(Preconditions { uid, resource_version: None });
    api.delete(&segment(&key.name), &DeleteParams { preconditions, ..DeleteParams::default() })
        .await
        .map(drop)
}

fn is_own(there: &Value) -> bool {
    let labels = object::at(there, &["metadata", "labels"]).and_then(Value::as_object);
    labels.is_some_and(|labels| labels.keys().any(|label| label.starts_with(MADE_OF_EVENTS)))
}
