//! Reading manifests: YAML 1.1 as `sigs.k8s.io/yaml` reads it, JSON as it is, many documents in a text.

mod lines;

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub use lines::{Lines, located};

use crate::error::TextError;

/// Bytes of one text. Far more than etcd (1.5 MiB an object) and the bus (8 MiB a row, compressed) hold of one source;
/// it is `sluice build` that reads whole clusters from one file.
pub const MAX_BYTES: usize = 64 << 20;

/// Documents of one text, empty ones included.
pub const MAX_DOCUMENTS: usize = 100_000;

/// Maps, lists and plain values of one text, those that aliases repeat included: each takes some 50 bytes of memory.
pub const MAX_NODES: usize = 5_000_000;

/// Maps and lists nested in each other. Below the 128 that JSON readers allow, so that an object still fits into the
/// row that carries it.
pub const MAX_DEPTH: usize = 100;

/// Reads every document of `text`; empty documents are skipped and a `List` is replaced by its items.
///
/// # Errors
/// The reason with its line, when one document cannot be read.
pub fn documents(text: &str) -> Result<Vec<Value>, TextError> {
    let mut objects = Vec::new();
    for value in parse(text)? {
        expand(value, &mut objects);
    }
    Ok(objects)
}

fn parse(text: &str) -> Result<Vec<Value>, TextError> {
    if text.len() > MAX_BYTES {
        return Err(too_much(&format!("a text of {} bytes, more than {MAX_BYTES}", text.len()), "MAX_BYTES"));
    }
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return if is_deeper(&value, MAX_DEPTH) { Err(too_deep()) } else { Ok(vec![value]) };
    }
    let documents: Vec<Yaml> = serde_saphyr::from_multiple_with_options(text, options())
        .map_err(|error| explained(&error.to_string()))?;
    Ok(documents.into_iter().map(|Yaml(value)| value).collect())
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        budget: serde_saphyr::budget! {
            max_documents: MAX_DOCUMENTS,
            max_nodes: MAX_NODES,
            // A node is one event or two, and so is a document.
            max_events: MAX_NODES * 2 + MAX_DOCUMENTS * 2,
            max_depth: MAX_DEPTH,
            max_total_scalar_bytes: MAX_BYTES,
        },
    }
}

/// What is wrong, in one line; of a limit its value and where it is set. Errors come wrapped in others where aliases are
/// involved, so that it is their text that tells them apart.
fn explained(error: &str) -> TextError {
    let breached = |what: &str| error.contains(&format!("budget breached: {what} "));
    if breached("Documents") {
        return too_much(&format!("more than {MAX_DOCUMENTS} documents"), "MAX_DOCUMENTS");
    }
    if breached("Nodes") || breached("Events") {
        return too_much(&format!("more than {MAX_NODES} values"), "MAX_NODES");
    }
    // The latter is what the scanner says when the text ends far too deep to become events.
    if breached("Depth") || error.contains("recursion limit exceeded") {
        return too_deep();
    }
    // Aliases make it too deep without a text that is.
    let class = if error.contains(&too_deep_text()) { TextError::Limit } else { TextError::Wrong };
    class(one_line(error))
}

fn too_much(what: &str, limit: &str) -> TextError {
    let text =
        format!("limit: {what} in one text ({limit} of sluice-api); spread the objects over several texts");
    TextError::Limit(text)
}

pub(crate) fn too_deep() -> TextError {
    TextError::Limit(too_deep_text())
}

fn too_deep_text() -> String {
    format!(
        "limit: maps and lists nested deeper than {MAX_DEPTH} (MAX_DEPTH of sluice-api); make the object flatter"
    )
}

/// Whether a value that a reader of limited depth has read is deeper than so many levels.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    let inside = |value: &Value| levels == 0 || is_deeper(value, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inside),
        Value::Object(map) => levels == 0 || map.values().any(inside),
        _ => false,
    }
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn expand(value: Value, objects: &mut Vec<Value>) {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
        && value.get("items").is_some_and(Value::is_array);
    match value {
        Value::Null => {}
        Value::Object(mut map) if is_list => {
            let items = map.remove("items").map(|items| match items {
                Value::Array(items) => items,
                _ => Vec::new(),
            });
            items.into_iter().flatten().for_each(|item| expand(item, objects));
        }
        other => objects.push(other),
    }
}

/// A JSON value read the way Go's YAML reader reads it: keys that are booleans or numbers become text.
struct Yaml(Value);

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A key that is a map or a list is refused, so it need not be shallow; but it must not be deep.
        match Node(MAX_DEPTH - 1).deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Array(_) | Value::Object(_) => Err(D::Error::custom("a key must be a plain value")),
            other => Ok(Self(other.to_string())),
        }
    }
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Node(0).deserialize(deserializer).map(Self)
    }
}

