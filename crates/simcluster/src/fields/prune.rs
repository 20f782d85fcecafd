//! Removing what an applier no longer wants and nobody else owns.

use serde_json::Value;

use super::FieldSet;
use super::walk::element_of;
use crate::object::Json;
use crate::schema::Schema;

/// Removes from `map` what is in `former` and not in `owned`, the fields owned by anyone now.
///
/// A field stays as long as anything below it is owned; an item of a list stays as long as the item
/// itself is, because a writer of one of its fields alone did not create it.
///
/// A part of a custom resource of which nothing is left becomes null, as the real server leaves it:
/// its schema refuses that, unless the part is nullable or the metadata.
pub fn prune(map: &mut Json, former: &FieldSet, owned: &FieldSet, schema: &Schema) {
    let custom = matches!(schema, Schema::Custom(_));
    prune_members(map, former, owned, schema, custom);
}

fn prune_members(map: &mut Json, former: &FieldSet, owned: &FieldSet, schema: &Schema, custom: bool) {
    for (element, before) in &former.children {
        let Some(name) = element.as_field() else { continue };
        let now = owned.children.get(element);
        // What an object always has is emptied instead of removed.
        if now.is_none() && !schema.always_writes(name) {
            map.remove(name);
        } else if let Some(value) = map.get_mut(name) {
            prune_value(value, before, now, schema.field(name), custom && name != "metadata");
        }
    }
}

fn prune_value(
    value: &mut Value,
    former: &FieldSet,
    owned: Option<&FieldSet>,
    schema: &Schema,
    custom: bool,
) {
    let nothing = FieldSet::default();
    let owned = owned.unwrap_or(&nothing);
    let emptied = match value {
        Value::Object(map) if !map.is_empty() => {
            prune_members(map, former, owned, schema, custom);
            map.is_empty()
        }
        Value::Array(items) if !items.is_empty() => {
            prune_items(items, former, owned, schema, custom);
            items.is_empty()
        }
        _ => false,
    };
    if emptied && custom {
        *value = Value::Null;
    }
}

fn prune_items(items: &mut Vec<Value>, former: &FieldSet, owned: &FieldSet, schema: &Schema, custom: bool) {
    items.retain_mut(|item| {
        let Some((element, below)) = element_of(item, schema) else { return true };
        let Some(before) = former.children.get(&element) else { return true };
        let now = owned.children.get(&element);
        if before.member && !now.is_some_and(|now| now.member) {
            return false;
        }
        prune_value(item, before, now, below, custom);
        true
    });
}
