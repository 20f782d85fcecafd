//! The shape of objects as far as writes need it: which lists merge by which keys, which parts are
//! replaced as a whole, which members are entries of a map rather than fields of a type.

mod builtin;
mod crd;
mod structural;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

pub use builtin::{builtin, object_meta};
pub use crd::from_crd;
pub use structural::Structural;

/// Shape of one value.
#[derive(Debug)]
pub enum Schema {
    /// A scalar, or a part of a built-in type that is not described: objects merge, lists are atomic.
    Any,
    /// Free content of a custom resource: objects are maps, lists are atomic.
    Untyped,
    /// Replaced as a whole.
    Atomic,
    /// Set by the server; nobody owns it.
    Ignored,
    /// An object of a built-in type with named fields; those that are not listed are `Any`.
    Struct(HashMap<Box<str>, Arc<Schema>>),
    /// An object of a custom resource with named fields.
    Custom(HashMap<Box<str>, Arc<Schema>>),
    /// An object whose members are entries.
    Map(Arc<Schema>),
    /// A list whose items are told apart by some of their fields.
    ListMap(ListMap),
    /// A list of distinct scalars.
    Set,
}

/// A list whose items are told apart by some of their fields.
#[derive(Debug)]
pub struct ListMap {
    /// The fields that identify an item, in alphabetical order, with their defaults.
    pub keys: Vec<(Box<str>, Option<Value>)>,
    /// The one field that a strategic merge patch uses.
    pub patch_key: Box<str>,
    /// Shape of an item.
    pub item: Arc<Schema>,
}

/// Fields of the built-in types that are not pointers.
const ALWAYS_WRITTEN: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "template",
    "jobTemplate",
    "strategy",
    "updateStrategy",
    "loadBalancer",
    "resources",
    "containers",
    "podSelector",
    "roleRef",
];

// === impl Schema ===

impl Schema {
    /// The shape of a member of an object of this shape.
    pub fn field(&self, name: &str) -> &Schema {
        match self {
            Self::Struct(fields) | Self::Custom(fields) => fields.get(name).map_or(&Self::Any, |field| field),
            Self::Map(values) => values,
            Self::Untyped => &Self::Untyped,
            _ => &Self::Any,
        }
    }

    /// Whether a field of a built-in type is written even when it is empty, because its type is not
    /// a pointer. Such a field is never added, so nobody owns it as a whole.
    pub fn always_writes(&self, field: &str) -> bool {
        match self {
            Self::Struct(_) | Self::Any => ALWAYS_WRITTEN.contains(&field),
            Self::Custom(_) => field == "metadata",
            _ => false,
        }
    }

    /// The shape of an item of a list of this shape.
    pub fn item(&self) -> &Schema {
        match self {
            Self::ListMap(list) => &list.item,
            _ => &Self::Any,
        }
    }

    /// Whether the members of an object of this shape are entries of a map.
    pub fn is_map(&self) -> bool {
        matches!(self, Self::Map(_) | Self::Untyped)
    }
}
