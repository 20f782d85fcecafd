//! Objects of the management cluster that templates may read by an identifier.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_renderer_core::Resource;

/// The objects of the input, by their keys.
pub(crate) struct Resources(BTreeMap<ObjectKey, Arc<Value>>);

impl Resources {
    /// Every object but contents: a renderer knows those without asking.
    pub(crate) fn of(management: &[Value]) -> Self {
        let content = |key: &ObjectKey| {
            key.gvk.group.is_empty() && matches!(key.gvk.kind.as_str(), "ConfigMap" | "Secret")
        };
        let keyed = management.iter().filter_map(|object| Some((ObjectKey::of(object)?, object)));
        Self(
            keyed
                .filter(|(key, _)| !content(key))
                .map(|(key, object)| (key, Arc::new(object.clone())))
                .collect(),
        )
    }

    /// The object of a key that leaves the version to the server.
    fn in_any_version(&self, key: &ObjectKey) -> Option<&Arc<Value>> {
        let is_it = |found: &ObjectKey| {
            found.gvk.is_kind_of(&key.gvk) && found.namespace == key.namespace && found.name == key.name
        };
        self.0
            .iter()
            .filter(|_| key.gvk.version.is_empty())
            .find(|(found, _)| is_it(found))
            .map(|(_, object)| object)
    }

    /// The object of this key. A kind without namespaces has it under none.
    pub(crate) fn find(&self, key: &ObjectKey) -> Resource {
        let anywhere = ObjectKey { namespace: String::new(), ..key.clone() };
        let found = self.0.get(key).or_else(|| self.0.get(&anywhere)).or_else(|| self.in_any_version(key));
        found.cloned().map_or(Resource::Absent, Resource::There)
    }
}
