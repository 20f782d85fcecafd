//! Merging an applied configuration into the live object.

use serde_json::Value;

use super::walk::element_of;
use crate::object::Json;
use crate::schema::Schema;

/// Merges `config` into `live`: objects by member, associative lists by item, the rest replaced.
pub fn merge(live: &mut Value, config: &Value, schema: &Schema) {
    match (&mut *live, config) {
        _ if matches!(schema, Schema::Atomic) => live.clone_from(config),
        (Value::Object(live), Value::Object(config)) => merge_object(live, config, schema),
        (Value::Array(items), Value::Array(wanted)) if !wanted.is_empty() => {
            match merge_items(items, wanted, schema) {
                Some(merged) => *items = merged,
                None => live.clone_from(config),
            }
        }
        _ => live.clone_from(config),
    }
}

fn merge_object(live: &mut Json, config: &Json, schema: &Schema) {
    for (name, value) in config {
        match live.get_mut(name) {
            Some(present) => merge(present, value, schema.field(name)),
            None => {
                live.insert(name.clone(), value.clone());
            }
        }
    }
}

/// The order is that of `wanted`; items only in `live` keep their place before the next common one.
fn merge_items(live: &[Value], wanted: &[Value], schema: &Schema) -> Option<Vec<Value>> {
    let name = |item: &Value| element_of(item, schema).map(|(element, _)| element);
    let live_names = live.iter().map(name).collect::<Option<Vec<_>>>()?;
    let wanted_names = wanted.iter().map(name).collect::<Option<Vec<_>>>()?;
    let item_schema = wanted.first().and_then(|item| element_of(item, schema)).map(|(_, item)| item)?;
    let mut merged = Vec::with_capacity(live.len().max(wanted.len()));
    let mut next = 0;
    for (item, name) in wanted.iter().zip(&wanted_names) {
        while next < live.len() && !wanted_names.contains(&live_names[next]) {
            merged.push(live[next].clone());
            next += 1;
        }
        let position = live_names.iter().position(|candidate| candidate == name);
        merged.push(match position {
            Some(position) => {
                let mut both = live[position].clone();
                merge(&mut both, item, item_schema);
                both
            }
            None => item.clone(),
        });
        if position == Some(next) {
            next += 1;
        }
    }
    let rest = live.iter().zip(&live_names).skip(next).filter(|(_, name)| !wanted_names.contains(name));
    merged.extend(rest.map(|(item, _)| item.clone()));
    Some(merged)
}
