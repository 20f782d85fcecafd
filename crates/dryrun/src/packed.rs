//! Objects as text: a tree of JSON takes ten times the memory of what it says, and a build of a large cluster makes
//! several objects for each that it is given.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// An object that is unpacked when it is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Packed(Box<str>);

// === impl Packed ===

impl Packed {
    pub(crate) fn of(object: &Value) -> Self {
        Self(object.to_string().into())
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}
