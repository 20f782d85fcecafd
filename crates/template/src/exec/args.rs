//! Arguments: evaluated for the type of their parameter, with Go's complaints.

use super::{Exec, Ref, Stop};
use crate::{
    funcs::Ty,
    syntax::{NodeId, NodeKind, display::node_text},
    value::{IntTy, Str, UintTy, Value},
};

// === impl Exec ===

impl<'a> Exec<'a> {
    /// The value of an argument, of the parameter's type.
    pub(crate) fn eval_arg(&mut self, dot: &Ref<'a>, ty: Ty, node: NodeId) -> Result<Value<'a>, Stop> {
        self.node = node;
        let program = self.program;
        let value = match program.arena().kind(node) {
            NodeKind::Dot => dot.clone(),
            NodeKind::Nil => {
                return ty.nil().ok_or_else(|| self.fail(format!("cannot assign nil to {}", ty.name())));
            }
            NodeKind::Field(fields) => self.eval_chain(dot, dot.clone(), node, fields, &[], None)?,
            NodeKind::Variable { name, slot, fields } => {
                let value = self.variable(name, *slot)?;
                self.eval_chain(dot, value, node, fields, &[], None)?
            }
            NodeKind::Pipe { .. } => Ref::plain(self.eval_pipeline(dot, node)?),
            NodeKind::Function(function) => self.eval_call(dot, function, None, node, &[], None)?,
            NodeKind::Chain { node: head, fields } => {
                let receiver = self.eval_chain_head(dot, node, *head)?;
                self.eval_chain(dot, receiver, node, fields, &[], None)?
            }
            _ => return self.eval_literal(ty, node),
        };
        self.validate(value, ty)
    }

    /// A literal must fit the parameter as a constant.
    fn eval_literal(&mut self, ty: Ty, node: NodeId) -> Result<Value<'a>, Stop> {
        let program = self.program;
        let kind = program.arena().kind(node);
        let wanted = match ty {
            Ty::Any | Ty::Value => return self.ideal_constant(node),
            Ty::Bool => match kind {
                NodeKind::Bool(b) => return Ok(Value::Bool(*b)),
                _ => "bool",
            },
            Ty::Str => match kind {
                NodeKind::Str { text, .. } => return Ok(Value::Str(Str::Ref(text))),
                _ => "string",
            },
            Ty::Float64 => match kind {
                NodeKind::Number(n) if n.float.is_some() => {
                    return Ok(Value::Float(n.float.unwrap_or_default()));
                }
                _ => "float",
            },
            Ty::Int | Ty::Int64 | Ty::Duration => match kind {
                NodeKind::Number(n) if n.int.is_some() => {
                    let int_ty = match ty {
                        Ty::Int => IntTy::Int,
                        Ty::Int64 => IntTy::Int64,
                        _ => IntTy::Duration,
                    };
                    return Ok(Value::Int(int_ty, n.int.unwrap_or_default()));
                }
                _ => "integer",
            },
            Ty::Uint32 | Ty::Uint64 => match kind {
                NodeKind::Number(n) if n.uint.is_some() => {
                    let value = n.uint.unwrap_or_default();
                    return Ok(match ty {
                        Ty::Uint32 => Value::Uint(UintTy::Uint32, value & 0xFFFF_FFFF),
                        _ => Value::Uint(UintTy::Uint64, value),
                    });
                }
                _ => "unsigned integer",
            },
            _ => {
                let text = node_text(program.arena(), program.text(), node);
                return Err(self.fail(format!("can't handle {text} for arg of type {}", ty.name())));
            }
        };
        let text = node_text(program.arena(), program.text(), node);
        Err(self.fail(format!("expected {wanted}; found {text}")))
    }

    /// Checks a computed value against a parameter's type.
    pub(crate) fn validate(&self, value: Ref<'a>, ty: Ty) -> Result<Value<'a>, Stop> {
        match value.value {
            Value::Invalid => {
                ty.nil().ok_or_else(|| self.fail(format!("invalid value; expected {}", ty.name())))
            }
            // A function that takes a map gets one by that name.
            Value::Map(crate::value::Map::Values(map)) if ty == Ty::Map => {
                Ok(Value::Map(crate::value::Map::Json(map)))
            }
            value if ty.accepts(&value) => Ok(value),
            value => {
                let got = value.type_name();
                Err(self.fail(format!("wrong type for value; expected {}; got {got}", ty.name())))
            }
        }
    }
}
