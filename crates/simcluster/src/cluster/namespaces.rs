//! Namespaces: what is in them and when they can go.

use std::sync::Arc;

use super::state::State;
use crate::kinds::{ResourceDef, builtins};
use crate::object::Object;

// === impl State ===

impl State {
    /// The resource of namespaces.
    pub(super) fn namespaces(&self) -> Arc<ResourceDef> {
        builtin("namespaces")
    }

    /// Whether `object` is a namespace with something in it.
    pub(super) fn is_namespace_in_use(&self, def: &ResourceDef, object: &Object) -> bool {
        &*def.key == "namespaces" && !self.contents(object.name()).is_empty()
    }
}

/// A built-in resource that is known to exist.
pub(super) fn builtin(key: &str) -> Arc<ResourceDef> {
    match builtins().get(key) {
        Some(def) => def.clone(),
        None => unreachable!("{key} is a row of the table of built-in kinds"),
    }
}
