//! What it costs to check values by a schema, reckoned before it is done. A small schema can want any number of checks: a
//! definition that wants the next one twice, forty times in a row, is a trillion of them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::places::Places;

/// Checks of a value by a part of a schema; each takes about a microsecond, and some of memory where it fails.
pub(super) const MOST: u64 = 200_000;
/// Parts of a schema within each other, along references too.
const DEEPEST: usize = 500;
/// Bytes of a text that a pattern or a format reads while something else is checked.
const READ: usize = 64;
/// Checks of a value by the schema of schemas, which is in no chart.
const OF_A_DRAFT: u64 = 30;
/// What it costs to read a text as a pattern.
const PATTERN: u64 = 500;

/// Keywords whose schemas are for the value itself.
const SAME: &[&str] =
    &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords whose schemas are for what is in the value.
const WITHIN: &[&str] = &[
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];
/// Those of them that hold schemas by names.
const MAPS: &[&str] = &["dependentSchemas", "dependencies", "patternProperties"];

/// Why it is not done.
pub(super) enum TooMuch {
    Checks,
    Depth,
}

/// A part of a schema and a value, by their addresses: both are borrowed for as long as this is.
type Pair = (*const Json, *const Json);

struct Reckoning<'s> {
    places: &'s Places<'s>,
    known: HashMap<Pair, u64>,
    open: HashSet<Pair>,
}

/// Whether checking these values by this schema stays within the budget.
pub(super) fn check<'s>(schema: &'s Json, values: &'s Json, places: &'s Places<'s>) -> Result<(), TooMuch> {
    let mut reckoning = Reckoning { places, known: HashMap::new(), open: HashSet::new() };
    reckoning.checks(schema, values, 0).map(drop)
}

// === impl Reckoning ===

impl<'s> Reckoning<'s> {
    /// How many checks a value by a part of the schema leads to. What leads to itself ends there, as it does when it is done.
    fn checks(&mut self, schema: &'s Json, value: &'s Json, depth: usize) -> Result<u64, TooMuch> {
        let Json::Object(parts) = schema else { return Ok(1) };
        let pair: Pair = (schema, value);
        if let Some(known) = self.known.get(&pair) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Err(TooMuch::Depth);
        }
        if self.known.len() as u64 > MOST {
            return Err(TooMuch::Checks);
        }
        if !self.open.insert(pair) {
            return Ok(1);
        }
        let own = own_cost(parts, value);
        let mut sum = own.saturating_add(self.of_value(parts, value, depth)?);
        sum = sum.saturating_add(self.of_content(parts, value, depth)?);
        // What was looked at already is looked for once more.
        if parts.keys().any(|key| key.starts_with("unevaluated")) {
            sum = sum.saturating_mul(2);
        }
        self.open.remove(&pair);
        self.known.insert(pair, sum);
        if sum > MOST { Err(TooMuch::Checks) } else { Ok(sum) }
    }

    /// Of the schemas that are for the value itself.
    fn of_value(
        &mut self,
        parts: &'s Map<String, Json>,
        value: &'s Json,
        depth: usize,
    ) -> Result<u64, TooMuch> {
        let places = self.places;
        let references = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
        let references = references.filter_map(|key| parts.get(key)?.as_str());
        let mut elsewhere = 0u64;
        let mut referred = Vec::new();
        for reference in references {
            let found = places.of(reference);
            if found.is_empty() && reference.starts_with("http") {
                elsewhere = elsewhere.saturating_add(OF_A_DRAFT.saturating_mul(size(value, 0)));
            }
            referred.extend(found);
        }
        let own = SAME.iter().flat_map(|keyword| schemas(parts, keyword));
        Ok(elsewhere.saturating_add(self.sum(own.chain(referred).map(|schema| (schema, value)), depth)?))
    }

    /// Of the schemas that are for what is in the value.
    fn of_content(
        &mut self,
        parts: &'s Map<String, Json>,
        value: &'s Json,
        depth: usize,
    ) -> Result<u64, TooMuch> {
        let content: Vec<&Json> = match value {
            Json::Object(map) => map.values().collect(),
            Json::Array(items) => items.iter().collect(),
            _ => return Ok(0),
        };
        let named = parts.get("properties").and_then(Json::as_object).zip(value.as_object());
        let named = named.into_iter().flat_map(|(schemas, map)| {
            schemas.iter().filter_map(|(key, schema)| Some((schema, map.get(key)?)))
        });
        let each = WITHIN.iter().flat_map(|keyword| schemas(parts, keyword));
        let each = each.flat_map(|schema| content.iter().map(move |value| (schema, *value)));
        self.sum(named.chain(each), depth)
    }

    /// Of each of these values by its schema.
    fn sum(
        &mut self,
        pairs: impl Iterator<Item = (&'s Json, &'s Json)>,
        depth: usize,
    ) -> Result<u64, TooMuch> {
        let mut sum = 0u64;
        for (schema, value) in pairs {
            sum = sum.saturating_add(self.checks(schema, value, depth + 1)?);
        }
        Ok(sum)
    }
}

/// How many values there are in this one, as far as they count.
fn size(value: &Json, before: u64) -> u64 {
    let add = |sum: u64, value: &Json| if sum > MOST { sum } else { size(value, sum) };
    match value {
        Json::Object(map) => map.values().fold(before + 1, add),
        Json::Array(items) => items.iter().fold(before + 1, add),
        _ => before + 1,
    }
}

/// What the keywords cost that are for this value alone.
fn own_cost(parts: &Map<String, Json>, value: &Json) -> u64 {
    let length = |keyword: &str| match parts.get(keyword) {
        Some(Json::Array(items)) => items.len() / 8,
        Some(Json::Object(map)) => map.len() / 8,
        _ => 0,
    };
    let lists = length("enum") + length("required") + length("properties") + length("const");
    let read = match value {
        Json::String(text) if ["pattern", "format"].iter().any(|key| parts.contains_key(*key)) => {
            text.len() / READ
        }
        Json::Object(map) => {
            let patterns = schemas(parts, "patternProperties").len();
            map.keys().map(|key| 1 + key.len() / READ).sum::<usize>() * patterns
        }
        Json::Array(items) if parts.contains_key("uniqueItems") => items.len(),
        _ => 0,
    };
    let is_pattern = value.is_string() && parts.get("format").is_some_and(|format| format == "regex");
    1 + lists as u64 + read as u64 + if is_pattern { PATTERN } else { 0 }
}

/// The schemas under a keyword: one, a list of them, or a map.
fn schemas<'s>(parts: &'s Map<String, Json>, keyword: &str) -> Vec<&'s Json> {
    match parts.get(keyword) {
        Some(Json::Array(items)) => items.iter().collect(),
        Some(Json::Object(map)) if MAPS.contains(&keyword) => map.values().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}
