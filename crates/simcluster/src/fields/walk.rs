//! The parts of a value as field paths name them.

use serde_json::Value;

use super::{FieldSet, PathElement};
use crate::object::Json;
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
    /// Whether the object has it always, at least empty.
    pub always: bool,
}

/// The parts of a value; `None` when it is owned as a whole.
pub fn parts<'a>(value: &'a Value, schema: &'a Schema) -> Option<Vec<Part<'a>>> {
    if matches!(schema, Schema::Atomic) {
        return None;
    }
    match value {
        Value::Object(map) if !map.is_empty() => Some(members(map, schema)),
        Value::Array(items) if !items.is_empty() => item_parts(items, schema),
        _ => None,
    }
}

/// The members of an object, without those that nobody owns.
pub fn members<'a>(map: &'a Json, schema: &'a Schema) -> Vec<Part<'a>> {
    let entry = schema.is_map();
    let named = map.iter().map(|(name, value)| (name, value, schema.field(name)));
    let wanted = named.filter(|(_, _, field)| !matches!(field, Schema::Ignored));
    let part = |(name, value, field): (&'a String, &'a Value, &'a Schema)| {
        let (element, always) = (PathElement::field(name), schema.always_writes(name));
        Part { element, value, schema: field, entry, always }
    };
    wanted.map(part).collect()
}

/// Items of an associative list; a list whose items cannot be told apart is owned as a whole.
fn item_parts<'a>(items: &'a [Value], schema: &'a Schema) -> Option<Vec<Part<'a>>> {
    items
        .iter()
        .map(|value| {
            let (element, schema) = element_of(value, schema)?;
            Some(Part { element, value, schema, entry: true, always: false })
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
pub fn field_set(config: &Json, schema: &Schema) -> FieldSet {
    collect(members(config, schema))
}

fn collect(parts: Vec<Part<'_>>) -> FieldSet {
    let mut set = FieldSet::default();
    for part in parts {
        let mut below = match self::parts(part.value, part.schema) {
            Some(parts) => collect(parts),
            None => FieldSet { member: true, ..FieldSet::default() },
        };
        below.member |= part.entry;
        if !below.is_empty() {
            set.children.insert(part.element, below);
        }
    }
    set
}

/// The fields that a part of an object brings when it was not there before: the lists and maps
/// themselves too.
pub fn added(part: &Part<'_>) -> FieldSet {
    let mut set = FieldSet { member: true, ..FieldSet::default() };
    if part.always && is_empty(part.value) {
        set.member = false;
    } else if let Some(parts) = parts(part.value, part.schema) {
        set.member = part.entry || !part.always;
        let outer = part.always;
        for mut part in parts {
            // Of what is new, nothing was there before, not even empty.
            part.always &= outer;
            let below = added(&part);
            if !below.is_empty() {
                set.children.insert(part.element, below);
            }
        }
    }
    set
}

/// Whether the value is a list or map with nothing in it.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
