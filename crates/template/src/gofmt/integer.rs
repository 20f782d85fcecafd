//! Integers under `%d %b %o %O %x %X %c %q %U`.

use super::printer::{Print, Printer};
use crate::text::{classes::is_print, push_rune, quote::quote_rune};

// === impl Printer ===

impl Printer<'_, '_> {
    pub(super) fn print_signed(&mut self, value: i64, verb: char) -> Print {
        self.print_integer(value.unsigned_abs(), value < 0, value as u64, verb)
    }

    pub(super) fn print_unsigned(&mut self, value: u64, verb: char) -> Print {
        if verb == 'v' && self.flags.sharp_v {
            let sharp = std::mem::replace(&mut self.flags.sharp, true);
            self.format_integer(value, false, 16, 'v')?;
            self.flags.sharp = sharp;
            return Ok(());
        }
        self.print_integer(value, false, value, verb)
    }

    fn print_integer(&mut self, magnitude: u64, negative: bool, raw: u64, verb: char) -> Print {
        match verb {
            'v' | 'd' => self.format_integer(magnitude, negative, 10, verb),
            'b' => self.format_integer(magnitude, negative, 2, verb),
            'o' | 'O' => self.format_integer(magnitude, negative, 8, verb),
            'x' | 'X' => self.format_integer(magnitude, negative, 16, verb),
            'c' => {
                let mut text = Vec::new();
                push_rune(&mut text, u32::try_from(raw).unwrap_or(u32::MAX));
                self.pad(&text)
            }
            'q' => {
                let rune = u32::try_from(raw).unwrap_or(u32::MAX);
                self.pad(&quote_rune(rune, self.flags.plus))
            }
            'U' => self.format_unicode(raw),
            _ => self.bad_verb(verb),
        }
    }

    pub(super) fn format_integer(&mut self, magnitude: u64, negative: bool, base: u32, verb: char) -> Print {
        let flags = self.flags;
        let signed = negative || flags.plus || flags.space;
        let precision = match (flags.precision, flags.width) {
            (Some(0), _) if magnitude == 0 => {
                let zero = std::mem::take(&mut self.flags.zero);
                self.write_padding(flags.width.unwrap_or(0))?;
                self.flags.zero = zero;
                return Ok(());
            }
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(usize::from(signed)),
            _ => 0,
        };
        self.cx.may_be_long(precision)?;
        let mut digits = digits(magnitude, base, verb == 'X');
        if digits.len() < precision {
            digits.splice(0..0, std::iter::repeat_n(b'0', precision - digits.len()));
        }
        let mut text: Vec<u8> = Vec::with_capacity(digits.len() + 3);
        if negative {
            text.push(b'-');
        } else if flags.plus {
            text.push(b'+');
        } else if flags.space {
            text.push(b' ');
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        if flags.sharp {
            text.extend_from_slice(match base {
                2 => b"0b",
                8 if digits[0] != b'0' => b"0",
                16 if verb == 'X' => b"0X",
                16 => b"0x",
                _ => b"",
            });
        }
        text.extend(digits);
        self.pad_spaces(&text)
    }

    fn format_unicode(&mut self, value: u64) -> Print {
        let precision = self.flags.precision.unwrap_or(0).max(4);
        self.cx.may_be_long(precision)?;
        let mut text = format!("U+{value:0precision$X}").into_bytes();
        let c = u32::try_from(value).ok().and_then(char::from_u32).filter(|c| is_print(*c));
        if let (true, Some(c)) = (self.flags.sharp, c) {
            text.extend_from_slice(format!(" '{c}'").as_bytes());
        }
        self.pad_spaces(&text)
    }
}

fn digits(mut value: u64, base: u32, upper: bool) -> Vec<u8> {
    let alphabet: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut reversed = Vec::with_capacity(20);
    loop {
        reversed.push(alphabet[(value % u64::from(base)) as usize]);
        value /= u64::from(base);
        if value == 0 {
            reversed.reverse();
            return reversed;
        }
    }
}
