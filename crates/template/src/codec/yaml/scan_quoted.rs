//! Single- and double-quoted scalars.

use super::{
    scan_plain::Folding,
    scanner::{Scan, Scanner},
    tokens::{Lexeme, Mark},
};
use crate::text::push_rune;

// === impl Scanner ===

impl Scanner<'_> {
    pub(super) fn flow_scalar(&mut self, single: bool) -> Scan<()> {
        let start = self.mark;
        let mark = if single { b'\'' } else { b'"' };
        self.skip();
        let mut value = Vec::new();
        let mut folding = Folding::default();
        loop {
            if self.is_document_indicator() {
                return self.fail("found unexpected document indicator", start);
            }
            if self.is_end() {
                return self.fail("found unexpected end of stream", start);
            }
            while !self.is_blankz(0) {
                if single && self.at(0) == b'\'' && self.at(1) == b'\'' {
                    value.push(b'\'');
                    self.skip();
                    self.skip();
                } else if self.at(0) == mark {
                    break;
                } else if !single && self.at(0) == b'\\' && self.is_break(1) {
                    self.skip();
                    self.skip_line();
                    folding.leading_blanks = true;
                    break;
                } else if !single && self.at(0) == b'\\' {
                    self.escape(&mut value, start)?;
                } else {
                    let run = self.run(|byte| byte > b' ' && !matches!(byte, b'\'' | b'"' | b'\\'));
                    if run == 0 { self.read(&mut value) } else { self.read_run(run, &mut value) }
                }
            }
            if self.at(0) == mark {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                folding.read(self);
            }
            folding.join(&mut value);
        }
        self.skip();
        self.push(Lexeme::Scalar { value: value.into(), plain: false }, start);
        Ok(())
    }

    fn escape(&mut self, out: &mut Vec<u8>, start: Mark) -> Scan<()> {
        let digits = match self.at(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        if digits == 0 {
            let rune = match self.at(1) {
                b'0' => 0,
                b'a' => 7,
                b'b' => 8,
                b't' | b'\t' => 9,
                b'n' => 10,
                b'v' => 11,
                b'f' => 12,
                b'r' => 13,
                b'e' => 27,
                c @ (b' ' | b'"' | b'\'' | b'\\') => u32::from(c),
                b'N' => 0x85,
                b'_' => 0xA0,
                b'L' => 0x2028,
                b'P' => 0x2029,
                _ => return self.fail("found unknown escape character", start),
            };
            push_rune(out, rune);
            self.skip();
            self.skip();
            return Ok(());
        }
        self.skip();
        self.skip();
        let mut value = 0u32;
        for k in 0..digits {
            let Some(digit) = char::from(self.at(k)).to_digit(16) else {
                return self.fail("did not find expected hexdecimal number", start);
            };
            value = value.wrapping_shl(4) + digit;
        }
        if char::from_u32(value).is_none() {
            return self.fail("found invalid Unicode character escape code", start);
        }
        push_rune(out, value);
        (0..digits).for_each(|_| self.skip());
        Ok(())
    }
}
