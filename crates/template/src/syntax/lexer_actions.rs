//! The lexer inside of an action: operators, words, literals.

use super::lexer::{Item, Lexer, Typ, has_right_trim, is_space, rune_notation};
use crate::text::{
    classes::{is_digit, is_letter},
    quote::quoted,
};

fn is_word(c: char) -> bool {
    c == '_' || is_letter(c) || is_digit(c)
}

fn keyword(word: &str) -> Option<Typ> {
    Some(match word {
        "." => Typ::Dot,
        "block" => Typ::Block,
        "break" => Typ::Break,
        "continue" => Typ::Continue,
        "define" => Typ::Define,
        "else" => Typ::Else,
        "end" => Typ::End,
        "if" => Typ::If,
        "range" => Typ::Range,
        "nil" => Typ::Nil,
        "template" => Typ::Template,
        "with" => Typ::With,
        "true" | "false" => Typ::Bool,
        _ => return None,
    })
}

// === impl Lexer ===

impl<'t> Lexer<'t> {
    pub(super) fn inside(&mut self) -> Item<'t> {
        if self.at_right_delim().0 {
            if self.paren_depth == 0 {
                return self.right_delim();
            }
            return self.error("unclosed left paren".into());
        }
        let before = self.rest();
        let Some(c) = self.next() else { return self.error("unclosed action".into()) };
        match c {
            c if is_space(c) => self.space(),
            '=' => self.emit(Typ::Assign),
            ':' if self.next() == Some('=') => self.emit(Typ::Declare),
            ':' => self.error("expected :=".into()),
            '|' => self.emit(Typ::Pipe),
            '"' => self.quoted('"', Typ::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Typ::CharConstant, "unterminated character constant"),
            '`' => self.raw_quoted(),
            '$' => self.field_or_variable(Typ::Variable),
            '.' if !before[1..].is_empty() && !before[1..].starts_with(|d: char| d.is_ascii_digit()) => {
                self.field_or_variable(Typ::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.pos = self.start;
                self.number()
            }
            c if is_word(c) => self.identifier(),
            '(' => {
                self.paren_depth += 1;
                self.emit(Typ::LeftParen)
            }
            ')' if self.paren_depth == 0 => self.error("unexpected right paren".into()),
            ')' => {
                self.paren_depth -= 1;
                self.emit(Typ::RightParen)
            }
            '!'..='~' => self.emit(Typ::Char),
            _ => self.error(format!("unrecognized character in action: {}", rune_notation(before))),
        }
    }

    fn space(&mut self) -> Item<'t> {
        while self.peek().is_some_and(is_space) {
            self.pos += 1;
        }
        // A trim marker takes the last space with it.
        let last = &self.input[self.pos - 1..];
        if has_right_trim(last) && last[2..].starts_with("}}") {
            self.pos -= 1;
            if self.pos == self.start {
                return self.right_delim();
            }
        }
        self.emit(Typ::Space)
    }

    fn identifier(&mut self) -> Item<'t> {
        self.accept_words();
        let word = &self.input[self.start..self.pos];
        if !self.at_terminator() {
            return self.error(format!("bad character {}", rune_notation(self.rest())));
        }
        self.emit(keyword(word).unwrap_or(Typ::Identifier))
    }

    fn accept_words(&mut self) {
        while self.peek().is_some_and(is_word) {
            self.next();
        }
    }

    fn field_or_variable(&mut self, typ: Typ) -> Item<'t> {
        if self.at_terminator() {
            return self.emit(if typ == Typ::Variable { Typ::Variable } else { Typ::Dot });
        }
        self.accept_words();
        if !self.at_terminator() {
            return self.error(format!("bad character {}", rune_notation(self.rest())));
        }
        self.emit(typ)
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None => true,
            Some(c) if is_space(c) => true,
            Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            _ => self.rest().starts_with("}}"),
        }
    }

    fn quoted(&mut self, mark: char, typ: Typ, unterminated: &str) -> Item<'t> {
        loop {
            match self.next() {
                Some('\\') if !matches!(self.next(), None | Some('\n')) => {}
                Some('\\' | '\n') | None => return self.error(unterminated.into()),
                Some(c) if c == mark => return self.emit(typ),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Item<'t> {
        let Some(x) = self.rest().find('`') else {
            return self.error("unterminated raw quoted string".into());
        };
        self.pos += x + 1;
        self.emit(Typ::RawString)
    }

    fn number(&mut self) -> Item<'t> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return self.emit(Typ::Number);
        }
        if !self.scan_number() || !self.input[..self.pos].ends_with('i') {
            return self.bad_number();
        }
        self.emit(Typ::Complex)
    }

    fn bad_number(&mut self) -> Item<'t> {
        self.error(format!("bad number syntax: {}", quoted(&self.input[self.start..self.pos])))
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|c| valid.contains(c));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_word) {
            self.next();
            return false;
        }
        true
    }
}