/// A value at this depth. What the reader's own budget counts is the text; aliases can make more of it.
#[derive(Clone, Copy)]
struct Node(usize);

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Node {
    /// What is inside of a map or list at this depth.
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.0 >= MAX_DEPTH { Err(E::custom(too_deep_text())) } else { Ok(Self(self.0 + 1)) }
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Go writes a number that has no fraction without one on its way through JSON, and reads it as whole where it fits.
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        if value.fract() == 0.0 && value.abs() < BEYOND {
            return Ok((value as i64).into());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let (mut items, inside) = (Vec::new(), self.inside()?);
        while let Some(item) = access.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let (mut map, inside) = (Map::new(), self.inside()?);
        while let Some(Key(key)) = access.next_key()? {
            map.insert(key, access.next_value_seed(inside)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_split_and_lists_expanded() {
        let text =
            "# only a comment\n---\na: 1\n---\n\n---\nkind: List\nitems:\n- {b: 2}\n- {c: 0644}\n---\n";
        assert_eq!(documents(text).unwrap(), [json!({"a": 1}), json!({"b": 2}), json!({"c": 420})]);
        assert_eq!(documents("").unwrap(), Vec::<Value>::new());
        assert_eq!(documents("{\"a\": 1}").unwrap(), [json!({"a": 1})]);
    }

    #[test]
    fn old_booleans_are_booleans_also_as_keys() {
        let value = documents("n: \"2\"\non: yes\n\"y\": off\n1: x\n").unwrap();
        assert_eq!(value, [json!({"false": "2", "true": true, "y": false, "1": "x"})]);
    }

    #[test]
    fn broken_text_names_its_line() {
        let error = documents("a: 1\nb: [\n").unwrap_err();
        assert!(error.text().contains("line") && !error.is_limit(), "{error}");
    }

    #[test]
    fn as_many_documents_are_read_as_there_are() {
        let one =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: b, c: d}}\ndata: {k: v}\n";
        assert_eq!(documents(&format!("---\n{one}").repeat(5_000)).unwrap().len(), 5_000);
        let list = format!("kind: List\nitems:\n{}", "- {kind: A, metadata: {name: b}}\n".repeat(100_000));
        assert_eq!(documents(&list).unwrap().len(), 100_000);
    }

    #[test]
    fn limits_are_named_with_their_value_and_their_place() {
        let error = documents(&"---\na\n".repeat(MAX_DOCUMENTS + 1)).unwrap_err();
        assert!(error.is_limit());
        assert_eq!(
            error.text(),
            "limit: more than 100000 documents in one text (MAX_DOCUMENTS of sluice-api); spread the objects over several texts"
        );
        let error = documents(&format!("[{}]", "1,".repeat(MAX_NODES))).unwrap_err();
        assert!(error.is_limit());
        assert!(error.text().contains("more than 5000000 values in one text (MAX_NODES"), "{error}");
        let error = documents(&" ".repeat(MAX_BYTES + 1)).unwrap_err();
        assert!(
            error.is_limit()
                && error.text().contains("67108865 bytes, more than 67108864 in one text (MAX_BYTES"),
            "{error}"
        );
    }

    /// What is read on a stack an eighth as large as production's.
    fn read(text: String) -> Result<Vec<Value>, TextError> {
        let read = move || documents(&text);
        std::thread::Builder::new().stack_size(512 << 10).spawn(read).unwrap().join().unwrap()
    }

    #[test]
    fn what_is_too_deep_is_refused_on_any_stack() {
        let nested = |open: &str, close: &str, levels| open.repeat(levels) + "1" + &close.repeat(levels);
        // Aliases that hold each other are deep although no text is.
        let mut aliases = format!("x0: &x0 {}\n", nested("[", "]", 50));
        for i in 1..60 {
            let inner = format!("*x{}", i - 1);
            aliases.push_str(&format!("x{i}: &x{i} {}\n", nested("[", "]", 50).replace('1', &inner)));
        }
        for text in [
            nested("[", "]", 20_000),
            nested("{a: ", "}", 20_000),
            nested("{\"a\":", "}", 20_000),
            nested("{\"a\":", "}", MAX_DEPTH + 1),
            nested("- ", "", 20_000),
            nested("? ", "", 20_000),
            nested("- ? ", "", 9_000),
            (0..9_000).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
            nested("- ", "", MAX_DEPTH + 1),
            aliases,
        ] {
            let error = read(text.clone()).unwrap_err();
            let says = |part| error.text().contains(part);
            assert!(says("deeper than 100") || says("key"), "{:.60}: {error}", text);
            assert_eq!(error.is_limit(), says("deeper than 100"), "{:.60}: {error}", text);
        }
        for text in
            [nested("- ", "", MAX_DEPTH), nested("[", "]", MAX_DEPTH), nested("{\"a\":", "}", MAX_DEPTH)]
        {
            assert!(read(text.clone()).is_ok(), "{:.60}: {:?}", text, read(text.clone()).unwrap_err());
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\n]{0,200}") {
            prop_assert!(documents(&text).is_ok() || !text.is_empty());
        }
    }
}
