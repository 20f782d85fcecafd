//! Reading the protobuf bodies that `kubectl create NOUN` and `kubectl auth can-i` send.
//!
//! Only the kinds that these commands make are known (see `messages`); all other clients of the
//! simulation send JSON, and all answers are JSON.

mod messages;
mod wire;

use serde_json::{Value, json};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::object::Json;
use messages::{FieldType, Message};
use wire::{Field, fields};

/// Starts every body.
const MAGIC: &[u8] = b"k8s\0";

/// Messages within messages at most; real ones have seven.
const MAX_DEPTH: usize = 24;

/// Reads a body; `None` when it is malformed or of a kind that is not known here.
pub fn decode(body: &[u8]) -> Option<Value> {
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in fields(body.strip_prefix(MAGIC)?) {
        match field? {
            (1, Field::Bytes(type_meta)) => {
                for field in fields(type_meta) {
                    match field? {
                        (1, Field::Bytes(text)) => api_version = utf8(text)?,
                        (2, Field::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Field::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let mut object = decode_message(raw, messages::root(&kind)?, 0)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Some(Value::Object(object))
}

fn decode_message(bytes: &[u8], message: Message, depth: usize) -> Option<Json> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut object = Json::new();
    for field in fields(bytes) {
        let (number, field) = field?;
        // Unknown fields are those that the commands do not set.
        let Some(&(_, name, kind)) = message.iter().find(|(known, _, _)| *known == number) else { continue };
        add(&mut object, name, kind, field, depth)?;
    }
    Some(object)
}

fn add(object: &mut Json, name: &str, kind: FieldType, field: Field<'_>, depth: usize) -> Option<()> {
    let value = match (kind, field) {
        (FieldType::Text, Field::Bytes([])) => return Some(()),
        (FieldType::Text, Field::Bytes(text)) => utf8(text)?.into(),
        (FieldType::Number, Field::Number(0)) => return Some(()),
        (FieldType::Number | FieldType::OptionalNumber, Field::Number(number)) => json!(number.cast_signed()),
        (FieldType::Flag, Field::Number(number)) => json!(number != 0),
        (FieldType::Texts, Field::Bytes(text)) => return push(object, name, utf8(text)?.into()),
        (FieldType::One(message), Field::Bytes(bytes)) => {
            Value::Object(decode_message(bytes, message, depth + 1)?)
        }
        (FieldType::Many(message), Field::Bytes(bytes)) => {
            let item = Value::Object(decode_message(bytes, message, depth + 1)?);
            return push(object, name, item);
        }
        (FieldType::TextMap | FieldType::BytesMap, Field::Bytes(bytes)) => {
            return insert_entry(object, name, kind, bytes);
        }
        (FieldType::IntOrText, Field::Bytes(bytes)) => int_or_text(bytes)?,
        // Another wire type than the kind has: not what it claims to be.
        _ => return None,
    };
    object.insert(name.into(), value);
    Some(())
}

fn push(object: &mut Json, name: &str, item: Value) -> Option<()> {
    let list = object.entry(name).or_insert_with(|| json!([]));
    list.as_array_mut()?.push(item);
    Some(())
}

fn insert_entry(object: &mut Json, name: &str, kind: FieldType, bytes: &[u8]) -> Option<()> {
    let (mut key, mut value) = (String::new(), Value::from(""));
    for field in fields(bytes) {
        match field? {
            (1, Field::Bytes(text)) => key = utf8(text)?,
            (2, Field::Bytes(bytes)) if matches!(kind, FieldType::BytesMap) => {
                value = STANDARD.encode(bytes).into()
            }
            (2, Field::Bytes(text)) => value = utf8(text)?.into(),
            _ => {}
        }
    }
    object.entry(name).or_insert_with(|| json!({})).as_object_mut()?.insert(key, value);
    Some(())
}

fn int_or_text(bytes: &[u8]) -> Option<Value> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for field in fields(bytes) {
        match field? {
            (1, Field::Number(kind)) => is_text = kind == 1,
            (2, Field::Number(value)) => number = value,
            (3, Field::Bytes(value)) => text = utf8(value)?,
            _ => {}
        }
    }
    Some(if is_text { text.into() } else { json!(number.cast_signed()) })
}

fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend_from_slice(bytes);
        out
    }

    fn body(kind: &str, raw: &[u8]) -> Vec<u8> {
        let type_meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &type_meta), field(2, raw)].concat()
    }

    #[test]
    fn a_config_map_is_read() {
        let metadata =
            [field(1, b"a"), field(2, b""), field(11, &[field(1, b"x"), field(2, b"y")].concat())].concat();
        let data = [field(1, b"k"), field(2, b"v")].concat();
        let binary = [field(1, b"b"), field(2, &[0, 255])].concat();
        let raw = [field(1, &metadata), field(2, &data), field(3, &binary)].concat();
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}},
            "data": {"k": "v"}, "binaryData": {"b": "AP8="},
        });
        assert_eq!(decode(&body("ConfigMap", &raw)), Some(expected));
    }

    #[test]
    fn service_ports_are_numbers_or_names() {
        let number = [0x08, 0, 0x10, 80];
        let text = [vec![0x08, 1], field(3, b"http")].concat();
        let ports = [field(1, &field(4, &number)), field(1, &field(4, &text))].concat();
        let found = decode(&body("Service", &field(2, &ports))).unwrap();
        assert_eq!(found["spec"]["ports"], json!([{"targetPort": 80}, {"targetPort": "http"}]));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert_eq!(decode(&body("Gadget", b"")), None);
        assert_eq!(decode(b"{}"), None);
        assert_eq!(decode(&[MAGIC, &[0x0a, 0xff]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(raw in proptest::collection::vec(any::<u8>(), 0..100)) {
            let whole = [MAGIC.to_vec(), raw.clone()].concat();
            prop_assert_eq!(decode(&whole), decode(&whole));
            let within = body("Deployment", &raw);
            prop_assert_eq!(decode(&within), decode(&within));
        }
    }
}
