//! The parts of a value as field paths name them.

use serde_json::Value;

use super::{FieldSet, PathElement};
use crate::schema::Schema;

/// One part of a value.
#[derive(Debug)]
pub struct Part<'a> {
    /// How paths name it.
    pub element: PathElement,
    /// The part.
    pub value: &'a Value,
    /// Its shape.
    pub schema: &'a Schema,
    /// Whether it is an entry of a map or list rather than a field of a type: entries are owned
    /// themselves, fields only through what is in them.
    pub entry: bool,
}

/// The parts of a value; `None` when it is owned as a whole.
pub fn parts<'a>(value: &'a Value, schema: &'a Schema) -> Option<Vec<Part<'a>>> {
    if matches!(schema, Schema::Atomic) {
        return None;
    }
    match value {
        Value::Object(map) if !map.is_empty() => {
            let entry = schema.is_map();
            let named = map.iter().map(|(name, value)| (name, value, schema.field(name)));
            let wanted = named.filter(|(_, _, schema)| !matches!(schema, Schema::Ignored));
            Some(
                wanted
                    .map(|(name, value, schema)| Part {
                        element: PathElement::field(name),
                        value,
                        schema,
                        entry,
                    })
                    .collect(),
            )
        }
        Value::Array(items) if !items.is_empty() => item_parts(items, schema),
        _ => None,
    }
}

/// Items of an associative list; a list whose items cannot be told apart is owned as a whole.
fn item_parts<'a>(items: &'a [Value], schema: &'a Schema) -> Option<Vec<Part<'a>>> {
    items
        .iter()
        .map(|value| {
            let (element, schema) = element_of(value, schema)?;
            Some(Part { element, value, schema, entry: true })
        })
        .collect()
}

/// How paths name an item of a list of this shape, and the shape of the item.
pub fn element_of<'a>(item: &Value, list: &'a Schema) -> Option<(PathElement, &'a Schema)> {
    match list {
        Schema::ListMap(keyed) => Some((PathElement::key(item, keyed)?, &keyed.item)),
        Schema::Set => Some((PathElement::value(item), &Schema::Any)),
        _ => None,
    }
}

/// The fields that an applied configuration owns.
pub fn field_set(value: &Value, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    fill(&mut set, value, schema, false);
    set
}

/// Adds all of `value` to `set`. With `containers` the maps themselves count as written too, as
/// they do for a writer that created them by an update.
pub fn fill(set: &mut FieldSet, value: &Value, schema: &Schema, containers: bool) {
    let Some(parts) = parts(value, schema) else {
        set.member = true;
        return;
    };
    set.member |= containers && schema.is_map();
    for part in parts {
        let child = set.child_mut(part.element);
        fill(child, part.value, part.schema, containers);
        child.member |= part.entry;
    }
}
