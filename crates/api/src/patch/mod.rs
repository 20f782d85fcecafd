//! Patches on rendered objects: what they are, and which objects they are for.
//!
//! ```text
//!   text ──► Patch ─┬─ a list: JSON Patch (RFC 6902)            ──► json
//!                   └─ a map: strategic merge, by keys of kinds ──► strategic, keys
//!   target ──► Target: which objects
//!   both   ──► Rule
//! ```

mod json;
mod keys;
mod rule;
mod strategic;
mod target;

use json_patch::PatchOperation;
use serde_json::{Map, Value};

use self::keys::Shape;
pub use self::rule::Rule;
pub(crate) use self::rule::read_target;
pub use self::target::Target;
use crate::error::TextError;
use crate::object::{self, Gvk, ObjectKey};
use crate::yaml;

/// A change of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch(Form);

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// RFC 6902.
    Operations(Vec<PatchOperation>),
    /// A strategic merge patch, for custom resources a JSON merge patch.
    Merge(Map<String, Value>),
}

// === impl Patch ===

impl Patch {
    /// Reads a patch in YAML or JSON: a list is a JSON Patch, a map is merged.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut documents = yaml::documents(text)?;
        match (documents.pop(), documents.is_empty()) {
            (Some(document), true) => Self::read(document),
            (None, _) => Err("is empty; write a list of operations or a part of an object".into()),
            (Some(_), false) => Err("holds more than one document; write a patch for each".into()),
        }
    }

    /// The same of a value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(value: Value) -> Result<Self, TextError> {
        match value {
            Value::Array(operations) => json::read(operations).map(|read| Self(Form::Operations(read))),
            Value::Object(change) => Ok(Self(Form::Merge(change))),
            other => {
                Err(format!("{other} is no patch; write a list of operations or a part of an object").into())
            }
        }
    }

    /// Whether it is for this object. Without a target, a patch that names an object is for that one only.
    pub fn is_for(&self, target: Option<&Target>, object: &Value) -> bool {
        match (target, &self.0) {
            (Some(target), _) => target.selects(object),
            (None, Form::Operations(_)) => true,
            (None, Form::Merge(change)) => target::names(change, object),
        }
    }

    /// The object with the change; `None` when the patch deletes it. A merge changes no name, whatever it says.
    ///
    /// # Errors
    /// Why it does not apply.
    pub fn apply(&self, object: &Value) -> Result<Option<Value>, TextError> {
        let patched = match &self.0 {
            Form::Operations(operations) => json::apply(object.clone(), operations)?,
            Form::Merge(change) => {
                let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
                let shape = Shape::of(&gvk.group, &gvk.kind);
                let Some(mut merged) = strategic::merge(object.clone(), change, shape)? else {
                    return Ok(None);
                };
                keep_identity(&mut merged, object);
                merged
            }
        };
        match ObjectKey::of(&patched) {
            Some(_) => Ok(Some(patched)),
            None => Err("leaves an object without apiVersion, kind or metadata.name".into()),
        }
    }
}

/// Names and kind of an object stay: a patch often says them only because a part of an object has to have them.
fn keep_identity(merged: &mut Value, object: &Value) {
    let mut keep = |path: &[&str]| {
        let (last, above) = path.split_last()?;
        let place = above.iter().try_fold(&mut *merged, |value, key| value.get_mut(key));
        match (place, object::at(object, path)) {
            (Some(Value::Object(map)), Some(was)) => drop(map.insert((*last).to_owned(), was.clone())),
            (Some(Value::Object(map)), None) => drop(map.remove(*last)),
            _ => {}
        }
        Some(())
    };
    keep(&["apiVersion"]);
    keep(&["kind"]);
    keep(&["metadata", "name"]);
    keep(&["metadata", "namespace"]);
}

#[cfg(test)]
mod tests;
