//! What does not meet a schema, as a tree: a part of a schema that several errors are in has a line of its own. The library that
//! checks tells of single errors, each with the way through the schema that led to it; Helm's tells of such a tree.

use std::collections::{BTreeMap, HashMap};

use jsonschema::error::{ValidationError, ValidationErrorKind as Rule};
use serde_json::Value as Json;

use super::words::{NO, quoted, quoted_text, reason};

/// Keywords in the order in which Helm's library looks at them; those of one line belong together.
const ORDER: &[&[&str]] = &[
    &["$ref"],
    &["minProperties"],
    &["maxProperties"],
    &["required"],
    &["dependencies"],
    &["properties", "patternProperties"],
    &["additionalProperties"],
    &["propertyNames"],
    &["dependentSchemas"],
    &["dependentRequired"],
    &["minItems"],
    &["maxItems"],
    &["uniqueItems"],
    &["prefixItems", "items"],
    &["additionalItems"],
    &["contains", "minContains", "maxContains"],
    &["minLength"],
    &["maxLength"],
    &["pattern"],
    &["minimum"],
    &["maximum"],
    &["exclusiveMinimum"],
    &["exclusiveMaximum"],
    &["multipleOf"],
    &["$recursiveRef"],
    &["$dynamicRef"],
    &["not"],
    &["allOf"],
    &["anyOf"],
    &["oneOf"],
    &["if", "then", "else"],
];
/// A value that is wrong by one of these is looked at no further.
const FINAL: [&str; 4] = ["type", "const", "enum", "format"];

/// What was looked at, and by what.
#[derive(Clone, Copy)]
pub(super) struct Looked<'s> {
    pub(super) schema: &'s Json,
    pub(super) values: &'s Json,
}

/// A line, and those that stand below it.
pub(super) struct Line {
    place: String,
    says: String,
    below: Vec<Line>,
    /// Whether it says nothing but that there are several below it.
    is_group: bool,
}

/// An error, the way through the schema to it, and the place of the value that it is about.
struct Found<'e> {
    error: &'e ValidationError<'e>,
    way: Vec<&'e str>,
    place: String,
}

/// What is wrong with these values.
pub(super) fn of<'e>(
    errors: impl IntoIterator<Item = &'e ValidationError<'e>>,
    looked: Looked<'_>,
) -> Vec<Line> {
    let found: Vec<Found<'_>> = errors.into_iter().flat_map(|error| Found::all(error, looked)).collect();
    let mut lines = lines(&found.iter().collect::<Vec<_>>(), 0, "", looked);
    // One that stands alone is not needed.
    match lines.pop_if(|line| line.is_group) {
        Some(group) if lines.is_empty() => group.below,
        group => lines.into_iter().chain(group).collect(),
    }
}

