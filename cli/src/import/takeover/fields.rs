//! `metadata.managedFields`: what one writer set becomes what another one has set. A field that leaves a manifest goes only if who
//! applies the manifest is the one that owns the field.

use serde_json::{Map, Value, json};
use sluice_api::object;

/// Who writes, and how.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Writer {
    pub(super) manager: String,
    /// `Apply` or `Update`.
    pub(super) operation: String,
}

impl Writer {
    /// By server-side apply.
    pub(super) fn applying(manager: &str) -> Self {
        Self { manager: manager.to_owned(), operation: "Apply".to_owned() }
    }

    /// Who has made an entry.
    pub(super) fn of(entry: &Value) -> Self {
        let text = |field: &str| object::text(entry, &[field]).to_owned();
        Self { manager: text("manager"), operation: text("operation") }
    }
}

/// Whether an entry owns one of these annotations: whoever set it has made the object.
pub(super) fn sets(entry: &Value, annotations: &[&str]) -> bool {
    let owned = object::at(entry, &["fieldsV1", "f:metadata", "f:annotations"]);
    owned.is_some_and(|owned| annotations.iter().any(|name| owned.get(format!("f:{name}")).is_some()))
}

/// The entries with everything that `is_from` selects, and that `to` has already, as one entry of `to`; `None` where that is so.
///
/// Fields of another version of the kind have other names, so that they stay where they are; and so do those of subresources.
pub(super) fn moved(entries: &[Value], is_from: impl Fn(&Value) -> bool, to: &Writer) -> Option<Vec<Value>> {
    let is_whole = |entry: &Value| object::text(entry, &["subresource"]).is_empty();
    let from: Vec<&Value> = entries.iter().filter(|entry| is_whole(entry) && is_from(entry)).collect();
    let version = object::text(from.first()?, &["apiVersion"]);
    // What was written on the way by any other operation is its, too.
    let is_part = |entry: &Value| {
        is_whole(entry)
            && object::text(entry, &["apiVersion"]) == version
            && (is_from(entry) || object::text(entry, &["manager"]) == to.manager)
    };
    let (parts, rest): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(|entry| is_part(entry));
    if let [one] = &parts[..]
        && Writer::of(one) == *to
    {
        return None;
    }
    let mut fields = Map::new();
    for part in &parts {
        unite(&mut fields, part.get("fieldsV1").and_then(Value::as_object)?);
    }
    let time = parts.iter().map(|part| object::text(part, &["time"])).max().unwrap_or_default();
    let mut entry = json!({"manager": to.manager, "operation": to.operation, "apiVersion": version,
        "fieldsType": "FieldsV1", "fieldsV1": fields});
    if !time.is_empty() {
        entry["time"] = time.into();
    }
    Some(rest.into_iter().cloned().chain([entry]).collect())
}

fn unite(into: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (name, value) in other {
        let place = into.entry(name.clone()).or_insert_with(|| json!({}));
        if let (Some(place), Some(value)) = (place.as_object_mut(), value.as_object()) {
            unite(place, value);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn is_original(entry: &Value) -> bool {
        Writer::of(entry) == Writer::applying("application/apply-patch")
    }

    #[test]
    fn fields_of_one_writer_become_those_of_another_and_others_keep_theirs() {
        let user = entry("kubectl-edit", "Update", json!({"f:data": {"f:mine": {}}}));
        let old = entry(
            "application/apply-patch",
            "Apply",
            json!({"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:l": {}}}}),
        );
        let mark = entry("sluice", "Update", json!({"f:metadata": {"f:annotations": {"f:x": {}}}}));
        let entries = moved(&[old, user.clone(), mark], is_original, &Writer::applying("sluice")).unwrap();
        let all = json!({"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:l": {}}, "f:annotations": {"f:x": {}}}});
        assert_eq!(entries, [user, entry("sluice", "Apply", all)]);
        assert_eq!(moved(&entries, is_original, &Writer::applying("sluice")), None, "it is done");
        // And back.
        let back = Writer::applying("application/apply-patch");
        let entries =
            moved(&entries, |entry| Writer::of(entry) == Writer::applying("sluice"), &back).unwrap();
        assert_eq!(Writer::of(&entries[1]), back);
    }

    #[test]
    fn what_both_have_is_united() {
        let (old, new) = (json!({"f:a": {}, "f:b": {"f:c": {}}}), json!({"f:b": {"f:d": {}, ".": {}}}));
        let entries = [entry("application/apply-patch", "Apply", old), entry("sluice", "Apply", new)];
        let united = moved(&entries, is_original, &Writer::applying("sluice")).unwrap();
        assert_eq!(
            united,
            [entry("sluice", "Apply", json!({"f:a": {}, "f:b": {"f:c": {}, "f:d": {}, ".": {}}}))]
        );
    }

    #[test]
    fn another_version_and_the_status_stay_where_they_are() {
        let old = entry("application/apply-patch", "Apply", json!({"f:a": {}}));
        let mut status = entry("application/apply-patch", "Apply", json!({"f:status": {}}));
        status["subresource"] = "status".into();
        let mut later = entry("sluice", "Update", json!({"f:b": {}}));
        later["apiVersion"] = "v2".into();
        let entries = moved(&[old, status.clone(), later.clone()], is_original, &Writer::applying("sluice"));
        assert_eq!(entries.unwrap()[..2], [status, later]);
        assert_eq!(moved(&[entry("x", "Apply", json!({}))], is_original, &Writer::applying("sluice")), None);
    }

    #[test]
    fn who_has_made_an_object_is_told_by_what_it_set_on_it() {
        let stamped = json!({"f:metadata": {"f:annotations": {".": {}, "f:meta.helm.sh/release-name": {}}}});
        assert!(sets(&entry("manager", "Update", stamped), &["meta.helm.sh/release-name"]));
        let another = json!({"f:spec": {"f:replicas": {}}});
        assert!(!sets(&entry("manager", "Update", another), &["meta.helm.sh/release-name"]));
    }
}
