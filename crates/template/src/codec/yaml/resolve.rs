//! What a plain scalar stands for in YAML 1.1, and with fewer words in `yaml.v3`.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::order::Dialect;
use crate::{
    sprig::dates,
    syntax::number::{parse_float, parse_int, parse_uint},
    value::Time,
};

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Time(Time),
    Str,
}

static FLOAT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").ok());
static BASE_60: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$").ok());

fn word(text: &[u8], dialect: Dialect) -> Option<Scalar> {
    Some(match text {
        b"true" | b"True" | b"TRUE" => Scalar::Bool(true),
        b"false" | b"False" | b"FALSE" => Scalar::Bool(false),
        b"" | b"~" | b"null" | b"Null" | b"NULL" => Scalar::Null,
        b".nan" | b".NaN" | b".NAN" => Scalar::Float(f64::NAN),
        b".inf" | b".Inf" | b".INF" | b"+.inf" | b"+.Inf" | b"+.INF" => Scalar::Float(f64::INFINITY),
        b"-.inf" | b"-.Inf" | b"-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ if dialect == Dialect::Sigs => return old_bool(text).map(Scalar::Bool),
        _ => return None,
    })
}

/// The booleans that only YAML 1.1 knows.
pub(super) fn old_bool(text: &[u8]) -> Option<bool> {
    match text {
        b"y" | b"Y" | b"yes" | b"Yes" | b"YES" | b"on" | b"On" | b"ON" => Some(true),
        b"n" | b"N" | b"no" | b"No" | b"NO" | b"off" | b"Off" | b"OFF" => Some(false),
        _ => None,
    }
}

/// Resolves an untagged plain scalar.
pub(super) fn resolve(text: &[u8], dialect: Dialect) -> Scalar {
    let Some(&first) = text.first() else { return Scalar::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(text, dialect).unwrap_or(Scalar::Str)
        }
        b'.' => word(text, dialect).or_else(|| dotted(text)).unwrap_or(Scalar::Str),
        b'0'..=b'9' | b'+' | b'-' => {
            word(text, dialect).or_else(|| numeric(text, dialect)).unwrap_or(Scalar::Str)
        }
        _ => Scalar::Str,
    }
}

fn dotted(text: &[u8]) -> Option<Scalar> {
    parse_float(std::str::from_utf8(text).ok()?).map(Scalar::Float)
}

fn numeric(text: &[u8], dialect: Dialect) -> Option<Scalar> {
    if let Some(time) = timestamp(text) {
        return Some(Scalar::Time(time));
    }
    let plain = std::str::from_utf8(text).ok()?.replace('_', "");
    if let Some(i) = parse_int(&plain) {
        return Some(Scalar::Int(i));
    }
    if let Some(u) = parse_uint(&plain) {
        return Some(Scalar::Uint(u));
    }
    if FLOAT.as_ref().is_some_and(|r| r.is_match(plain.as_bytes()))
        && let Some(f) = parse_float(&plain)
    {
        return Some(Scalar::Float(f));
    }
    let radixes = [("0b", "-0b", 2), ("0o", "-0o", 8)];
    let known = if dialect == Dialect::Sigs { &radixes[..1] } else { &radixes[..] };
    known.iter().find_map(|(positive, negative, radix)| {
        if let Some(digits) = plain.strip_prefix(positive) {
            return i64::from_str_radix(digits, *radix).ok().map(Scalar::Int);
        }
        let digits = plain.strip_prefix(negative)?;
        i64::from_str_radix(&format!("-{digits}"), *radix).ok().map(Scalar::Int)
    })
}

fn timestamp(text: &[u8]) -> Option<Time> {
    let year = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if year != 4 || text.get(4) != Some(&b'-') {
        return None;
    }
    let layouts: [&[u8]; 4] = [
        b"2006-1-2T15:4:5.999999999Z07:00",
        b"2006-1-2t15:4:5.999999999Z07:00",
        b"2006-1-2 15:4:5.999999999",
        b"2006-1-2",
    ];
    layouts.iter().find_map(|layout| dates::parse::parse(layout, text).ok())
}

/// A number in base 60, which readers of YAML 1.1 would take for one.
pub(super) fn is_base_60(text: &[u8]) -> bool {
    let starts = matches!(text.first(), Some(b'+' | b'-' | b'0'..=b'9'));
    starts && text.contains(&b':') && BASE_60.as_ref().is_some_and(|r| r.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_yaml_1_1() {
        for (text, scalar) in [
            ("0644", Scalar::Int(420)),
            ("0o7", Scalar::Int(7)),
            ("1_000", Scalar::Int(1000)),
            ("yes", Scalar::Bool(true)),
            ("1e3", Scalar::Float(1000.0)),
            ("12:30", Scalar::Str),
            ("1.2.3", Scalar::Str),
            ("~", Scalar::Null),
        ] {
            assert_eq!(resolve(text.as_bytes(), Dialect::Sigs), scalar, "{text}");
        }
        assert_eq!(resolve(b"yes", Dialect::V3), Scalar::Str);
    }
}
