//! What differs between two states of an object, as field sets.

use serde_json::Value;

use super::walk::{Part, added, is_empty, members, parts};
use super::{FieldSet, PathElement};
use crate::object::Json;
use crate::schema::Schema;

/// The fields that `new` adds to `old` or gives another value.
pub fn changed(old: Option<&Json>, new: &Json, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    let before = old.map(|old| members(old, schema)).unwrap_or_default();
    collect(&mut set, &before, members(new, schema));
    set
}

fn changed_value(old: &Value, new: &Value, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    if old == new {
        return set;
    }
    match (parts(old, schema), parts(new, schema)) {
        (Some(before), Some(after)) => collect(&mut set, &before, after),
        (None, Some(after)) => {
            set.member = !is_empty(old);
            collect(&mut set, &[], after);
        }
        // A container that is emptied loses its parts; itself it stays as it was.
        (Some(_), None) if is_empty(new) => {}
        (_, None) => set.member = true,
    }
    set
}

fn collect(set: &mut FieldSet, before: &[Part<'_>], after: Vec<Part<'_>>) {
    for part in after {
        let below = match find(before, &part.element) {
            Some(former) => changed_value(former.value, part.value, part.schema),
            None => added(&part),
        };
        if !below.is_empty() {
            set.children.insert(part.element, below);
        }
    }
}

/// Drops from `set` what was in `before` and no longer is in `after`.
pub fn drop_removed(set: &mut FieldSet, before: &Json, after: &Json, schema: &Schema) {
    retain(set, &members(before, schema), &members(after, schema));
}

fn retain(set: &mut FieldSet, before: &[Part<'_>], after: &[Part<'_>]) {
    set.children.retain(|element, below| match (find(before, element), find(after, element)) {
        (Some(_), None) => false,
        (Some(old), Some(new)) => {
            if !below.children.is_empty() && old.value != new.value {
                let (old, new) = (parts(old.value, old.schema), parts(new.value, new.schema));
                retain(below, &old.unwrap_or_default(), &new.unwrap_or_default());
            }
            !below.is_empty()
        }
        (None, _) => true,
    });
}

fn find<'a, 'b>(parts: &'a [Part<'b>], element: &PathElement) -> Option<&'a Part<'b>> {
    parts.iter().find(|part| part.element == *element)
}
