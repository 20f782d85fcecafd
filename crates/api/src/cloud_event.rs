//! CloudEvents, and how they are named among the objects of a cluster.
//!
//! What counts of CloudEvents is the newest one of each source and subject. Which criteria of an EventSource select an event
//! follows from its [`EventKey`] alone, so the newest one of each key is all that has to be known.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::object::{Gvk, ObjectKey};

/// Attributes that every event has.
const REQUIRED: [&str; 3] = ["id", "source", "type"];
/// The version of the specification that is read.
const VERSION: &str = "1.0";
/// So many bytes an event may have.
pub const MAX_BYTES: usize = 1 << 20;
/// So many bytes its source, subject, type and the subject it comes on may have together: they are part of subjects of the bus.
const MAX_NAMES: usize = 512;
/// Extension attribute: the subject of the message, after the cluster, where an event is not sent but lies in a file.
const CHANNEL: &str = "natssubject";
/// The same where the event does not say it.
const ANY_CHANNEL: &str = "events";
/// Between the parts of a key's name.
const SEPARATOR: char = ' ';

/// A CloudEvent with all that it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudEvent {
    /// What tells it from others of its source.
    pub id: String,
    /// Who it is from.
    pub source: String,
    /// What it is about; may be empty.
    pub subject: String,
    /// What has happened.
    pub kind: String,
    /// All of it, as JSON has it.
    pub object: Value,
}

/// What the criteria of an EventSource look at. The newest event of each key counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// Who events are from.
    pub source: String,
    /// What they are about.
    pub subject: String,
    /// What has happened.
    pub kind: String,
    /// The message's subject on the bus, after the cluster.
    pub channel: String,
}

// === impl CloudEvent ===

impl CloudEvent {
    /// Reads a message: structured mode, or binary mode where the headers say so.
    ///
    /// # Errors
    /// What is wrong with it, with the attribute.
    pub fn of_message(headers: &BTreeMap<String, String>, body: &[u8]) -> Result<Self, String> {
        if body.len() > MAX_BYTES {
            return Err(format!("it has {} bytes; an event may have {MAX_BYTES}", body.len()));
        }
        if headers.keys().any(|name| name.eq_ignore_ascii_case("ce-specversion")) {
            return Self::of_binary(headers, body);
        }
        let object = serde_json::from_slice(body).map_err(|error| format!("it is no JSON: {error}"))?;
        Self::read(object)
    }

    /// Attributes are headers, and the body is the data.
    fn of_binary(headers: &BTreeMap<String, String>, body: &[u8]) -> Result<Self, String> {
        let mut object = Map::new();
        let mut is_json = true;
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            if name == "content-type" {
                is_json = value.contains("json");
                object.insert("datacontenttype".into(), value.clone().into());
            } else if let Some(attribute) = name.strip_prefix("ce-") {
                object.insert(attribute.to_owned(), unescaped(value)?.into());
            }
        }
        if !body.is_empty() {
            let text = || std::str::from_utf8(body).map_err(|_| "data: it is no UTF-8".to_owned());
            let data = match serde_json::from_slice(body) {
                Ok(data) if is_json => data,
                Err(error) if is_json => return Err(format!("data: it is no JSON: {error}")),
                _ => Value::from(text()?),
            };
            object.insert("data".into(), data);
        }
        Self::read(object.into())
    }

    /// Reads an event as JSON has it.
    ///
    /// # Errors
    /// What is wrong with it, with the attribute.
    pub fn read(object: Value) -> Result<Self, String> {
        if !object.is_object() {
            return Err("it is no CloudEvent: it must be one JSON object".to_owned());
        }
        let text = |attribute: &str| match object.get(attribute) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(format!("{attribute}: {other} is not a string; quote it")),
        };
        match text("specversion")?.as_str() {
            VERSION => {}
            "" => return Err(format!("specversion: is required; write \"{VERSION}\"")),
            other => return Err(format!("specversion: {other:?} is not supported; send \"{VERSION}\"")),
        }
        for attribute in REQUIRED {
            if text(attribute)?.is_empty() {
                return Err(format!("{attribute}: is required and must not be empty"));
            }
        }
        let (source, subject, kind) = (text("source")?, text("subject")?, text("type")?);
        Ok(Self { id: text("id")?, source, subject, kind, object })
    }

    /// Whether a document is meant to be a CloudEvent, and no object of Kubernetes.
    pub fn is_meant(document: &Value) -> bool {
        document.get("specversion").is_some() && document.get("apiVersion").is_none()
    }

    /// The subject that it is sent to, after the cluster, by what it says itself.
    ///
    /// # Errors
    /// What is wrong with the attribute.
    pub fn channel(&self) -> Result<&str, String> {
        match self.object.get(CHANNEL) {
            None | Some(Value::Null) => Ok(ANY_CHANNEL),
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            Some(other) => Err(format!("{CHANNEL}: {other} is no subject; write one, as orders.created")),
        }
    }

    /// What the event is called that came on this subject.
    ///
    /// # Errors
    /// That its names are too long.
    pub fn key(&self, channel: &str) -> Result<EventKey, String> {
        let bytes = self.source.len() + self.subject.len() + self.kind.len() + channel.len();
        if bytes > MAX_NAMES {
            return Err(format!(
                "source, subject, type and the message's subject have {bytes} bytes together; they may have {MAX_NAMES}"
            ));
        }
        Ok(EventKey {
            source: self.source.clone(),
            subject: self.subject.clone(),
            kind: self.kind.clone(),
            channel: channel.to_owned(),
        })
    }
}

