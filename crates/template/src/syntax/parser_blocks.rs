//! The parser's control structures: `if`, `range`, `with`, `block`, `template`, …

use super::{
    NodeId, NodeKind,
    lexer::{Item, Typ},
    parser::{Parse, Parser, Scope},
};
use crate::text::{lossy_owned, quote::quoted};

/// Where a control structure starts, its pipeline, its list and its `else` list.
type Control = (usize, NodeId, NodeId, Option<NodeId>);

// === impl Parser ===

impl Parser<'_> {
    /// A list up to its `end` or `else`, and that node.
    pub(super) fn item_list(&mut self) -> Parse<(NodeId, NodeId)> {
        self.nested(|parser| {
            let pos = parser.peek_non_space().pos;
            let mut children = Vec::new();
            while parser.peek_non_space().typ != Typ::Eof {
                let node = parser.text_or_action()?;
                if matches!(parser.arena.kind(node), NodeKind::End | NodeKind::Else) {
                    let list = parser.arena.push(pos, NodeKind::List(children.into()));
                    return Ok((list, node));
                }
                children.push(node);
            }
            parser.fail("unexpected EOF")
        })
    }

    pub(super) fn action(&mut self) -> Parse<NodeId> {
        self.check_size()?;
        let token = self.next_non_space();
        match token.typ {
            Typ::Block => self.block_control(),
            Typ::Break => self.loop_control(&token, "{{break}}", NodeKind::Break),
            Typ::Continue => self.loop_control(&token, "{{continue}}", NodeKind::Continue),
            Typ::Else => self.else_control(),
            Typ::End => {
                let pos = self.expect(Typ::RightDelim, "end")?.pos;
                Ok(self.arena.push(pos, NodeKind::End))
            }
            Typ::If => self.if_control(),
            Typ::Range => self.range_control(),
            Typ::Template => self.template_control(),
            Typ::With => self.with_control(),
            _ => {
                self.backup();
                let pos = self.peek().pos;
                let pipe = self.pipeline("command", Typ::RightDelim)?;
                Ok(self.arena.push(pos, NodeKind::Action(pipe)))
            }
        }
    }

    fn loop_control(&mut self, at: &Item<'_>, keyword: &str, kind: NodeKind) -> Parse<NodeId> {
        let token = self.next_non_space();
        if token.typ != Typ::RightDelim {
            return self.unexpected(&token, keyword);
        }
        if self.scope.range_depth == 0 {
            return self.fail(format!("{keyword} outside {{{{range}}}}"));
        }
        Ok(self.arena.push(at.pos, kind))
    }

    fn else_control(&mut self) -> Parse<NodeId> {
        let peek = self.peek_non_space();
        if matches!(peek.typ, Typ::If | Typ::With) {
            return Ok(self.arena.push(peek.pos, NodeKind::Else));
        }
        let pos = self.expect(Typ::RightDelim, "else")?.pos;
        Ok(self.arena.push(pos, NodeKind::Else))
    }

    fn if_control(&mut self) -> Parse<NodeId> {
        let (pos, pipe, list, or_else) = self.control("if")?;
        Ok(self.arena.push(pos, NodeKind::If { pipe, list, or_else }))
    }

    fn with_control(&mut self) -> Parse<NodeId> {
        let (pos, pipe, list, or_else) = self.control("with")?;
        Ok(self.arena.push(pos, NodeKind::With { pipe, list, or_else }))
    }

    fn range_control(&mut self) -> Parse<NodeId> {
        let (pos, pipe, list, or_else) = self.control("range")?;
        Ok(self.arena.push(pos, NodeKind::Range { pipe, list, or_else }))
    }

    fn control(&mut self, context: &str) -> Parse<Control> {
        let vars = self.scope.vars.len();
        let pipe = self.pipeline(context, Typ::RightDelim)?;
        let own_vars = self.scope.vars.len();
        self.scope.range_depth += usize::from(context == "range");
        let (list, next) = self.item_list()?;
        self.scope.range_depth -= usize::from(context == "range");
        // The parser knows the list's variables in the `else` list too, but they are not set.
        self.scope.vars[own_vars..].iter_mut().for_each(|v| v.slot = None);
        let mut or_else = None;
        if matches!(self.arena.kind(next), NodeKind::Else) {
            or_else = Some(self.else_list(context, next)?);
        }
        self.scope.vars.truncate(vars);
        Ok((self.arena.get(pipe).pos as usize, pipe, list, or_else))
    }

    fn else_list(&mut self, context: &str, next: NodeId) -> Parse<NodeId> {
        let pos = self.arena.get(next).pos as usize;
        let chained = matches!((context, self.peek().typ), ("if", Typ::If) | ("with", Typ::With));
        if !chained {
            let (list, end) = self.item_list()?;
            if !matches!(self.arena.kind(end), NodeKind::End) {
                return self.fail("expected end; found {{else}}");
            }
            return Ok(list);
        }
        self.next();
        let inner = self.nested(|p| if context == "if" { p.if_control() } else { p.with_control() })?;
        Ok(self.arena.push(pos, NodeKind::List([inner].into())))
    }

    fn block_control(&mut self) -> Parse<NodeId> {
        let context = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let pipe = self.pipeline(context, Typ::RightDelim)?;
        let outer = std::mem::replace(&mut self.scope, Scope::new(&name));
        let (list, end) = self.item_list()?;
        if !matches!(self.arena.kind(end), NodeKind::End) {
            return self.fail(format!("unexpected {{{{else}}}} in {context}"));
        }
        self.add(list)?;
        self.scope = outer;
        Ok(self.arena.push(token.pos, NodeKind::Template { name: name.into(), pipe: Some(pipe) }))
    }

    fn template_control(&mut self) -> Parse<NodeId> {
        let context = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let mut pipe = None;
        if self.next_non_space().typ != Typ::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(context, Typ::RightDelim)?);
        }
        Ok(self.arena.push(token.pos, NodeKind::Template { name: name.into(), pipe }))
    }

    fn template_name(&mut self, token: &Item<'_>, context: &str) -> Parse<String> {
        match token.typ {
            Typ::String | Typ::RawString => Ok(lossy_owned(self.unquote(&token.val)?.into_vec())),
            _ => self.unexpected(token, context),
        }
    }

    /// The slot of a variable, or Go's complaint that there is none.
    pub(super) fn variable_slot(&self, name: &str) -> Parse<u32> {
        match self.scope.find(name) {
            Some(slot) => Ok(slot),
            None => self.fail(format!("undefined variable {}", quoted(name))),
        }
    }
}
