//! What differs between two states of an object, as field sets.

use serde_json::Value;

use super::walk::{Part, added, is_empty, parts};
use super::{FieldSet, PathElement};
use crate::schema::Schema;

/// The fields that `new` adds to `old` or gives another value.
pub fn changed(old: Option<&Value>, new: &Value, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    if old == Some(new) {
        return set;
    }
    let before = old.map(|old| parts(old, schema));
    match (before, parts(new, schema)) {
        (Some(Some(before)), Some(after)) => collect(&mut set, &before, after),
        (None, Some(after)) => collect(&mut set, &[], after),
        (Some(None), Some(after)) if old.is_some_and(is_empty) => collect(&mut set, &[], after),
        (Some(None), Some(after)) => {
            set.member = true;
            collect(&mut set, &[], after);
        }
        // A container that is emptied loses its parts; itself it stays as it was.
        (Some(Some(_)), None) if is_empty(new) => {}
        (_, None) => set.member = true,
    }
    set
}

fn collect(set: &mut FieldSet, before: &[Part<'_>], after: Vec<Part<'_>>) {
    for part in after {
        let below = match find(before, &part.element) {
            Some(former) => changed(Some(former.value), part.value, part.schema),
            None => added(&part),
        };
        if !below.is_empty() {
            set.children.insert(part.element, below);
        }
    }
}

/// Drops from `set` what was in `before` and no longer is in `after`.
pub fn drop_removed(set: &mut FieldSet, before: &Value, after: &Value, schema: &Schema) {
    if set.children.is_empty() || before == after {
        return;
    }
    let old = parts(before, schema).unwrap_or_default();
    let new = parts(after, schema).unwrap_or_default();
    set.children.retain(|element, below| match (find(&old, element), find(&new, element)) {
        (Some(_), None) => false,
        (Some(old), Some(new)) => {
            drop_removed(below, old.value, new.value, new.schema);
            !below.is_empty()
        }
        (None, _) => true,
    });
}

fn find<'a, 'b>(parts: &'a [Part<'b>], element: &PathElement) -> Option<&'a Part<'b>> {
    parts.iter().find(|part| part.element == *element)
}