/// The lines of a part of the schema at a value: `depth` words of the way lead to it.
fn lines(found: &[&Found<'_>], depth: usize, place: &str, looked: Looked<'_>) -> Vec<Line> {
    for keyword in FINAL {
        if let Some(last) = found.iter().find(|found| found.rest(depth) == [keyword]) {
            return vec![last.line(place, looked)];
        }
    }
    // By the keyword and the value that it is about: each has a line at most, or one for each error in itself.
    let mut parts: Vec<Vec<&Found<'_>>> = Vec::new();
    let mut places = HashMap::new();
    for found in found {
        let part = (found.rank(depth), found.part(depth, place, looked));
        let at = *places.entry(part).or_insert(parts.len());
        if at == parts.len() {
            parts.push(Vec::new());
        }
        parts[at].push(found);
    }
    let mut order: Vec<_> = places.into_iter().map(|((rank, part), at)| (rank, at, part)).collect();
    order.sort_by_key(|(rank, at, _)| (*rank, *at));
    order.into_iter().flat_map(|(_, at, part)| of_part(&part, &parts[at], depth, place, looked)).collect()
}

/// What is looked at by one keyword.
#[derive(PartialEq, Eq, Hash)]
enum Part {
    /// The value itself.
    Here,
    /// All that one object lacks.
    Required,
    /// All that it lacks because it has this property.
    Needed(String),
    /// The value itself, by a part of the schema that is referred to.
    Referred,
    /// The value itself, by a part so many words further.
    Same(usize),
    /// The value by several parts.
    All,
    /// A value within it, by a part so many words further.
    Within(String, usize),
}

fn of_part(part: &Part, found: &[&Found<'_>], depth: usize, place: &str, looked: Looked<'_>) -> Vec<Line> {
    match part {
        Part::Here => found.iter().map(|found| found.line(place, looked)).collect(),
        Part::Required => vec![Line::new(place, missing(found))],
        Part::Needed(by) => {
            let lacks = lacking(found).join(", ");
            vec![Line::new(place, format!("properties {lacks} required, if {} exists", quoted(by)))]
        }
        Part::Referred => {
            let mut found = one(lines(found, depth + 1, place, looked), place);
            found.iter_mut().for_each(|line| line.is_group = false);
            found
        }
        Part::Same(words) => one(lines(found, depth + words, place, looked), place),
        Part::Within(inner, words) => one(lines(found, depth + words, inner, looked), inner),
        Part::All => {
            let mut by_index: BTreeMap<&str, Vec<&Found<'_>>> = BTreeMap::new();
            for found in found {
                let index = found.rest(depth).get(1).copied().unwrap_or_default();
                by_index.entry(index).or_default().push(found);
            }
            let mut indices: Vec<_> = by_index.into_iter().collect();
            indices.sort_by_key(|(index, _)| index.parse::<usize>().unwrap_or_default());
            let each = indices
                .into_iter()
                .flat_map(|(_, found)| one(lines(&found, depth + 2, place, looked), place));
            vec![Line { below: each.collect(), ..Line::new(place, "'allOf' failed") }]
        }
    }
}

/// Several lines about one part of the schema stand below one of their own.
fn one(lines: Vec<Line>, place: &str) -> Vec<Line> {
    if lines.len() < 2 {
        return lines;
    }
    vec![Line { below: lines, is_group: true, ..Line::new(place, "validation failed") }]
}

fn missing(found: &[&Found<'_>]) -> String {
    let names = lacking(found);
    let word = if names.len() == 1 { "property" } else { "properties" };
    format!("missing {word} {}", names.join(", "))
}

fn lacking(found: &[&Found<'_>]) -> Vec<String> {
    let name = |found: &&Found<'_>| match found.error.kind() {
        Rule::Required { property } => Some(quoted_text(property)),
        _ => None,
    };
    found.iter().filter_map(name).collect()
}

/// A name as a part of a place.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

// === impl Found ===

impl<'e> Found<'e> {
    /// An error about several values within one is one for each of them, where the schema says no more than no.
    fn all(error: &'e ValidationError<'e>, looked: Looked<'_>) -> Vec<Self> {
        let place = error.instance_path().as_str();
        let is_no = || looked.schema.pointer(error.schema_path().as_str()) == Some(&Json::Bool(false));
        let places = match error.kind() {
            Rule::UnevaluatedProperties { unexpected } if is_no() => {
                unexpected.iter().map(|name| format!("{place}/{}", escaped(name))).collect()
            }
            Rule::UnevaluatedItems { unexpected } if is_no() => {
                let end = error.instance().as_array().map_or(0, Vec::len);
                (end.saturating_sub(unexpected.len())..end).map(|index| format!("{place}/{index}")).collect()
            }
            _ => vec![place.to_owned()],
        };
        let way: Vec<&str> = error.evaluation_path().as_str().split('/').skip(1).collect();
        places.into_iter().map(|place| Self { error, way: way.clone(), place }).collect()
    }

    /// The way from there on.
    fn rest(&self, depth: usize) -> &[&'e str] {
        self.way.get(depth..).unwrap_or_default()
    }

    /// Where the keyword stands among the others.
    fn rank(&self, depth: usize) -> usize {
        let keyword = self.rest(depth).first().copied().unwrap_or_default();
        ORDER.iter().position(|equals| equals.contains(&keyword)).unwrap_or(ORDER.len())
    }

    fn part(&self, depth: usize, place: &str, looked: Looked<'_>) -> Part {
        let way = self.rest(depth);
        let is_index =
            |word: Option<&&str>| word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let within = |words: usize| {
            let rest = self.place.get(place.len() + 1..).unwrap_or_default();
            Part::Within(format!("{place}/{}", rest.split('/').next().unwrap_or_default()), words)
        };
        match way {
            ["required"] => Part::Required,
            ["dependencies" | "dependentRequired"] => {
                self.needed_by(looked).map_or(Part::Required, Part::Needed)
            }
            [] | [_] if !self.is_within(place) => Part::Here,
            ["allOf", _, ..] => Part::All,
            ["$ref" | "$dynamicRef" | "$recursiveRef", ..] => Part::Referred,
            ["if", "then" | "else", ..] | ["dependentSchemas" | "dependencies", _, ..] => Part::Same(2),
            ["then" | "else", ..] => Part::Same(1),
            ["properties" | "patternProperties", _, ..] => within(2),
            ["items" | "prefixItems", ..] if is_index(way.get(1)) => within(2),
            [_, ..] if self.is_within(place) => within(1),
            _ => Part::Here,
        }
    }

    /// The property because of which another one is needed: the library tells only of that one.
    fn needed_by(&self, looked: Looked<'_>) -> Option<String> {
        let Rule::Required { property } = self.error.kind() else { return None };
        let dependencies = looked.schema.pointer(self.error.schema_path().as_str())?.as_object()?;
        let needs = |(by, needed): &(&String, &Json)| {
            self.error.instance().get(by).is_some()
                && needed.as_array().is_some_and(|list| list.contains(property))
        };
        dependencies.iter().find(needs).map(|(by, _)| by.clone())
    }

    /// Whether it is about something in the value at this place.
    fn is_within(&self, place: &str) -> bool {
        self.place.len() > place.len()
    }

    fn line(&self, place: &str, looked: Looked<'_>) -> Line {
        let is_part = self.place.len() > self.error.instance_path().as_str().len();
        let says = if is_part { NO.to_owned() } else { reason(self.error, looked.values) };
        let below = match self.error.kind() {
            Rule::AnyOf { context } | Rule::OneOfNotValid { context } => {
                context.iter().flat_map(|branch| self.branch(branch, place, looked)).collect()
            }
            Rule::PropertyNames { error } => {
                vec![Line::new("", reason(error, looked.values))]
            }
            _ => Vec::new(),
        };
        Line { below, ..Line::new(place, says) }
    }

    /// What one of several parts, of which one is enough, says.
    fn branch(&self, errors: &[ValidationError<'static>], place: &str, looked: Looked<'_>) -> Vec<Line> {
        let found: Vec<Found<'_>> = errors.iter().flat_map(|error| Found::all(error, looked)).collect();
        one(lines(&found.iter().collect::<Vec<_>>(), self.way.len() + 1, place, looked), place)
    }
}

// === impl Line ===

impl Line {
    fn new(place: &str, says: impl Into<String>) -> Self {
        Self { place: place.to_owned(), says: says.into(), below: Vec::new(), is_group: false }
    }

    /// As text, so many steps to the right.
    pub(super) fn write(&self, depth: usize, out: &mut String) {
        out.push_str(&format!("{}- at {}: {}\n", "  ".repeat(depth), quoted(&self.place), self.says));
        self.below.iter().for_each(|line| line.write(depth + 1, out));
    }
}
