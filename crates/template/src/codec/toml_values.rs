//! TOML values: numbers, dates, arrays, inline tables.

use super::{
    toml_read::{Read, Reader},
    toml_tree::{Item, Table},
};
use crate::{
    sprig::dates,
    syntax::number::{parse_float, parse_int},
    text::{classes::is_letter, lossy, quote::quoted, runes},
};

/// The layouts of dates and times.
const LAYOUTS: [&str; 7] = [
    "2006-01-02T15:04:05.999999999Z07:00",
    "2006-01-02T15:04:05.999999999",
    "2006-01-02",
    "15:04:05.999999999",
    "2006-01-02T15:04Z07:00",
    "2006-01-02T15:04",
    "15:04",
];

// === impl Reader ===

impl Reader<'_, '_, '_> {
    pub(super) fn value(&mut self, depth: usize) -> Read<Item> {
        self.cx.spend(32)?;
        self.cx.may_be_deep(depth, "TOML")?;
        self.blanks();
        match self.peek() {
            Some(b'[') => {
                self.at += 1;
                self.array(depth)
            }
            Some(b'{') => {
                self.at += 1;
                self.inline_table(depth)
            }
            Some(b'"') => self.any_string(b"\"\"\"").map(Item::Text),
            Some(b'\'') => self.any_string(b"'''").map(Item::Text),
            Some(b'.') => self.fail("floats must start with a digit, not '.'"),
            Some(b'0'..=b'9' | b'+' | b'-') => self.number(),
            Some(b'i' | b'n') if self.accept(b"inf") => Ok(Item::Float(f64::INFINITY)),
            Some(b'i' | b'n') if self.accept(b"nan") => Ok(Item::Float(f64::NAN)),
            Some(_) if self.letters() > 0 => self.word(),
            None => self.fail("unexpected EOF; expected value"),
            Some(_) => {
                let shown = self.shown();
                self.fail(&format!("expected value but found {shown} instead"))
            }
        }
    }

    fn any_string(&mut self, triple: &[u8]) -> Read<Vec<u8>> {
        let raw = triple[0] == b'\'';
        if self.accept(triple) {
            return if raw { self.multiline_raw() } else { self.multiline_basic() };
        }
        self.at += 1;
        let text = if raw { self.raw_string() } else { self.basic_string() }?;
        self.check_refused(0)?;
        Ok(text)
    }

    /// How many bytes of letters follow.
    fn letters(&self) -> usize {
        let letter = |(_, rune, _): &(usize, u32, usize)| char::from_u32(*rune).is_some_and(is_letter);
        runes(&self.text[self.at..]).take_while(letter).map(|(_, _, width)| width).sum()
    }

    fn word(&mut self) -> Read<Item> {
        let length = self.letters();
        let word = lossy(&self.text[self.at..self.at + length]);
        match word.as_str() {
            "true" | "false" => {
                self.at += length;
                Ok(Item::Bool(word == "true"))
            }
            _ => {
                self.at += length;
                self.fail(&format!("expected value but found {} instead", quoted(&word)))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Read<Item> {
        let mut items = Vec::new();
        loop {
            self.space_and_comments();
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(Item::Array(items));
                }
                Some(b',') => return self.fail("unexpected comma"),
                _ => items.push(self.value(depth + 1)?),
            }
            self.space_and_comments();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                _ => {
                    let shown = self.shown_plain();
                    let expected = "expected a comma (',') or array terminator (']')";
                    return self.fail(&format!("{expected}, but got {shown}"));
                }
            }
        }
    }

    fn space_and_comments(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'#') => self.comment(),
                _ => return,
            }
        }
    }

    fn inline_table(&mut self, depth: usize) -> Read<Item> {
        let mut table = Table::default();
        let outer = self.enter();
        loop {
            self.space_and_comments();
            let last = match self.peek() {
                Some(b'}') => break,
                Some(b',') => return self.fail("unexpected comma"),
                _ => self.pair(&mut table, depth + 1)?,
            };
            // The key that errors name until there is another.
            self.set_key(last);
            self.space_and_comments();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {}
                _ => {
                    let shown = self.shown_plain();
                    let expected = "expected a comma or an inline table terminator '}'";
                    return self.fail(&format!("{expected}, but got {shown} instead"));
                }
            }
        }
        self.at += 1;
        self.leave(outer);
        Ok(Item::Table(table))
    }

    fn take(&mut self, allowed: impl Fn(u8) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&allowed) {
            self.at += 1;
        }
        lossy(&self.text[start..self.at])
    }

    fn number(&mut self) -> Read<Item> {
        let start = self.at;
        let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
        let rest = &self.text[start..];
        if matches!(rest[0], b'+' | b'-') {
            return self.signed();
        }
        let leading = digits(rest);
        match rest.get(leading) {
            Some(b'-' | b':') if leading > 0 => {
                let allowed = |b: u8| b.is_ascii_digit() || b"-:Tt .Zz+".contains(&b);
                let text = self.take(allowed);
                return self.date(text.trim_end());
            }
            Some(b'x' | b'o' | b'b') if rest[0] == b'0' && leading == 1 => return self.based(),
            _ => {}
        }
        self.decimal()
    }

    fn signed(&mut self) -> Read<Item> {
        let sign = if self.text[self.at] == b'-' { -1.0 } else { 1.0 };
        self.at += 1;
        if self.accept(b"inf") {
            return Ok(Item::Float(sign * f64::INFINITY));
        }
        if self.accept(b"nan") {
            return Ok(Item::Float(f64::NAN.copysign(sign)));
        }
        match (self.peek(), self.text.get(self.at + 1)) {
            (Some(b'.'), _) => self.fail("floats must start with a digit, not '.'"),
            (Some(b'0'), Some(base @ (b'x' | b'o' | b'b'))) => {
                let shown = lossy(&self.text[self.at - 1..=self.at]);
                let base = char::from(*base);
                self.fail(&format!("cannot use sign with non-decimal numbers: '{shown}{base}'"))
            }
            (Some(b'0'..=b'9'), _) => {
                self.at -= 1;
                self.decimal()
            }
            _ => {
                let shown = self.shown();
                self.fail(&format!("expected a digit but got {shown}"))
            }
        }
    }

    fn based(&mut self) -> Read<Item> {
        let start = self.at;
        self.at += 2;
        let (name, radix) = match self.text[start + 1] {
            b'x' => ("a hexadecimal", 16),
            b'o' => ("an octal", 8),
            _ => ("a binary", 2),
        };
        let digit = move |b: u8| char::from(b).is_digit(radix);
        if !self.peek().is_some_and(digit) {
            let head = lossy(&self.text[start..self.at]);
            let next = self.peek().map_or('\0', char::from);
            return self.fail(&format!("not {name} number: '{head}{next}'"));
        }
        let tail = self.take(move |b| digit(b) || b == b'_');
        let whole = format!("{}{tail}", lossy(&self.text[start..start + 2]));
        self.integer(&whole)
    }

    fn decimal(&mut self) -> Read<Item> {
        let start = self.at;
        if matches!(self.peek(), Some(b'+' | b'-')) {
            self.at += 1;
        }
        self.take(|b| b.is_ascii_digit() || b == b'_');
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            self.take(|b| b.is_ascii_digit() || b"_.-+eE".contains(&b));
            let text = lossy(&self.text[start..self.at]);
            return self.float(&text);
        }
        let text = lossy(&self.text[start..self.at]);
        self.integer(&text)
    }

    fn integer(&mut self, text: &str) -> Read<Item> {
        if !underscores_ok(text) {
            let message =
                format!("Invalid integer {}: underscores must be surrounded by digits", quoted(text));
            return self.fail(&message);
        }
        if has_leading_zero(text) {
            return self.fail(&format!("Invalid integer {}: cannot have leading zeroes", quoted(text)));
        }
        match parse_int(text) {
            Some(i) => Ok(Item::Int(i)),
            None => self.fail(&format!("{text} is out of range for int64")),
        }
    }

    fn float(&mut self, text: &str) -> Read<Item> {
        let shown = quoted(text);
        let parts: Vec<&str> = text.split(['.', 'e', 'E']).filter(|p| !p.is_empty()).collect();
        if parts.iter().any(|part| !underscores_ok(part)) {
            return self.fail(&format!("Invalid float {shown}: underscores must be surrounded by digits"));
        }
        if parts.first().is_some_and(|part| has_leading_zero(part)) {
            return self.fail(&format!("Invalid float {shown}: cannot have leading zeroes"));
        }
        let dot_ok = text.split('.').skip(1).all(|after| after.starts_with(|c: char| c.is_ascii_digit()));
        if !dot_ok {
            return self.fail(&format!("Invalid float {shown}: '.' must be followed by one or more digits"));
        }
        let plain = text.replace('_', "");
        match parse_float(&plain) {
            Some(f) => Ok(Item::Float(f)),
            None if plain.parse::<f64>().is_ok() => self.fail(&format!("{text} is out of range for float64")),
            None => self.fail(&format!("Invalid float value: {shown}")),
        }
    }

    fn date(&mut self, text: &str) -> Read<Item> {
        let upper = text.replace('t', "T").replace('z', "Z").replace(' ', "T");
        for layout in LAYOUTS {
            if let Ok(time) = dates::parse::parse(layout.as_bytes(), upper.as_bytes()) {
                let padded = upper.bytes().zip(layout.bytes()).all(|(v, l)| {
                    v.is_ascii_digit() == l.is_ascii_digit() || matches!(l, b'Z' | b'.' | b'9' | b'+' | b'-')
                });
                if !padded {
                    break;
                }
                return Ok(Item::Time(time));
            }
        }
        self.fail(&format!("invalid datetime: {}", quoted(&upper)))
    }
}

fn underscores_ok(text: &str) -> bool {
    let mut after_digit = false;
    for c in text.chars() {
        if c == '_' && !after_digit {
            return false;
        }
        after_digit = c.is_ascii_hexdigit();
    }
    after_digit
}

fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    digits.len() > 1 && digits[0] == b'0' && !matches!(digits[1], b'b' | b'o' | b'x')
}
