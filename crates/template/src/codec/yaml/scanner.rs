//! The scanner: characters to tokens, with simple keys and indentation.

use std::collections::VecDeque;

use super::tokens::{Lexeme, Mark, Token, error};
use crate::text::decode_rune;

/// A place where a key may have started.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    pub(super) possible: bool,
    pub(super) required: bool,
    pub(super) number: usize,
    /// The scan looks ahead for the end of the key.
    pub(super) tracked: bool,
    pub(super) mark: Mark,
}

/// The state of a scan.
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    pub(super) mark: Mark,
    tokens: VecDeque<Token<'t>>,
    parsed: usize,
    pub(super) ended: bool,
    pub(super) flow_level: usize,
    /// -1 outside of any block.
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) key_allowed: bool,
    pub(super) keys: Vec<SimpleKey>,
}

pub(super) type Scan<T> = Result<T, String>;

/// Deeper flows and blocks are refused.
pub(super) const MAX_DEPTH: usize = 10_000;

// === impl Scanner ===

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text: text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(text),
            mark: Mark::default(),
            tokens: VecDeque::new(),
            parsed: 0,
            ended: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![SimpleKey::default()],
        }
    }

    /// The next token, left in place.
    pub(super) fn peek(&mut self) -> Scan<&Token<'t>> {
        self.fetch_more()?;
        self.tokens.front().ok_or_else(|| "yaml: unknown problem parsing YAML content".to_owned())
    }

    /// Takes the token that was peeked at.
    pub(super) fn skip_token(&mut self) {
        self.tokens.pop_front();
        self.parsed += 1;
    }

    /// A byte ahead; 0 beyond the end, which the text itself cannot contain.
    pub(super) fn at(&self, ahead: usize) -> u8 {
        self.text.get(self.mark.index + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.mark.index >= self.text.len()
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.at(ahead), b' ' | b'\t')
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.at(ahead) {
            b'\r' | b'\n' => true,
            0xC2 => self.at(ahead + 1) == 0x85,
            0xE2 => self.at(ahead + 1) == 0x80 && matches!(self.at(ahead + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    pub(super) fn is_blankz(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break(ahead) || self.at(ahead) == 0
    }

    pub(super) fn is_breakz(&self) -> bool {
        self.is_break(0) || self.is_end()
    }

    /// Moves over one character.
    pub(super) fn skip(&mut self) {
        let width = match self.text.get(self.mark.index) {
            Some(0..0x80) => 1,
            Some(_) => decode_rune(&self.text[self.mark.index..]).1,
            None => 0,
        };
        self.mark.index += width;
        self.mark.column += 1;
    }

    /// Moves over a line break.
    pub(super) fn skip_line(&mut self) {
        let width = match (self.at(0), self.at(1)) {
            (b'\r', b'\n') => 2,
            _ if self.is_break(0) => decode_rune(&self.text[self.mark.index..]).1,
            _ => return,
        };
        self.mark.index += width;
        self.mark.column = 0;
        self.mark.line += 1;
    }

    /// How many of the bytes ahead are ASCII and have this property, up to the first one that is not.
    pub(super) fn run(&self, of: impl Fn(u8) -> bool) -> usize {
        let ahead = &self.text[self.mark.index..];
        ahead.iter().position(|byte| !byte.is_ascii() || !of(*byte)).unwrap_or(ahead.len())
    }

    /// Moves over so many ASCII characters of one line.
    pub(super) fn skip_run(&mut self, length: usize) {
        self.mark.index += length;
        self.mark.column += length;
    }

    /// Moves so many ASCII characters of one line to a text.
    pub(super) fn read_run(&mut self, length: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.between(self.mark.index, self.mark.index + length));
        self.skip_run(length);
    }

    /// A piece of the document.
    pub(super) fn between(&self, start: usize, end: usize) -> &'t [u8] {
        &self.text[start..end]
    }

    /// Moves one character to a text.
    pub(super) fn read(&mut self, out: &mut Vec<u8>) {
        let start = self.mark.index;
        self.skip();
        out.extend_from_slice(&self.text[start..self.mark.index]);
    }

    /// Moves a line break to a text; most kinds become a newline.
    pub(super) fn read_line(&mut self, out: &mut Vec<u8>) {
        if !self.is_break(0) {
            return;
        }
        let start = self.mark.index;
        self.skip_line();
        match self.text[start] {
            0xE2 => out.extend_from_slice(&self.text[start..self.mark.index]),
            _ => out.push(b'\n'),
        }
    }

    pub(super) fn fail<T>(&self, problem: &str, context: Mark) -> Scan<T> {
        Err(error(problem, self.mark, context, true))
    }

    fn fetch_more(&mut self) -> Scan<()> {
        loop {
            if !self.tokens.is_empty() {
                let head = self.keys.iter().position(|k| k.tracked && k.number == self.parsed);
                match head {
                    Some(at) if self.key_is_valid(at)? => {}
                    _ => return Ok(()),
                }
            }
            if self.ended {
                return Ok(());
            }
            self.fetch_next()?;
        }
    }

    /// Whether a key may still have started there; keys end on their line.
    pub(super) fn key_is_valid(&mut self, at: usize) -> Scan<bool> {
        let key = self.keys[at];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.mark.line || key.mark.index + 1024 < self.mark.index {
            if key.required {
                return self.fail("could not find expected ':'", key.mark);
            }
            self.keys[at].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn push(&mut self, kind: Lexeme<'t>, start: Mark) {
        self.tokens.push_back(Token { kind, start });
    }

    pub(super) fn insert(&mut self, number: usize, kind: Lexeme<'t>, start: Mark) {
        match number.checked_sub(self.parsed) {
            Some(at) => self.tokens.insert(at, Token { kind, start }),
            // The key's token has been taken already, as the original allows.
            None => self.push(kind, start),
        }
    }

    /// The number the next token will have.
    pub(super) fn next_number(&self) -> usize {
        self.parsed + self.tokens.len()
    }

    pub(super) fn save_key(&mut self) -> Scan<()> {
        if !self.key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == self.column();
        let number = self.next_number();
        self.remove_key()?;
        if let Some(last) = self.keys.last_mut() {
            *last = SimpleKey { possible: true, required, number, tracked: true, mark: self.mark };
        }
        Ok(())
    }

    pub(super) fn remove_key(&mut self) -> Scan<()> {
        let Some(key) = self.keys.last_mut() else { return Ok(()) };
        let (required, mark) = (key.possible && key.required, key.mark);
        key.tracked &= !key.possible;
        key.possible = false;
        if required { self.fail("could not find expected ':'", mark) } else { Ok(()) }
    }

    pub(super) fn column(&self) -> isize {
        isize::try_from(self.mark.column).unwrap_or(isize::MAX)
    }

    /// Opens a block at the column, before the token of that number or at the end.
    pub(super) fn roll_indent(
        &mut self,
        column: isize,
        number: Option<usize>,
        kind: Lexeme<'t>,
        mark: Mark,
    ) -> Scan<()> {
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return self.fail(&format!("exceeded max depth of {MAX_DEPTH}"), mark);
        }
        match number {
            Some(number) => self.insert(number, kind, mark),
            None => self.push(kind, mark),
        }
        Ok(())
    }

    pub(super) fn unroll_indent(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Lexeme::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn skip_to_token(&mut self) {
        loop {
            while self.at(0) == b' ' || ((self.flow_level > 0 || !self.key_allowed) && self.at(0) == b'\t') {
                self.skip();
            }
            if self.at(0) == b'#' {
                while !self.is_breakz() {
                    self.skip();
                }
            }
            if !self.is_break(0) {
                return;
            }
            self.skip_line();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    pub(super) fn is_document_indicator(&self) -> bool {
        let three = [self.at(0), self.at(1), self.at(2)];
        self.mark.column == 0 && (three == *b"---" || three == *b"...") && self.is_blankz(3)
    }

    fn fetch_next(&mut self) -> Scan<()> {
        self.skip_to_token();
        self.unroll_indent(self.column());
        if self.is_end() {
            return self.stream_end();
        }
        let (c, flow) = (self.at(0), self.flow_level > 0);
        if self.mark.column == 0 && c == b'%' {
            self.unroll_indent(-1);
            self.remove_key()?;
            self.key_allowed = false;
            return self.directive();
        }
        if self.is_document_indicator() {
            return self.document_indicator();
        }
        match c {
            b'[' => self.flow_start(Lexeme::FlowSequenceStart),
            b'{' => self.flow_start(Lexeme::FlowMappingStart),
            b']' => self.flow_end(Lexeme::FlowSequenceEnd),
            b'}' => self.flow_end(Lexeme::FlowMappingEnd),
            b',' => self.flow_entry(),
            b'-' if self.is_blankz(1) => self.block_entry(),
            b'?' if flow || self.is_blankz(1) => self.key(),
            b':' if flow || self.is_blankz(1) => self.value(),
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                self.anchor(c == b'&')
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                self.tag()
            }
            b'|' | b'>' if !flow => {
                self.remove_key()?;
                self.key_allowed = true;
                self.block_scalar(c == b'|')
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                self.flow_scalar(c == b'\'')
            }
            _ if self.starts_plain(c) => {
                self.save_key()?;
                self.key_allowed = false;
                self.plain_scalar()
            }
            _ => self.fail("found character that cannot start any token", self.mark),
        }
    }

    fn starts_plain(&self, c: u8) -> bool {
        let indicator = b"-?:,[]{}#&*!|>'\"%@`".contains(&c) || self.is_blankz(0);
        !indicator
            || (c == b'-' && !self.is_blank(1))
            || (self.flow_level == 0 && matches!(c, b'?' | b':') && !self.is_blankz(1))
    }
}
