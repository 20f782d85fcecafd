//! Merging an applied configuration into the live object.

use serde_json::Value;

use super::PathElement;
use super::walk::element_of;
use crate::object::Json;
use crate::schema::Schema;

/// Merges `config` into `live`: objects by member, associative lists by item, the rest replaced.
pub fn merge(live: &mut Json, config: &Json, schema: &Schema) {
    for (name, value) in config {
        match live.get_mut(name) {
            Some(present) => merge_value(present, value, schema.field(name)),
            None => {
                live.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Whether merging `config` into `live` would change nothing.
pub fn covers(live: &Json, config: &Json, schema: &Schema) -> bool {
    config.iter().all(|(name, value)| {
        live.get(name).is_some_and(|present| covers_value(present, value, schema.field(name)))
    })
}

fn covers_value(live: &Value, config: &Value, schema: &Schema) -> bool {
    if live == config {
        return true;
    }
    match (live, config) {
        _ if matches!(schema, Schema::Atomic) => false,
        (Value::Object(live), Value::Object(config)) => covers(live, config, schema),
        (Value::Array(items), Value::Array(wanted)) if !wanted.is_empty() => {
            let same = merge_items(items, wanted, schema);
            same.is_some_and(|merged| merged == *items)
        }
        _ => false,
    }
}

fn merge_value(live: &mut Value, config: &Value, schema: &Schema) {
    match (&mut *live, config) {
        // Most of what is applied is there already.
        (live, config) if *live == *config => {}
        _ if matches!(schema, Schema::Atomic) => live.clone_from(config),
        (Value::Object(live), Value::Object(config)) => merge(live, config, schema),
        (Value::Array(items), Value::Array(wanted)) if !wanted.is_empty() => {
            match merge_items(items, wanted, schema) {
                Some(merged) => *items = merged,
                None => live.clone_from(config),
            }
        }
        _ => live.clone_from(config),
    }
}

fn merge_items(live: &[Value], wanted: &[Value], schema: &Schema) -> Option<Vec<Value>> {
    let name = |item: &Value| element_of(item, schema).map(|(element, _)| element);
    let live_names = live.iter().map(name).collect::<Option<Vec<_>>>()?;
    let wanted_names = wanted.iter().map(name).collect::<Option<Vec<_>>>()?;
    let item_schema = wanted.first().and_then(|item| element_of(item, schema)).map(|(_, item)| item)?;
    let merged = order(&live_names, &wanted_names).into_iter().map(|place| match place {
        Origin::Live(index) => live[index].clone(),
        Origin::Wanted(index) => {
            let mut item = match live_names.iter().position(|name| *name == wanted_names[index]) {
                Some(position) => live[position].clone(),
                None => return wanted[index].clone(),
            };
            merge_value(&mut item, &wanted[index], item_schema);
            item
        }
    });
    Some(merged.collect())
}

/// Where an item of the result comes from.
enum Origin {
    Live(usize),
    Wanted(usize),
}

/// Wanted items come in their order. Items only in `live` keep their place among the common ones,
/// and come before a wanted one where both would fit.
fn order(live: &[PathElement], wanted: &[PathElement]) -> Vec<Origin> {
    let mut shared = wanted.iter().filter(|name| live.contains(name)).peekable();
    let mut places = Vec::with_capacity(live.len() + wanted.len());
    let (mut l, mut w) = (0, 0);
    while l < live.len() || w < wanted.len() {
        if let (Some(ours), Some(theirs)) = (live.get(l), wanted.get(w)) {
            let moved = wanted.contains(ours) && shared.peek().is_some_and(|next| *next != ours);
            if ours != theirs && moved {
                l += 1;
                continue;
            }
        }
        match live.get(l) {
            Some(ours) if !wanted.contains(ours) => {
                places.push(Origin::Live(l));
                l += 1;
                continue;
            }
            // It comes, or came, with the wanted ones.
            Some(ours) if wanted[..w].contains(ours) || wanted.get(w) == Some(ours) => l += 1,
            _ => {}
        }
        if let Some(theirs) = wanted.get(w) {
            places.push(Origin::Wanted(w));
            shared.next_if(|next| *next == theirs);
            w += 1;
        }
    }
    places
}
