//! Server-side apply of one object.

use std::sync::Arc;

use serde_json::Value;

use super::incoming::{Incoming, Managed, Source};
use super::state::{State, Write, Written, now};
use super::update::{Ownership, check_identity};
use crate::admission;
use crate::fields;
use crate::kinds::ResourceDef;
use crate::object::{Json, Object, meta_str, metadata_mut};
use crate::status::{ApiError, Cause};

// === impl State ===

impl State {
    /// Applies a configuration: creates the object or merges it into the stored one.
    pub fn apply(&mut self, value: Value, write: &Write<'_>) -> Result<Written, ApiError> {
        let def = write.endpoint.def.clone();
        let mut incoming = Incoming::read(value, write, Source::Apply)?;
        if matches!(incoming.managed, Managed::Set(_)) {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        if write.options.field_manager.is_empty() {
            return Err(missing_manager());
        }
        let live = self.find(&def, write.namespace, write.name).cloned();
        if let Some(live) = &live {
            check_owner(&incoming.body, live, &def)?;
            let who = write.applier("");
            if fields::is_applied(live.body(), live.managers(), &incoming.body, &who) {
                return Ok(Written::unchanged(live));
            }
        }
        incoming.check_types(write, Source::Apply)?;
        fields::check(&incoming.body, write.endpoint.schema()).map_err(|why| untyped(&why, write))?;
        match live {
            Some(live) => self.apply_to(&live, incoming.body, write),
            None if !write.subresource.is_empty() => Err(ApiError::not_found(&def, write.name)),
            None => self.apply_new(incoming.body, write),
        }
    }

    fn apply_new(&mut self, mut config: Json, write: &Write<'_>) -> Result<Written, ApiError> {
        let def = write.endpoint.def.clone();
        let uid = meta_str(&config, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(ApiError::conflict(&def, write.name, &why));
        }
        self.check_namespace(&def, write.namespace, write.name)?;
        strip(&mut config);
        let warnings = admission::prune_config(&mut config, write)?;
        let time = now();
        let applied = fields::apply(None, &config, &write.applier(&time), write.options.force)
            .map_err(|causes| ApiError::apply_conflict(&causes))?;
        let mut body = applied.body;
        self.prepare_new(&mut body, write)?;
        let object = self.insert(body, applied.managers, write);
        Ok(Written { object, created: true, warnings })
    }

    fn apply_to(
        &mut self,
        live: &Arc<Object>,
        mut config: Json,
        write: &Write<'_>,
    ) -> Result<Written, ApiError> {
        strip(&mut config);
        let warnings = admission::prune_config(&mut config, write)?;
        let time = now();
        let before = Some((live.body(), live.managers().as_ref()));
        let applied = fields::apply(before, &config, &write.applier(&time), write.options.force)
            .map_err(|causes| ApiError::apply_conflict(&causes))?;
        let mut written = self.replace(live, applied.body, Ownership::Given(applied.managers), write)?;
        written.warnings = warnings;
        Ok(written)
    }
}

/// What the server sets is not applied.
fn strip(config: &mut Json) {
    let metadata = metadata_mut(config);
    for field in
        ["uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "deletionTimestamp"]
    {
        metadata.remove(field);
    }
}

/// The uid and resourceVersion of a configuration must be those of the stored object, when given.
fn check_owner(config: &Json, live: &Object, def: &ResourceDef) -> Result<(), ApiError> {
    let uid = meta_str(config, "uid");
    if !uid.is_empty() && uid != live.uid() {
        let cause = Cause::invalid("metadata.uid", &Value::from(uid).to_string(), "field is immutable");
        return Err(ApiError::invalid(def, live.name(), &[cause]));
    }
    check_identity(config, live, def)
}

/// The real server calls this an internal error.
pub(super) fn untyped(why: &str, write: &Write<'_>) -> ApiError {
    let (object, api_version) = (format!("{}/{}", write.namespace, write.name), write.endpoint.api_version());
    let kind = &write.endpoint.def.kind;
    let message =
        format!("failed to create typed patch object ({object}; {api_version}, Kind={kind}): {why}");
    ApiError::new(500, "", message)
}

fn missing_manager() -> ApiError {
    let message =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    ApiError::new(422, "Invalid", message)
}
