//! Plain scalars, and how lines are folded in all flow scalars.

use super::{
    scanner::{Scan, Scanner},
    tokens::{Lexeme, Text},
};

/// White space and line breaks between words of a scalar.
#[derive(Debug, Default)]
pub(super) struct Folding {
    pub(super) leading_blanks: bool,
    spaces: Vec<u8>,
    leading: Vec<u8>,
    trailing: Vec<u8>,
}

/// A plain scalar as it grows: a piece of the document for as long as no lines are folded.
struct Plain {
    start: usize,
    end: usize,
    made: Option<Vec<u8>>,
}

// === impl Plain ===

impl Plain {
    /// Adds the word that begins there and has just been passed, with the white space before it.
    fn add(&mut self, scanner: &Scanner<'_>, folding: &mut Folding, word: usize) {
        if folding.leading_blanks || self.made.is_some() {
            let made = self.made.get_or_insert_with(|| scanner.between(self.start, self.end).to_vec());
            folding.join(made);
            made.extend_from_slice(scanner.between(word, scanner.mark.index));
        } else {
            folding.forget();
        }
        self.end = scanner.mark.index;
    }
}

// === impl Folding ===

impl Folding {
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
        self.forget();
    }

    fn forget(&mut self) {
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
        let mut value = Plain { start: start.index, end: start.index, made: None };
        let mut folding = Folding::default();
        loop {
            if self.is_document_indicator() || self.at(0) == b'#' {
                break;
            }
            let word = self.mark.index;
            self.skip_word();
            if self.mark.index > word {
                value.add(self, &mut folding, word);
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
        let value = match value.made {
            None => Text::There(self.between(value.start, value.end)),
            Some(made) => made.into(),
        };
        self.push(Lexeme::Scalar { value, plain: true }, start);
        Ok(())
    }

    /// Moves over everything up to the next blank, line break, or end of a plain scalar.
    fn skip_word(&mut self) {
        while !self.is_blankz(0) && !self.ends_plain() {
            let flow = self.flow_level > 0;
            let run = self.run(|byte| match byte {
                b':' => false,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' => !flow,
                _ => byte > b' ',
            });
            // What is not one of these has to be looked at, one by one.
            if run == 0 { self.skip() } else { self.skip_run(run) }
        }
    }

    fn ends_plain(&self) -> bool {
        let c = self.at(0);
        (c == b':' && self.is_blankz(1))
            || (self.flow_level > 0 && matches!(c, b',' | b'?' | b'[' | b']' | b'{' | b'}'))
    }
}
