//! The resources of one cluster: the shared built-in ones and those of its CRDs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Endpoint, ResourceDef, builtins};

/// Which resources a cluster serves now.
#[derive(Debug, Default)]
pub struct Registry {
    custom: BTreeMap<Arc<str>, Arc<ResourceDef>>,
}

// === impl Registry ===

impl Registry {
    /// The endpoint of a path, when it is served.
    pub fn by_path(&self, group: &str, version: &str, plural: &str) -> Option<Endpoint> {
        self.get(&ResourceDef::key_of(group, plural))?.endpoint(version)
    }

    /// The endpoint of an object's type, when it is served.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<Endpoint> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.iter().find(|def| *def.group == *group && *def.kind == *kind)?.endpoint(version)
    }

    /// The resource named `plural.group`.
    pub fn get(&self, key: &str) -> Option<&Arc<ResourceDef>> {
        builtins().get(key).or_else(|| self.custom.get(key))
    }

    /// All resources, built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ResourceDef>> {
        builtins().list.iter().chain(self.custom.values())
    }

    /// The resources made from CRDs.
    pub fn custom(&self) -> impl Iterator<Item = &Arc<ResourceDef>> {
        self.custom.values()
    }

    /// Serves a custom resource from now on, replacing its former definition.
    pub fn install(&mut self, def: ResourceDef) -> Arc<ResourceDef> {
        let def = Arc::new(def);
        self.custom.insert(def.key.clone(), def.clone());
        def
    }

    /// Stops serving a custom resource.
    pub fn remove(&mut self, key: &str) -> Option<Arc<ResourceDef>> {
        self.custom.remove(key)
    }
}
