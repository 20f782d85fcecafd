//! From words to an expression.

use super::lex::{Token, TokenKind, Wrong, lex};
use super::syntax::{Expr, Operator};

mod names;

/// How deep expressions may nest: evaluation goes down as deep.
const DEPTH: usize = 100;
/// Bytes of a rule.
const LONGEST: usize = 64 * 1024;

/// An expression and how deep it nests.
struct Node {
    expr: Expr,
    depth: usize,
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    next: usize,
    /// How many expressions are around this one.
    around: usize,
    /// The variables of the macros around this place.
    locals: Vec<String>,
}

/// Parses a rule.
pub(super) fn parse(source: &str) -> Result<Expr, Wrong> {
    if source.len() > LONGEST {
        return Err(Wrong::at(source, 0, format!("the rule is longer than {LONGEST} bytes")));
    }
    let tokens = lex(source)?;
    let mut parser = Parser { source, tokens, next: 0, around: 0, locals: Vec::new() };
    let node = parser.expression()?;
    match parser.peek() {
        TokenKind::End => Ok(node.expr),
        other => Err(parser.wrong(format!("{other} follows where the rule could end"))),
    }
}

// === impl Node ===

impl Node {
    fn leaf(expr: Expr) -> Self {
        Self { expr, depth: 1 }
    }
}

