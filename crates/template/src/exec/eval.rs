//! Expressions: pipelines, commands, variables, constants.

use super::{Exec, Ref, Stop};
use crate::{
    syntax::{Decl, NodeId, NodeKind, UNSET, display::node_text, number::Ideal},
    value::{IntTy, Str, Value},
};

pub(crate) type Eval<'a> = Result<Ref<'a>, Stop>;

// === impl Exec ===

impl<'a> Exec<'a> {
    /// A pipeline's value, out of its interface.
    pub(crate) fn eval_pipeline(&mut self, dot: &Ref<'a>, pipe: NodeId) -> Result<Value<'a>, Stop> {
        self.node = pipe;
        self.descend()?;
        let program = self.program;
        let NodeKind::Pipe { decl, assign: _, cmds } = program.arena().kind(pipe) else {
            return Ok(Value::Invalid);
        };
        let mut last: Option<Ref<'a>> = None;
        for cmd in cmds {
            let mut result = self.eval_command(dot, *cmd, last.take())?;
            if matches!(result.value, Value::Nil) {
                result.value = Value::Invalid;
            }
            result.iface = false;
            last = Some(result);
        }
        self.depth -= 1;
        let value = last.unwrap_or_default().value;
        for variable in decl {
            self.set_var(variable, Ref::plain(value.clone()))?;
        }
        Ok(value)
    }

    pub(crate) fn set_var(&mut self, variable: &Decl, value: Ref<'a>) -> Result<(), Stop> {
        if variable.slot == UNSET {
            return Err(self.fail(format!("undefined variable: {}", variable.name)));
        }
        let at = self.base + variable.slot as usize;
        self.vars[at] = value;
        Ok(())
    }

    fn eval_command(&mut self, dot: &Ref<'a>, cmd: NodeId, last: Option<Ref<'a>>) -> Eval<'a> {
        let program = self.program;
        let NodeKind::Command(args) = program.arena().kind(cmd) else { return Ok(Ref::default()) };
        let first = args[0];
        match program.arena().kind(first) {
            NodeKind::Field(fields) => {
                self.node = first;
                if args.len() == 1
                    && last.is_none()
                    && let Some(value) = self.short_path(&dot.value, fields)
                {
                    return Ok(Ref { value, iface: true });
                }
                self.eval_chain(dot, dot.clone(), first, fields, &args[1..], last)
            }
            NodeKind::Chain { node, fields } => {
                let receiver = self.eval_chain_head(dot, first, *node)?;
                self.eval_chain(dot, receiver, first, fields, &args[1..], last)
            }
            NodeKind::Function(function) => {
                self.node = first;
                self.eval_call(dot, function, None, cmd, &args[1..], last)
            }
            NodeKind::Pipe { .. } => {
                self.not_a_function(args, last.is_some())?;
                self.eval_pipeline(dot, first).map(Ref::plain)
            }
            NodeKind::Variable { name, slot, fields } => {
                self.node = first;
                let value = self.variable(name, *slot)?;
                if fields.is_empty() {
                    self.not_a_function(args, last.is_some())?;
                    return Ok(value);
                }
                self.eval_chain(dot, value, first, fields, &args[1..], last)
            }
            _ => {
                self.node = first;
                self.not_a_function(args, last.is_some())?;
                self.eval_constant(dot, first)
            }
        }
    }

    fn eval_constant(&mut self, dot: &Ref<'a>, node: NodeId) -> Eval<'a> {
        match self.program.arena().kind(node) {
            NodeKind::Dot => Ok(dot.clone()),
            NodeKind::Nil => Err(self.fail("nil is not a command")),
            _ => self.ideal_constant(node).map(Ref::plain),
        }
    }

    /// The value of a literal without a context.
    pub(crate) fn ideal_constant(&mut self, node: NodeId) -> Result<Value<'a>, Stop> {
        self.node = node;
        let program = self.program;
        match program.arena().kind(node) {
            NodeKind::Bool(b) => Ok(Value::Bool(*b)),
            NodeKind::Str { text, .. } => Ok(Value::Str(Str::Ref(text))),
            NodeKind::Number(number) => match number.ideal() {
                Ideal::Complex(re, im) => Ok(Value::Complex(re, im)),
                Ideal::Float(f) => Ok(Value::Float(f)),
                Ideal::Int(i) => Ok(Value::Int(IntTy::Int, i)),
                Ideal::Overflow => Err(self.fail(format!("{} overflows int", number.text))),
            },
            _ => {
                let text = node_text(program.arena(), program.text(), node);
                Err(self.fail(format!("can't evaluate command {}", crate::text::quote::quoted(&text))))
            }
        }
    }

    pub(crate) fn variable(&self, name: &str, slot: u32) -> Eval<'a> {
        if slot == UNSET {
            return Err(self.fail(format!("undefined variable: {name}")));
        }
        Ok(self.vars[self.base + slot as usize].clone())
    }

    fn not_a_function(&self, args: &[NodeId], has_last: bool) -> Result<(), Stop> {
        if args.len() > 1 || has_last {
            let text = node_text(self.program.arena(), self.program.text(), args[0]);
            return Err(self.fail(format!("can't give argument to non-function {text}")));
        }
        Ok(())
    }

    /// What the fields of a chain are taken from.
    pub(crate) fn eval_chain_head(&mut self, dot: &Ref<'a>, chain: NodeId, head: NodeId) -> Eval<'a> {
        self.node = chain;
        let program = self.program;
        match program.arena().kind(head) {
            NodeKind::Pipe { .. } => {
                self.node = head;
                self.eval_pipeline(dot, head).map(Ref::plain)
            }
            NodeKind::Function(function) => {
                self.node = head;
                self.eval_call(dot, function, None, head, &[], None)
            }
            _ => self.eval_constant(dot, head),
        }
    }
}
