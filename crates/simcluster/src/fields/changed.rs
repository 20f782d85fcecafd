//! What differs between two states of an object, as field sets.

use serde_json::Value;

use super::walk::{Part, fill, parts};
use super::{FieldSet, PathElement};
use crate::schema::Schema;

/// The fields that `new` adds to `old` or gives another value.
pub fn changed(old: Option<&Value>, new: &Value, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    collect(&mut set, old, new, schema);
    set
}

fn collect(set: &mut FieldSet, old: Option<&Value>, new: &Value, schema: &Schema) {
    let Some(old) = old else { return fill(set, new, schema, true) };
    if old == new {
        return;
    }
    match (parts(old, schema), parts(new, schema)) {
        (Some(before), Some(after)) => collect_parts(set, &before, after),
        // A container that is emptied loses its parts; itself it stays as it was.
        (Some(_), None) if is_empty(new) => {}
        (_, None) => set.member = true,
        (None, Some(after)) if is_empty(old) => collect_parts(set, &[], after),
        (None, Some(_)) => fill(set, new, schema, true),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn collect_parts(set: &mut FieldSet, before: &[Part<'_>], after: Vec<Part<'_>>) {
    for part in after {
        let former = before.iter().find(|former| former.element == part.element).map(|former| former.value);
        let mut child = FieldSet::default();
        collect(&mut child, former, part.value, part.schema);
        child.member |= part.entry && former.is_none();
        if !child.is_empty() {
            set.children.insert(part.element, child);
        }
    }
}

/// Drops from `set` what no longer exists in `value`.
pub fn retain_existing(set: &mut FieldSet, value: &Value, schema: &Schema) {
    if set.children.is_empty() {
        return;
    }
    let existing = parts(value, schema).unwrap_or_default();
    set.children.retain(|element, child| {
        let Some(part) = find(&existing, element) else { return false };
        retain_existing(child, part.value, part.schema);
        !child.is_empty()
    });
}

fn find<'a, 'b>(parts: &'a [Part<'b>], element: &PathElement) -> Option<&'a Part<'b>> {
    parts.iter().find(|part| part.element == *element)
}
