//! The four kinds of TOML strings.

use super::toml_read::{Read, Reader};
use crate::text::{lossy, push_rune, quote::quoted};

// === impl Reader ===

impl Reader<'_, '_, '_> {
    /// A basic string after its opening quote.
    pub(super) fn basic_string(&mut self) -> Read<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return self.fail("unexpected EOF; expected '\"'"),
                Some(b'\n') => return self.fail("strings cannot contain newlines"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(b) => {
                    out.push(b);
                    self.at += 1;
                }
            }
        }
    }

    /// A literal string after its opening quote.
    pub(super) fn raw_string(&mut self) -> Read<Vec<u8>> {
        let start = self.at;
        loop {
            match self.peek() {
                None => return self.fail("unexpected EOF; expected \"'\""),
                Some(b'\n') => return self.fail("strings cannot contain newlines"),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(self.text[start..self.at - 1].to_vec());
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn first_newline(&mut self) {
        if !self.accept(b"\r\n") {
            self.accept(b"\n");
        }
    }

    pub(super) fn multiline_raw(&mut self) -> Read<Vec<u8>> {
        self.first_newline();
        let mut out = Vec::new();
        loop {
            if self.accept(b"'''") {
                while self.peek() == Some(b'\'') {
                    out.push(b'\'');
                    self.at += 1;
                }
                return Ok(out);
            }
            match self.peek() {
                None => return self.fail("unexpected EOF; expected \"'''\""),
                Some(_) if self.accept(b"\r\n") => out.push(b'\n'),
                Some(b) => {
                    out.push(b);
                    self.at += 1;
                }
            }
        }
    }

    pub(super) fn multiline_basic(&mut self) -> Read<Vec<u8>> {
        self.first_newline();
        let mut out = Vec::new();
        loop {
            if self.accept(b"\"\"\"") {
                while self.peek() == Some(b'"') {
                    out.push(b'"');
                    self.at += 1;
                }
                return Ok(out);
            }
            match self.peek() {
                None => return self.fail("unexpected EOF; expected '\"\"\"'"),
                Some(b'\\') if self.continues_line() => {
                    self.at += 1;
                    while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                        self.at += 1;
                    }
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) if self.accept(b"\r\n") => out.push(b'\n'),
                Some(b) => {
                    out.push(b);
                    self.at += 1;
                }
            }
        }
    }

    /// A backslash with nothing but space until the end of the line.
    fn continues_line(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|b| *b == b'\n');
        end.is_some_and(|end| rest[..end].iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')))
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Read<()> {
        let simple = match self.text.get(self.at + 1) {
            Some(b'e') => 27,
            Some(b'b') => 8,
            Some(b't') => 9,
            Some(b'n') => 10,
            Some(b'f') => 12,
            Some(b'r') => 13,
            Some(b @ (b'"' | b'\\')) => *b,
            Some(b'x') => return self.hex_escape(out, 2, "two", 'x'),
            Some(b'u') => return self.hex_escape(out, 4, "four", 'u'),
            Some(b'U') => return self.hex_escape(out, 8, "eight", 'U'),
            other => {
                let c = other.map_or('\u{FFFD}', |b| char::from(*b));
                self.at += 1;
                return self.fail(&format!("invalid escape in string '\\{c}'"));
            }
        };
        out.push(simple);
        self.at += 2;
        Ok(())
    }

    fn hex_escape(&mut self, out: &mut Vec<u8>, digits: usize, count: &str, mark: char) -> Read<()> {
        let start = self.at + 2;
        let found = self.text[start..].iter().take(digits).take_while(|b| b.is_ascii_hexdigit()).count();
        if found < digits {
            let shown = quoted(&lossy(&self.text[self.at..(start + found + 1).min(self.text.len())]));
            return self.fail(&format!(
                "expected {count} hexadecimal digits after '\\{mark}', but got {shown} instead"
            ));
        }
        let text = lossy(&self.text[start..start + digits]);
        let rune = u32::from_str_radix(&text, 16).unwrap_or(u32::MAX);
        if char::from_u32(rune).is_none() {
            return self.fail(&format!("Escaped character '\\u{text}' is not valid UTF-8."));
        }
        push_rune(out, rune);
        self.at = start + digits;
        Ok(())
    }
}
