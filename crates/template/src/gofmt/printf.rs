//! The format string: flags, widths, precisions, argument indexes, verbs.

use super::{
    flags::Flags,
    printer::{Print, Printer},
};
use crate::{
    text::{decode_rune, push_rune},
    value::Value,
};

/// Where the scan of a format string stands.
struct Scan<'f> {
    format: &'f [u8],
    at: usize,
    arg: usize,
    reordered: bool,
    good_arg: bool,
    after_index: bool,
}

/// Go refuses numbers above this while it reads the next digit.
const TOO_LARGE: i64 = 1_000_000;

// === impl Scan ===

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// A decimal number from `start`, and where it ends.
    fn number(&self, start: usize, end: usize) -> (Option<i64>, usize) {
        let mut value = None;
        let mut at = start;
        while at < end && self.format[at].is_ascii_digit() {
            let so_far = value.unwrap_or(0);
            if so_far > TOO_LARGE {
                return (None, end);
            }
            value = Some(so_far * 10 + i64::from(self.format[at] - b'0'));
            at += 1;
        }
        (value, at)
    }

    fn take_number(&mut self) -> Option<usize> {
        let (value, at) = self.number(self.at, self.format.len());
        self.at = at;
        value.and_then(|v| usize::try_from(v).ok())
    }

    /// An explicit argument index such as `[3]`.
    fn arg_index(&mut self, count: usize) {
        self.after_index = false;
        if self.byte() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let Some(close) = rest.iter().position(|b| *b == b']').filter(|_| rest.len() >= 3) else {
            self.good_arg = false;
            self.at += 1;
            return;
        };
        let (value, end) = self.number(self.at + 1, self.at + close);
        let complete = end == self.at + close;
        self.at += close + 1;
        match value.filter(|_| complete) {
            Some(n) if n >= 1 && usize::try_from(n).is_ok_and(|n| n <= count) => {
                self.arg = usize::try_from(n).unwrap_or(1) - 1;
                self.after_index = true;
            }
            found => {
                self.good_arg = false;
                self.after_index = found.is_some();
            }
        }
    }

    /// The argument of a `*`.
    fn star(&mut self, args: &[Value<'_>]) -> Option<i64> {
        let value = match args.get(self.arg)? {
            Value::Int(_, i) => Some(*i),
            Value::Uint(_, u) => i64::try_from(*u).ok(),
            _ => None,
        };
        self.arg += 1;
        value.filter(|v| v.abs() <= TOO_LARGE)
    }
}

// === impl Printer ===

impl<'a> Printer<'_, 'a> {
    pub(crate) fn printf(&mut self, format: &[u8], args: &[Value<'a>]) -> Print {
        let mut scan = Scan { format, at: 0, arg: 0, reordered: false, good_arg: true, after_index: false };
        while scan.at < format.len() {
            scan.good_arg = true;
            let rest = &format[scan.at..];
            let text = rest.iter().position(|b| *b == b'%').unwrap_or(rest.len());
            self.write(&rest[..text])?;
            scan.at += text;
            if scan.at >= format.len() {
                break;
            }
            scan.at += 1;
            self.cx.step(1)?;
            self.directive(&mut scan, args)?;
        }
        if !scan.reordered && scan.arg < args.len() {
            self.extra(&args[scan.arg..])?;
        }
        Ok(())
    }

    fn directive(&mut self, scan: &mut Scan<'_>, args: &[Value<'a>]) -> Print {
        self.flags = Flags::default();
        while let Some(c) = scan.byte() {
            match c {
                b'#' => self.flags.sharp = true,
                b'0' => self.flags.zero = true,
                b'+' => self.flags.plus = true,
                b'-' => self.flags.minus = true,
                b' ' => self.flags.space = true,
                _ => break,
            }
            scan.at += 1;
        }
        scan.arg_index(args.len());
        self.width(scan, args)?;
        self.precision(scan, args)?;
        if !scan.after_index {
            scan.arg_index(args.len());
        }
        if scan.at >= scan.format.len() {
            return self.write(b"%!(NOVERB)");
        }
        let (rune, size) = decode_rune(&scan.format[scan.at..]);
        scan.at += size;
        self.verb(scan, char::from_u32(rune).unwrap_or('\u{FFFD}'), args)
    }

    fn verb(&mut self, scan: &mut Scan<'_>, verb: char, args: &[Value<'a>]) -> Print {
        if verb == '%' {
            return self.write(b"%");
        }
        let Some(arg) = args.get(scan.arg).filter(|_| scan.good_arg) else {
            self.out.extend_from_slice(b"%!");
            push_rune(&mut self.out, u32::from(verb));
            return self.write(if scan.good_arg { b"(MISSING)" } else { b"(BADINDEX)" });
        };
        if verb == 'v' {
            self.flags.for_verb_v();
        }
        scan.arg += 1;
        self.print_arg(arg, verb)
    }

    fn width(&mut self, scan: &mut Scan<'_>, args: &[Value<'a>]) -> Print {
        if scan.byte() != Some(b'*') {
            self.flags.width = scan.take_number();
            if scan.after_index && self.flags.width.is_some() {
                scan.good_arg = false;
            }
            return Ok(());
        }
        scan.at += 1;
        let width = scan.star(args);
        scan.after_index = false;
        let Some(width) = width else { return self.write(b"%!(BADWIDTH)") };
        if width < 0 {
            self.flags.minus = true;
            self.flags.zero = false;
        }
        self.flags.width = usize::try_from(width.unsigned_abs()).ok();
        Ok(())
    }

    fn precision(&mut self, scan: &mut Scan<'_>, args: &[Value<'a>]) -> Print {
        if scan.byte() != Some(b'.') {
            return Ok(());
        }
        scan.at += 1;
        if scan.after_index {
            scan.good_arg = false;
        }
        scan.arg_index(args.len());
        if scan.byte() != Some(b'*') {
            self.flags.precision = Some(scan.take_number().unwrap_or(0));
            return Ok(());
        }
        scan.at += 1;
        let precision = scan.star(args).and_then(|p| usize::try_from(p).ok());
        scan.after_index = false;
        self.flags.precision = precision;
        if precision.is_none() {
            return self.write(b"%!(BADPREC)");
        }
        Ok(())
    }

    fn extra(&mut self, args: &[Value<'a>]) -> Print {
        self.flags = Flags::default();
        self.write(b"%!(EXTRA ")?;
        for (i, arg) in args.iter().enumerate() {
            self.write(if i > 0 { b", " } else { b"" })?;
            if arg.is_nil() {
                self.write(b"<nil>")?;
                continue;
            }
            self.write(arg.type_name().as_bytes())?;
            self.write(b"=")?;
            self.print_arg(arg, 'v')?;
        }
        self.write(b")")
    }
}
