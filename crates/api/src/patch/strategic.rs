//! Strategic merge patch: a merge patch whose lists merge by key, with directives. Where no key is known it is the JSON
//! merge patch of RFC 7386.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keys::{Key, Part, Shape};

/// Says what becomes of the map, or of the list, that it stands in: `merge`, `replace` or `delete`.
const PATCH: &str = "$patch";
/// The fields that a map keeps.
const RETAIN: &str = "$retainKeys";
/// Values that go from a list.
const DELETE: &str = "$deleteFromPrimitiveList/";
/// The order of a list.
const ORDER: &str = "$setElementOrder/";

/// Merges `change` into `target`; `None` when the patch deletes the whole.
///
/// # Errors
/// The field, and what is wrong with the patch there.
pub(super) fn merge(
    target: Value,
    change: &Map<String, Value>,
    shape: &'static Shape,
) -> Result<Option<Value>, String> {
    let before = match directive(change)? {
        Directive::Delete => return Ok(None),
        Directive::Replace => Map::new(),
        Directive::Merge => match target {
            Value::Object(map) => map,
            _ => Map::new(),
        },
    };
    merge_map(before, change, shape).map(Some)
}

/// What a map of a patch says of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(change: &Map<String, Value>) -> Result<Directive, String> {
    match change.get(PATCH) {
        None => Ok(Directive::Merge),
        Some(Value::String(text)) if text == "merge" => Ok(Directive::Merge),
        Some(Value::String(text)) if text == "replace" => Ok(Directive::Replace),
        Some(Value::String(text)) if text == "delete" => Ok(Directive::Delete),
        Some(other) => Err(format!("{PATCH}: {other} is no directive; use merge, replace or delete")),
    }
}

fn merge_map(
    mut map: Map<String, Value>,
    change: &Map<String, Value>,
    shape: &'static Shape,
) -> Result<Value, String> {
    retain(&mut map, change)?;
    for (key, values) in change {
        if let Some(field) = key.strip_prefix(DELETE) {
            delete(&mut map, field, list_of(key, values)?);
        }
    }
    for (field, change) in change.iter().filter(|(field, _)| !is_directive(field)) {
        let present = map.remove(field);
        if change.is_null() {
            continue;
        }
        let merged = merge_value(present, change, shape.part(field)).map_err(|error| below(field, &error))?;
        map.extend(merged.map(|merged| (field.clone(), merged)));
    }
    for (key, values) in change {
        if let Some(field) = key.strip_prefix(ORDER) {
            order_alone(&mut map, field, list_of(key, values)?, shape);
        }
    }
    Ok(Value::Object(map))
}

fn is_directive(field: &str) -> bool {
    field == PATCH || field == RETAIN || field.starts_with(DELETE) || field.starts_with(ORDER)
}

/// The path of an error grows from the inside to the outside.
fn below(field: &str, error: &str) -> String {
    let between = if error.starts_with('[') { "" } else { "." };
    format!("{field}{between}{error}")
}

fn list_of<'v>(key: &str, values: &'v Value) -> Result<&'v [Value], String> {
    values.as_array().map(Vec::as_slice).ok_or_else(|| format!("{key}: must be a list"))
}

fn retain(map: &mut Map<String, Value>, change: &Map<String, Value>) -> Result<(), String> {
    let Some(keys) = change.get(RETAIN) else { return Ok(()) };
    let keys: HashSet<&str> = list_of(RETAIN, keys)?.iter().filter_map(Value::as_str).collect();
    let stray = change
        .iter()
        .find(|(field, value)| !is_directive(field) && !value.is_null() && !keys.contains(field.as_str()));
    if let Some((field, _)) = stray {
        return Err(format!("{RETAIN}: lacks {field:?}, which the patch sets; list it, or do not set it"));
    }
    map.retain(|field, _| keys.contains(field.as_str()));
    Ok(())
}

