//! Calls: the number of arguments, their types, and the functions that are special.

use super::{Exec, Fail, Ref, Stop, eval::Eval};
use crate::{
    funcs::{Function, Special, Ty},
    syntax::{NodeId, display::node_text},
    value::{Value, truth::is_true},
};

// === impl Exec ===

impl<'a> Exec<'a> {
    /// Calls a function or, with a receiver, a method. `args` excludes the function itself.
    pub(crate) fn eval_call(
        &mut self,
        dot: &Ref<'a>,
        function: &'static Function,
        receiver: Option<Value<'a>>,
        node: NodeId,
        args: &[NodeId],
        last: Option<Ref<'a>>,
    ) -> Eval<'a> {
        self.check_count(function, args.len(), last.is_some())?;
        match function.special {
            Special::And | Special::Or => {
                return self.and_or(dot, function.special == Special::Or, args, last);
            }
            Special::Call => return self.call_of_value(dot, node, args, last),
            _ => {}
        }
        let count = args.len() + usize::from(last.is_some()) + usize::from(receiver.is_some());
        let skip = usize::from(receiver.is_some());
        let mut few: [Value<'a>; 4] = Default::default();
        if count <= few.len() {
            if let Some(receiver) = receiver {
                few[0] = receiver;
            }
            for (i, arg) in args.iter().enumerate() {
                few[skip + i] = self.eval_arg(dot, function.param(i), *arg)?;
            }
            if let Some(last) = last {
                few[count - 1] = self.validate(last, function.param(args.len()))?;
            }
            return self.finish(function, node, &few[..count]);
        }
        let mut many = Vec::with_capacity(count);
        many.extend(receiver);
        for (i, arg) in args.iter().enumerate() {
            many.push(self.eval_arg(dot, function.param(i), *arg)?);
        }
        if let Some(last) = last {
            many.push(self.validate(last, function.param(args.len()))?);
        }
        self.finish(function, node, &many)
    }

    fn check_count(&self, function: &Function, written: usize, has_last: bool) -> Result<(), Stop> {
        let given = written + usize::from(has_last);
        let wanted = function.params.len();
        if function.variadic {
            if given < wanted - 1 {
                let message = format!("want at least {} got {written}", wanted - 1);
                return Err(self.fail(format!("wrong number of args for {}: {message}", function.name)));
            }
        } else if given != wanted {
            let message = format!("want {wanted} got {given}");
            return Err(self.fail(format!("wrong number of args for {}: {message}", function.name)));
        }
        Ok(())
    }

    fn finish(&mut self, function: &'static Function, node: NodeId, args: &[Value<'a>]) -> Eval<'a> {
        let answer = self.cx.look_at(args).and_then(|()| match function.special {
            Special::Include if self.scope.is_some() => self.include_in_scope(args),
            Special::Tpl if self.scope.is_some() => self.tpl_in_scope(args),
            Special::Include => self.include(args),
            Special::Tpl => self.tpl(args),
            _ => (function.run)(&mut self.cx, args),
        });
        match answer {
            Ok(value) => Ok(Ref::plain(value)),
            Err(fail) => {
                self.node = node;
                if self.scope.is_some() {
                    return Err(self.fail_wrapping(function.name, fail));
                }
                Err(match fail {
                    Fail::Message(m) => self.fail(format!("error calling {}: {m}", function.name)),
                    Fail::Limit(m) => {
                        let message = format!("error calling {}: {m}", function.name);
                        self.fail_as(crate::ErrorKind::Limit, message)
                    }
                    Fail::Nested(error) => Stop::Error(error),
                })
            }
        }
    }

    /// `and` and `or` evaluate only as many arguments as they need.
    fn and_or(&mut self, dot: &Ref<'a>, or: bool, args: &[NodeId], last: Option<Ref<'a>>) -> Eval<'a> {
        let mut value = Value::Invalid;
        for arg in args {
            value = self.eval_arg(dot, Ty::Value, *arg)?;
            if is_true(&value, &self.cx.maps) == or {
                return Ok(Ref::plain(value));
            }
        }
        if let Some(last) = last {
            value = self.validate(last, Ty::Value)?;
        }
        Ok(Ref::plain(value))
    }

    /// `call` finds no functions among the values of a template, so it always fails.
    fn call_of_value(
        &mut self,
        dot: &Ref<'a>,
        node: NodeId,
        args: &[NodeId],
        last: Option<Ref<'a>>,
    ) -> Eval<'a> {
        let mut callee = None;
        for arg in args {
            let value = self.eval_arg(dot, Ty::Value, *arg)?;
            callee = callee.or(Some(value));
        }
        let name = match (args.first(), &last) {
            (Some(first), _) => node_text(self.program.arena(), self.program.text(), *first),
            (None, Some(last)) => go_string(&last.value),
            (None, None) => String::new(),
        };
        let callee = callee.or(last.map(|l| l.value)).unwrap_or_default();
        self.node = node;
        Err(match callee {
            Value::Invalid | Value::Nil => self.fail("error calling call: call of nil"),
            other => {
                self.fail(format!("error calling call: non-function {name} of type {}", other.type_name()))
            }
        })
    }
}

/// `reflect.Value.String`.
fn go_string(value: &Value<'_>) -> String {
    match value {
        Value::Str(s) => s.lossy(),
        Value::Invalid => "<invalid Value>".into(),
        other => format!("<{} Value>", other.type_name()),
    }
}

// === impl Function ===

impl Function {
    /// The type of the parameter that the argument at `at` goes to.
    fn param(&self, at: usize) -> Ty {
        let last = self.params.len().saturating_sub(1);
        self.params.get(at.min(last)).copied().unwrap_or(Ty::Any)
    }
}
