//! One stored object: kept as parsed JSON for patches and as bytes for readers.
//!
//! `apiVersion` and `kind` are not part of it, because one object is served under every version of
//! its kind; `metadata.managedFields` is kept parsed beside it. The bytes are made once per
//! resourceVersion, however many lists and watches send them. An object that rests has the bytes only,
//! until somebody asks what is in it.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::fields::Manager;

/// A JSON object.
pub type Json = Map<String, Value>;

/// The group-version-kind members that start an object's JSON, rendered once per kind.
#[derive(Debug, Clone)]
pub struct TypePrefix(Bytes);

/// One object at one resourceVersion; never changed after it was stored.
#[derive(Debug)]
pub struct Object {
    /// Read from `rest` when an object that rests is asked for it.
    body: OnceLock<Json>,
    managers: Arc<[Manager]>,
    resource_version: u64,
    rest: OnceLock<Bytes>,
}

// === impl TypePrefix ===

impl TypePrefix {
    /// The prefix of `kind` in `api_version`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let quoted = |text: &str| Value::from(text).to_string();
        Self(Bytes::from(format!("{{\"kind\":{},\"apiVersion\":{},", quoted(kind), quoted(api_version))))
    }
}

// === impl Object ===

impl Object {
    /// Wraps a body whose `metadata.resourceVersion` is set to `resource_version`, or removed when
    /// that is 0: the object was never stored.
    pub fn new(mut body: Json, managers: Arc<[Manager]>, resource_version: u64) -> Self {
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            match resource_version {
                0 => metadata.remove("resourceVersion"),
                version => metadata.insert("resourceVersion".into(), version.to_string().into()),
            };
        }
        Self { body: body.into(), managers, resource_version, rest: OnceLock::new() }
    }

    /// An object that nobody owns fields of, as its bytes: a tenth of the memory, for those that nobody looks into.
    pub fn at_rest(body: Json, resource_version: u64) -> Self {
        let whole = Self::new(body, Arc::from([]), resource_version);
        // A copy has no room to grow.
        let rest = Bytes::copy_from_slice(whole.rest());
        Self { body: OnceLock::new(), rest: rest.into(), ..whole }
    }

    /// The object without `apiVersion`, `kind` and `metadata.managedFields`.
    pub fn body(&self) -> &Json {
        self.body.get_or_init(|| unpack(self.rest.get()))
    }

    /// Gives the body back, to be stored anew.
    pub fn into_body(mut self) -> Json {
        self.body();
        self.body.take().unwrap_or_default()
    }

    /// Who owns which fields.
    pub fn managers(&self) -> &Arc<[Manager]> {
        &self.managers
    }

    /// The version of the cluster at which the object was written.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// `metadata`.
    pub fn metadata(&self) -> Option<&Json> {
        self.body().get("metadata").and_then(Value::as_object)
    }

    /// A text of `metadata`, empty when missing.
    pub fn meta_str(&self, field: &str) -> &str {
        meta_str(self.body(), field)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.meta_str("name")
    }

    /// `metadata.namespace`, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.meta_str("namespace")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.meta_str("uid")
    }

    /// Whether deletion was asked for and finalizers hold it back.
    pub fn is_terminating(&self) -> bool {
        !self.meta_str("deletionTimestamp").is_empty()
    }

    /// The same object as of a later resourceVersion, for the event of its deletion.
    pub fn at(&self, resource_version: u64) -> Self {
        Self::new(self.body().clone(), self.managers.clone(), resource_version)
    }

    /// The whole object as a client sees it.
    pub fn to_value(&self, api_version: &str, kind: &str) -> Value {
        let mut map = self.body().clone();
        map.insert("apiVersion".into(), api_version.into());
        map.insert("kind".into(), kind.into());
        if !self.managers.is_empty()
            && let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("managedFields".into(), Manager::list_to_json(&self.managers));
        }
        Value::Object(map)
    }

    /// Appends the JSON of the object, starting with the members of `prefix`.
    pub fn write(&self, prefix: &TypePrefix, out: &mut BytesMut) {
        out.extend_from_slice(&prefix.0);
        out.extend_from_slice(self.rest());
    }

    /// Appends the JSON of the object without `apiVersion` and `kind`.
    pub fn write_untyped(&self, out: &mut BytesMut) {
        out.extend_from_slice(b"{");
        out.extend_from_slice(self.rest());
    }

    /// The JSON of the object.
    pub fn to_bytes(&self, prefix: &TypePrefix) -> Bytes {
        let mut out = BytesMut::with_capacity(prefix.0.len() + self.rest().len());
        self.write(prefix, &mut out);
        out.freeze()
    }

    /// Number of bytes of the rendered object, near enough to size a buffer.
    pub fn size_hint(&self) -> usize {
        self.rest().len() + 64
    }

    fn rest(&self) -> &Bytes {
        self.rest.get_or_init(|| render_rest(self.body(), &self.managers))
    }
}

