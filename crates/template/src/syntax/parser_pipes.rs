//! The parser's expressions: pipelines, commands, operands, terms.

use super::{
    Decl, Ident, NodeId, NodeKind,
    display::node_text,
    lexer::{Item, Typ},
    number::Number,
    parser::{Parse, Parser, Var},
};
use crate::text::quote::quoted;

// === impl Parser ===

impl<'t> Parser<'t> {
    pub(super) fn pipeline(&mut self, context: &str, end: Typ) -> Parse<NodeId> {
        let pos = self.peek_non_space().pos;
        let first_var = self.scope.vars.len();
        let (names, assign) = self.declarations(context)?;
        let mut cmds = Vec::new();
        loop {
            let token = self.next_non_space();
            match token.typ {
                typ if typ == end => break,
                Typ::Bool
                | Typ::CharConstant
                | Typ::Complex
                | Typ::Dot
                | Typ::Field
                | Typ::Identifier
                | Typ::Number
                | Typ::Nil
                | Typ::RawString
                | Typ::String
                | Typ::Variable
                | Typ::LeftParen => {
                    self.backup();
                    cmds.push(self.command()?);
                }
                _ => return self.unexpected(&token, context),
            }
        }
        self.check_pipeline(&cmds, context)?;
        let decl = self.resolve_declarations(names, assign, first_var);
        Ok(self.arena.push(pos, NodeKind::Pipe { decl, assign, cmds: cmds.into() }))
    }

    /// The variables before `:=` or `=`, and whether it was `=`.
    fn declarations(&mut self, context: &str) -> Parse<(Vec<Box<str>>, bool)> {
        let mut names: Vec<Box<str>> = Vec::new();
        let mut assign = false;
        loop {
            let v = self.peek_non_space();
            if v.typ != Typ::Variable {
                return Ok((names, assign));
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            match next.typ {
                Typ::Assign | Typ::Declare => {
                    assign = next.typ == Typ::Assign;
                    self.next_non_space();
                    self.declare(&v, &mut names);
                    return Ok((names, assign));
                }
                Typ::Char if next.val == "," => {
                    self.next_non_space();
                    self.declare(&v, &mut names);
                    if context == "range" && names.len() < 2 {
                        match self.peek_non_space().typ {
                            Typ::Variable | Typ::RightDelim | Typ::RightParen => continue,
                            _ => return self.fail("range can only initialize variables"),
                        }
                    }
                    return self.fail(format!("too many declarations in {context}"));
                }
                _ if after.typ == Typ::Space => self.backup3(v, after),
                _ => self.backup2(v),
            }
            return Ok((names, assign));
        }
    }

    fn declare(&mut self, v: &Item<'t>, names: &mut Vec<Box<str>>) {
        names.push(v.val.as_ref().into());
        self.scope.vars.push(Var { name: v.val.to_string(), slot: None });
    }

    /// Gives the declared names slots, now that the pipeline's own uses are resolved.
    fn resolve_declarations(&mut self, names: Vec<Box<str>>, assign: bool, first: usize) -> Box<[Decl]> {
        let mut decl = Vec::with_capacity(names.len());
        for (i, name) in names.into_iter().enumerate() {
            let slot = if assign {
                self.scope.find(&name).unwrap_or(super::UNSET)
            } else {
                let slot = self.scope.new_slot();
                self.scope.vars[first + i].slot = Some(slot);
                slot
            };
            decl.push(Decl { name, slot });
        }
        decl.into()
    }

    fn check_pipeline(&mut self, cmds: &[NodeId], context: &str) -> Parse<()> {
        if cmds.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (i, cmd) in cmds.iter().enumerate().skip(1) {
            let NodeKind::Command(args) = self.arena.kind(*cmd) else { continue };
            let constant = matches!(
                self.arena.kind(args[0]),
                NodeKind::Bool(_)
                    | NodeKind::Dot
                    | NodeKind::Nil
                    | NodeKind::Number(_)
                    | NodeKind::Str { .. }
            );
            if constant {
                return self.fail(format!("non executable command in pipeline stage {}", i + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parse<NodeId> {
        let pos = self.peek_non_space().pos;
        let mut args = Vec::new();
        loop {
            self.peek_non_space();
            args.extend(self.operand()?);
            let token = self.next();
            match token.typ {
                Typ::Space => continue,
                Typ::RightDelim | Typ::RightParen => self.backup(),
                Typ::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if args.is_empty() {
            return self.fail("empty command");
        }
        Ok(self.arena.push(pos, NodeKind::Command(args.into())))
    }

    fn operand(&mut self) -> Parse<Option<NodeId>> {
        self.check_size()?;
        let Some(node) = self.term()? else { return Ok(None) };
        if self.peek().typ != Typ::Field {
            return Ok(Some(node));
        }
        let pos = self.peek().pos;
        let mut fields: Vec<Ident> = Vec::new();
        while self.peek().typ == Typ::Field {
            fields.push(self.next().val[1..].into());
        }
        let kind = match self.arena.kind(node) {
            NodeKind::Field(first) => NodeKind::Field(first.iter().cloned().chain(fields).collect()),
            NodeKind::Variable { name, slot, .. } => {
                NodeKind::Variable { name: name.clone(), slot: *slot, fields: fields.into() }
            }
            NodeKind::Bool(_)
            | NodeKind::Str { .. }
            | NodeKind::Number(_)
            | NodeKind::Nil
            | NodeKind::Dot => {
                let term = node_text(&self.arena, self.text, node);
                return self.fail(format!("unexpected . after term {}", quoted(&term)));
            }
            _ => NodeKind::Chain { node, fields: fields.into() },
        };
        Ok(Some(self.arena.push(pos, kind)))
    }

    fn term(&mut self) -> Parse<Option<NodeId>> {
        let token = self.next_non_space();
        let kind = match token.typ {
            Typ::Identifier => match (self.functions)(&token.val) {
                Some(function) => NodeKind::Function(function),
                None => return self.fail(format!("function {} not defined", quoted(&token.val))),
            },
            Typ::Dot => NodeKind::Dot,
            Typ::Nil => NodeKind::Nil,
            Typ::Variable => {
                let slot = self.variable_slot(&token.val)?;
                NodeKind::Variable { name: token.val.as_ref().into(), slot, fields: [].into() }
            }
            Typ::Field => NodeKind::Field([Ident::from(&token.val[1..])].into()),
            Typ::Bool => NodeKind::Bool(token.val == "true"),
            Typ::CharConstant | Typ::Complex | Typ::Number => match Number::parse(&token.val, token.typ) {
                Ok(number) => NodeKind::Number(Box::new(number)),
                Err(message) => return self.fail(message),
            },
            Typ::LeftParen => {
                return self.nested(|p| p.pipeline("parenthesized pipeline", Typ::RightParen)).map(Some);
            }
            Typ::String | Typ::RawString => {
                NodeKind::Str { quoted: token.val.as_ref().into(), text: self.unquote(&token.val)? }
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.arena.push(token.pos, kind)))
    }
}
