//! The parser: token buffer, errors, and the top level of a text.

use std::collections::BTreeMap;

use super::{
    Arena, NodeId, NodeKind, Template, UNSET,
    lexer::{Item, Lexer, Typ},
};
use crate::{
    Error, Limits,
    funcs::Function,
    text::{lossy_owned, quote::quoted, unquote::unquote},
};

/// A name that the parser accepts as a variable. Only executed declarations have a slot:
/// Go also accepts the name of an assignment or of a declaration not yet finished.
#[derive(Debug)]
pub(super) struct Var {
    pub(super) name: String,
    pub(super) slot: Option<u32>,
}

/// The part of the parser that starts afresh in every `define` and `block`.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) name: String,
    pub(super) vars: Vec<Var>,
    pub(super) slots: u32,
    pub(super) range_depth: usize,
}

/// What a whole text parses into.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) arena: Arena,
    pub(crate) templates: BTreeMap<Box<str>, Template>,
}

/// Looks up a function by name; it is how the parser knows the stage.
pub(crate) type Lookup<'f> = &'f dyn Fn(&str) -> Option<&'static Function>;

pub(super) struct Parser<'t> {
    parse_name: &'t str,
    pub(super) text: &'t str,
    lexer: Lexer<'t>,
    token: [Item<'t>; 3],
    peek_count: usize,
    pub(super) arena: Arena,
    templates: BTreeMap<Box<str>, Template>,
    pub(super) functions: Lookup<'t>,
    pub(super) scope: Scope,
    action_line: usize,
    depth: usize,
    max_depth: usize,
}

/// Nodes of one text.
const PARTS: usize = 200_000;

pub(super) type Parse<T> = Result<T, Error>;

/// Parses a text into templates; the one with the text's own name is the main one.
pub(crate) fn parse(name: &str, text: &str, functions: Lookup<'_>, limits: &Limits) -> Parse<Parsed> {
    if text.len() > limits.template_bytes {
        let message = format!("limit: the template has more than {} bytes", limits.template_bytes);
        return Err(Error::parse_limit(name, 1, message));
    }
    let eof = Item { typ: Typ::Eof, pos: 0, val: "".into(), line: 0 };
    let mut parser = Parser {
        parse_name: name,
        text,
        lexer: Lexer::new(text),
        token: [eof.clone(), eof.clone(), eof],
        peek_count: 0,
        arena: Arena::default(),
        templates: BTreeMap::new(),
        functions,
        scope: Scope::new(name),
        action_line: 0,
        depth: 0,
        max_depth: limits.parse_depth,
    };
    parser.top_level()?;
    Ok(Parsed { arena: parser.arena, templates: parser.templates })
}

// === impl Scope ===

impl Scope {
    pub(super) fn new(name: &str) -> Self {
        let root = Var { name: "$".into(), slot: Some(0) };
        Self { name: name.into(), vars: vec![root], slots: 1, range_depth: 0 }
    }

    /// The slot a use of `name` reads, `UNSET` if nothing can have set it yet.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let mut known = self.vars.iter().rev().filter(|v| v.name == name).peekable();
        known.peek()?;
        Some(known.find_map(|v| v.slot).unwrap_or(UNSET))
    }

    pub(super) fn new_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }
}

// === impl Parser: tokens ===

impl<'t> Parser<'t> {
    pub(super) fn next(&mut self) -> Item<'t> {
        if self.peek_count > 0 {
            self.peek_count -= 1;
        } else {
            self.token[0] = self.lexer.next_item();
        }
        self.token[self.peek_count].clone()
    }

    pub(super) fn backup(&mut self) {
        self.peek_count += 1;
    }

    pub(super) fn backup2(&mut self, first: Item<'t>) {
        self.token[1] = first;
        self.peek_count = 2;
    }

    pub(super) fn backup3(&mut self, second: Item<'t>, first: Item<'t>) {
        self.token[1] = first;
        self.token[2] = second;
        self.peek_count = 3;
    }

    pub(super) fn peek(&mut self) -> Item<'t> {
        if self.peek_count == 0 {
            self.peek_count = 1;
            self.token[0] = self.lexer.next_item();
        }
        self.token[self.peek_count - 1].clone()
    }

    pub(super) fn next_non_space(&mut self) -> Item<'t> {
        loop {
            let token = self.next();
            if token.typ != Typ::Space {
                return token;
            }
        }
    }

    pub(super) fn peek_non_space(&mut self) -> Item<'t> {
        let token = self.next_non_space();
        self.backup();
        token
    }

    pub(super) fn expect(&mut self, typ: Typ, context: &str) -> Parse<Item<'t>> {
        let token = self.next_non_space();
        if token.typ == typ { Ok(token) } else { self.unexpected(&token, context) }
    }

    pub(super) fn fail<T>(&self, message: impl std::fmt::Display) -> Parse<T> {
        Err(Error::parse(self.parse_name, self.token[0].line, message))
    }

    pub(super) fn unexpected<T>(&self, token: &Item<'_>, context: &str) -> Parse<T> {
        if token.typ != Typ::Error {
            return self.fail(format!("unexpected {} in {context}", token_text(token)));
        }
        let mut extra = String::new();
        if self.action_line != 0 && self.action_line != token.line {
            extra = format!(" in action started at {}:{}", self.parse_name, self.action_line);
            if token.val.ends_with(" action") {
                extra = extra[" in action".len()..].to_owned();
            }
        }
        self.fail(format!("{}{extra}", token.val))
    }

    /// Refuses a template of more parts than anybody writes: each takes many times the memory of its text.
    pub(super) fn check_size(&self) -> Parse<()> {
        if self.arena.len() <= PARTS {
            return Ok(());
        }
        let message = format!("limit: the template has more than {PARTS} parts");
        Err(Error::parse_limit(self.parse_name, self.token[0].line, message))
    }

    /// Runs a nested part of the parse unless it is nested too deeply.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.max_depth {
            let message = format!("limit: blocks or parentheses are nested deeper than {}", self.max_depth);
            return Err(Error::parse_limit(self.parse_name, self.token[0].line, message));
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    pub(super) fn unquote(&self, literal: &str) -> Parse<Box<[u8]>> {
        unquote(literal).map(Vec::into_boxed_slice).or_else(|_| self.fail("invalid syntax"))
    }
}

