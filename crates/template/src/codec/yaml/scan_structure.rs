//! Indicators: documents, flow collections, block entries, keys and values.

use super::{
    scanner::{MAX_DEPTH, Scan, Scanner, SimpleKey},
    tokens::{Lexeme, Mark},
};

// === impl Scanner ===

impl<'t> Scanner<'t> {
    pub(super) fn stream_end(&mut self) -> Scan<()> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(Lexeme::StreamEnd, self.mark);
        Ok(())
    }

    pub(super) fn document_indicator(&mut self) -> Scan<()> {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let kind = if self.at(0) == b'-' { Lexeme::DocumentStart } else { Lexeme::DocumentEnd };
        (0..3).for_each(|_| self.skip());
        self.push(kind, start);
        Ok(())
    }

    fn single(&mut self, kind: Lexeme<'t>) -> Scan<()> {
        let start = self.mark;
        self.skip();
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn flow_start(&mut self, kind: Lexeme<'t>) -> Scan<()> {
        self.save_key()?;
        let number = self.next_number();
        self.keys.push(SimpleKey { number, mark: self.mark, ..SimpleKey::default() });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return self.fail(&format!("exceeded max depth of {MAX_DEPTH}"), self.mark);
        }
        self.key_allowed = true;
        self.single(kind)
    }

    pub(super) fn flow_end(&mut self, kind: Lexeme<'t>) -> Scan<()> {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            // The level's own entry may have the number of the opening token, which is then
            // forgotten as a key: an empty flow collection is none.
            if let Some(closed) = self.keys.pop() {
                let same = self.keys.iter_mut().filter(|k| k.number == closed.number);
                same.for_each(|k| k.tracked = false);
            }
        }
        self.key_allowed = false;
        self.single(kind)
    }

    pub(super) fn flow_entry(&mut self) -> Scan<()> {
        self.remove_key()?;
        self.key_allowed = true;
        self.single(Lexeme::FlowEntry)
    }

    pub(super) fn block_entry(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return self.fail("block sequence entries are not allowed in this context", Mark::default());
            }
            self.roll_indent(self.column(), None, Lexeme::BlockSequenceStart, self.mark)?;
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.single(Lexeme::BlockEntry)
    }

    pub(super) fn key(&mut self) -> Scan<()> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return self.fail("mapping keys are not allowed in this context", Mark::default());
            }
            self.roll_indent(self.column(), None, Lexeme::BlockMappingStart, self.mark)?;
        }
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.single(Lexeme::Key)
    }

    pub(super) fn value(&mut self) -> Scan<()> {
        let last = self.keys.len() - 1;
        if self.key_is_valid(last)? {
            let key = self.keys[last];
            self.insert(key.number, Lexeme::Key, key.mark);
            let column = isize::try_from(key.mark.column).unwrap_or(isize::MAX);
            self.roll_indent(column, Some(key.number), Lexeme::BlockMappingStart, key.mark)?;
            self.keys[last].possible = false;
            self.keys[last].tracked = false;
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return self.fail("mapping values are not allowed in this context", Mark::default());
                }
                self.roll_indent(self.column(), None, Lexeme::BlockMappingStart, self.mark)?;
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.single(Lexeme::Value)
    }
}