// === impl EventKey ===

impl EventKey {
    /// The key as that of an object, one to one.
    pub fn object_key(&self) -> ObjectKey {
        let parts = [&self.subject, &self.kind, &self.channel].map(|part| escaped(part));
        ObjectKey { name: parts.join(&SEPARATOR.to_string()), ..item(&self.source, "") }
    }

    /// The key that is written as this object's.
    pub fn of(key: &ObjectKey) -> Option<Self> {
        let mut parts = key.name.split(SEPARATOR).map(unescaped);
        let mut part = || parts.next()?.ok();
        let (subject, kind, channel) = (part()?, part()?, part()?);
        let read = Self { source: key.namespace.clone(), subject, kind, channel };
        (is_event(key) && read.object_key() == *key).then_some(read)
    }
}

/// Whether an object, or the item of a cause, is a CloudEvent.
pub fn is_event(key: &ObjectKey) -> bool {
    key.gvk.kind == "CloudEvent" && key.gvk.group == "sluice.dev"
}

/// What all events of one source and subject are called, of whose keys this is one; every other object stands for itself.
pub fn item_of(key: &ObjectKey) -> ObjectKey {
    if !is_event(key) {
        return key.clone();
    }
    let subject = key.name.split(SEPARATOR).next().unwrap_or_default();
    ObjectKey { name: subject.to_owned(), ..item(&key.namespace, "") }
}

/// Source and subject of the events that are called so.
pub fn source_and_subject(item: &ObjectKey) -> Option<(String, String)> {
    is_event(item).then(|| Some((item.namespace.clone(), unescaped(&item.name).ok()?)))?
}

/// The least key of an event that is called so.
pub fn first_of(item: &ObjectKey) -> ObjectKey {
    ObjectKey { name: format!("{}{SEPARATOR}", item.name), ..item.clone() }
}

fn item(source: &str, subject: &str) -> ObjectKey {
    let gvk = Gvk::new("sluice.dev", "v1", "CloudEvent");
    ObjectKey { gvk, namespace: source.to_owned(), name: escaped(subject) }
}

/// Without separators, and read back exactly.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace(SEPARATOR, "%20")
}

