//! From values to YAML, in both dialects.

use super::{
    emit_scalar::{Style, analyze},
    emitter::{Emit, Emitter, NodePosition},
    json_text,
    order::{Dialect, sort},
    resolve::{Scalar, is_base_60, old_bool, resolve},
};
use crate::{
    codec::json_read::unsupported,
    exec::{Cx, Fail},
    gofmt::float::format_float,
    sprig::{dates, encoding::base64, semver},
    value::{List, ListTy, Map, Object, Record, Str, Value},
};

/// `yaml.Marshal` of `sigs.k8s.io/yaml`, without the last newline.
pub(crate) fn to_sigs<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Vec<u8>, Fail> {
    document(cx, value, Dialect::Sigs)
}

/// `yaml.Marshal` of `yaml.v3`, without the last newline.
pub(crate) fn to_v3<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Vec<u8>, Fail> {
    document(cx, value, Dialect::V3)
}

/// `yaml.v3` with an indent of two, without the last newline.
pub(crate) fn to_pretty<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Vec<u8>, Fail> {
    document(cx, value, Dialect::Pretty)
}

fn document<'a>(cx: &mut Cx<'a>, value: &Value<'a>, dialect: Dialect) -> Result<Vec<u8>, Fail> {
    let mut writer = Writer { cx, emitter: Emitter::new(dialect), dialect };
    writer.node(value, NodePosition::Root, 0)?;
    let mut out = writer.emitter.out;
    if out.last() == Some(&b'\n') {
        out.pop();
    }
    Ok(out)
}

/// The fields of a struct: without JSON in between a field is named by its name in small letters, and none is left out.
fn record_entries<'a>(record: &Record<'a>, dialect: Dialect) -> Vec<(Str<'a>, Value<'a>)> {
    let named = match dialect {
        Dialect::Pretty => {
            record.exported().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect()
        }
        _ => {
            let mut named = record.named();
            named.sort_by(|a, b| a.0.cmp(&b.0));
            named
        }
    };
    named.into_iter().map(|(name, value)| (Str::from(name.into_bytes()), value)).collect()
}

struct Writer<'c, 'a> {
    cx: &'c mut Cx<'a>,
    emitter: Emitter,
    dialect: Dialect,
}

// === impl Writer ===

