//! What Helm warns of, in its words: values that are not used, and a few other things that stop nothing.

use std::{collections::BTreeMap, fmt};

use serde_json::Value as Json;
use sluice_template::{format_go_float, go_quoted};

use crate::{error::cut, table::Node};

/// Something that stops nothing. Its text is the line that Helm writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    level: &'static str,
    text: String,
    /// The value that is not used; it may be secret.
    value: Option<String>,
    fields: Vec<(&'static str, String)>,
}

/// What there is to warn of, in Helm's order and as often as Helm says it. Of more than a mebibyte the rest is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings {
    list: Vec<Warning>,
    bytes: usize,
}

/// Bytes of all warnings of a render.
const MOST: usize = 1 << 20;
/// Bytes of a value that are shown.
const LONGEST_VALUE: usize = 64 << 10;

// === impl Warning ===

impl Warning {
    /// What it says, without the values: they may be from a Secret.
    pub fn without_values(&self) -> String {
        let fields = self.fields.iter().map(|(name, value)| format!(", {name} {value}"));
        cut(self.text.trim_start_matches("warning: ").to_owned() + &fields.collect::<String>())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.as_ref().map(|value| format!(" ({value})")).unwrap_or_default();
        write!(f, "level={} msg={}", self.level, log_value(&format!("{}{value}", self.text)))?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={}", log_value(value)))
    }
}

/// A value of a line of Go's log: quoted where it must be.
fn log_value(text: &str) -> String {
    let is_plain = |letter: char| {
        let is_odd = letter.is_whitespace() || letter.is_control() && letter != '\u{7f}';
        !is_odd && !"=\"\u{fffd}".contains(letter)
    };
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { go_quoted(text) }
}

// === impl Warnings ===

impl Warnings {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.list.iter()
    }

    /// Says something of values as they are put together.
    pub(crate) fn of_values(&mut self, text: impl FnOnce() -> String, value: Option<&Node>) {
        self.push("INFO", text, value, Vec::new);
    }

    /// Says that something is not as it should be, with what it is about.
    pub(crate) fn warn(&mut self, text: &str, fields: impl FnOnce() -> Vec<(&'static str, String)>) {
        self.push("WARN", || text.to_owned(), None, fields);
    }

    /// Says something, with what it is about.
    pub(crate) fn inform(&mut self, text: &str, fields: impl FnOnce() -> Vec<(&'static str, String)>) {
        self.push("INFO", || text.to_owned(), None, fields);
    }

    fn push(
        &mut self,
        level: &'static str,
        text: impl FnOnce() -> String,
        value: Option<&Node>,
        fields: impl FnOnce() -> Vec<(&'static str, String)>,
    ) {
        if self.bytes > MOST {
            return;
        }
        let value = value.map(|value| {
            let mut printed = String::new();
            print_node(value, &mut printed);
            printed
        });
        let warning = Warning { level, text: text(), value, fields: fields() };
        let fields = warning.fields.iter().map(|(_, value)| value.len()).sum::<usize>();
        let value = warning.value.as_ref().map_or(0, String::len);
        self.bytes += size_of::<Warning>() + warning.text.len() + value + fields;
        self.list.push(warning);
    }
}

/// Go's `%v` of a value.
fn print_node(node: &Node, out: &mut String) {
    match node {
        Node::Leaf(leaf) => print_leaf(leaf, out),
        Node::Table(table) => print_map(table.entries(), print_node, out),
    }
}

fn print_leaf(leaf: &Json, out: &mut String) {
    match leaf {
        Json::Null => out.push_str("<nil>"),
        Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Json::String(text) => out.push_str(text),
        Json::Number(number) => match number.as_i64() {
            Some(int) => out.push_str(&int.to_string()),
            None => out.push_str(&format_go_float(number.as_f64().unwrap_or_default(), 'g', None)),
        },
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if out.len() > LONGEST_VALUE {
                    break;
                }
                out.push_str(if at == 0 { "" } else { " " });
                print_leaf(item, out);
            }
            out.push(']');
        }
        Json::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().map(|(key, value)| (key.clone(), value)).collect();
            print_map(sorted.into_iter().collect(), |value, out| print_leaf(value, out), out);
        }
    }
}

/// `map[a:1 b:2]`.
fn print_map<V>(entries: Vec<(String, V)>, print: impl Fn(&V, &mut String), out: &mut String) {
    out.push_str("map[");
    for (at, (key, value)) in entries.iter().enumerate() {
        if out.len() > LONGEST_VALUE {
            break;
        }
        out.push_str(if at == 0 { "" } else { " " });
        out.push_str(key);
        out.push(':');
        print(value, out);
    }
    out.push(']');
}
