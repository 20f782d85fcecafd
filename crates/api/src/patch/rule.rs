//! A patch together with the objects it is for, and how ConfigMaps and Secrets hold them.

use serde_json::{Map, Value};

use super::{Patch, Target};
use crate::error::TextError;
use crate::yaml;

/// A patch and the objects it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The change.
    pub patch: Patch,
    /// The objects; without a target those that the patch names, or all.
    pub target: Option<Target>,
}

// === impl Rule ===

impl Rule {
    /// Reads everything that one value of a ConfigMap or Secret says: `patch` and `target`, a list of such, or one patch
    /// for all objects.
    ///
    /// # Errors
    /// The field, and what is wrong with it.
    pub fn read_all(text: &str) -> Result<Vec<Self>, TextError> {
        let mut rules = Vec::new();
        for document in yaml::documents(text)? {
            match document {
                Value::Object(map) if is_rule(&map) => {
                    rules.push(Self::of(&map).map_err(|(field, error)| error.within(field))?);
                }
                Value::Array(items) if items.iter().any(|item| item.as_object().is_some_and(is_rule)) => {
                    rules.extend(Self::of_list(&items)?);
                }
                other => rules.push(Self { patch: Patch::read(other)?, target: None }),
            }
        }
        Ok(rules)
    }

    fn of_list(items: &[Value]) -> Result<Vec<Self>, TextError> {
        let one = |(index, item): (usize, &Value)| {
            let map = item.as_object().ok_or_else(|| format!("[{index}]: must have patch and target"))?;
            Self::of(map).map_err(|(field, error)| error.within(format!("[{index}].{field}")))
        };
        items.iter().enumerate().map(one).collect()
    }

    fn of(map: &Map<String, Value>) -> Result<Self, (String, TextError)> {
        if let Some(field) = map.keys().find(|field| !matches!(field.as_str(), "patch" | "target")) {
            return Err((field.clone(), "there is no such field beside patch; there is target".into()));
        }
        let text = map.get("patch").and_then(Value::as_str);
        let text = text.ok_or_else(|| ("patch".to_owned(), "must be a text, as a block after |".into()))?;
        let patch = Patch::parse(text).map_err(|error| ("patch".to_owned(), error))?;
        Ok(Self { patch, target: read_target(map.get("target"))? })
    }

    /// The object with the change, or as it was when it is another's; `None` when the patch deletes it.
    ///
    /// # Errors
    /// Why it does not apply.
    pub fn apply(&self, object: Value) -> Result<Option<Value>, TextError> {
        if self.patch.is_for(self.target.as_ref(), &object) {
            self.patch.apply(&object)
        } else {
            Ok(Some(object))
        }
    }
}

/// Reads a target.
///
/// # Errors
/// The path of the field below its parent, and what is wrong with it.
pub(crate) fn read_target(value: Option<&Value>) -> Result<Option<Target>, (String, TextError)> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let path = |field: String| if field.is_empty() { "target".to_owned() } else { format!("target.{field}") };
    Target::read(value).map(Some).map_err(|(field, error)| (path(field), error.into()))
}

/// Whether a map holds a patch instead of being one: a part of an object has no such field beside its others.
fn is_rule(map: &Map<String, Value>) -> bool {
    map.contains_key("patch") && !map.contains_key("kind") && !map.contains_key("op")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    }

    /// The labels of two objects after all of it.
    fn labels(text: &str) -> [Value; 2] {
        let rules = Rule::read_all(text).unwrap();
        ["a", "b"].map(|name| {
            let mut object = object(name);
            for rule in &rules {
                object = rule.apply(object).unwrap().unwrap();
            }
            object["metadata"]["labels"].clone()
        })
    }

    const ONE: &str = "patch: |\n  metadata: {labels: {x: '1'}}\ntarget: {name: a}\n";

    #[test]
    fn a_value_holds_one_or_many_or_is_a_patch_itself() {
        let (x, none) = (json!({"x": "1"}), Value::Null);
        assert_eq!(labels(ONE), [x.clone(), none.clone()]);
        assert_eq!(labels("metadata: {labels: {x: '1'}}"), [x.clone(), x.clone()]);
        assert_eq!(labels("- {op: add, path: /metadata/labels, value: {x: '1'}}"), [x.clone(), x.clone()]);
        let list = "- patch: '{metadata: {labels: {x: \"1\"}}}'\n  target: {name: b}\n- patch: '{metadata: {labels: {z: \"2\"}}}'\n";
        assert_eq!(labels(list), [json!({"z": "2"}), json!({"x": "1", "z": "2"})]);
        assert_eq!(labels(&format!("{ONE}---\n{ONE}")), [x, none]);
        assert!(Rule::read_all("# nothing yet\n").unwrap().is_empty());
    }

    #[test]
    fn mistakes_name_their_field() {
        for (text, part) in [
            ("patch: {a: 1}", "patch: must be a text"),
            ("patch: 'a: ['", "patch: "),
            ("{patch: 'a: 1', target: {name: '['}}", "target.name: \"[\" is no regular expression"),
            ("{patch: 'a: 1', target: 5}", "target: 5 is no target"),
            ("{patch: 'a: 1', targets: {}}", "targets: there is no such field"),
            ("[{patch: 'a: 1'}, {target: {}}]", "[1].patch: must be a text"),
            ("[{patch: 'a: 1'}, 5]", "[1]: must have patch"),
            ("5", "5 is no patch"),
        ] {
            let error = Rule::read_all(text).unwrap_err();
            assert!(error.text().contains(part), "{text}: {error}");
        }
    }
}
