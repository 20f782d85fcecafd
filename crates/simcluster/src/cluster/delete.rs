//! Deleting objects: preconditions, finalizers, dependents.

use std::sync::Arc;

use serde_json::{Value, json};

use super::list::ListOptions;
use super::owners::owner_uids;
use super::state::{State, Write, now};
use crate::kinds::ResourceDef;
use crate::object::{Json, Object, metadata_mut};
use crate::status::ApiError;

/// What a delete asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeleteOptions {
    /// Compute the answer and change nothing.
    pub dry_run: bool,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The resourceVersion that the object must have.
    pub resource_version: Option<String>,
    /// Leave the dependents, without their reference.
    pub orphan: bool,
}

/// The result of a delete.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// It is gone; this was its last state.
    Gone(Arc<Object>),
    /// Finalizers hold it back.
    Terminating(Arc<Object>),
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Reads the body of a DELETE.
    pub fn from_json(body: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let preconditions = body.get("preconditions");
        let dry_run = body.get("dryRun").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        let orphan = body.get("propagationPolicy").and_then(Value::as_str) == Some("Orphan")
            || body.get("orphanDependents").and_then(Value::as_bool) == Some(true);
        Self {
            dry_run,
            uid: text(preconditions.and_then(|wanted| wanted.get("uid"))),
            resource_version: text(preconditions.and_then(|wanted| wanted.get("resourceVersion"))),
            orphan,
        }
    }

    fn check(&self, live: &Object, def: &ResourceDef) -> Result<(), ApiError> {
        let refuse = |field: &str, wanted: &str, found: &str, end: &str| {
            let why = format!(
                "the {field} in the precondition ({wanted}) does not match the {field} in record ({found}). \
                 The object might have been {end}"
            );
            Err(ApiError::conflict_of_kind(def, live.name(), &why))
        };
        if let Some(uid) = self.uid.as_deref().filter(|uid| *uid != live.uid()) {
            return refuse("UID", uid, live.uid(), "deleted and then recreated");
        }
        let version = live.meta_str("resourceVersion");
        match self.resource_version.as_deref().filter(|wanted| *wanted != version) {
            Some(wanted) => refuse("ResourceVersion", wanted, version, "modified"),
            None => Ok(()),
        }
    }
}

// === impl State ===

impl State {
    /// Deletes one object.
    pub fn delete(&mut self, write: &Write<'_>, options: &DeleteOptions) -> Result<Deleted, ApiError> {
        let def = &write.endpoint.def;
        let live = self
            .find(def, write.namespace, write.name)
            .cloned()
            .ok_or_else(|| ApiError::not_found(def, write.name))?;
        options.check(&live, def)?;
        if &*def.key == "namespaces" && ["default", "kube-system", "kube-public"].contains(&write.name) {
            return Err(ApiError::forbidden(def, write.name, "this namespace may not be deleted"));
        }
        if options.dry_run {
            return Ok(if self.is_held(def, &live) {
                Deleted::Terminating(live)
            } else {
                Deleted::Gone(live)
            });
        }
        if options.orphan {
            self.orphan_dependents(live.uid());
        }
        Ok(self.start_removal(def, &live))
    }

    /// Deletes everything a list selects; returns what it was.
    pub fn delete_collection(
        &mut self,
        write: &Write<'_>,
        selection: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<Vec<Arc<Object>>, ApiError> {
        let page = self.list(write.endpoint, selection)?;
        for object in page.objects.iter().filter(|_| !options.dry_run) {
            self.start_removal(&write.endpoint.def, object);
        }
        Ok(page.objects)
    }

    /// Removes an object, or marks it when something holds it back.
    pub(super) fn start_removal(&mut self, def: &Arc<ResourceDef>, live: &Arc<Object>) -> Deleted {
        // An earlier removal of this batch may have taken it along.
        let Some(live) = self.find(def, live.namespace(), live.name()).cloned() else {
            return Deleted::Gone(live.clone());
        };
        // A namespace is seen to terminate, even when there is nothing in it.
        if &*def.key != "namespaces" && !self.is_held(def, &live) {
            return Deleted::Gone(self.finish_removal(def, &live));
        }
        let marked = if live.is_terminating() { live } else { self.mark(def, &live) };
        self.clear_contents(def, &marked);
        match self.find(def, marked.namespace(), marked.name()).cloned() {
            Some(still) if self.is_held(def, &still) => Deleted::Terminating(still),
            Some(still) => Deleted::Gone(self.finish_removal(def, &still)),
            None => Deleted::Gone(marked),
        }
    }

    fn mark(&mut self, def: &ResourceDef, live: &Object) -> Arc<Object> {
        let mut body = live.body().clone();
        let metadata = metadata_mut(&mut body);
        metadata.insert("deletionTimestamp".into(), now().into());
        metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
            metadata.insert("generation".into(), (generation + 1).into());
        }
        if &*def.key == "namespaces" {
            body.insert("status".into(), json!({"phase": "Terminating"}));
        }
        self.put(def, body, live.managers().to_vec())
    }

