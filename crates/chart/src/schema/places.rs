//! Where the references of a schema lead, within it.

use std::collections::HashMap;

use serde_json::Value as Json;

/// The parts of a schema that can be referred to.
pub(super) struct Places<'s> {
    root: &'s Json,
    /// By the names that parts give themselves: the last part of an `$id`, and anchors.
    named: HashMap<&'s str, Vec<&'s Json>>,
    /// Different patterns.
    patterns: usize,
}

// === impl Places ===

impl<'s> Places<'s> {
    pub(super) fn new(root: &'s Json) -> Self {
        let mut places = Self { root, named: HashMap::new(), patterns: 0 };
        places.collect(root);
        places
    }

    pub(super) fn patterns(&self) -> usize {
        self.patterns
    }

    fn collect(&mut self, part: &'s Json) {
        match part {
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("$id" | "id" | "$anchor" | "$dynamicAnchor", Json::String(name)) => {
                            self.named.entry(last(name)).or_default().push(part);
                        }
                        ("$recursiveAnchor", _) => self.named.entry("").or_default().push(part),
                        ("pattern", Json::String(_)) => self.patterns += 1,
                        ("patternProperties", Json::Object(map)) => self.patterns += map.len(),
                        _ => {}
                    }
                    self.collect(value);
                }
            }
            _ => {}
        }
    }

    /// The parts that this reference may lead to. Who takes all of them takes too many rather than too few.
    pub(super) fn of(&self, reference: &str) -> Vec<&'s Json> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut roots = self.named.get(last(document)).cloned().unwrap_or_default();
        if document.is_empty() {
            roots.push(self.root);
        }
        if fragment.is_empty() {
            return roots;
        }
        if !fragment.starts_with('/') {
            return self.named.get(fragment).cloned().unwrap_or_default();
        }
        let pointer = percent_decoded(fragment);
        let found: Vec<&Json> = roots.into_iter().filter_map(|root| root.pointer(&pointer)).collect();
        if !found.is_empty() {
            return found;
        }
        // Within a part that has an `$id`, a pointer begins there.
        self.named.values().flatten().filter_map(|part| part.pointer(&pointer)).collect()
    }
}

/// What stands behind the last slash or `#` of an address.
fn last(address: &str) -> &str {
    let address = address.trim_end_matches('#');
    address.rsplit(['/', '#', ':']).next().unwrap_or(address)
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
