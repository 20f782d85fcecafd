//! Block-style YAML with a fixed order of keys, enough for the documents of this crate.

use serde_json::{Map, Value};

/// Words that YAML 1.1 readers take for something else than text.
const RESERVED: [&str; 11] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// One document, ended by a line break.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => write_members(&mut out, members, 0),
        Value::Array(items) if !items.is_empty() => write_items(&mut out, items, 0),
        scalar => {
            out.push_str(&flow(scalar));
            out.push('\n');
        }
    }
    out
}

fn write_members(out: &mut String, members: &Map<String, Value>, indent: usize) {
    for (position, (key, value)) in ordered(members).into_iter().enumerate() {
        if position > 0 {
            push_indent(out, indent);
        }
        out.push_str(&scalar_text(key));
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                push_indent(out, indent + 2);
                write_members(out, inner, indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                push_indent(out, indent);
                write_items(out, items, indent);
            }
            scalar => push_line(out, &flow(scalar)),
        }
    }
}

fn write_items(out: &mut String, items: &[Value], indent: usize) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            push_indent(out, indent);
        }
        out.push('-');
        match item {
            Value::Object(inner) if !inner.is_empty() => {
                out.push(' ');
                write_members(out, inner, indent + 2);
            }
            Value::Array(inner) if !inner.is_empty() => {
                out.push(' ');
                write_items(out, inner, indent + 2);
            }
            scalar => push_line(out, &flow(scalar)),
        }
    }
}

/// Type and name first, as people write them; everything else by name.
fn ordered(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let rank = |key: &str| match key {
        "apiVersion" => 0,
        "kind" => 1,
        "metadata" => 2,
        _ => 3,
    };
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
    sorted
}

fn push_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn push_line(out: &mut String, text: &str) {
    out.push(' ');
    out.push_str(text);
    out.push('\n');
}

/// A scalar or an empty collection.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        other => other.to_string(),
    }
}

/// Plain where nobody can mistake it, else in double quotes; JSON's escapes are YAML's.
fn scalar_text(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}
