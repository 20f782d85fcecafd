//! Strings and byte slices under `%s %q %x %X`.

use super::printer::{Print, Printer};
use crate::text::{
    quote::{can_backquote, quote_with},
    runes,
};

// === impl Printer ===

impl Printer<'_, '_> {
    pub(super) fn print_string(&mut self, text: &[u8], verb: char) -> Print {
        match verb {
            'v' if self.flags.sharp_v => self.format_quoted(text),
            'v' | 's' => {
                let part = self.truncated(text);
                self.pad(part)
            }
            'x' | 'X' => self.format_hex(text, verb),
            'q' => self.format_quoted(text),
            _ => self.bad_verb(verb),
        }
    }

    /// The first runes of a text, as many as the precision says.
    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else { return text };
        runes(text).nth(precision).map_or(text, |(at, _, _)| &text[..at])
    }

    fn format_quoted(&mut self, text: &[u8]) -> Print {
        let text = self.truncated(text);
        self.cx.may_be_long(text.len())?;
        if self.flags.sharp && can_backquote(text) {
            let raw = [b"`", text, b"`"].concat();
            return self.pad(&raw);
        }
        let quoted = quote_with(text, b'"', self.flags.plus);
        self.pad(&quoted)
    }

    pub(super) fn format_hex(&mut self, text: &[u8], verb: char) -> Print {
        let flags = self.flags;
        let length = flags.precision.map_or(text.len(), |p| p.min(text.len()));
        if length == 0 {
            return self.write_padding(flags.width.unwrap_or(0));
        }
        let mut width = 2 * length;
        if flags.space {
            width = width * if flags.sharp { 2 } else { 1 } + length - 1;
        } else if flags.sharp {
            width += 2;
        }
        self.cx.may_be_long(self.out.len() + width)?;
        let missing = flags.width.map_or(0, |w| w.saturating_sub(width));
        if !flags.minus {
            self.write_padding(missing)?;
        }
        let prefix: &[u8] = match (flags.sharp, verb) {
            (false, _) => b"",
            (true, 'X') => b"0X",
            (true, _) => b"0x",
        };
        for (i, byte) in text[..length].iter().enumerate() {
            if flags.space && i > 0 {
                self.out.push(b' ');
            }
            if i == 0 || flags.space {
                self.out.extend_from_slice(prefix);
            }
            let pair = if verb == 'X' { format!("{byte:02X}") } else { format!("{byte:02x}") };
            self.out.extend_from_slice(pair.as_bytes());
        }
        if flags.minus {
            self.write_padding(missing)?;
        }
        Ok(())
    }
}