/// With `%` and two digits as the byte that they stand for.
fn unescaped(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let digits = tail.split_first_chunk::<2>();
        let digits = digits.filter(|(two, _)| first == b'%' && two.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|(digits, tail)| {
            let byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            rest = tail;
            Some(byte)
        });
        bytes.push(byte.unwrap_or(first));
    }
    String::from_utf8(bytes).map_err(|_| format!("{text:?} is no UTF-8"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn event() -> Value {
        json!({"specversion": "1.0", "id": "1", "source": "/shop", "subject": "order 7", "type": "created", "data": {"a": 1}})
    }

    fn binary(body: &[u8], content: &str) -> Result<CloudEvent, String> {
        let headers = [
            ("ce-specversion", "1.0"),
            ("ce-id", "1"),
            ("Ce-Source", "/shop"),
            ("ce-subject", "order%207"),
            ("ce-type", "created"),
            ("Content-Type", content),
            ("Nats-Msg-Id", "x"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        CloudEvent::of_message(&headers, body)
    }

    #[test]
    fn both_modes_say_the_same() {
        let structured = CloudEvent::of_message(&BTreeMap::new(), event().to_string().as_bytes()).unwrap();
        let mut same = binary(br#"{"a": 1}"#, "application/json").unwrap();
        let kind = same.object.as_object_mut().and_then(|object| object.remove("datacontenttype"));
        assert_eq!((kind, &same), (Some("application/json".into()), &structured));
        assert_eq!(
            (&*structured.source, &*structured.subject, &*structured.kind),
            ("/shop", "order 7", "created")
        );
        assert_eq!(binary(b"plain", "text/plain").unwrap().object["data"], "plain");
        assert_eq!(binary(b"", "text/plain").unwrap().object.get("data"), None);
        assert!(binary(b"plain", "application/json").unwrap_err().starts_with("data: it is no JSON"));
        assert!(binary(b"\xff", "text/plain").unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn what_lacks_an_attribute_is_refused_by_its_name() {
        for attribute in ["specversion", "id", "source", "type"] {
            let mut event = event();
            event[attribute] = Value::Null;
            let error = CloudEvent::read(event.clone()).unwrap_err();
            assert!(error.starts_with(&format!("{attribute}: is required")), "{error}");
            event[attribute] = 1.into();
            let error = CloudEvent::read(event).unwrap_err();
            assert!(error.starts_with(&format!("{attribute}: 1 is not a string")), "{error}");
        }
        let mut old = event();
        old["specversion"] = "0.3".into();
        assert!(CloudEvent::read(old).unwrap_err().contains("\"0.3\" is not supported"));
        let mut strange = event();
        strange["subject"] = json!([]);
        assert!(CloudEvent::read(strange).unwrap_err().starts_with("subject: [] is not a string"));
        let read = |body: &[u8]| CloudEvent::of_message(&BTreeMap::new(), body).unwrap_err();
        assert!(read(b"[]").contains("one JSON object") && read(b"{").contains("no JSON"));
        assert!(read(&vec![b' '; MAX_BYTES + 1]).contains("1048577 bytes"));
    }

    #[test]
    fn names_that_do_not_fit_into_a_subject_are_refused() {
        let mut long = event();
        long["subject"] = "x".repeat(MAX_NAMES).into();
        let error = CloudEvent::read(long).unwrap().key("orders").unwrap_err();
        assert!(error.contains("530 bytes"), "{error}");
    }

    #[test]
    fn an_event_in_a_file_says_itself_where_it_is_sent_to() {
        let channel = |value: Value| {
            let mut event = event();
            event["natssubject"] = value;
            CloudEvent::read(event).unwrap().channel().map(str::to_owned)
        };
        assert_eq!(channel("orders.eu".into()), Ok("orders.eu".to_owned()));
        assert_eq!(channel(Value::Null), Ok("events".to_owned()));
        assert!(channel("".into()).is_err() && channel(1.into()).unwrap_err().starts_with("natssubject: 1"));
    }

    #[test]
    fn a_document_is_an_event_or_an_object() {
        assert!(CloudEvent::is_meant(&event()));
        assert!(!CloudEvent::is_meant(&json!({"apiVersion": "v1", "kind": "Pod", "specversion": "1.0"})));
        assert!(!CloudEvent::is_meant(&json!({"kind": "Pod"})));
    }

    fn keys() -> impl Strategy<Value = EventKey> {
        let part = "[a-b %é/:]{0,4}";
        (part, part, part, part).prop_map(|(source, subject, kind, channel)| EventKey {
            source,
            subject,
            kind,
            channel,
        })
    }

    proptest! {
        #[test]
        fn every_key_is_that_of_one_object(one in keys(), other in keys()) {
            let object = one.object_key();
            prop_assert_eq!(EventKey::of(&object), Some(one.clone()));
            prop_assert_eq!(object == other.object_key(), one == other);
            let item = item_of(&object);
            prop_assert_eq!(source_and_subject(&item), Some((one.source.clone(), one.subject.clone())));
            let same = one.source == other.source && one.subject == other.subject;
            prop_assert_eq!(item == item_of(&other.object_key()), same);
            prop_assert!(item.name.len() < object.name.len() && first_of(&item) <= object);
        }

        /// Whatever comes, it is read or refused.
        #[test]
        fn nothing_that_is_sent_stops_the_reader(
            body in proptest::collection::vec(any::<u8>(), 0..40),
            name in "(ce-|CE-)?(specversion|id|source|type|content-type)", value in ".{0,6}", structured in any::<bool>(),
        ) {
            let headers = BTreeMap::from([(name.clone(), value.clone())]);
            prop_assert!(CloudEvent::of_message(&headers, &body).is_err());
            let mut event = event();
            event[name.trim_start_matches("ce-")] = value.clone().into();
            if structured && let Ok(read) = CloudEvent::of_message(&BTreeMap::new(), event.to_string().as_bytes()) {
                prop_assert_eq!(&read.object, &event);
                prop_assert!(read.key("c").is_ok());
            }
        }
    }
}
