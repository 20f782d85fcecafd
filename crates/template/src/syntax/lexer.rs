//! The lexer: text outside of actions, delimiters, comments and trim markers.

use crate::text::decode_rune;

/// The class of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typ {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// A token: its class, place and text. Only errors own their text.
#[derive(Debug, Clone)]
pub(crate) struct Item<'t> {
    pub(crate) typ: Typ,
    pub(crate) pos: usize,
    pub(crate) val: std::borrow::Cow<'t, str>,
    pub(crate) line: usize,
}

/// The state of a scan over one text.
#[derive(Debug)]
pub(crate) struct Lexer<'t> {
    pub(super) input: &'t str,
    pub(super) pos: usize,
    pub(super) start: usize,
    pub(super) paren_depth: usize,
    /// The line of `start`; newlines are counted when a token is emitted.
    pub(super) start_line: usize,
    pub(super) inside_action: bool,
    failed: bool,
}

const LEFT: &str = "{{";
const RIGHT: &str = "}}";

// === impl Lexer ===

impl<'t> Lexer<'t> {
    pub(crate) fn new(input: &'t str) -> Self {
        Self { input, pos: 0, start: 0, paren_depth: 0, start_line: 1, inside_action: false, failed: false }
    }

    /// The next token; after an error or the end there are only `Eof`s.
    pub(crate) fn next_item(&mut self) -> Item<'t> {
        if self.failed {
            return Item { typ: Typ::Eof, pos: 0, val: "EOF".into(), line: self.start_line };
        }
        if self.inside_action { self.inside() } else { self.outside() }
    }

    pub(super) fn emit(&mut self, typ: Typ) -> Item<'t> {
        let val = &self.input[self.start..self.pos];
        let item = Item { typ, pos: self.start, val: val.into(), line: self.start_line };
        self.ignore();
        item
    }

    pub(super) fn ignore(&mut self) {
        self.start_line += count_lines(&self.input[self.start..self.pos]);
        self.start = self.pos;
    }

    pub(super) fn error(&mut self, message: String) -> Item<'t> {
        self.failed = true;
        Item { typ: Typ::Error, pos: self.start, val: message.into(), line: self.start_line }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.input[self.pos..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    fn outside(&mut self) -> Item<'t> {
        loop {
            let Some(x) = self.rest().find(LEFT) else {
                self.pos = self.input.len();
                return if self.pos > self.start { self.emit(Typ::Text) } else { self.eof() };
            };
            if x > 0 {
                let text = &self.rest()[..x];
                let trim = if has_left_trim(&self.rest()[x + 2..]) { trim_right_len(text) } else { 0 };
                self.pos += x - trim;
                let item = self.emit(Typ::Text);
                self.pos += trim;
                self.ignore();
                if !item.val.is_empty() {
                    return item;
                }
            }
            if let Some(item) = self.left_delim() {
                return item;
            }
        }
    }

    fn eof(&mut self) -> Item<'t> {
        Item { typ: Typ::Eof, pos: self.pos, val: "EOF".into(), line: self.start_line }
    }

    /// A left delimiter, or nothing when it opens a comment that ends well.
    fn left_delim(&mut self) -> Option<Item<'t>> {
        self.pos += LEFT.len();
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with("/*") {
            self.pos += marker;
            self.ignore();
            return self.comment();
        }
        let item = self.emit(Typ::LeftDelim);
        self.inside_action = true;
        self.pos += marker;
        self.ignore();
        self.paren_depth = 0;
        Some(item)
    }

    fn comment(&mut self) -> Option<Item<'t>> {
        self.pos += 2;
        let Some(x) = self.rest().find("*/") else { return Some(self.error("unclosed comment".into())) };
        self.pos += x + 2;
        let (delim, trim) = self.at_right_delim();
        if !delim {
            return Some(self.error("comment ends before closing delimiter".into()));
        }
        self.pos += RIGHT.len() + if trim { 2 } else { 0 };
        if trim {
            self.pos += trim_left_len(self.rest());
        }
        self.ignore();
        None
    }

    /// Whether a right delimiter follows, and whether it trims.
    pub(super) fn at_right_delim(&self) -> (bool, bool) {
        let rest = self.rest();
        if has_right_trim(rest) && rest[2..].starts_with(RIGHT) {
            return (true, true);
        }
        (rest.starts_with(RIGHT), false)
    }

    pub(super) fn right_delim(&mut self) -> Item<'t> {
        let (_, trim) = self.at_right_delim();
        if trim {
            self.pos += 2;
            self.ignore();
        }
        self.pos += RIGHT.len();
        let item = self.emit(Typ::RightDelim);
        if trim {
            self.pos += trim_left_len(self.rest());
            self.ignore();
        }
        self.inside_action = false;
        item
    }
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

/// The characters Go calls space inside templates.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn trim_right_len(text: &str) -> usize {
    text.len() - text.trim_end_matches(is_space).len()
}

fn trim_left_len(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

fn has_left_trim(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0] == b'-' && is_space(char::from(bytes[1]))
}

pub(super) fn has_right_trim(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && is_space(char::from(bytes[0])) && bytes[1] == b'-'
}

/// The rune at the start of a text, as Go prints it with `%#U`.
pub(super) fn rune_notation(text: &str) -> String {
    if text.is_empty() {
        return "U+FFFFFFFFFFFFFFFF".into();
    }
    let (rune, _) = decode_rune(text.as_bytes());
    let c = char::from_u32(rune).unwrap_or('\u{FFFD}');
    if crate::text::classes::is_print(c) { format!("U+{rune:04X} '{c}'") } else { format!("U+{rune:04X}") }
}
