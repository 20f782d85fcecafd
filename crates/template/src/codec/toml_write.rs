//! BurntSushi's TOML encoder.

use super::toml_keys::{joined, quoted_key};
use crate::{
    exec::{Cx, Fail},
    gofmt::float::format_float,
    sprig::{dates, semver},
    text::{RUNE_ERROR, runes},
    value::{IntTy, List, Map, Object, Str, Value},
};

/// The value as TOML.
pub(crate) fn encode<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Vec<u8>, Fail> {
    if matches!(value, Value::Complex(..)) {
        return Err("unsupported type for key '': complex128".into());
    }
    let mut encoder = Encoder { cx, out: Vec::new() };
    encoder.entry(&[], value)?;
    Ok(encoder.out)
}

/// What decides where an entry goes: plain values come before tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nil,
    Plain,
    Table,
    Tables,
}

struct Encoder<'c, 'a> {
    cx: &'c mut Cx<'a>,
    out: Vec<u8>,
}

type Key = [Vec<u8>];
type Encode = Result<(), Fail>;

// === impl Encoder ===

impl<'a> Encoder<'_, 'a> {
    fn shape(&mut self, value: &Value<'a>, depth: usize) -> Result<Shape, Fail> {
        self.cx.may_be_deep(depth, "a value")?;
        Ok(match value {
            Value::Invalid | Value::Nil | Value::Map(Map::Nil(_)) | Value::List(List::Nil(_)) => Shape::Nil,
            Value::Map(_) | Value::Record(_) => Shape::Table,
            Value::Object(object) if matches!(**object, Object::Certificate(_)) => Shape::Table,
            Value::List(list) => {
                let mut tables = list.len() > 0;
                for item in list.to_vec() {
                    match self.shape(&item, depth + 1)? {
                        Shape::Nil => return Err("toml: cannot encode array with nil element".into()),
                        shape => tables &= shape == Shape::Table,
                    }
                }
                if tables { Shape::Tables } else { Shape::Plain }
            }
            Value::Complex(..) => return Err("unsupported type: complex128".into()),
            _ => Shape::Plain,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Encode {
        self.cx.step(1)?;
        self.cx.may_be_long(self.out.len() + bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn newline(&mut self) -> Encode {
        if self.out.is_empty() { Ok(()) } else { self.write(b"\n") }
    }

    fn indent(&mut self, key: &Key) -> Encode {
        self.write("  ".repeat(key.len().saturating_sub(1)).as_bytes())
    }

    fn entry(&mut self, key: &Key, value: &Value<'a>) -> Encode {
        self.cx.may_be_deep(key.len(), "a value")?;
        match self.shape(value, 0)? {
            Shape::Nil if key.is_empty() && matches!(value, Value::List(_)) => self.write(b"[]"),
            Shape::Nil => Ok(()),
            Shape::Plain => self.key_value(key, value, false, 0),
            Shape::Table => {
                if key.len() == 1 {
                    self.newline()?;
                }
                if !key.is_empty() {
                    self.header(key, "[", "]")?;
                }
                self.table(key, value, None)
            }
            Shape::Tables if key.is_empty() => {
                Err("toml: top-level values must be Go maps or structs".into())
            }
            Shape::Tables => {
                let Value::List(list) = value else { return Ok(()) };
                for item in list.to_vec() {
                    self.newline()?;
                    self.header(key, "[[", "]]")?;
                    self.table(key, &item, None)?;
                }
                Ok(())
            }
        }
    }

    fn header(&mut self, key: &Key, open: &str, close: &str) -> Encode {
        self.indent(key)?;
        let name = joined(key);
        self.write(&[open.as_bytes(), &name, close.as_bytes()].concat())?;
        self.newline()
    }

    fn key_value(&mut self, key: &Key, value: &Value<'a>, inline: bool, depth: usize) -> Encode {
        let Some(last) = key.last() else { return self.element(value, depth) };
        self.indent(key)?;
        let name = quoted_key(last);
        self.write(&name)?;
        self.write(b" = ")?;
        self.element(value, depth)?;
        if inline { Ok(()) } else { self.newline() }
    }

    /// The entries of a map or struct: plain values first, both sorted by key.
    fn entries(&mut self, value: &Value<'a>) -> Vec<(Str<'a>, Value<'a>)> {
        match value {
            Value::Map(map) => self.cx.maps.entries(map),
            Value::Record(record) => record.exported().map(|(k, v)| (Str::from(k), v)).collect(),
            Value::Object(object) => match &**object {
                Object::Certificate(c) => vec![
                    (Str::from("Cert"), Value::string(c.cert.as_bytes())),
                    (Str::from("Key"), Value::string(c.key.as_bytes())),
                ],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// A table's entries; inline ones are given their depth.
    fn table(&mut self, key: &Key, value: &Value<'a>, inline: Option<usize>) -> Encode {
        let (mut direct, mut sub) = (Vec::new(), Vec::new());
        for (name, item) in self.entries(value) {
            let shape = self.shape(&item, 0)?;
            let group = if matches!(shape, Shape::Table | Shape::Tables) { &mut sub } else { &mut direct };
            group.push((name, item, shape));
        }
        if inline.is_some() {
            self.write(b"{")?;
        }
        let trailing = !sub.is_empty();
        for (group, more) in [(direct, trailing), (sub, false)] {
            let count = group.len();
            for (i, (name, item, shape)) in group.into_iter().enumerate() {
                if shape == Shape::Nil {
                    continue;
                }
                let name = name.bytes().to_vec();
                match inline {
                    Some(depth) => {
                        self.key_value(&[name], &item, true, depth + 1)?;
                        if more || i + 1 != count {
                            self.write(b", ")?;
                        }
                    }
                    None => self.entry(&[key, &[name]].concat(), &item)?,
                }
            }
        }
        if inline.is_some() { self.write(b"}") } else { Ok(()) }
    }

    fn element(&mut self, value: &Value<'a>, depth: usize) -> Encode {
        self.cx.may_be_deep(depth, "a value")?;
        match value {
            Value::Str(s) => {
                let text = quoted_value(s.bytes());
                self.write(&text)
            }
            Value::Bool(b) => self.write(if *b { b"true" } else { b"false" }),
            Value::Int(IntTy::Duration, i) => {
                let text = quoted_value(dates::duration::format(*i).as_bytes());
                self.write(&text)
            }
            Value::Int(_, i) => self.write(i.to_string().as_bytes()),
            Value::Uint(_, u) => self.write(u.to_string().as_bytes()),
            Value::Float(f) => self.write(float(*f).as_bytes()),
            Value::List(list) => {
                self.write(b"[")?;
                for (i, item) in list.to_vec().iter().enumerate() {
                    self.write(if i > 0 { b", " } else { b"" })?;
                    self.element(item, depth + 1)?;
                }
                self.write(b"]")
            }
            Value::Object(object) => match &**object {
                Object::Time(time) => {
                    let text = dates::layout_format::format(time, b"2006-01-02T15:04:05.999999999Z07:00");
                    self.write(&text)
                }
                Object::Version(version) => {
                    let text = quoted_value(semver::to_string(version).as_bytes());
                    self.write(&text)
                }
                Object::Certificate(_) => self.table(&[], value, Some(depth)),
            },
            Value::Map(_) | Value::Record(_) => self.table(&[], value, Some(depth)),
            Value::Invalid | Value::Nil => Ok(()),
            Value::Complex(..) => Err("unexpected type: complex128".into()),
        }
    }
}

fn float(f: f64) -> String {
    if f.is_nan() {
        return if f.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if f.is_infinite() {
        return if f < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let text = format_float(f, 'g', None);
    if text.contains(['e', '.']) { text } else { format!("{text}.0") }
}

/// A basic string.
pub(super) fn quoted_value(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for (at, rune, width) in runes(bytes) {
        match rune {
            0x22 | 0x5C => out.extend_from_slice(&[b'\\', bytes[at]]),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0A => out.extend_from_slice(b"\\n"),
            0x0D => out.extend_from_slice(b"\\r"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            0..0x20 | 0x7F => out.extend_from_slice(format!("\\u{rune:04x}").as_bytes()),
            RUNE_ERROR if width == 1 => out.push(bytes[at]),
            _ => out.extend_from_slice(&bytes[at..at + width]),
        }
    }
    out.push(b'"');
    out
}
