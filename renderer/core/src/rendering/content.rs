//! The text of ConfigMaps and Secrets, and the objects in it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sluice_api::model::SECRET_TYPE;
use sluice_api::secrets::without_text;
use sluice_api::{Digest, TextError, object};

use crate::error::{Error, Result};

/// Parsed manifests kept for content that many clusters share.
const KEPT: usize = 1024;

/// The values of `data`, decoded, by key.
///
/// # Errors
/// What is wrong with the object, and what to do.
pub(crate) fn texts(object: &Value) -> Result<BTreeMap<String, String>> {
    let secret = object::text(object, &["kind"]) == "Secret";
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    if secret && kind != SECRET_TYPE {
        return Err(Error::value(
            format!("unsupported secret type {kind:?};"),
            format!("create it with --type={SECRET_TYPE}"),
        ));
    }
    let mut texts = BTreeMap::new();
    for (key, value) in object.get("data").and_then(Value::as_object).into_iter().flatten() {
        let text = value.as_str().ok_or_else(|| no_text("data", key))?;
        let text = if secret {
            decode(text).ok_or_else(|| Error::value(format!("data.{key}"), "is not base64 of UTF-8 text"))?
        } else {
            text.to_owned()
        };
        texts.insert(key.clone(), text);
    }
    if secret {
        for (key, value) in object.get("stringData").and_then(Value::as_object).into_iter().flatten() {
            let text = value.as_str().ok_or_else(|| no_text("stringData", key))?;
            texts.insert(key.clone(), text.to_owned());
        }
    }
    Ok(texts)
}

fn no_text(field: &str, key: &str) -> Error {
    Error::value(format!("{field}.{key}"), "is not a string; quote it")
}

pub(crate) fn decode(text: &str) -> Option<String> {
    // Line breaks are skipped as Go does, whose API server reads the same text.
    let text: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()
}

/// `data` of a generated object of this kind.
pub(crate) fn data(kind: &str, texts: &BTreeMap<String, String>) -> Map<String, Value> {
    let value = |text: &String| if kind == "Secret" { STANDARD.encode(text) } else { text.clone() };
    texts.iter().map(|(key, text)| (key.clone(), Value::String(value(text)))).collect()
}

/// Why the manifests in a text cannot be read.
#[derive(Debug, PartialEq)]
pub(crate) struct Unread {
    key: String,
    error: Error,
}

// === impl Unread ===

impl Unread {
    /// What is told; of a text with something secret in it the place alone.
    pub(crate) fn told(self, is_secret: bool) -> Error {
        let Self { key, error } = self;
        // That a field is missing is said of no value.
        let covers = is_secret && !error.is_of_field();
        let error = error.covered_if(covers, without_text);
        error.within(format!("data.{key}"))
    }
}

/// Manifests by the digest of their text. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifests {
    kept: Arc<Mutex<HashMap<Digest, Arc<Vec<Value>>>>>,
    /// Whether also those are kept that one cluster alone has.
    everything: bool,
}

impl Manifests {
    /// Keeps also what one cluster alone has.
    pub(crate) fn keeping_everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// The objects of all texts, in the order of the keys.
    ///
    /// # Errors
    /// The key and what is wrong in it.
    pub(crate) fn objects(
        &self,
        texts: &BTreeMap<String, String>,
        shared: bool,
    ) -> Result<Vec<Value>, Unread> {
        let mut objects = Vec::new();
        for (key, text) in texts {
            let named = |error: Error| Unread { key: key.clone(), error };
            if shared || self.everything {
                objects.extend(self.kept(text).map_err(named)?.iter().cloned());
            } else {
                objects.extend(parse(text).map_err(named)?);
            }
        }
        Ok(objects)
    }

