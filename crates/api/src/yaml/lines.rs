//! In which line of a text a field of an object is: for messages to people.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{Key, options, parse};
use crate::error::TextError;

/// The lines of an object's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    line: u64,
    inside: Inside,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Plain,
    List(Vec<Lines>),
    Map(Vec<(String, Lines)>),
}

/// As [`super::documents`], each object with the lines of its fields.
///
/// # Errors
/// Those of [`super::documents`].
pub fn located(text: &str) -> Result<Vec<(Value, Lines)>, TextError> {
    let values = parse(text)?;
    // What was read once is read again; where it is not, lines are unknown.
    let lines: Vec<Spanned<Inside>> =
        serde_saphyr::from_multiple_with_options(text, options()).unwrap_or_default();
    let known = lines.len() == values.len();
    let mut lines = lines.into_iter().filter(|_| known).map(Lines::from);
    let mut objects = Vec::new();
    for value in values {
        expand(value, lines.next().unwrap_or_default(), &mut objects);
    }
    Ok(objects)
}

/// A `List` is replaced by its items, as in [`super::expand`].
fn expand(value: Value, lines: Lines, objects: &mut Vec<(Value, Lines)>) {
    let mut items = Vec::new();
    super::expand(value.clone(), &mut items);
    if items.len() == 1 && items[0] == value {
        return objects.push((value, lines));
    }
    let each = match lines.field("items").map(|items| &items.inside) {
        Some(Inside::List(each)) => each.clone(),
        _ => Vec::new(),
    };
    // Lists in lists are rare: their items have no lines.
    let known = each.len() == items.len();
    let mut each = each.into_iter().filter(|_| known);
    objects.extend(items.into_iter().map(|item| (item, each.next().unwrap_or_default())));
}

// === impl Lines ===

impl Lines {
    /// The line of a field such as `spec.policyRefs[0].name`, counted from 1; of a field that is missing, the line of what
    /// it is missing in. `None` where that is unknown.
    pub fn of(&self, path: &str) -> Option<u64> {
        let mut at = self;
        let mut rest = path;
        while let Some((inner, left)) = at.step(rest) {
            (at, rest) = (inner, left);
        }
        (at.line > 0).then_some(at.line)
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let Inside::Map(fields) = &self.inside else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, lines)| lines)
    }

    /// One step along a path; keys may hold dots, and the longest that fits is meant.
    fn step<'a>(&self, path: &'a str) -> Option<(&Self, &'a str)> {
        let path = path.trim_start_matches('.');
        match &self.inside {
            Inside::Plain => None,
            Inside::List(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Inside::Map(fields) => {
                let rest_after = |name: &str| {
                    path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                let fitting =
                    fields.iter().filter_map(|(name, lines)| Some((name.len(), lines, rest_after(name)?)));
                fitting.max_by_key(|(length, ..)| *length).map(|(_, lines, rest)| (lines, rest))
            }
        }
    }
}

impl From<Spanned<Inside>> for Lines {
    fn from(spanned: Spanned<Inside>) -> Self {
        Self { line: spanned.referenced.line(), inside: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Inside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InsideVisitor)
    }
}

struct InsideVisitor;

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_str<E>(self, _: &str) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_none<E>(self) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_unit<E>(self) -> Result<Inside, E> {
        Ok(Inside::Plain)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        Inside::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Inside, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Inside>>()? {
            items.push(item.into());
        }
        Ok(Inside::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Inside, A::Error> {
        let mut fields = Vec::new();
        while let Some((Key(key), value)) = access.next_entry::<Key, Spanned<Inside>>()? {
            fields.push((key, value.into()));
        }
        Ok(Inside::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TEXT: &str = "# a comment
kind: A
spec:
  refs:
  - name: x
  - name: y
    more: [1, 2]
data:
  a.yaml: |
    text
  a: z
---
kind: List
items:
- kind: B
  spec: {a: 1}
- kind: C
";

    #[test]
    fn a_field_is_in_its_line() {
        let objects = located(TEXT).unwrap();
        let (_, lines) = &objects[0];
        for (path, line) in [
            ("kind", 2),
            ("spec.refs[1].name", 6),
            ("spec.refs[1].more[0]", 7),
            ("data.a.yaml", 10),
            ("data.a", 11),
            ("spec.refs[0].namespace", 5),
            ("spec.refs[7]", 5),
        ] {
            assert_eq!(lines.of(path), Some(line), "{path}");
        }
    }

    #[test]
    fn items_of_a_list_are_objects_of_their_own() {
        let objects = located(TEXT).unwrap();
        let kinds: Vec<&str> = objects.iter().map(|(object, _)| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
        assert_eq!((objects[1].1.of("spec.a"), objects[2].1.of("kind")), (Some(16), Some(17)));
        let one = located("kind: List\nitems:\n- kind: B\n").unwrap();
        assert_eq!((one[0].0["kind"].as_str(), one[0].1.of("kind")), (Some("B"), Some(3)));
    }

    #[test]
    fn what_has_no_lines_has_none() {
        assert_eq!(Lines::default().of("spec"), None);
        assert!(located("a: [").is_err());
        assert_eq!(located("").unwrap(), []);
    }
}
