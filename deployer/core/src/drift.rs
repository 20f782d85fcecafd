//! What somebody else has done to an object, as its metadata shows.
//!
//! ```text
//! apply ─► entry of ours in managedFields ─► digest, in the inventory
//! watch of metadata ─► the same digest: nothing but foreign fields has changed; another one, or none: it has drifted
//! ```

// D-1056: drift is that our entry in managedFields is not what our last apply has left.

use std::num::NonZeroU64;

use serde_json::Value;
use sluice_api::{Digest, Gvk, ObjectKey};

use crate::request::Live;

/// Field manager of everything that is applied.
pub const MANAGER: &str = "sluice";
/// Fields of another manager that are named at most.
const MOST: usize = 3;

/// What a watch of the deployed objects of a kind shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// All objects of the kind that profiles have deployed.
    All(Gvk, Vec<Sight>),
    /// One appeared or changed.
    Changed(Box<Sight>),
    /// One is gone; its uid.
    Gone(ObjectKey, String),
    /// Why nothing is shown, or that it is shown again.
    Trouble(Gvk, Option<String>),
}

/// An object as its metadata shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// Which object.
    pub key: ObjectKey,
    /// What is known of it, with our entry in `managedFields`.
    pub live: Live,
    /// Who else wrote to it last, with some of the fields that are that manager's.
    pub by: Option<Writer>,
}

/// Another field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its name.
    pub manager: String,
    /// Some of its fields, as `spec.replicas`.
    pub fields: Vec<String>,
}

// === impl Sight ===

impl Sight {
    /// Reads the metadata of an object.
    pub fn of(key: ObjectKey, object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            key,
            live: Live { fields: own_fields(metadata), ..Live::of(object) },
            by: Writer::last(metadata),
        }
    }
}

impl Writer {
    /// Who has written last, besides us and who writes the status: autoscalers write `scale`.
    fn last(metadata: &Value) -> Option<Self> {
        let entries = metadata["managedFields"].as_array()?.iter();
        let others = entries.filter(|entry| entry["manager"] != MANAGER && entry["subresource"] != "status");
        let last = others.max_by_key(|entry| entry["time"].as_str().unwrap_or_default())?;
        let mut fields = Vec::new();
        leaves(&last["fieldsV1"], &mut Vec::new(), &mut fields);
        Some(Self { manager: last["manager"].as_str().unwrap_or_default().to_owned(), fields })
    }

    /// As it is told.
    pub(crate) fn text(&self) -> String {
        match self.fields.is_empty() {
            true => self.manager.clone(),
            false => format!("{} ({})", self.manager, self.fields.join(", ")),
        }
    }
}

fn leaves(fields: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    let below = fields.as_object().into_iter().flatten().filter(|(key, _)| *key != ".");
    for (key, fields) in below {
        if found.len() == MOST {
            return;
        }
        path.push(key.split_once(':').map_or(key.as_str(), |(_, name)| name).to_owned());
        match fields.as_object().is_none_or(|map| map.keys().all(|key| key == ".")) {
            true => found.push(path.join(".")),
            false => leaves(fields, path, found),
        }
        path.pop();
    }
}

/// Our entry in `managedFields`.
pub(crate) fn own_entry(metadata: &Value) -> Option<&Value> {
    let is_own = |entry: &&Value| {
        entry["manager"] == MANAGER && entry["operation"] == "Apply" && entry.get("subresource").is_none()
    };
    metadata.get("managedFields")?.as_array()?.iter().find(is_own)
}

/// What tells our fields of an object from others; nothing where none are ours.
pub fn own_fields(metadata: &Value) -> Option<NonZeroU64> {
    let text = serde_json::to_vec(own_entry(metadata)?.get("fieldsV1")?).ok()?;
    let digest = Digest::of(&[&text]);
    let bytes = digest.as_bytes().first_chunk::<8>()?;
    Some(NonZeroU64::new(u64::from_be_bytes(*bytes)).unwrap_or(NonZeroU64::MIN))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn entry(manager: &str, time: &str, fields: Value) -> Value {
        let operation = if manager == MANAGER { "Apply" } else { "Update" };
        json!({"manager": manager, "operation": operation, "time": time, "fieldsV1": fields})
    }

    fn sight(entries: Vec<Value>) -> Sight {
        let key = ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name: "c".into() };
        Sight::of(key, &json!({"metadata": {"uid": "1", "resourceVersion": "2", "managedFields": entries}}))
    }

    #[test]
    fn our_fields_are_told_from_others_and_not_from_their_time() {
        let ours = |time: &str| entry(MANAGER, time, json!({"f:data": {"f:a": {}}}));
        let alone = sight(vec![ours("1")]).live.fields;
        assert!(alone.is_some());
        assert_eq!(
            sight(vec![entry("x", "3", json!({"f:data": {"f:b": {}}})), ours("2")]).live.fields,
            alone
        );
        assert_ne!(sight(vec![entry(MANAGER, "1", json!({"f:data": {}}))]).live.fields, alone);
        assert_eq!(sight(vec![]).live.fields, None);
        let mut of_status = ours("1");
        of_status["subresource"] = "status".into();
        assert_eq!(sight(vec![of_status]).live.fields, None);
    }

    #[test]
    fn who_wrote_last_is_named_with_some_fields() {
        let fields = json!({"f:spec": {".": {}, "f:replicas": {}, "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}}},
            "f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}});
        let sight = sight(vec![
            entry("old", "1", json!({})),
            entry("edit", "5", fields),
            entry(MANAGER, "9", json!({})),
        ]);
        let by = sight.by.unwrap();
        assert_eq!(by.manager, "edit");
        assert_eq!(
            by.text(),
            "edit (metadata.labels.a, metadata.labels.b, spec.containers.{\"name\":\"a\"}.image)"
        );
    }
}
