//! Go's `json.Unmarshal` into an empty interface: numbers are floats, errors are Go's.

use std::collections::BTreeMap;

use crate::{
    exec::{Cx, Fail},
    gofmt::float::format_float,
    text::{RUNE_ERROR, decode_rune, push_rune, quote::quote_rune},
    value::{Str, Value},
};

/// The value read, and the error if there is one: a number out of range is an error that
/// leaves the rest readable.
pub(crate) struct Decoded<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) error: Option<String>,
}

struct Reader<'c, 't, 'a> {
    cx: &'c mut Cx<'a>,
    text: &'t [u8],
    at: usize,
    /// A number out of range; the first one is reported.
    range: Option<String>,
}

type Read<T> = Result<T, Fail>;

/// Reads a whole text.
pub(crate) fn decode<'a>(cx: &mut Cx<'a>, text: &[u8]) -> Result<Decoded<'a>, Fail> {
    let mut reader = Reader { cx, text, at: 0, range: None };
    match reader.document() {
        Ok(value) => Ok(Decoded { value, error: reader.range }),
        Err(Fail::Message(message)) => Ok(Decoded { value: Value::Nil, error: Some(message) }),
        Err(other) => Err(other),
    }
}

/// Reads one value as a decoder of a stream does, and refuses what follows it.
pub(crate) fn only<'a>(cx: &mut Cx<'a>, text: &[u8]) -> Result<Value<'a>, Fail> {
    let mut reader = Reader { cx, text, at: 0, range: None };
    reader.space();
    if reader.at == text.len() {
        return Err("EOF".into());
    }
    let value = reader.value(0).map_err(|fail| match fail {
        Fail::Message(message)
            if message == "unexpected end of JSON input"
                || message.starts_with("invalid character ' ' in ") =>
        {
            "unexpected EOF".into()
        }
        other => other,
    })?;
    reader.space();
    if reader.at < text.len() {
        return Err("invalid character after top-level value".into());
    }
    Ok(value)
}

// === impl Reader ===

impl<'a> Reader<'_, '_, 'a> {
    fn document(&mut self) -> Read<Value<'a>> {
        let value = self.value(0)?;
        self.space();
        if self.at < self.text.len() {
            return self.bad("after top-level value");
        }
        Ok(value)
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Go's complaint about the byte at hand.
    fn bad<T>(&self, context: &str) -> Read<T> {
        let Some(&b) = self.text.get(self.at) else {
            // Go ends a text with a space, which is wrong within a word or a number.
            let within = context.starts_with("in ") && context != "in string literal";
            if within || context.starts_with("after decimal point") {
                return Err(format!("invalid character ' ' {context}").into());
            }
            return Err("unexpected end of JSON input".into());
        };
        let shown = match b {
            b'\'' => r"'\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            _ => crate::text::lossy_owned(quote_rune(u32::from(b), false)),
        };
        Err(format!("invalid character {shown} {context}").into())
    }

    fn value(&mut self, depth: usize) -> Read<Value<'a>> {
        self.cx.step(1)?;
        self.cx.may_be_deep(depth, "JSON")?;
        self.space();
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.cx.string(text)
            }
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.bad("looking for beginning of value"),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Read<Value<'a>> {
        for (i, b) in word.bytes().enumerate() {
            if self.text.get(self.at) != Some(&b) {
                let expecting = char::from(b);
                return if i == 0 {
                    self.bad("looking for beginning of value")
                } else {
                    self.bad(&format!("in literal {word} (expecting '{expecting}')"))
                };
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Read<Value<'a>> {
        let start = self.at;
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => {
                self.digits();
            }
            _ => return self.bad("in numeric literal"),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return self.bad("after decimal point in numeric literal");
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.bad("in exponent of numeric literal");
            }
        }
        let text = String::from_utf8_lossy(&self.text[start..self.at]);
        let value: f64 = text.parse().unwrap_or(0.0);
        if value.is_infinite() {
            let message = format!("json: cannot unmarshal number {text} into Go value of type float64");
            self.range.get_or_insert(message);
            return Ok(Value::Nil);
        }
        Ok(Value::Float(value))
    }

    fn array(&mut self, depth: usize) -> Read<Value<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
            return self.cx.any_list(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return self.cx.any_list(items);
                }
                _ => return self.bad("after array element"),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value<'a>> {
        self.at += 1;
        let mut entries = BTreeMap::new();
        self.space();
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
            return self.cx.any_map(entries);
        }
        loop {
            self.space();
            if self.text.get(self.at) != Some(&b'"') {
                return self.bad("looking for beginning of object key string");
            }
            let key = self.string()?;
            let key: Str<'a> = self.cx.str(key)?;
            self.space();
            if self.text.get(self.at) != Some(&b':') {
                return self.bad("after object key");
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            entries.insert(key, value);
            self.space();
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return self.cx.any_map(entries);
                }
                _ => return self.bad("after object key:value pair"),
            }
        }
    }

    fn string(&mut self) -> Read<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            match self.text.get(self.at) {
                None => return Err("unexpected end of JSON input".into()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(0..0x20) => return self.bad("in string literal"),
                Some(0x20..0x80) => {
                    out.push(self.text[self.at]);
                    self.at += 1;
                }
                Some(_) => {
                    let (rune, width) = decode_rune(&self.text[self.at..]);
                    push_rune(&mut out, rune);
                    self.at += width;
                }
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Read<()> {
        self.at += 1;
        let simple = match self.text.get(self.at) {
            Some(b @ (b'"' | b'\\' | b'/')) => *b,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex4()?;
                let rune = self.surrogates(first);
                push_rune(out, rune);
                return Ok(());
            }
            _ => return self.bad("in string escape code"),
        };
        out.push(simple);
        self.at += 1;
        Ok(())
    }

    fn hex4(&mut self) -> Read<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.text.get(self.at).and_then(|b| char::from(*b).to_digit(16));
            let Some(digit) = digit else { return self.bad("in \\u hexadecimal character escape") };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    /// Joins a pair of surrogates; half of one is no character.
    fn surrogates(&mut self, first: u32) -> u32 {
        if !(0xD800..0xE000).contains(&first) {
            return first;
        }
        let before = self.at;
        if first < 0xDC00 && self.text[self.at..].starts_with(b"\\u") {
            self.at += 2;
            if let Ok(second @ 0xDC00..=0xDFFF) = self.hex4() {
                return 0x10000 + ((first - 0xD800) << 10 | (second - 0xDC00));
            }
        }
        self.at = before;
        RUNE_ERROR
    }
}

/// A float as JSON would have it, for messages of other codecs.
pub(crate) fn unsupported(value: f64) -> Fail {
    format!("json: unsupported value: {}", format_float(value, 'g', None)).into()
}
