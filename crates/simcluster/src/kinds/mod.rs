//! What a cluster can serve: resource definitions, built in or made from CRDs.

mod builtin;
mod registry;

use std::sync::Arc;

use crate::object::TypePrefix;
use crate::schema::{Schema, Structural};
use crate::table::Column;

pub use builtin::{VIRTUAL, builtins, is_builtin_group};
pub use registry::Registry;

/// One resource, for example `services` or `widgets.example.com`, in all its versions.
#[derive(Debug)]
pub struct ResourceDef {
    /// API group; empty for core.
    pub group: Box<str>,
    /// Kind of one object.
    pub kind: Box<str>,
    /// Kind of a list.
    pub list_kind: Box<str>,
    /// Name in paths.
    pub plural: Box<str>,
    /// Name for people.
    pub singular: Box<str>,
    /// Abbreviations.
    pub short_names: Vec<Box<str>>,
    /// Groups of resources such as `all`.
    pub categories: Vec<Box<str>>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether it comes from a CRD.
    pub custom: bool,
    /// Whether a change of the spec counts in `metadata.generation`.
    pub generation: bool,
    /// Served versions, preferred first.
    pub versions: Vec<VersionDef>,
    /// `plural.group`: the name under which all versions share one collection.
    pub key: Arc<str>,
}

/// One version of a resource.
#[derive(Debug)]
pub struct VersionDef {
    /// For example `v1beta1`.
    pub name: Box<str>,
    /// `group/version`, or `v1`.
    pub api_version: Box<str>,
    /// Shape of the objects: merge keys, atomic parts, defaults, what to prune.
    pub schema: Arc<Schema>,
    /// Rules of a custom resource: what to prune, to default and to refuse.
    pub structural: Option<Structural>,
    /// Whether `/status` exists.
    pub status: bool,
    /// Columns of its tables; empty for those known by kind.
    pub columns: Vec<Column>,
    /// Start of every object's JSON.
    pub prefix: TypePrefix,
}

/// A resource in the version that a request names.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The resource.
    pub def: Arc<ResourceDef>,
    version: usize,
}

// === impl ResourceDef ===

impl ResourceDef {
    /// `services`, or `widgets.example.com`: how messages name a resource.
    pub fn qualified(&self) -> &str {
        &self.key
    }

    /// `Service`, or `Widget.example.com`.
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.to_string() } else { format!("{}.{}", self.kind, self.group) }
    }

    /// The name of the shared collection.
    pub fn key_of(group: &str, plural: &str) -> String {
        if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
    }

    /// This resource in `version`.
    pub fn endpoint(self: &Arc<Self>, version: &str) -> Option<Endpoint> {
        let index = self.versions.iter().position(|candidate| &*candidate.name == version)?;
        Some(Endpoint { def: self.clone(), version: index })
    }
}

/// `v1` or `group/version`.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

// === impl Endpoint ===

impl Endpoint {
    /// The version that the request names.
    pub fn version(&self) -> &VersionDef {
        &self.def.versions[self.version]
    }

    /// `apiVersion` of the objects of this endpoint.
    pub fn api_version(&self) -> &str {
        &self.version().api_version
    }

    /// Shape of the objects of this endpoint.
    pub fn schema(&self) -> &Schema {
        &self.version().schema
    }
}
