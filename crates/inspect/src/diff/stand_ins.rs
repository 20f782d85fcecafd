//! What stands in for the values of Secrets while a difference is built. Who asks for one writes the templates, and a
//! template may copy what it reads to wherever it likes: so no template reads a value. Equal values have equal stand-ins, so
//! that a value that changes is seen; they are others for each question.
//!
//! A Secret with content is made of manifests, which have to be rendered. Of these only Secrets are hidden, and all of a text
//! that has a Secret in it and is no plain YAML.

use std::hash::{BuildHasher as _, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_api::model::SECRET_TYPE;
use sluice_api::{object, yaml};

/// Makes stand-ins, by a key that nobody knows.
pub(super) struct StandIns(RandomState);

// === impl StandIns ===

impl StandIns {
    pub(super) fn new() -> Self {
        Self(RandomState::new())
    }

    /// The object without the values of a Secret; any other one as it is.
    pub(super) fn hide(&self, mut object: Value) -> Value {
        if object["kind"] != "Secret" {
            return object;
        }
        let is_content = object::text(&object, &["type"]) == SECRET_TYPE;
        for (field, encoded) in [("data", true), ("stringData", false)] {
            let Some(values) = object.get_mut(field).and_then(Value::as_object_mut) else { continue };
            for value in values.values_mut() {
                let plain = plain(value, encoded);
                let shown = match plain.as_deref().filter(|_| is_content).and_then(|text| self.content(text))
                {
                    Some(content) => content,
                    None => self.stand_in(plain.as_deref().unwrap_or(&value.to_string())),
                };
                *value = if encoded { STANDARD.encode(shown) } else { shown }.into();
            }
        }
        // What was applied last is kept there by kubectl, values included.
        if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        object
    }

    fn stand_in(&self, value: &str) -> String {
        format!("masked-{:016x}", self.0.hash_one(value))
    }

    /// Manifests without the values of the Secrets among them; none where that cannot be told.
    fn content(&self, text: &str) -> Option<String> {
        if !text.contains("Secret") {
            return Some(text.to_owned());
        }
        // A template that is read and written anew could be another one.
        let documents = Some(text).filter(|text| !text.contains("{{"))?;
        let documents = yaml::documents(documents).ok()?;
        if !documents.iter().all(Value::is_object) {
            return None;
        }
        let hidden = documents.into_iter().map(|document| self.of_list(document));
        Some(hidden.map(|document| format!("---\n{document}\n")).collect())
    }

    /// A list may hold Secrets as well.
    fn of_list(&self, mut object: Value) -> Value {
        if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
            for item in items {
                *item = self.of_list(item.take());
            }
        }
        self.hide(object)
    }
}

/// A value of `data` or `stringData` as text.
fn plain(value: &Value, encoded: bool) -> Option<String> {
    let text = value.as_str()?;
    if encoded { String::from_utf8(STANDARD.decode(text).ok()?).ok() } else { Some(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(kind: &str, text: &str) -> Value {
        json!({"kind": "Secret", "type": kind, "metadata": {"name": "s"}, "data": {"k": STANDARD.encode(text)}})
    }

    fn shown(of: &StandIns, object: Value) -> String {
        plain(&of.hide(object)["data"]["k"], true).unwrap_or_default()
    }

    #[test]
    fn equal_values_have_equal_stand_ins_that_nobody_can_reckon() {
        let (one, other) = (StandIns::new(), StandIns::new());
        let of = |stand_ins: &StandIns, text: &str| shown(stand_ins, secret("Opaque", text));
        assert_eq!(of(&one, "hunter2"), of(&one, "hunter2"));
        assert_ne!(of(&one, "hunter2"), of(&one, "hunter3"));
        assert_ne!(of(&one, "hunter2"), of(&other, "hunter2"));
        assert!(of(&one, "hunter2").starts_with("masked-"));
    }

    #[test]
    fn of_content_only_secrets_are_hidden() {
        let plain = "kind: ConfigMap\nmetadata: {name: {{ .Cluster.metadata.name }}}\n";
        assert_eq!(shown(&StandIns::new(), secret(SECRET_TYPE, plain)), plain);
        let text = "kind: ConfigMap\ndata: {a: seen}\n---\nkind: List\nitems: [{kind: Secret, stringData: {p: hunter2}}]\n";
        let hidden = shown(&StandIns::new(), secret(SECRET_TYPE, text));
        assert!(
            hidden.contains("seen") && hidden.contains("masked-") && !hidden.contains("hunter2"),
            "{hidden}"
        );
    }

    #[test]
    fn content_that_may_hold_a_secret_and_cannot_be_read_is_hidden_as_a_whole() {
        let text = "kind: Secret\nmetadata: {name: {{ .Cluster.metadata.name }}}\nstringData: {p: hunter2}\n";
        let hidden = shown(&StandIns::new(), secret(SECRET_TYPE, text));
        assert!(hidden.starts_with("masked-"), "{hidden}");
    }

    #[test]
    fn other_objects_stay_as_they_are() {
        let object = json!({"kind": "ConfigMap", "data": {"k": "v"}});
        assert_eq!(StandIns::new().hide(object.clone()), object);
    }
}