fn delete(map: &mut Map<String, Value>, field: &str, values: &[Value]) {
    let gone: HashSet<String> = values.iter().map(Value::to_string).collect();
    if let Some(Value::Array(items)) = map.get_mut(field) {
        items.retain(|item| !gone.contains(&item.to_string()));
    }
}

fn merge_value(present: Option<Value>, change: &Value, part: Option<Part>) -> Result<Option<Value>, String> {
    match change {
        Value::Object(change) => {
            let shape = match part {
                Some(Part::Map(shape)) => shape,
                _ => Shape::PLAIN,
            };
            merge(present.unwrap_or_default(), change, shape)
        }
        Value::Array(change) => {
            let items = match present {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            merge_list(items, change, part).map(|items| Some(items.into()))
        }
        other => Ok(Some(other.clone())),
    }
}

fn merge_list(items: Vec<Value>, change: &[Value], part: Option<Part>) -> Result<Vec<Value>, String> {
    let items = if change.iter().any(is_replacement) { Vec::new() } else { items };
    match part {
        Some(Part::Keyed(keys, shape)) => merge_keyed(items, change, keys, shape),
        Some(Part::Set) => Ok(merge_set(items, change)),
        _ => {
            let marked = |item: &Value| item.get(PATCH).is_some() && !is_replacement(item);
            if let Some(index) = change.iter().position(marked) {
                let text = "the items of this list cannot be told apart; write the whole list";
                return Err(format!("[{index}].{PATCH}: {text}"));
            }
            Ok(change.iter().filter(|item| !is_replacement(item)).cloned().collect())
        }
    }
}

/// An item that says only that the others are the whole list.
fn is_replacement(item: &Value) -> bool {
    let says =
        |map: &Map<String, Value>| map.len() == 1 && map.get(PATCH).is_some_and(|said| said == "replace");
    item.as_object().is_some_and(says)
}

fn merge_set(items: Vec<Value>, change: &[Value]) -> Vec<Value> {
    let mut known: HashSet<String> = items.iter().map(Value::to_string).collect();
    let old = items.len();
    let new = change.iter().filter(|item| !is_replacement(item) && known.insert(item.to_string()));
    let merged: Vec<Value> = items.into_iter().chain(new.cloned()).collect();
    arranged(merged, old, change, &[])
}

fn merge_keyed(
    mut items: Vec<Value>,
    change: &[Value],
    keys: &'static [Key],
    shape: &'static Shape,
) -> Result<Vec<Value>, String> {
    let (mut places, mut gone, mut old) = (Places::of(&items, keys), HashSet::new(), items.len());
    for (index, item) in change.iter().enumerate().filter(|(_, item)| !is_replacement(item)) {
        let at = |error: &str| below(&format!("[{index}]"), error);
        let map = keyed(item, keys).map_err(|error| at(&error))?;
        let place = places.find(item);
        let present =
            place.filter(|place| !gone.contains(place)).map(|place| std::mem::take(&mut items[place]));
        let merged = merge(present.unwrap_or_default(), map, shape).map_err(|error| at(&error))?;
        match (place, merged) {
            (Some(place), Some(merged)) => {
                gone.remove(&place);
                items[place] = merged;
            }
            (Some(place), None) => drop(gone.insert(place)),
            (None, Some(merged)) => {
                places.add(items.len(), item);
                items.push(merged);
            }
            (None, None) => {}
        }
    }
    old -= gone.iter().filter(|place| **place < old).count();
    let left = items.into_iter().enumerate().filter(|(place, _)| !gone.contains(place));
    Ok(arranged(left.map(|(_, item)| item).collect(), old, change, keys))
}

/// An item of a patch, when it says which one it is about.
fn keyed<'v>(item: &'v Value, keys: &[Key]) -> Result<&'v Map<String, Value>, String> {
    let main = keys.first().map_or("", |(key, _)| key);
    let map = item.as_object().filter(|map| map.get(main).is_some_and(|id| !id.is_null()));
    let map = map.ok_or_else(|| format!("{main}: is missing; it tells the items of this list apart"))?;
    let nested = |(key, _): &&Key| map.get(*key).is_some_and(|id| id.is_object() || id.is_array());
    match keys.iter().find(nested) {
        Some((key, _)) => Err(format!("{key}: is no plain value; it tells the items of this list apart")),
        None => Ok(map),
    }
}

