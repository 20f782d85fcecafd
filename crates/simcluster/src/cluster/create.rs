//! Creating objects.

use std::sync::Arc;

use serde_json::Value;

use super::incoming::{Incoming, Managed, Source};
use super::state::{State, Write, Written, now};
use crate::admission;
use crate::fields::{Manager, track_update};
use crate::kinds::ResourceDef;
use crate::object::{Json, Object, meta_str, metadata_mut};
use crate::status::{ApiError, Cause};

// === impl State ===

impl State {
    /// Creates an object.
    pub fn create(&mut self, value: Value, write: &Write<'_>) -> Result<Written, ApiError> {
        let mut incoming = Incoming::read(value, write, Source::Body)?;
        if !matches!(incoming.resource_version(), "" | "0") {
            // The real server calls this an internal error.
            return Err(ApiError::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        self.generate_name(&mut incoming.body);
        let def = write.endpoint.def.clone();
        let name = meta_str(&incoming.body, "name").to_owned();
        self.check_namespace(&def, write.namespace, &name)?;
        if self.find(&def, write.namespace, &name).is_some() {
            return Err(ApiError::already_exists(&def, &name));
        }
        let mut warnings = std::mem::take(&mut incoming.warnings);
        warnings.extend(self.prepare_new(&mut incoming.body, write)?);
        let former = match incoming.managed {
            Managed::Set(managers) => managers,
            Managed::Keep | Managed::Reset => Vec::new(),
        };
        let time = now();
        let managers = track_update(None, &incoming.body, former, &write.applier(&time));
        let object = self.insert(incoming.body, managers, write);
        Ok(Written { object, created: true, warnings })
    }

    /// Fills in what the server sets on new objects, and checks the result.
    pub(super) fn prepare_new(
        &mut self,
        body: &mut Json,
        write: &Write<'_>,
    ) -> Result<Vec<String>, ApiError> {
        let def = &write.endpoint.def;
        if write.endpoint.version().status && !(def.key.starts_with("nodes") && def.group.is_empty()) {
            body.remove("status");
        }
        let uid = self.new_uid();
        let metadata = metadata_mut(body);
        for field in
            ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "resourceVersion"]
        {
            metadata.remove(field);
        }
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), now().into());
        if def.generation {
            metadata.insert("generation".into(), 1.into());
        }
        admission::complete(body, None, write)
    }

    /// Stores a new object and does what follows from it; nothing on a dry run.
    pub(super) fn insert(
        &mut self,
        mut body: Json,
        managers: Vec<Manager>,
        write: &Write<'_>,
    ) -> Arc<Object> {
        // Allocated values come after the bookkeeping: nobody owns them.
        admission::allocate(&mut body, &write.endpoint.def, || self.cluster_ip());
        if write.options.dry_run {
            return Arc::new(Object::new(body, managers.into(), 0));
        }
        let object = self.put(&write.endpoint.def, body, managers);
        self.after_write(&write.endpoint.def, &object);
        object
    }

    /// What follows from a write: CRDs are served.
    pub(super) fn after_write(&mut self, def: &Arc<ResourceDef>, object: &Arc<Object>) {
        if &*def.key == "customresourcedefinitions.apiextensions.k8s.io" {
            self.serve_crd(def, object);
        }
    }

    fn generate_name(&mut self, body: &mut Json) {
        let prefix = meta_str(body, "generateName").to_owned();
        if meta_str(body, "name").is_empty() && !prefix.is_empty() {
            let name = format!("{prefix}{}", self.name_suffix());
            metadata_mut(body).insert("name".into(), name.into());
        }
    }

    /// A namespaced object needs a namespace that exists and is not going away.
    pub(super) fn check_namespace(
        &self,
        def: &ResourceDef,
        namespace: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        if !def.namespaced {
            return Ok(());
        }
        let namespaces = self.namespaces();
        let Some(found) = self.find(&namespaces, "", namespace) else {
            return Err(ApiError::not_found(&namespaces, namespace));
        };
        if !found.is_terminating() {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        };
        Err(ApiError::forbidden(def, name, &why).with_cause(&cause))
    }
}