impl<'a> Writer<'_, 'a> {
    fn node(&mut self, value: &Value<'a>, place: NodePosition, depth: usize) -> Emit {
        self.emitter.check(self.cx)?;
        self.cx.may_be_deep(depth, "a value")?;
        match value {
            Value::Invalid | Value::Nil => self.plain("null", place),
            Value::Bool(b) => self.plain(if *b { "true" } else { "false" }, place),
            Value::Int(_, i) => self.plain(&i.to_string(), place),
            Value::Uint(_, u) => self.plain(&u.to_string(), place),
            Value::Float(f) => self.float(*f, place)?,
            Value::Complex(..) => return Err("json: unsupported type: complex128".into()),
            Value::Str(s) => return self.string(s.bytes(), place),
            Value::List(list) => return self.list(list, place, depth),
            Value::Map(map) => return self.map(map, place, depth),
            Value::Record(record) => {
                let entries = record_entries(record, self.dialect);
                return self.entries(entries, place, depth);
            }
            Value::Object(object) => return self.object(object, place, depth),
        }
        Ok(())
    }

    fn plain(&mut self, text: &str, place: NodePosition) {
        self.emitter.scalar(text.as_bytes(), Style::Plain, place, b"");
    }

    /// In the dialect that goes through JSON, a float is what its JSON text reads as.
    fn float(&mut self, value: f64, place: NodePosition) -> Emit {
        if self.dialect == Dialect::Sigs {
            if !value.is_finite() {
                return Err(unsupported(value));
            }
            let json = sluice_go_json::float(value);
            match resolve(json.as_bytes(), Dialect::Sigs) {
                Scalar::Int(i) => self.plain(&i.to_string(), place),
                Scalar::Uint(u) => self.plain(&u.to_string(), place),
                _ => self.plain(&format_float(value, 'g', None), place),
            }
            return Ok(());
        }
        let text = match format_float(value, 'g', None).as_str() {
            "+Inf" => ".inf".to_owned(),
            "-Inf" => "-.inf".to_owned(),
            "NaN" => ".nan".to_owned(),
            text => text.to_owned(),
        };
        self.plain(&text, place);
        Ok(())
    }

    fn string(&mut self, bytes: &[u8], place: NodePosition) -> Emit {
        if self.dialect == Dialect::Sigs {
            let text = json_text::through_json(bytes, place == NodePosition::Key)?;
            self.valid_string(&text, place);
        } else if std::str::from_utf8(bytes).is_ok() {
            self.valid_string(bytes, place);
        } else {
            let text = base64(bytes);
            let style = if text.contains(&b'\n') { Style::Literal } else { Style::Plain };
            self.emitter.scalar(&text, style, place, b"!!binary");
        }
        Ok(())
    }

    fn valid_string(&mut self, bytes: &[u8], place: NodePosition) {
        let can_be_plain = resolve(bytes, self.dialect) == Scalar::Str
            && !is_base_60(bytes)
            && (self.dialect == Dialect::Sigs || old_bool(bytes).is_none());
        let style = if bytes.contains(&b'\n') {
            Style::Literal
        } else if can_be_plain {
            Style::Plain
        } else {
            Style::Double
        };
        self.emitter.scalar(bytes, style, place, b"");
    }

    fn list(&mut self, list: &List<'a>, place: NodePosition, depth: usize) -> Emit {
        if self.dialect == Dialect::Sigs {
            if matches!(list, List::Nil(_)) {
                self.plain("null", place);
                return Ok(());
            }
            if list.ty() == ListTy::Bytes {
                let bytes = list.to_bytes();
                return self.string(&base64(&bytes), place);
            }
        }
        if list.len() == 0 {
            self.emitter.indicator(b"[", true, true, false);
            self.emitter.indicator(b"]", false, false, false);
            return Ok(());
        }
        let outer = self.emitter.start_sequence(place);
        for i in 0..list.len() {
            self.emitter.start_item();
            self.node(&list.get(i).unwrap_or_default(), NodePosition::Item, depth + 1)?;
        }
        self.emitter.indent = outer;
        Ok(())
    }

    fn map(&mut self, map: &Map<'a>, place: NodePosition, depth: usize) -> Emit {
        if matches!(map, Map::Nil(_)) && self.dialect == Dialect::Sigs {
            self.plain("null", place);
            return Ok(());
        }
        let entries = self.cx.maps.entries(map);
        self.cx.step(entries.len() as u64)?;
        self.entries(sort(entries, self.dialect), place, depth)
    }

    fn entries(&mut self, entries: Vec<(Str<'a>, Value<'a>)>, place: NodePosition, depth: usize) -> Emit {
        if entries.is_empty() {
            self.emitter.indicator(b"{", true, true, false);
            self.emitter.indicator(b"}", false, false, false);
            return Ok(());
        }
        let outer = self.emitter.increase_indent(false, false, place);
        for (key, value) in entries {
            self.emitter.write_indent();
            let simple = key.bytes().len() <= 128 && !analyze(key.bytes(), self.dialect).multiline;
            if simple {
                self.string(key.bytes(), NodePosition::Key)?;
                self.emitter.indicator(b":", false, false, false);
            } else {
                self.emitter.indicator(b"?", true, false, true);
                self.string(key.bytes(), NodePosition::Value)?;
                self.emitter.write_indent();
                self.emitter.indicator(b":", true, false, true);
            }
            self.node(&value, NodePosition::Value, depth + 1)?;
        }
        self.emitter.indent = outer;
        Ok(())
    }

    fn object(&mut self, object: &Object, place: NodePosition, depth: usize) -> Emit {
        match object {
            Object::Time(time) => {
                let text = dates::layout_format::format(time, b"2006-01-02T15:04:05.999999999Z07:00");
                if self.dialect != Dialect::Sigs {
                    self.emitter.scalar(&text, Style::Plain, place, b"");
                } else {
                    return self.string(&text, place);
                }
            }
            Object::Version(version) => return self.string(semver::to_string(version).as_bytes(), place),
            Object::Certificate(c) => {
                let names = if self.dialect == Dialect::Sigs { ["Cert", "Key"] } else { ["cert", "key"] };
                let texts = [&c.cert, &c.key].map(|t| Value::string(t.as_bytes()));
                let entries = names.map(Str::from).into_iter().zip(texts).collect();
                return self.entries(entries, place, depth);
            }
        }
        Ok(())
    }
}
