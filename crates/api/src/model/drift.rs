//! What of a profile's objects is put right when somebody else changes it.

use serde_json::{Map, Value};

use super::read::Field;
use crate::error::{FieldError, TextError};
use crate::patch::{Target, read_target};

/// Fields that are left to who owns them.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftExclusion {
    /// JSON pointers.
    pub paths: Vec<String>,
    /// Objects it is for; without a target all.
    pub target: Option<Target>,
}

// === impl DriftExclusion ===

impl DriftExclusion {
    /// All of a spec.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn all(spec: &Map<String, Value>) -> Result<Vec<Self>, FieldError> {
        let Some(list) = spec.get("driftExclusions") else { return Ok(Vec::new()) };
        let spec = Map::from_iter([("driftExclusions".to_owned(), list.clone())]);
        let root = Value::Object(Map::from_iter([("spec".to_owned(), Value::Object(spec))]));
        Self::read_all(&Field::spec(&root))
    }

    pub(super) fn read_all(spec: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        spec.get("driftExclusions").items()?.iter().map(Self::read).collect()
    }

    fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let mut paths = Vec::new();
        for path in item.get("paths").items()? {
            let text = path.required_text()?;
            if !text.starts_with('/') || text.ends_with('/') {
                return Err(
                    path.error(format!("{text:?} is no JSON pointer to a field, such as /spec/replicas"))
                );
            }
            paths.push(text);
        }
        if paths.is_empty() {
            return Err(item.get("paths").error("is missing; name at least one, such as /spec/replicas"));
        }
        let below = |(path, error): (String, TextError)| {
            let field = path.split('.').fold(item.clone(), |field, key| field.get(key));
            field.error(error)
        };
        let target = read_target(item.get("target").value()).map_err(below)?;
        Ok(Self { paths, target })
    }

    /// Whether it is for an object.
    pub fn is_for(&self, object: &Value) -> bool {
        self.target.as_ref().is_none_or(|target| target.selects(object))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn read(exclusions: Value) -> Result<Vec<DriftExclusion>, String> {
        let spec = json!({"driftExclusions": exclusions});
        DriftExclusion::all(spec.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_for_the_objects_of_a_target() {
        let all = read(
            json!([{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}, {"paths": ["/a~1b"]}]),
        );
        let all = all.unwrap();
        let of = |kind: &str| json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}});
        assert_eq!([all[0].is_for(&of("Deployment")), all[0].is_for(&of("DaemonSet"))], [true, false]);
        assert!(all[1].is_for(&of("DaemonSet")) && all[1].paths == ["/a~1b"]);
        assert!(DriftExclusion::all(&Map::new()).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_path_is_named() {
        let wrong = |exclusion| read(json!([exclusion])).unwrap_err();
        assert!(
            wrong(json!({"paths": ["spec.replicas"]}))
                .contains("paths[0]: \"spec.replicas\" is no JSON pointer")
        );
        assert!(wrong(json!({"paths": ["/"]})).contains("no JSON pointer"));
        assert!(wrong(json!({"target": {"kind": "X"}})).contains("paths: is missing"));
        assert!(wrong(json!({"paths": ["/a"], "target": {"name": "["}})).contains("target.name"));
    }
}