    fn kept(&self, text: &str) -> Result<Arc<Vec<Value>>> {
        let digest = Digest::of(&[text.as_bytes()]);
        if let Some(known) = self.lock().get(&digest) {
            return Ok(known.clone());
        }
        let objects = Arc::new(parse(text)?);
        let mut kept = self.lock();
        if kept.len() >= if self.everything { KEPT * 64 } else { KEPT } {
            kept.clear();
        }
        kept.insert(digest, objects.clone());
        Ok(objects)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Arc<Vec<Value>>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The objects of a text.
///
/// # Errors
/// The document and what is wrong in it.
pub(crate) fn parse(text: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (index, document) in sluice_api::yaml::documents(text)?.into_iter().enumerate() {
        match texts_of(&document) {
            None => objects.push(document),
            Some(texts) => {
                for (place, text) in texts.iter().enumerate() {
                    let at = || format!("document {}, text {}", index + 1, place + 1);
                    let named = |error: TextError| Error::from(error).within(at());
                    objects.extend(sluice_api::yaml::documents(text).map_err(named)?);
                }
            }
        }
    }
    for (index, object) in objects.iter().enumerate() {
        let missing = ["apiVersion", "kind"]
            .into_iter()
            .find(|field| object.get(field).and_then(Value::as_str).is_none_or(str::is_empty));
        let missing = missing.or_else(|| object::name(object).is_empty().then_some("metadata.name"));
        if let Some(field) = missing {
            return Err(Error::NoText(field).within(format!("document {}", index + 1)));
        }
    }
    Ok(objects)
}

/// A list of texts, which is the documents that they are.
fn texts_of(document: &Value) -> Option<Vec<&str>> {
    document.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_decoded_and_must_be_of_the_deployable_type() {
        let secret = |kind: &str| json!({"kind": "Secret", "type": kind, "data": {"a": "aGk="}});
        assert_eq!(texts(&secret(SECRET_TYPE)).unwrap()["a"], "hi");
        assert!(texts(&secret("Opaque")).unwrap_err().to_string().contains("unsupported secret type"));
        assert!(
            texts(&json!({"kind": "Secret", "type": SECRET_TYPE, "data": {"a": "%"}}))
                .unwrap_err()
                .to_string()
                .contains("data.a")
        );
    }

    #[test]
    fn base64_may_be_broken_into_lines_as_its_command_prints_it() {
        let secret = json!({"kind": "Secret", "type": SECRET_TYPE, "data": {"a": "aG\r\nk=\n"}});
        assert_eq!(texts(&secret).unwrap()["a"], "hi");
        let binary = json!({"kind": "Secret", "type": SECRET_TYPE, "data": {"a": "/w=="}});
        assert_eq!(texts(&binary).unwrap_err().to_string(), "data.a is not base64 of UTF-8 text");
    }

    #[test]
    fn what_a_secret_says_in_clear_wins_and_a_config_map_has_no_such_field() {
        let object = |kind: &str| json!({"kind": kind, "type": SECRET_TYPE, "data": {"a": "aGk=", "b": "aGk="}, "stringData": {"a": "clear"}});
        let read = texts(&object("Secret")).unwrap();
        assert_eq!((read["a"].as_str(), read["b"].as_str()), ("clear", "hi"));
        assert_eq!(texts(&object("ConfigMap")).unwrap()["a"], "aGk=");
    }

    #[test]
    fn values_that_are_no_text_are_named() {
        let number = json!({"kind": "ConfigMap", "data": {"a": 1}});
        assert_eq!(texts(&number).unwrap_err().to_string(), "data.a is not a string; quote it");
        let flag = json!({"kind": "Secret", "type": SECRET_TYPE, "stringData": {"b": true}});
        assert_eq!(texts(&flag).unwrap_err().to_string(), "stringData.b is not a string; quote it");
        assert!(texts(&json!({"kind": "ConfigMap"})).unwrap().is_empty());
    }

    #[test]
    fn what_is_generated_of_a_secret_is_read_back_as_it_was() {
        let texts =
            BTreeMap::from([("a".to_owned(), "line\nü\n".to_owned()), ("b".to_owned(), String::new())]);
        for kind in ["Secret", "ConfigMap"] {
            let object = json!({"kind": kind, "type": SECRET_TYPE, "data": data(kind, &texts)});
            assert_eq!(super::texts(&object).unwrap(), texts, "{kind}");
        }
    }

    #[test]
    fn objects_come_in_the_order_of_keys_and_documents() {
        let doc = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        let texts = BTreeMap::from([
            ("b".to_owned(), doc("z")),
            ("a".to_owned(), format!("{}---\n{}", doc("x"), doc("w"))),
        ]);
        for shared in [false, true] {
            let objects = Manifests::default().objects(&texts, shared).unwrap();
            assert_eq!(
                objects.iter().map(|o| object::text(o, &["metadata", "name"])).collect::<Vec<_>>(),
                ["x", "w", "z"]
            );
        }
    }

    #[test]
    fn a_list_of_texts_is_the_documents_in_them() {
        let doc =
            |name: &str| format!("apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: {name}}}\n");
        let text = format!("- |\n    {}- |\n    {}    ---\n    {}", doc("a"), doc("b"), doc("c"));
        let objects =
            |text: String| Manifests::default().objects(&BTreeMap::from([("k".to_owned(), text)]), false);
        let names: Vec<_> = objects(text).unwrap().iter().map(|o| object::name(o).to_owned()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(
            objects("['a: 1', 'a: [']".into())
                .unwrap_err()
                .told(false)
                .to_string()
                .starts_with("data.k: document 1, text 2: ")
        );
        assert!(
            objects("[1]".into())
                .unwrap_err()
                .told(false)
                .to_string()
                .contains("document 1: apiVersion is missing")
        );
    }

    #[test]
    fn incomplete_manifests_are_named() {
        let texts = BTreeMap::from([("k.yaml".to_owned(), "apiVersion: v1\nkind: ConfigMap\n".to_owned())]);
        assert_eq!(
            Manifests::default().objects(&texts, false).unwrap_err().told(true).to_string(),
            "data.k.yaml: document 1: metadata.name is missing or no text"
        );
    }
}