// === impl Parser ===

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn advance(&mut self) -> TokenKind {
        let kind = self.peek().clone();
        self.next += 1;
        kind
    }

    /// An error at the next word.
    fn wrong(&self, reason: impl Into<String>) -> Wrong {
        self.wrong_at(self.next, reason)
    }

    fn wrong_at(&self, index: usize, reason: impl Into<String>) -> Wrong {
        let at = self.tokens.get(index).map_or(self.source.len(), |token| token.at);
        Wrong::at(self.source, at, reason)
    }

    fn is_next(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(next) if *next == symbol)
    }

    /// Takes the symbol if it is next.
    fn takes(&mut self, symbol: &str) -> bool {
        let is_next = self.is_next(symbol);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Wrong> {
        if self.takes(symbol) {
            return Ok(());
        }
        Err(self.wrong(format!("{} stands where {symbol:?} is expected", self.peek())))
    }

    /// An expression of these parts.
    fn node(&self, depth: usize, expr: Expr) -> Result<Node, Wrong> {
        if depth >= DEPTH {
            return Err(self.wrong(format!("the rule nests deeper than {DEPTH}; write it as several rules")));
        }
        Ok(Node { expr, depth: depth + 1 })
    }

    fn expression(&mut self) -> Result<Node, Wrong> {
        self.around += 1;
        if self.around > DEPTH {
            return Err(self.wrong(format!("the rule nests deeper than {DEPTH}; write it as several rules")));
        }
        let condition = self.binary(0)?;
        let node = if self.takes("?") {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let depth = condition.depth.max(then.depth).max(otherwise.depth);
            self.node(depth, Expr::Choose(Box::new([condition.expr, then.expr, otherwise.expr])))?
        } else {
            condition
        };
        self.around -= 1;
        Ok(node)
    }

    /// The operator that is next, and how tightly it binds.
    fn operator(&self) -> Option<(Option<Operator>, &'static str, u8)> {
        let (operator, symbol, level) = match self.peek() {
            TokenKind::Symbol("||") => return Some((None, "||", 0)),
            TokenKind::Symbol("&&") => return Some((None, "&&", 1)),
            TokenKind::Symbol("==") => (Operator::Equal, "==", 2),
            TokenKind::Symbol("!=") => (Operator::Unequal, "!=", 2),
            TokenKind::Symbol("<") => (Operator::Less, "<", 2),
            TokenKind::Symbol("<=") => (Operator::AtMost, "<=", 2),
            TokenKind::Symbol(">") => (Operator::Greater, ">", 2),
            TokenKind::Symbol(">=") => (Operator::AtLeast, ">=", 2),
            TokenKind::Name(name) if name == "in" => (Operator::In, "in", 2),
            TokenKind::Symbol("+") => (Operator::Add, "+", 3),
            TokenKind::Symbol("-") => (Operator::Subtract, "-", 3),
            TokenKind::Symbol("*") => (Operator::Multiply, "*", 4),
            TokenKind::Symbol("/") => (Operator::Divide, "/", 4),
            TokenKind::Symbol("%") => (Operator::Modulo, "%", 4),
            _ => return None,
        };
        Some((Some(operator), symbol, level))
    }

    /// Operands and the operators between them that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Result<Node, Wrong> {
        let mut left = self.unary()?;
        while let Some((operator, symbol, level)) = self.operator().filter(|(_, _, level)| *level >= least) {
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = match operator {
                Some(operator) => {
                    let depth = left.depth.max(right.depth);
                    self.node(depth, Expr::Binary(operator, Box::new([left.expr, right.expr])))?
                }
                None => self.join(symbol, left, right)?,
            };
        }
        Ok(left)
    }

    /// Long chains of `&&` and `||` do not nest.
    fn join(&self, symbol: &str, left: Node, right: Node) -> Result<Node, Wrong> {
        let (depth, is_and) = (left.depth.max(right.depth + 1), symbol == "&&");
        let expr = match left.expr {
            Expr::And(mut parts) if is_and => {
                parts.push(right.expr);
                return Ok(Node { expr: Expr::And(parts), depth });
            }
            Expr::Or(mut parts) if !is_and => {
                parts.push(right.expr);
                return Ok(Node { expr: Expr::Or(parts), depth });
            }
            left => vec![left, right.expr],
        };
        self.node(depth, if is_and { Expr::And(expr) } else { Expr::Or(expr) })
    }

    fn unary(&mut self) -> Result<Node, Wrong> {
        let symbol = if self.is_next("!") { "!" } else { "-" };
        let mut count = 0_usize;
        while self.takes(symbol) {
            count += 1;
        }
        // The sign of a number belongs to it: the least number has no positive counterpart.
        let negative = symbol == "-" && count > 0;
        let literal = match self.peek() {
            TokenKind::Int(value) => Some((self.int(*value, negative)?, usize::from(negative))),
            TokenKind::Double(value) if negative => Some((Expr::Double(-value), 1)),
            _ => None,
        };
        let mut node = match literal {
            Some((expr, signs)) => {
                self.next += 1;
                count -= signs;
                self.member(Node::leaf(expr))?
            }
            None => {
                let primary = self.primary()?;
                self.member(primary)?
            }
        };
        for _ in 0..count {
            let operand = Box::new(node.expr);
            let expr = if symbol == "!" { Expr::Not(operand) } else { Expr::Negate(operand) };
            node = self.node(node.depth, expr)?;
        }
        Ok(node)
    }

    fn int(&self, value: u64, negative: bool) -> Result<Expr, Wrong> {
        let value = if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
        value.map(Expr::Int).ok_or_else(|| self.wrong("the number is too large for 64 bits"))
    }

    /// What follows an operand: fields, indexes and calls.
    fn member(&mut self, mut node: Node) -> Result<Node, Wrong> {
        loop {
            if self.takes("[") {
                let index = self.expression()?;
                self.expect("]")?;
                let depth = node.depth.max(index.depth);
                node = self.node(depth, Expr::Index(Box::new([node.expr, index.expr])))?;
            } else if self.takes(".") {
                let at = self.next;
                let name = match self.advance() {
                    TokenKind::Name(name) if !matches!(name.as_str(), "in" | "true" | "false" | "null") => {
                        name
                    }
                    other => {
                        return Err(self.wrong_at(at, format!("{other} stands where a field is expected")));
                    }
                };
                node = if self.takes("(") {
                    match names::fold(&name) {
                        Some(kind) => self.fold(at, node, kind)?,
                        None => self.call(at, &name, Some(node))?,
                    }
                } else {
                    self.node(node.depth, Expr::Select(Box::new(node.expr), name.into()))?
                };
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Wrong> {
        let at = self.next;
        let expr = match self.advance() {
            TokenKind::Uint(value) => Expr::Uint(value),
            TokenKind::Double(value) => Expr::Double(value),
            TokenKind::Text(text) => Expr::Text(text.into()),
            TokenKind::Bytes(bytes) => Expr::Bytes(bytes.into()),
            TokenKind::Symbol("(") => {
                let node = self.expression()?;
                self.expect(")")?;
                return Ok(node);
            }
            TokenKind::Symbol("[") => return self.list(),
            TokenKind::Symbol("{") => return self.map(),
            // A name that begins with a point is looked for from the top, where all names of a rule are.
            TokenKind::Symbol(".") => match self.advance() {
                TokenKind::Name(name) => return self.named(at, &name),
                other => {
                    return Err(self.wrong_at(at + 1, format!("{other} stands where a name is expected")));
                }
            },
            TokenKind::Name(name) => return self.named(at, &name),
            other => return Err(self.wrong_at(at, format!("{other} stands where an expression is expected"))),
        };
        Ok(Node::leaf(expr))
    }

    /// Expressions up to the closing symbol. A comma may follow the last one.
    fn expressions(&mut self, close: &str, trailing: bool) -> Result<(Vec<Expr>, usize), Wrong> {
        let (mut parts, mut depth) = (Vec::new(), 0);
        if trailing {
            self.takes_lonely_comma(close);
        }
        if self.takes(close) {
            return Ok((parts, depth));
        }
        loop {
            let node = self.expression()?;
            depth = depth.max(node.depth);
            parts.push(node.expr);
            if self.takes(close) {
                return Ok((parts, depth));
            }
            self.expect(",")?;
            if trailing && self.takes(close) {
                return Ok((parts, depth));
            }
        }
    }

    /// `[,]` and `{,}` are empty.
    fn takes_lonely_comma(&mut self, close: &str) {
        let closes = matches!(self.tokens.get(self.next + 1), Some(Token { kind: TokenKind::Symbol(next), .. }) if *next == close);
        if closes {
            self.takes(",");
        }
    }

    fn list(&mut self) -> Result<Node, Wrong> {
        let (parts, depth) = self.expressions("]", true)?;
        self.node(depth, Expr::List(parts))
    }

    fn map(&mut self) -> Result<Node, Wrong> {
        let (mut entries, mut depth) = (Vec::new(), 0);
        self.takes_lonely_comma("}");
        while !self.takes("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push((key.expr, value.expr));
            if !self.is_next("}") {
                self.expect(",")?;
            }
        }
        self.node(depth, Expr::Map(entries))
    }
}

#[cfg(test)]
mod tests;
