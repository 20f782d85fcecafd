//! Replacing objects: what a PUT and every patch end in.

use std::sync::Arc;

use serde_json::Value;

use super::incoming::{Incoming, Managed, Source};
use super::state::{State, Write, Written, now};
use crate::admission;
use crate::fields::{Manager, track_update};
use crate::kinds::ResourceDef;
use crate::object::{Json, Object, meta_str, metadata_mut};
use crate::status::ApiError;

/// How field ownership follows from a write.
#[derive(Debug)]
pub enum Ownership {
    /// It was computed by an apply.
    Given(Vec<Manager>),
    /// It follows from what changes.
    Tracked(Managed),
}

// === impl State ===

impl State {
    /// Replaces an object.
    pub fn update(&mut self, value: Value, write: &Write<'_>) -> Result<Written, ApiError> {
        let incoming = Incoming::read(value, write, Source::Body)?;
        let def = &write.endpoint.def;
        let live = self
            .find(def, write.namespace, write.name)
            .cloned()
            .ok_or_else(|| ApiError::not_found(def, write.name))?;
        check_identity(&incoming.body, &live, def)?;
        if def.custom && incoming.resource_version().is_empty() {
            return Err(ApiError::version_required(def, write.name));
        }
        let mut written = self.replace(&live, incoming.body, Ownership::Tracked(incoming.managed), write)?;
        written.warnings.extend(incoming.warnings);
        Ok(written)
    }

    /// Turns `live` into `body`, as far as this path may write it.
    pub(super) fn replace(
        &mut self,
        live: &Arc<Object>,
        mut body: Json,
        ownership: Ownership,
        write: &Write<'_>,
    ) -> Result<Written, ApiError> {
        let def = write.endpoint.def.clone();
        restrict(&mut body, live, write);
        let warnings = admission::complete(&mut body, Some(live.body()), write)?;
        keep_allocated(&mut body, live, &def);
        let changed = count_generation(&mut body, live, write);
        let managers = match ownership {
            Ownership::Given(managers) => managers,
            Ownership::Tracked(managed) => {
                let former = match managed {
                    Managed::Keep => live.managers().to_vec(),
                    Managed::Set(managers) => managers,
                    Managed::Reset => Vec::new(),
                };
                track_update(Some(live.body()), &body, former, &write.applier(&now()))
            }
        };
        if !changed && *live.managers().as_ref() == *managers {
            return Ok(Written { object: live.clone(), created: false, warnings });
        }
        let object = self.store_or_finish(live, body, managers, write);
        Ok(Written { object, created: false, warnings })
    }

    /// Stores the new state, or removes the object when it was only waiting for its finalizers.
    fn store_or_finish(
        &mut self,
        live: &Arc<Object>,
        body: Json,
        managers: Vec<Manager>,
        write: &Write<'_>,
    ) -> Arc<Object> {
        let def = write.endpoint.def.clone();
        if write.options.dry_run {
            return Arc::new(Object::new(body, managers.into(), live.resource_version()));
        }
        let object = Object::new(body, managers.clone().into(), live.resource_version());
        if object.is_terminating() && !self.is_held(&def, &object) {
            return self.finish_removal(&def, &object);
        }
        let object = self.put(&def, object.into_body(), managers);
        self.after_write(&def, &object);
        object
    }
}

/// The uid and resourceVersion of a write must be those of the stored object, when given.
pub(super) fn check_identity(body: &Json, live: &Object, def: &ResourceDef) -> Result<(), ApiError> {
    let uid = meta_str(body, "uid");
    if !uid.is_empty() && uid != live.uid() {
        let why =
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", live.uid());
        return Err(ApiError::conflict(def, live.name(), &why));
    }
    let version = meta_str(body, "resourceVersion");
    if !matches!(version, "" | "0") && version != live.meta_str("resourceVersion") {
        return Err(ApiError::stale(def, live.name()));
    }
    Ok(())
}

/// Takes back what this path may not write: identity always, status on the main path, all but
/// status on `/status`.
fn restrict(body: &mut Json, live: &Object, write: &Write<'_>) {
    if write.is_status() {
        let status = body.remove("status");
        body.clone_from(live.body());
        match status {
            Some(status) => body.insert("status".into(), status),
            None => body.remove("status"),
        };
        return;
    }
    if write.endpoint.version().status && !write.endpoint.def.key.starts_with("nodes") {
        match live.body().get("status") {
            Some(status) => body.insert("status".into(), status.clone()),
            None => body.remove("status"),
        };
    }
    let metadata = metadata_mut(body);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "selfLink",
        "generateName",
    ] {
        match live.metadata().and_then(|metadata| metadata.get(field)) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

/// A Service keeps its address, and a claimed volume name and the like stay out of scope.
fn keep_allocated(body: &mut Json, live: &Object, def: &ResourceDef) {
    if &*def.key != "services" {
        return;
    }
    let Some(spec) = body.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return;
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec.contains_key(field)
            && let Some(value) = live.body().get("spec").and_then(|spec| spec.get(field))
        {
            spec.insert(field.into(), value.clone());
        }
    }
}

/// Counts a change of the spec; returns whether anything changed at all.
fn count_generation(body: &mut Json, live: &Object, write: &Write<'_>) -> bool {
    if body == live.body() {
        return false;
    }
    let def = &write.endpoint.def;
    let has_status = write.endpoint.version().status;
    let counted = |name: &String| name != "metadata" && !(has_status && name == "status");
    let differs = body
        .keys()
        .chain(live.body().keys())
        .any(|name| counted(name) && body.get(name) != live.body().get(name));
    if def.generation && !write.is_status() && differs {
        let generation =
            live.metadata().and_then(|metadata| metadata.get("generation")).and_then(Value::as_i64);
        metadata_mut(body).insert("generation".into(), (generation.unwrap_or(0) + 1).into());
    }
    true
}
