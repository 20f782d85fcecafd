//! Literal and folded block scalars.

use super::{
    scanner::{Scan, Scanner},
    tokens::{Lexeme, Mark},
};

/// What becomes of the last line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Clip,
    Strip,
    Keep,
}

// === impl Scanner ===

impl Scanner<'_> {
    pub(super) fn block_scalar(&mut self, literal: bool) -> Scan<()> {
        let start = self.mark;
        self.skip();
        let (chomp, increment) = self.block_header(start)?;
        while self.is_blank(0) {
            self.skip();
        }
        if self.at(0) == b'#' {
            while !self.is_breakz() {
                self.skip();
            }
        }
        if !self.is_breakz() {
            return self.fail("did not find expected comment or line break", start);
        }
        self.skip_line();
        let parent = usize::try_from(self.indent).unwrap_or(0);
        let mut indent = if increment > 0 { parent + increment } else { 0 };
        let value = self.block_content(literal, chomp, &mut indent, start)?;
        self.push(Lexeme::Scalar { value: value.into(), plain: false }, start);
        Ok(())
    }

    fn block_header(&mut self, start: Mark) -> Scan<(Chomp, usize)> {
        let (mut chomp, mut increment) = (Chomp::Clip, 0);
        for _ in 0..2 {
            match self.at(0) {
                c @ (b'+' | b'-') if chomp == Chomp::Clip => {
                    chomp = if c == b'+' { Chomp::Keep } else { Chomp::Strip };
                }
                b'0' if increment == 0 => {
                    return self.fail("found an indentation indicator equal to 0", start);
                }
                c @ b'1'..=b'9' if increment == 0 => increment = usize::from(c - b'0'),
                _ => break,
            }
            self.skip();
        }
        Ok((chomp, increment))
    }

    fn block_content(
        &mut self,
        literal: bool,
        chomp: Chomp,
        indent: &mut usize,
        start: Mark,
    ) -> Scan<Vec<u8>> {
        let (mut value, mut leading, mut trailing) = (Vec::new(), Vec::new(), Vec::new());
        self.block_breaks(indent, &mut trailing, start)?;
        let mut leading_blank = false;
        while self.mark.column == *indent && !self.is_end() {
            let trailing_blank = self.is_blank(0);
            let folds = !literal && !leading_blank && !trailing_blank && leading.first() == Some(&b'\n');
            if !folds {
                value.append(&mut leading);
            } else if trailing.is_empty() {
                value.push(b' ');
            }
            leading.clear();
            value.append(&mut trailing);
            leading_blank = self.is_blank(0);
            while !self.is_breakz() {
                let run = self.run(|byte| !matches!(byte, b'\r' | b'\n'));
                if run == 0 { self.read(&mut value) } else { self.read_run(run, &mut value) }
            }
            self.read_line(&mut leading);
            self.block_breaks(indent, &mut trailing, start)?;
        }
        if chomp != Chomp::Strip {
            value.append(&mut leading);
        }
        if chomp == Chomp::Keep {
            value.append(&mut trailing);
        }
        Ok(value)
    }

    /// Reads empty lines, and finds the indentation if it is not known yet.
    fn block_breaks(&mut self, indent: &mut usize, breaks: &mut Vec<u8>, start: Mark) -> Scan<()> {
        let mut most = 0;
        loop {
            while (*indent == 0 || self.mark.column < *indent) && self.at(0) == b' ' {
                self.skip();
            }
            most = most.max(self.mark.column);
            if (*indent == 0 || self.mark.column < *indent) && self.at(0) == b'\t' {
                return self.fail("found a tab character where an indentation space is expected", start);
            }
            if !self.is_break(0) {
                break;
            }
            self.read_line(breaks);
        }
        if *indent == 0 {
            let least = usize::try_from(self.indent + 1).unwrap_or(0);
            *indent = most.max(least).max(1);
        }
        Ok(())
    }
}