    /// Whether something must happen before the object can go.
    pub(super) fn is_held(&self, def: &ResourceDef, object: &Object) -> bool {
        let finalizers = object.metadata().and_then(|metadata| metadata.get("finalizers"));
        finalizers.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
            || self.is_namespace_in_use(def, object)
            || self.is_crd_in_use(def, object)
    }

    /// Removes an object that nothing holds back, and what depended on it.
    pub(super) fn finish_removal(&mut self, def: &Arc<ResourceDef>, object: &Object) -> Arc<Object> {
        let last = self.remove(def, object);
        self.collect_dependents(last.uid());
        if &*def.key == "customresourcedefinitions.apiextensions.k8s.io" {
            self.unserve_crd(&last);
        }
        self.finish_owner_of(def, &last);
        last
    }

    fn clear_contents(&mut self, def: &Arc<ResourceDef>, object: &Object) {
        let contents = match &*def.key {
            "namespaces" => self.contents(object.name()),
            "customresourcedefinitions.apiextensions.k8s.io" => self.instances(object.name()),
            _ => Vec::new(),
        };
        for (def, object) in contents {
            self.start_removal(&def, &object);
        }
    }

    /// A namespace or CRD may have waited for this object to go.
    fn finish_owner_of(&mut self, def: &Arc<ResourceDef>, gone: &Object) {
        let mut waiting = Vec::new();
        if def.namespaced {
            waiting.push((self.namespaces(), gone.namespace().to_owned()));
        }
        if def.custom {
            waiting.push((self.crds(), def.key.to_string()));
        }
        for (owner_def, name) in waiting {
            let Some(owner) = self.find(&owner_def, "", &name).cloned() else { continue };
            if owner.is_terminating() && !self.is_held(&owner_def, &owner) {
                self.finish_removal(&owner_def, &owner);
            }
        }
    }

    /// Deletes what was owned by `uid` alone; the rest loses the reference.
    fn collect_dependents(&mut self, uid: &str) {
        for (def, dependent) in self.dependents(uid) {
            let others = owner_uids(dependent.metadata()).filter(|other| *other != uid).count();
            if others == 0 {
                self.start_removal(&def, &dependent);
            } else {
                self.drop_reference(&def, &dependent, uid);
            }
        }
    }

    fn orphan_dependents(&mut self, uid: &str) {
        for (def, dependent) in self.dependents(uid) {
            self.drop_reference(&def, &dependent, uid);
        }
    }

    fn dependents(&self, uid: &str) -> Vec<(Arc<ResourceDef>, Arc<Object>)> {
        let found = self.owners.dependents(uid).into_iter();
        found
            .filter_map(|(resource, key)| {
                let def = self.registry().get(&resource)?.clone();
                let object = self.find(&def, &key.namespace, &key.name)?.clone();
                Some((def, object))
            })
            .collect()
    }

    fn drop_reference(&mut self, def: &ResourceDef, dependent: &Object, uid: &str) {
        let mut body = dependent.body().clone();
        remove_reference(metadata_mut(&mut body), uid);
        self.put(def, body, dependent.managers().to_vec());
    }
}

fn remove_reference(metadata: &mut Json, uid: &str) {
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else { return };
    references.retain(|reference| reference.get("uid").and_then(Value::as_str) != Some(uid));
    if references.is_empty() {
        metadata.remove("ownerReferences");
    }
}
