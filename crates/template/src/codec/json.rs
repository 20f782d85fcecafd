//! Go's `json.Marshal`.

use crate::{
    exec::{Cx, Fail},
    funcs::CallResult,
    sprig::{dates, encoding::base64, semver},
    value::{List, ListTy, Map, Object, Record, Value},
};

/// The forms of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// On one line; `<`, `>` and `&` escaped.
    Compact,
    /// On one line; only what JSON demands is escaped.
    Raw,
    /// In lines with two spaces per level.
    Pretty,
}

/// The value as JSON.
pub(crate) fn encode<'a>(cx: &mut Cx<'a>, value: &Value<'a>, style: Style) -> Result<Vec<u8>, Fail> {
    let mut encoder = Encoder { cx, out: Vec::new(), style };
    encoder.value(value, 0)?;
    Ok(encoder.out)
}

/// What functions that swallow errors answer: nothing, unless a budget is used up.
pub(crate) fn empty_unless_limit<'a>(fail: Fail) -> CallResult<'a> {
    match fail {
        Fail::Message(_) => Ok(Value::text("")),
        other => Err(other),
    }
}

struct Encoder<'c, 'a> {
    cx: &'c mut Cx<'a>,
    out: Vec<u8>,
    style: Style,
}

// === impl Encoder ===

impl<'a> Encoder<'_, 'a> {
    fn value(&mut self, value: &Value<'a>, depth: usize) -> Result<(), Fail> {
        self.cx.step(1)?;
        self.cx.may_be_long(self.out.len())?;
        self.cx.may_be_deep(depth, "a value")?;
        match value {
            Value::Invalid | Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(b) => self.out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Value::Int(_, i) => self.out.extend_from_slice(i.to_string().as_bytes()),
            Value::Uint(_, u) => self.out.extend_from_slice(u.to_string().as_bytes()),
            Value::Float(f) if !f.is_finite() => {
                let text = crate::gofmt::float::format_float(*f, 'g', None);
                return Err(format!("json: unsupported value: {text}").into());
            }
            Value::Float(f) => self.out.extend_from_slice(sluice_go_json::float(*f).as_bytes()),
            Value::Complex(..) => return Err("json: unsupported type: complex128".into()),
            Value::Str(s) => self.string(s.bytes()),
            Value::List(list) => return self.list(list, depth),
            Value::Map(map) => return self.map(map, depth),
            Value::Record(record) => return self.record(record, depth),
            Value::Object(object) => self.object(object),
        }
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) {
        sluice_go_json::push_string(&mut self.out, bytes, self.style != Style::Raw);
    }

    fn object(&mut self, object: &Object) {
        match object {
            Object::Time(time) => {
                let text = dates::layout_format::format(time, b"2006-01-02T15:04:05.999999999Z07:00");
                self.string(&text);
            }
            Object::Version(version) => self.string(semver::to_string(version).as_bytes()),
            Object::Certificate(c) => {
                self.out.extend_from_slice(b"{\"Cert\":");
                self.string(c.cert.as_bytes());
                self.out.extend_from_slice(b",\"Key\":");
                self.string(c.key.as_bytes());
                self.out.push(b'}');
            }
        }
    }

    /// Starts an element: a comma after another one, and a new line if pretty.
    fn separate(&mut self, first: bool, depth: usize) {
        if !first {
            self.out.push(b',');
        }
        self.new_line(depth);
    }

    fn new_line(&mut self, depth: usize) {
        if self.style == Style::Pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + depth * 2, b' ');
        }
    }

    fn list(&mut self, list: &List<'a>, depth: usize) -> Result<(), Fail> {
        if matches!(list, List::Nil(_)) {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        if list.ty() == ListTy::Bytes {
            let bytes = list.to_bytes();
            self.string(&base64(&bytes));
            return Ok(());
        }
        self.out.push(b'[');
        for i in 0..list.len() {
            self.separate(i == 0, depth + 1);
            self.value(&list.get(i).unwrap_or_default(), depth + 1)?;
        }
        if list.len() > 0 {
            self.new_line(depth);
        }
        self.out.push(b']');
        Ok(())
    }

    fn key(&mut self, key: &[u8], first: bool, depth: usize) {
        self.separate(first, depth);
        self.string(key);
        self.out.extend_from_slice(if self.style == Style::Pretty { b": " } else { b":" });
    }

    fn map(&mut self, map: &Map<'a>, depth: usize) -> Result<(), Fail> {
        let map = self.cx.maps.current(map);
        if matches!(map, Map::Nil(_)) {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        self.out.push(b'{');
        let mut first = true;
        if let Map::Json(entries) | Map::Values(entries) = map {
            for (key, value) in entries {
                self.key(key.as_bytes(), first, depth + 1);
                self.value(&Value::from(value), depth + 1)?;
                first = false;
            }
        } else {
            for (key, value) in map.entries_direct() {
                self.key(key.bytes(), first, depth + 1);
                self.value(&value, depth + 1)?;
                first = false;
            }
        }
        if !first {
            self.new_line(depth);
        }
        self.out.push(b'}');
        Ok(())
    }

    /// API types omit empty fields.
    fn record(&mut self, record: &Record<'a>, depth: usize) -> Result<(), Fail> {
        self.out.push(b'{');
        let mut first = true;
        for (name, value) in record.named() {
            self.key(name.as_bytes(), first, depth + 1);
            self.value(&value, depth + 1)?;
            first = false;
        }
        if !first {
            self.new_line(depth);
        }
        self.out.push(b'}');
        Ok(())
    }
}

/// The JSON name of a Go field: `APIVersion` is `apiVersion`, `UID` is `uid`.
pub(crate) fn json_name(field: &str) -> String {
    let upper = field.bytes().take_while(u8::is_ascii_uppercase).count();
    let lower = if upper == field.len() { upper } else { upper.saturating_sub(1).max(1) };
    format!("{}{}", field[..lower].to_ascii_lowercase(), &field[lower..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_field_names_become_json_names() {
        assert_eq!(
            ["Kind", "APIVersion", "UID", "ResourceVersion"].map(json_name),
            ["kind", "apiVersion", "uid", "resourceVersion"]
        );
    }
}
