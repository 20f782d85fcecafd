//! Objects of which parts are written to subresources: a server ignores such a part in what is written to the object itself.
//!
//! ```text
//! the object, "incomplete" ─► each subresource ─► the object, with its hash
//! ```
//!
//! Whoever dies in between leaves an object that says that it is not what it should be, and the next one writes all of it again.

// D-1054: an object says its hash only when its subresources are written.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use sluice_api::object;
use sluice_deployer_core::{Class, Failure, Reply, Version};
use sluice_kube::segment;

use super::fields::How;
use super::{MANAGER, Site};
use crate::failure;
use crate::tenants::Caller;

/// What an object says in place of its hash meanwhile.
const INCOMPLETE: &str = "incomplete";
const HASH: &str = "projectsveltos.io/hash";

impl Site {
    /// Applies an object, and these parts of it to subresources.
    pub(super) async fn apply_parts(
        &self,
        object: &Value,
        how: How,
        subresources: &[String],
        caller: &Caller,
    ) -> Result<Reply, Failure> {
        let mut unfinished = object.clone();
        object::metadata_map(&mut unfinished, "annotations")
            .ok_or_else(|| Failure::new(Class::Refused, "the object has no metadata"))?
            .insert(HASH.to_owned(), INCOMPLETE.into());
        let Reply::Applied(live) = self.apply(&unfinished, how.clone(), caller).await? else {
            return Err(Failure::new(Class::Unanswered, "the server answered with something else"));
        };
        let mut version = live.version();
        for part in subresources {
            version = self.apply_part(object, part, &version, caller).await?;
        }
        self.apply(object, How { against: Some(version), ..how }, caller).await
    }

    /// One part of it; the version of the object then.
    async fn apply_part(
        &self,
        object: &Value,
        part: &str,
        (uid, version): &Version,
        caller: &Caller,
    ) -> Result<Version, Failure> {
        let (key, api, body) = self.applicable(object, caller).await?;
        let metadata = json!({"name": key.name, "namespace": body["metadata"]["namespace"], "uid": uid, "resourceVersion": version});
        let mut patch = json!({"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata});
        patch[part] = body[part].clone();
        let params = PatchParams::apply(MANAGER).force();
        match api.patch_subresource(part, &segment(&key.name), &params, &Patch::Apply(&patch)).await {
            Ok(applied) => {
                let text = |field: &str| object::text(&applied.value, &["metadata", field]).to_owned();
                Ok((text("uid"), text("resourceVersion")))
            }
            Err(error) if failure::is_no_kind(&error) => Err(Failure::new(
                Class::Refused,
                format!(
                    "objects of this kind have no subresource {part}; take it out of the annotation projectsveltos.io/subresources"
                ),
            )),
            Err(error) => Err(caller.failure(&error, true)),
        }
    }
}