// === impl Parser: the top level ===

impl Parser<'_> {
    fn top_level(&mut self) -> Parse<()> {
        let pos = self.peek().pos;
        let mut children = Vec::new();
        loop {
            let token = self.peek();
            if token.typ == Typ::Eof {
                break;
            }
            if token.typ == Typ::LeftDelim {
                let delim = self.next();
                if self.next_non_space().typ == Typ::Define {
                    self.definition()?;
                    continue;
                }
                self.backup2(delim);
            }
            let node = self.text_or_action()?;
            match self.arena.kind(node) {
                NodeKind::End => return self.fail("unexpected {{end}}"),
                NodeKind::Else => return self.fail("unexpected {{else}}"),
                _ => children.push(node),
            }
        }
        let root = self.arena.push(pos, NodeKind::List(children.into()));
        self.add(root)
    }

    fn definition(&mut self) -> Parse<()> {
        let outer = std::mem::replace(&mut self.scope, Scope::new("definition"));
        let outer_line = std::mem::take(&mut self.action_line);
        let name = self.next_non_space();
        if !matches!(name.typ, Typ::String | Typ::RawString) {
            return self.unexpected(&name, "define clause");
        }
        self.scope.name = lossy_owned(self.unquote(&name.val)?.into_vec());
        self.expect(Typ::RightDelim, "define clause")?;
        let (list, end) = self.item_list()?;
        if !matches!(self.arena.kind(end), NodeKind::End) {
            return self.fail("unexpected {{else}} in define clause");
        }
        self.add(list)?;
        self.scope = outer;
        self.action_line = outer_line;
        Ok(())
    }

    /// Registers the template of the current scope.
    pub(super) fn add(&mut self, root: NodeId) -> Parse<()> {
        let known = self.templates.get(self.scope.name.as_str());
        let replace = known.is_none_or(|t| self.arena.is_empty_tree(t.root, self.text));
        if replace {
            let name: Box<str> = self.scope.name.as_str().into();
            self.templates.insert(name.clone(), Template { name, root, slots: self.scope.slots });
        } else if !self.arena.is_empty_tree(root, self.text) {
            return self
                .fail(format!("template: multiple definition of template {}", quoted(&self.scope.name)));
        }
        Ok(())
    }

    pub(super) fn text_or_action(&mut self) -> Parse<NodeId> {
        let token = self.next_non_space();
        match token.typ {
            Typ::Text => {
                let start = u32::try_from(token.pos).unwrap_or(u32::MAX);
                let end = u32::try_from(token.pos + token.val.len()).unwrap_or(u32::MAX);
                Ok(self.arena.push(token.pos, NodeKind::Text { start, end }))
            }
            Typ::LeftDelim => {
                self.action_line = token.line;
                let action = self.action();
                self.action_line = 0;
                action
            }
            _ => self.unexpected(&token, "input"),
        }
    }
}

/// A token as Go prints it in a message.
pub(super) fn token_text(token: &Item<'_>) -> String {
    let keyword = !matches!(
        token.typ,
        Typ::Bool
            | Typ::Char
            | Typ::CharConstant
            | Typ::Complex
            | Typ::Assign
            | Typ::Declare
            | Typ::Field
            | Typ::Identifier
            | Typ::LeftDelim
            | Typ::LeftParen
            | Typ::Number
            | Typ::Pipe
            | Typ::RawString
            | Typ::RightDelim
            | Typ::RightParen
            | Typ::Space
            | Typ::String
            | Typ::Text
            | Typ::Variable
    );
    match token.typ {
        Typ::Eof => "EOF".into(),
        Typ::Error => token.val.to_string(),
        _ if keyword => format!("<{}>", token.val),
        _ if token.val.len() > 10 => {
            let head: String = token.val.chars().take(10).collect();
            format!("{}...", quoted(&head))
        }
        _ => quoted(&token.val),
    }
}
