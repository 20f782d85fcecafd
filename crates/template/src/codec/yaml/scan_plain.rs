//! Plain scalars, and how lines are folded in all flow scalars.

use super::{
    scanner::{Scan, Scanner},
    tokens::Kind,
};

/// White space and line breaks between words of a scalar.
#[derive(Debug, Default)]
pub(super) struct Folding {
    pub(super) leading_blanks: bool,
    spaces: Vec<u8>,
    leading: Vec<u8>,
    trailing: Vec<u8>,
}

// === impl Folding ===

impl Folding {
    pub(super) fn is_pending(&self) -> bool {
        self.leading_blanks || !self.spaces.is_empty()
    }

    /// Reads one blank or line break.
    pub(super) fn read(&mut self, scanner: &mut Scanner<'_>) {
        match (scanner.is_blank(0), self.leading_blanks) {
            (true, false) => scanner.read(&mut self.spaces),
            (true, true) => scanner.skip(),
            (false, false) => {
                self.spaces.clear();
                scanner.read_line(&mut self.leading);
                self.leading_blanks = true;
            }
            (false, true) => scanner.read_line(&mut self.trailing),
        }
    }

    /// Writes what the white space stands for: a single line break is a space.
    pub(super) fn join(&mut self, out: &mut Vec<u8>) {
        if self.leading_blanks {
            if self.leading.first() != Some(&b'\n') {
                out.extend_from_slice(&self.leading);
            } else if self.trailing.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(&self.trailing);
        } else {
            out.extend_from_slice(&self.spaces);
        }
        self.spaces.clear();
        self.leading.clear();
        self.trailing.clear();
        self.leading_blanks = false;
    }
}

// === impl Scanner ===

impl Scanner<'_> {
    pub(super) fn plain_scalar(&mut self) -> Scan<()> {
        let start = self.mark;
        let indent = self.indent + 1;
        let mut value = Vec::new();
        let mut folding = Folding::default();
        loop {
            if self.is_document_indicator() || self.at(0) == b'#' {
                break;
            }
            while !self.is_blankz(0) && !self.ends_plain() {
                if folding.is_pending() {
                    folding.join(&mut value);
                }
                self.read(&mut value);
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                let below = isize::try_from(self.mark.column).is_ok_and(|column| column < indent);
                if folding.leading_blanks && below && self.at(0) == b'\t' {
                    return self.fail("found a tab character that violates indentation", start);
                }
                folding.read(self);
            }
            if self.flow_level == 0 && isize::try_from(self.mark.column).is_ok_and(|c| c < indent) {
                break;
            }
        }
        if folding.leading_blanks {
            self.key_allowed = true;
        }
        self.push(Kind::Scalar { value: value.into(), plain: true }, start);
        Ok(())
    }

    fn ends_plain(&self) -> bool {
        let c = self.at(0);
        (c == b':' && self.is_blankz(1))
            || (self.flow_level > 0 && matches!(c, b',' | b'?' | b'[' | b']' | b'{' | b'}'))
    }
}
