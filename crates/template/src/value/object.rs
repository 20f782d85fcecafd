//! Go values that are more than data: structs of the input and objects with methods.

use super::Value;
use crate::{Data, codec::json::json_name, sprig::semver::Version};

/// What the name of a method ends in, among the fields of a struct.
const METHOD: &str = "()";

/// `GoVersion` is `go_version`.
fn snake_name(field: &str) -> String {
    let mut name = String::new();
    for letter in field.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// A struct of the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) name: &'static str,
    pub(crate) fields: &'a [(&'static str, Data<'a>)],
}

/// An object with methods.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    Time(Time),
    /// A `*semver.Version`.
    Version(Version),
    Certificate(Certificate),
}

/// A moment with the zone it is shown in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) unix: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
    /// The zone's abbreviation; empty prints as a number.
    pub(crate) zone: Box<str>,
    /// Whether it is the zero time of Go, which some functions test for.
    pub(crate) utc: bool,
}

/// What the certificate functions return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) cert: Box<str>,
    pub(crate) key: Box<str>,
}

// === impl Record ===

impl<'a> Record<'a> {
    pub(crate) fn get(&self, field: &str) -> Option<Value<'a>> {
        let is_it = |name: &str| name == field || name.strip_suffix(METHOD) == Some(field);
        self.fields.iter().find(|(name, _)| is_it(name)).map(|(_, v)| Value::from(v))
    }

    /// The fields without the methods, as Go prints them.
    pub(crate) fn printed(&self) -> impl Iterator<Item = (&'static str, Value<'a>)> + use<'a> {
        self.fields
            .iter()
            .filter(|(name, _)| !name.ends_with(METHOD))
            .map(|(name, v)| (*name, Value::from(v)))
    }

    /// The fields that other packages see, by their names in Go.
    pub(crate) fn exported(&self) -> impl Iterator<Item = (&'static str, Value<'a>)> + use<'a> {
        self.printed().filter(|(name, _)| name.starts_with(|first: char| first.is_ascii_uppercase()))
    }

    /// The fields by their names in JSON. Helm's own structs name none; of others an empty text is left out.
    pub(crate) fn named(&self) -> Vec<(String, Value<'a>)> {
        if self.name.trim_start_matches('*').starts_with("common.") {
            return self.exported().map(|(name, value)| (name.to_owned(), value)).collect();
        }
        let name: fn(&str) -> String = if self.name == "version.BuildInfo" { snake_name } else { json_name };
        let filled = self.exported().filter(|(_, v)| !matches!(v, Value::Str(s) if s.bytes().is_empty()));
        filled.map(|(field, value)| (name(field), value)).collect()
    }
}