/// A text of `metadata`, empty when missing.
pub fn meta_str<'a>(body: &'a Json, field: &str) -> &'a str {
    body.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// Mutable `metadata`, created when missing or not an object.
pub fn metadata_mut(body: &mut Json) -> &mut Json {
    let slot = body.entry("metadata").or_insert_with(|| Value::Object(Json::new()));
    if !slot.is_object() {
        *slot = Value::Object(Json::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("the slot was made an object above"),
    }
}

/// What [`render_rest`] has made of an object without managers.
fn unpack(rest: Option<&Bytes>) -> Json {
    let whole = [b"{", rest.map(Bytes::as_ref).unwrap_or_default()].concat();
    // It was rendered here.
    serde_json::from_slice(&whole).unwrap_or_default()
}

fn render_rest(body: &Json, managers: &[Manager]) -> Bytes {
    let mut out = BytesMut::with_capacity(1024).writer();
    let mut first = true;
    for (key, value) in body {
        let separator = if first { "" } else { "," };
        first = false;
        out.get_mut().extend_from_slice(separator.as_bytes());
        match value {
            Value::Object(metadata) if key == "metadata" && !managers.is_empty() => {
                render_metadata(metadata, managers, &mut out);
            }
            _ => render_member(key, value, &mut out),
        }
    }
    out.get_mut().extend_from_slice(b"}");
    out.into_inner().freeze()
}

fn render_metadata(metadata: &Json, managers: &[Manager], out: &mut bytes::buf::Writer<BytesMut>) {
    out.get_mut().extend_from_slice(b"\"metadata\":{");
    for (key, value) in metadata {
        render_member(key, value, out);
        out.get_mut().extend_from_slice(b",");
    }
    render_member("managedFields", managers, out);
    out.get_mut().extend_from_slice(b"}");
}

fn render_member(key: &str, value: &(impl Serialize + ?Sized), out: &mut bytes::buf::Writer<BytesMut>) {
    // Writing JSON values with string keys into memory cannot fail.
    let written = serde_json::to_writer(&mut *out, key)
        .map(|()| out.get_mut().extend_from_slice(b":"))
        .and_then(|()| serde_json::to_writer(&mut *out, value));
    debug_assert!(written.is_ok(), "JSON values always serialise");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_and_value_say_the_same() {
        let body = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}});
        let object = Object::new(body.as_object().unwrap().clone(), Arc::from([]), 7);
        let bytes = object.to_bytes(&TypePrefix::new("v1", "ConfigMap"));
        let parsed: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(parsed, object.to_value("v1", "ConfigMap"));
        assert_eq!(parsed["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn an_object_at_rest_is_the_same_object() {
        let body =
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"ports": [{"port": 80}]}});
        let object = Object::at_rest(body.as_object().unwrap().clone(), 7);
        assert!(object.body.get().is_none(), "nobody has looked into it");
        let awake = Object::new(body.as_object().unwrap().clone(), Arc::from([]), 7);
        let prefix = TypePrefix::new("v1", "Service");
        assert_eq!(object.to_bytes(&prefix), awake.to_bytes(&prefix));
        assert!(object.body.get().is_none());
        assert_eq!((object.body(), object.name()), (awake.body(), "a"));
        assert_eq!(object.into_body(), awake.into_body());
    }

    #[test]
    fn a_later_version_keeps_the_body() {
        let body = json!({"metadata": {"name": "a"}});
        let object = Object::new(body.as_object().unwrap().clone(), Arc::from([]), 7);
        let later = object.at(9);
        assert_eq!((later.name(), later.resource_version()), ("a", 9));
        assert_eq!(later.meta_str("resourceVersion"), "9");
    }
}
