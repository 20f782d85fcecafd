//! What has a name: variables, types, functions and macros. All are known here, so that a rule with a wrong one is refused at once.

use regex::Regex;

use super::{Node, Parser};
use crate::cel::functions::pattern;
use crate::cel::lex::{TokenKind, Wrong};
use crate::cel::syntax::{Expr, Fold, FoldKind, Function, Signature, TYPES};

/// Names that are kept for later, as in cel-go. They may follow a point.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Words of the language, which no variable is called.
const LITERALS: [&str; 4] = ["in", "true", "false", "null"];

fn is_word(name: &str) -> bool {
    RESERVED.contains(&name) || LITERALS.contains(&name)
}

impl Parser<'_> {
    /// What begins with a name.
    pub(super) fn named(&mut self, at: usize, name: &str) -> Result<Node, Wrong> {
        if self.takes("(") {
            return if name == "has" { self.has(at) } else { self.call(at, name, None) };
        }
        if let Some(depth) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Node::leaf(Expr::Local(depth)));
        }
        let expr = match name {
            "true" => Expr::Bool(true),
            "false" => Expr::Bool(false),
            "null" => Expr::Null,
            "resource" => Expr::Resource,
            _ => match self.type_name(name) {
                Some(name) => Expr::Type(name),
                None if RESERVED.contains(&name) || name == "in" => {
                    return Err(self.wrong_at(at, format!("{name:?} is kept by CEL and cannot be a name")));
                }
                None => {
                    let text = format!("{name:?} is not known; the object is the variable resource");
                    return Err(self.wrong_at(at, text));
                }
            },
        };
        Ok(Node::leaf(expr))
    }

    /// A type, whose name may have points.
    fn type_name(&mut self, first: &str) -> Option<&'static str> {
        if let Some(name) = TYPES.iter().find(|name| **name == first) {
            return Some(name);
        }
        let words = |name: &str| -> bool {
            let mut words = name.split('.');
            words.next() == Some(first)
                && (self.next..).step_by(2).zip(words).all(|(index, word)| {
                    let kind = |index: usize| self.tokens.get(index).map(|token| &token.kind);
                    kind(index) == Some(&TokenKind::Symbol("."))
                        && matches!(kind(index + 1), Some(TokenKind::Name(name)) if name == word)
                })
        };
        let name = TYPES.into_iter().find(|name| name.contains('.') && words(name))?;
        self.next += 2 * name.matches('.').count();
        Some(name)
    }

    /// `has(operand.field)`; the opening parenthesis is read.
    pub(super) fn has(&mut self, at: usize) -> Result<Node, Wrong> {
        let node = self.expression()?;
        self.expect(")")?;
        match node.expr {
            Expr::Select(operand, field) => Ok(Node { expr: Expr::Has(operand, field), depth: node.depth }),
            _ => Err(self.wrong_at(at, "has(…) asks for a field: write has(resource.field)")),
        }
    }

    /// A macro; the opening parenthesis is read.
    pub(super) fn fold(&mut self, at: usize, range: Node, kind: FoldKind) -> Result<Node, Wrong> {
        let variable = match self.advance() {
            TokenKind::Name(name) if !is_word(&name) && self.is_next(",") => name,
            _ => {
                return Err(
                    self.wrong_at(at + 2, "the first argument of a macro is the name of its variable")
                );
            }
        };
        self.expect(",")?;
        self.locals.push(variable);
        let (mut parts, depth) = self.expressions(")", false)?;
        self.locals.pop();
        let depth = depth.max(range.depth);
        let (body, filter) = (parts.pop(), parts.pop());
        let Some(body) = body.filter(|_| parts.is_empty() && (filter.is_none() || kind == FoldKind::Map))
        else {
            return Err(self.wrong_at(
                at,
                "a macro has a variable and one expression; map may have a condition before it",
            ));
        };
        self.node(depth, Expr::Fold(Box::new(Fold { kind, range: range.expr, filter, body })))
    }

    /// A call of a function; the opening parenthesis is read.
    pub(super) fn call(&mut self, at: usize, name: &str, target: Option<Node>) -> Result<Node, Wrong> {
        let signature =
            Signature::of(name).ok_or_else(|| self.wrong_at(at, format!("there is no function {name}")))?;
        let is_member = target.is_some();
        if !(if is_member { signature.member } else { signature.global }) {
            let form = if is_member { format!("{name}(value)") } else { format!("value.{name}(…)") };
            return Err(self.wrong_at(at, format!("{name} is called as {form}")));
        }
        let (mut arguments, mut depth) = (Vec::new(), 0);
        if let Some(target) = target {
            depth = target.depth;
            arguments.push(target.expr);
        }
        let (more, deep) = self.expressions(")", false)?;
        arguments.extend(more);
        let (least, most) = signature.arguments;
        if !(least..=most).contains(&arguments.len()) {
            return Err(self.wrong_at(at, format!("{name} has too many or too few arguments")));
        }
        let expr = match self.constant_pattern(signature.function, &arguments, at)? {
            Some(regex) => Expr::Matches(Box::new(arguments.swap_remove(0)), Box::new(regex)),
            None => Expr::Call(signature.function, arguments),
        };
        self.node(depth.max(deep), expr)
    }

    /// The pattern of `matches` where it is a literal: compiled once, and refused here when it is none.
    fn constant_pattern(
        &self,
        function: Function,
        arguments: &[Expr],
        at: usize,
    ) -> Result<Option<Regex>, Wrong> {
        match arguments {
            [_, Expr::Text(text)] if function == Function::Matches => {
                pattern(text).map(Some).map_err(|reason| self.wrong_at(at, reason))
            }
            _ => Ok(None),
        }
    }
}

/// The macro of this name.
pub(super) fn fold(name: &str) -> Option<FoldKind> {
    Some(match name {
        "all" => FoldKind::All,
        "exists" => FoldKind::Exists,
        "exists_one" => FoldKind::ExistsOne,
        "map" => FoldKind::Map,
        "filter" => FoldKind::Filter,
        _ => return None,
    })
}
