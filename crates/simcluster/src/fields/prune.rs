//! Removing what an applier no longer wants and nobody else owns.

use serde_json::Value;

use super::walk::element_of;
use super::{FieldSet, PathElement};
use crate::schema::Schema;

/// Removes from `value` what is in `former` and not in `owned`, the fields owned by anyone now.
///
/// A field stays as long as anything below it is owned; an item of a list stays as long as the item
/// itself is, because a writer of one of its fields alone did not create it.
pub fn prune(value: &mut Value, former: &FieldSet, owned: &FieldSet, schema: &Schema) {
    for (element, before) in &former.children {
        let now = owned.children.get(element);
        // What an object always has is emptied instead of removed.
        let whole = element.as_field().map_or(before.member, |name| !schema.always_writes(name));
        let kept = match element.as_field() {
            Some(_) => now.is_some(),
            None => now.is_some_and(|now| now.member),
        };
        if !kept && whole {
            remove(value, element, schema);
        } else if let Some((part, schema)) = find(value, element, schema) {
            let nothing = FieldSet::default();
            prune(part, before, now.unwrap_or(&nothing), schema);
        }
    }
}

fn find<'a, 'b>(
    value: &'a mut Value,
    element: &PathElement,
    schema: &'b Schema,
) -> Option<(&'a mut Value, &'b Schema)> {
    if let Some(name) = element.as_field() {
        return Some((value.get_mut(name)?, schema.field(name)));
    }
    let items = value.as_array_mut()?;
    items.iter_mut().find_map(|item| {
        let (found, schema) = element_of(item, schema)?;
        (found == *element).then_some((item, schema))
    })
}

fn remove(value: &mut Value, element: &PathElement, schema: &Schema) {
    match (value, element.as_field()) {
        (Value::Object(map), Some(name)) => {
            map.remove(name);
        }
        (Value::Array(items), None) => {
            items.retain(|item| element_of(item, schema).is_none_or(|(found, _)| found != *element));
        }
        _ => {}
    }
}
