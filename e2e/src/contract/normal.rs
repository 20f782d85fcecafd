//! Replacing what differs from run to run by names, so that transcripts can be compared.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Response;

/// Names for the uids and versions of one transcript, given in the order of their appearance: equal
/// values keep equal names, so that an unchanged resourceVersion shows.
#[derive(Debug)]
pub struct Normalizer {
    namespace: String,
    names: HashMap<String, String>,
    uids: usize,
    versions: usize,
}

// === impl Normalizer ===

impl Normalizer {
    /// A normalizer for answers about this namespace.
    pub fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), names: HashMap::new(), uids: 0, versions: 0 }
    }

    /// What of an answer is compared.
    pub fn answer(&mut self, answer: &Response, only: &[String], ignore: &[String]) -> Value {
        let mut body = answer.body.clone();
        if body.get("items").is_some() || body.get("rows").is_some() {
            hide(&mut body, &["metadata", "resourceVersion"]);
        }
        if let Value::Array(events) = &mut body {
            // Whether a quiet watch sends a bookmark before it ends is a matter of time.
            events.retain(|event| {
                event["type"] != "BOOKMARK" || event["object"]["metadata"]["annotations"].is_object()
            });
            for event in events.iter_mut().filter(|event| event["type"] == "BOOKMARK") {
                hide(event, &["object", "metadata", "resourceVersion"]);
            }
        }
        self.walk("", &mut body);
        for path in ignore {
            remove(&mut body, &path.split('.').collect::<Vec<_>>());
        }
        if only.is_empty() { body } else { pick(&body, only) }
    }

    fn walk(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Object(map) => {
                // Some order, the same for both servers.
                let mut members: Vec<(&String, &mut Value)> = map.iter_mut().collect();
                members.sort_by(|a, b| a.0.cmp(b.0));
                for (name, value) in members {
                    self.walk(name, value);
                }
                self.rename_keys(map);
            }
            Value::Array(items) => {
                if name == "managedFields" {
                    // Their order depends on whether a second began between two requests.
                    items.sort_by_key(|entry| {
                        format!("{}{}{}", entry["operation"], entry["manager"], entry["apiVersion"])
                    });
                }
                items.iter_mut().for_each(|item| self.walk(name, item));
            }
            Value::String(text) => *text = self.text(name, text),
            _ => {}
        }
    }

    /// Field paths name the items of some lists by uid.
    fn rename_keys(&self, map: &mut Map<String, Value>) {
        let named: Vec<(String, String)> = map
            .keys()
            .filter(|key| key.starts_with("k:"))
            .map(|key| (key.clone(), self.replace_known(key)))
            .filter(|(key, name)| key != name)
            .collect();
        for (key, name) in named {
            let value = map.remove(&key).unwrap_or_default();
            map.insert(name, value);
        }
    }

    fn replace_known(&self, text: &str) -> String {
        let known = self.names.iter().filter(|(value, _)| value.len() > 20);
        known.fold(text.to_owned(), |text, (value, name)| text.replace(value, name))
    }

    fn text(&mut self, name: &str, text: &str) -> String {
        if text.is_empty() || text.starts_with('<') {
            return text.to_owned();
        }
        match name {
            "uid" => self.named(text, false),
            "resourceVersion" => self.named(text, true),
            "continue" => "<continue>".into(),
            "clusterIP" | "clusterIPs" if text.starts_with("10.") => "<ip>".into(),
            _ if is_time(text) => "<time>".into(),
            "message" => self.message(text),
            _ => text.replace(&self.namespace, "<ns>"),
        }
    }

    fn named(&mut self, text: &str, version: bool) -> String {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let counter = if version { &mut self.versions } else { &mut self.uids };
        *counter += 1;
        let name = format!("<{}{counter}>", if version { "version " } else { "uid " });
        self.names.insert(text.to_owned(), name.clone());
        name
    }

    /// Values that were seen are named in messages too, other long numbers are hidden.
    fn message(&self, text: &str) -> String {
        let text = self.replace_known(&text.replace(&self.namespace, "<ns>"));
        let words = text.split_inclusive([' ', ',', '\n']).map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_time(bare) {
                word.replace(bare, "<time>")
            } else if bare.len() > 1 && bare.bytes().all(|byte| byte.is_ascii_digit()) {
                word.replace(bare, "<number>")
            } else {
                word.to_owned()
            }
        });
        words.collect()
    }
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && bytes.last() == Some(&b'Z')
}

fn hide(value: &mut Value, path: &[&str]) {
    let found = path.iter().try_fold(value, |value, part| value.get_mut(part));
    if let Some(found) = found {
        *found = Value::from("<any>");
    }
}

fn remove(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Object(map), [last]) => {
            map.remove(*last);
        }
        (Value::Object(map), [first, rest @ ..]) => {
            if let Some(below) = map.get_mut(*first) {
                remove(below, rest);
            }
        }
        (Value::Array(items), path) => items.iter_mut().for_each(|item| remove(item, path)),
        _ => {}
    }
}

fn pick(value: &Value, paths: &[String]) -> Value {
    let mut picked = Map::new();
    for path in paths {
        let found = path.split('.').try_fold(value, |value, part| match part.parse::<usize>() {
            Ok(index) if value.is_array() => value.get(index),
            _ => value.get(part),
        });
        picked.insert(path.clone(), found.cloned().unwrap_or_default());
    }
    Value::Object(picked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(bodies: &[Value]) -> Vec<Value> {
        let mut normalizer = Normalizer::new("contract-x");
        bodies
            .iter()
            .map(|body| normalizer.answer(&Response { code: 200, body: body.clone() }, &[], &[]))
            .collect()
    }

    #[test]
    fn equal_versions_keep_equal_names() {
        let object = |version: &str| json!({"metadata": {"uid": "u", "resourceVersion": version}});
        let shown = shown(&[object("5"), object("5"), object("7")]);
        assert_eq!(shown[0], shown[1]);
        assert_eq!(shown[2]["metadata"]["resourceVersion"], "<version 2>");
    }

    #[test]
    fn times_names_and_numbers_are_hidden() {
        let body = json!({"at": "2026-01-01T00:00:00Z", "name": "contract-x", "message": "version: 12 (345), at 2026-01-01T00:00:00Z"});
        let expected =
            json!({"at": "<time>", "name": "<ns>", "message": "version: <number> (<number>), at <time>"});
        assert_eq!(shown(&[body])[0], expected);
    }
}
