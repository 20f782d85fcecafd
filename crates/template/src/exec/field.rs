//! Field access: map keys, struct fields, methods.

use super::{Exec, Ref, Stop, eval::Eval};
use crate::{
    MissingKey,
    helm::methods as chart_methods,
    sprig::methods,
    syntax::NodeId,
    text::quote::quoted,
    value::{Map, Object, Value},
};

// === impl Exec ===

impl<'a> Exec<'a> {
    /// Follows a chain of fields; only the last may take arguments.
    pub(crate) fn eval_chain(
        &mut self,
        dot: &Ref<'a>,
        receiver: Ref<'a>,
        node: NodeId,
        fields: &'a [Box<str>],
        args: &[NodeId],
        last: Option<Ref<'a>>,
    ) -> Eval<'a> {
        let Some((end, path)) = fields.split_last() else { return Ok(receiver) };
        let mut receiver = receiver;
        for field in path {
            receiver = self.eval_field(dot, field, node, &[], None, receiver)?;
        }
        self.eval_field(dot, end, node, args, last, receiver)
    }

    fn eval_field(
        &mut self,
        dot: &Ref<'a>,
        field: &str,
        node: NodeId,
        args: &[NodeId],
        last: Option<Ref<'a>>,
        receiver: Ref<'a>,
    ) -> Eval<'a> {
        let has_args = !args.is_empty() || last.is_some();
        if let Some(method) = chart_methods::find(&receiver.value, field) {
            return self.eval_call(dot, method, Some(receiver.value), node, args, last);
        }
        match &receiver.value {
            Value::Map(map) if !has_args => self.map_field(map, field),
            Value::Map(_) => Err(self.fail(format!("{field} is not a method but has arguments"))),
            Value::Invalid if self.program.options().missing_key == MissingKey::Error => {
                Err(self.fail(format!("nil data; no entry for key {}", quoted(field))))
            }
            Value::Invalid => Ok(Ref::default()),
            Value::Nil => Err(self.fail(format!("nil pointer evaluating interface {{}}.{field}"))),
            Value::Record(record) => match record.get(field) {
                Some(_) if has_args => Err(self.has_arguments(field)),
                Some(value) => Ok(Ref::plain(value)),
                None => Err(self.no_field(field, &receiver)),
            },
            Value::Object(object) => {
                if let Some(method) = methods::find(object, field) {
                    let value = receiver.value.clone();
                    return self.eval_call(dot, method, Some(value), node, args, last);
                }
                match (&**object, field) {
                    (Object::Certificate(_), "Cert" | "Key") if has_args => Err(self.has_arguments(field)),
                    (Object::Certificate(c), "Cert") => Ok(Ref::plain(Value::string(c.cert.as_bytes()))),
                    (Object::Certificate(c), "Key") => Ok(Ref::plain(Value::string(c.key.as_bytes()))),
                    _ => Err(self.no_field(field, &receiver)),
                }
            }
            Value::Int(..) => match methods::of_number(&receiver.value, field) {
                Some(method) => {
                    let value = receiver.value.clone();
                    self.eval_call(dot, method, Some(value), node, args, last)
                }
                None => Err(self.no_field(field, &receiver)),
            },
            _ => Err(self.no_field(field, &receiver)),
        }
    }

    fn map_field(&mut self, map: &Map<'a>, field: &str) -> Eval<'a> {
        let iface = map.ty().of_any();
        if let Some(value) = self.cx.maps.get(map, field.as_bytes()) {
            return Ok(Ref { value, iface });
        }
        match self.program.options().missing_key {
            MissingKey::Default => Ok(Ref::default()),
            MissingKey::Zero => Ok(Ref { value: map.ty().zero(), iface }),
            MissingKey::Error => Err(self.fail(format!("map has no entry for key {}", quoted(field)))),
        }
    }

    fn has_arguments(&self, field: &str) -> Stop {
        self.fail(format!("{field} has arguments but cannot be invoked as function"))
    }

    fn no_field(&self, field: &str, receiver: &Ref<'a>) -> Stop {
        self.fail(format!("can't evaluate field {field} in type {}", receiver.static_type()))
    }
}
