//! `stringData` of Secrets in files, which an API server turns into `data`: what reads files does the same, so that scripts
//! and templates see what they would see of a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Turns `stringData` into `data`, where it wins. Of a ConfigMap, which has no such field, it is meant for `data` as it is.
///
/// # Errors
/// The key whose value is no text.
pub fn fold(object: &mut Value) -> Result<(), String> {
    let secret = match object.get("kind").and_then(Value::as_str) {
        Some("Secret") => true,
        Some("ConfigMap") => false,
        _ => return Ok(()),
    };
    let Some(map) = object.as_object_mut() else { return Ok(()) };
    let Some(texts) = map.remove("stringData").filter(|texts| !texts.is_null()) else { return Ok(()) };
    let texts = texts.as_object().ok_or("stringData is no map of texts")?;
    let data = map.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    let data = data.as_object_mut().ok_or("data is no map")?;
    for (key, text) in texts {
        let text = text.as_str().ok_or_else(|| format!("stringData.{key} is not a string; quote it"))?;
        data.insert(key.clone(), if secret { STANDARD.encode(text) } else { text.to_owned() }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_become_data() {
        for (kind, expected) in
            [("Secret", json!({"a": "eA==", "b": "eQ=="})), ("ConfigMap", json!({"a": "x", "b": "eQ=="}))]
        {
            let mut object =
                json!({"kind": kind, "data": {"a": "bm8=", "b": "eQ=="}, "stringData": {"a": "x"}});
            fold(&mut object).unwrap();
            assert_eq!(object, json!({"kind": kind, "data": expected}));
        }
        let mut other = json!({"kind": "Thing", "stringData": {"a": 1}});
        assert!(fold(&mut other).is_ok() && other.get("stringData").is_some());
        let mut wrong = json!({"kind": "Secret", "stringData": {"a": 1}});
        assert_eq!(fold(&mut wrong), Err("stringData.a is not a string; quote it".to_owned()));
    }
}
