//! The printer's state: output, flags, padding, and the `%!verb(type=value)` marker.

use super::flags::Flags;
use crate::{
    exec::{Cx, Fail},
    text::{push_rune, rune_count},
    value::Value,
};

pub(crate) type Print = Result<(), Fail>;

/// A `fmt` state over one output.
pub(crate) struct Printer<'c, 'a> {
    pub(crate) cx: &'c mut Cx<'a>,
    pub(crate) out: Vec<u8>,
    pub(crate) flags: Flags,
    /// The operand that a bad verb reports.
    pub(super) arg: Option<Value<'a>>,
    /// A bad verb is being reported: no methods are called.
    pub(super) erroring: bool,
    pub(super) depth: usize,
    /// More than this is not printed, where nobody looks at it.
    pub(super) cut: usize,
}

// === impl Printer ===

impl<'c, 'a> Printer<'c, 'a> {
    pub(crate) fn new(cx: &'c mut Cx<'a>) -> Self {
        Self {
            cx,
            out: Vec::new(),
            flags: Flags::default(),
            arg: None,
            erroring: false,
            depth: 0,
            cut: usize::MAX,
        }
    }

    /// Appends within the budget of one string.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Print {
        if self.out.len() > self.cut {
            return Err(Fail::Limit(format!("limit: a key of more than {} bytes", self.cut)));
        }
        self.cx.may_be_long(self.out.len() + bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_padding(&mut self, count: usize) -> Print {
        self.cx.may_be_long(self.out.len().saturating_add(count))?;
        let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count, fill);
        Ok(())
    }

    /// Appends text padded to the width.
    pub(super) fn pad(&mut self, bytes: &[u8]) -> Print {
        let missing = self.flags.width.map_or(0, |w| w.saturating_sub(rune_count(bytes)));
        if !self.flags.minus {
            self.write_padding(missing)?;
            return self.write(bytes);
        }
        self.write(bytes)?;
        self.write_padding(missing)
    }

    /// Pads with spaces even under the `0` flag.
    pub(super) fn pad_spaces(&mut self, bytes: &[u8]) -> Print {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(bytes)?;
        self.flags.zero = zero;
        Ok(())
    }

    pub(super) fn bad_verb(&mut self, verb: char) -> Print {
        self.erroring = true;
        self.out.extend_from_slice(b"%!");
        push_rune(&mut self.out, u32::from(verb));
        self.out.push(b'(');
        match self.arg.clone() {
            Some(arg) if !arg.is_nil() => {
                self.out.extend_from_slice(arg.type_name().as_bytes());
                self.out.push(b'=');
                self.print_arg(&arg, 'v')?;
            }
            _ => self.out.extend_from_slice(b"<nil>"),
        }
        self.out.push(b')');
        self.erroring = false;
        Ok(())
    }
}
