//! JSON byte for byte as Go's `encoding/json` writes it. Templates print it, and hashes that other programs compute as well
//! are taken of it.

use serde_json::{Number, Value};

/// A value: on one line, keys sorted, `<`, `>` and `&` escaped.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out, value);
    out
}

fn push(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| (Some(key.as_str()), value));
            push_all(out, *b"{}", members);
        }
        Value::Array(list) => push_all(out, *b"[]", list.iter().map(|value| (None, value))),
        Value::String(text) => push_string(out, text.as_bytes(), true),
        Value::Number(number) => push_number(out, number),
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
    }
}

fn push_all<'v>(
    out: &mut Vec<u8>,
    [open, close]: [u8; 2],
    items: impl Iterator<Item = (Option<&'v str>, &'v Value)>,
) {
    out.push(open);
    for (index, (key, value)) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if let Some(key) = key {
            push_string(out, key.as_bytes(), true);
            out.push(b':');
        }
        push(out, value);
    }
    out.push(close);
}

fn push_number(out: &mut Vec<u8>, number: &Number) {
    let text = match number.as_f64() {
        Some(value) if number.is_f64() => float(value),
        _ => number.to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string with its quotes. `html` says whether `<`, `>` and `&` are escaped as well. Each byte that is no UTF-8
/// becomes `\ufffd`.
pub fn push_string(out: &mut Vec<u8>, bytes: &[u8], html: bool) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        push_valid(out, chunk.valid(), html);
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

/// What needs no escape is copied in runs: most strings are one.
fn push_valid(out: &mut Vec<u8>, text: &str, html: bool) {
    let must = |c: char| match c {
        '"' | '\\' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => true,
        '<' | '>' | '&' => html,
        _ => false,
    };
    let mut from = 0;
    for (at, c) in text.match_indices(must) {
        out.extend_from_slice(&text.as_bytes()[from..at]);
        push_escape(out, c);
        from = at + c.len();
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
}

fn push_escape(out: &mut Vec<u8>, c: &str) {
    match c {
        "\"" => out.extend_from_slice(b"\\\""),
        "\\" => out.extend_from_slice(b"\\\\"),
        "\u{8}" => out.extend_from_slice(b"\\b"),
        "\u{c}" => out.extend_from_slice(b"\\f"),
        "\n" => out.extend_from_slice(b"\\n"),
        "\r" => out.extend_from_slice(b"\\r"),
        "\t" => out.extend_from_slice(b"\\t"),
        other => {
            let code = other.chars().next().map_or(0, u32::from);
            out.extend_from_slice(format!("\\u{code:04x}").as_bytes());
        }
    }
}

/// A finite number: the shortest text that is read as the same number, with an exponent below 1e-6 and from 1e21 on.
pub fn float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    if magnitude < 1.0 { text } else { text.replacen('e', "e+", 1) }
}

#[cfg(test)]
mod tests;
