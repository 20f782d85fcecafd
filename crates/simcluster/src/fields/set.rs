//! A set of field paths, kept as the tree that `fieldsV1` writes.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::PathElement;
use crate::object::Json;

/// A set of field paths below one value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Whether the value itself is in the set.
    pub member: bool,
    /// What of its parts is in the set.
    pub children: BTreeMap<PathElement, FieldSet>,
}

// === impl FieldSet ===

impl FieldSet {
    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// The part of the set below `element`, created when missing.
    pub fn child_mut(&mut self, element: PathElement) -> &mut Self {
        self.children.entry(element).or_default()
    }

    /// The part of the set below a field.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.children.get(&PathElement::field(name))
    }

    /// Adds every path of `other`.
    pub fn union_with(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, theirs) in &other.children {
            match self.children.get_mut(element) {
                Some(ours) => ours.union_with(theirs),
                None => {
                    self.children.insert(element.clone(), theirs.clone());
                }
            }
        }
    }

    /// Removes every path of `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.member &= !other.member;
        for (element, theirs) in &other.children {
            if let Some(ours) = self.children.get_mut(element) {
                ours.subtract(theirs);
                if ours.is_empty() {
                    self.children.remove(element);
                }
            }
        }
    }

    /// The paths in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { member: self.member && other.member, children: BTreeMap::new() };
        for (element, ours) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                let common = ours.intersection(theirs);
                if !common.is_empty() {
                    both.children.insert(element.clone(), common);
                }
            }
        }
        both
    }

    /// Keeps the part below one field only.
    pub fn retain_field(&mut self, keep: impl Fn(&str) -> bool) {
        self.children.retain(|element, _| element.as_field().is_none_or(&keep));
    }

    /// All paths, as conflict messages write them.
    pub fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect_paths(&mut String::new(), &mut out);
        out
    }

    fn collect_paths(&self, prefix: &mut String, out: &mut Vec<String>) {
        if self.member && !prefix.is_empty() {
            out.push(prefix.clone());
        }
        for (element, child) in &self.children {
            let length = prefix.len();
            prefix.push_str(&element.to_string());
            child.collect_paths(prefix, out);
            prefix.truncate(length);
        }
    }

    /// Reads `fieldsV1`; `None` when it is malformed.
    pub fn from_json(fields: &Json) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields {
            if key == "." {
                set.member = true;
                continue;
            }
            let below = below.as_object()?;
            let mut child = Self::from_json(below)?;
            child.member |= below.is_empty();
            set.children.insert(PathElement::parse(key)?, child);
        }
        Some(set)
    }

    /// Writes `fieldsV1`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.member && !self.children.is_empty() {
            map.serialize_entry(".", &Json::new())?;
        }
        for (element, child) in &self.children {
            map.serialize_entry(element, child)?;
        }
        map.end()
    }
}