/// Where in a list the items are that a patch may mean.
struct Places {
    keys: &'static [Key],
    by_main: HashMap<String, Vec<(usize, String)>>,
}

impl Places {
    fn of(items: &[Value], keys: &'static [Key]) -> Self {
        let mut places = Self { keys, by_main: HashMap::new() };
        items.iter().enumerate().for_each(|(place, item)| places.add(place, item));
        places
    }

    fn add(&mut self, place: usize, item: &Value) {
        let places = self.by_main.entry(identity(item, &self.keys[..1])).or_default();
        places.push((place, identity(item, self.keys)));
    }

    /// The item that one of a patch is about. Where that does not say everything that tells items apart, it is the first
    /// whose main key is the same, as API servers have it.
    fn find(&self, item: &Value) -> Option<usize> {
        let places = self.by_main.get(&identity(item, &self.keys[..1]))?;
        let whole = self.keys.iter().all(|(key, _)| item.get(key).is_some_and(|value| !value.is_null()));
        let same = identity(item, self.keys);
        places.iter().find(|(_, other)| !whole || *other == same).map(|(place, _)| *place)
    }
}

/// What tells an item apart; all of it where it has no keys.
fn identity(item: &Value, keys: &[Key]) -> String {
    if keys.is_empty() {
        return item.to_string();
    }
    let part = |(key, default): &Key| match (item.get(key), default) {
        (None | Some(Value::Null), Some(default)) => Value::from(*default).to_string(),
        (value, _) => value.map(Value::to_string).unwrap_or_default(),
    };
    keys.iter().map(part).collect::<Vec<_>>().join("\0")
}

fn order_alone(map: &mut Map<String, Value>, field: &str, order: &[Value], shape: &'static Shape) {
    let keys = match shape.part(field) {
        Some(Part::Keyed(keys, _)) => keys,
        Some(Part::Set) => &[],
        _ => return,
    };
    if let Some(Value::Array(items)) = map.get_mut(field) {
        *items = arranged(std::mem::take(items), usize::MAX, order, keys);
    }
}

/// The items that `order` names, in that order. Another one, if it is of the `old` ones that were there before, stays before
/// the next of those that is named; what is new and not named comes last.
fn arranged(items: Vec<Value>, old: usize, order: &[Value], keys: &'static [Key]) -> Vec<Value> {
    let (mut exact, mut loose) = (HashMap::new(), HashMap::new());
    for (position, item) in order.iter().enumerate() {
        let whole = keys.iter().all(|(key, _)| item.get(key).is_some_and(|value| !value.is_null()));
        let known = if whole { &mut exact } else { &mut loose };
        known.entry(identity(item, if whole { keys } else { &keys[..1] })).or_insert(position);
    }
    let position = |item: &Value| {
        let loosely = || loose.get(&identity(item, &keys[..keys.len().min(1)]));
        exact.get(&identity(item, keys)).or_else(loosely).copied()
    };
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for (place, item) in items.into_iter().enumerate() {
        match position(&item) {
            Some(position) => named.push((position, place, item)),
            None => others.push((place, item)),
        }
    }
    named.sort_by_key(|(position, place, _)| (*position, *place));
    let mut others = others.into_iter().peekable();
    let mut arranged = Vec::new();
    for (_, place, item) in named {
        while let Some((_, other)) = others.next_if(|(other, _)| place < old && *other < place) {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others.map(|(_, other)| other));
    arranged
}

#[cfg(test)]
mod tests;
