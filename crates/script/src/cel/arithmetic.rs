//! `+ - * / %` and the sign. Types are not mixed, and nothing wraps around.

use std::rc::Rc;

use super::budget::{Budget, Fault};
use super::moments;
use super::syntax::Operator;
use super::value::{List, Shared, Value};

/// Two operands of an operator.
pub(super) fn arithmetic<'a>(
    operator: Operator,
    left: Value<'a>,
    right: Value<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Fault> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(operator, left, right),
        (Value::Uint(left), Value::Uint(right)) => uint(operator, left, right),
        (Value::Double(left), Value::Double(right)) if operator != Operator::Modulo => {
            Ok(Value::Double(double(operator, left, right)))
        }
        (left, right) if operator == Operator::Add => add(left, right, budget),
        (Value::Timestamp(left), Value::Timestamp(right)) if operator == Operator::Subtract => {
            moments::between(left, right).map(Value::Duration)
        }
        (Value::Timestamp(left), Value::Duration(right)) if operator == Operator::Subtract => {
            moments::later(left, moments::negated(right)?).map(Value::Timestamp)
        }
        (Value::Duration(left), Value::Duration(right)) if operator == Operator::Subtract => {
            moments::sum(left, moments::negated(right)?).map(Value::Duration)
        }
        (left, right) => Err(unknown(operator, &left, &right)),
    }
}

/// That an operator does not take such operands.
pub(super) fn unknown(operator: Operator, left: &Value<'_>, right: &Value<'_>) -> Fault {
    Fault::data(format!("no such overload: {} {operator} {}", left.type_name(), right.type_name()))
}

/// `-value`.
pub(super) fn negate<'a>(value: &Value<'a>) -> Result<Value<'a>, Fault> {
    match value {
        Value::Int(value) => {
            value.checked_neg().map(Value::Int).ok_or_else(|| Fault::data("integer overflow"))
        }
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Duration(value) => moments::negated(*value).map(Value::Duration),
        other => Err(Fault::data(format!("no such overload: -{}", other.type_name()))),
    }
}

fn int<'a>(operator: Operator, left: i64, right: i64) -> Result<Value<'a>, Fault> {
    zero(operator, right == 0)?;
    let value = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    value.map(Value::Int).ok_or_else(|| Fault::data("integer overflow"))
}

fn uint<'a>(operator: Operator, left: u64, right: u64) -> Result<Value<'a>, Fault> {
    zero(operator, right == 0)?;
    let value = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    value.map(Value::Uint).ok_or_else(|| Fault::data("unsigned integer overflow"))
}

fn double(operator: Operator, left: f64, right: f64) -> f64 {
    match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        _ => left / right,
    }
}

fn zero(operator: Operator, is_zero: bool) -> Result<(), Fault> {
    match operator {
        Operator::Divide if is_zero => Err(Fault::data("division by zero")),
        Operator::Modulo if is_zero => Err(Fault::data("modulus by zero")),
        _ => Ok(()),
    }
}

fn add<'a>(left: Value<'a>, right: Value<'a>, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            budget.hold(left.len() + right.len())?;
            Ok(Value::text([&*left, &*right].concat()))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            budget.hold(left.len() + right.len())?;
            Ok(Value::Bytes(Shared::Made([&*left, &*right].concat().into())))
        }
        (Value::List(left), Value::List(right)) => {
            budget.hold((left.len() + right.len()) * Value::size())?;
            let items: Rc<[Value<'a>]> = left.iter().chain(right.iter()).collect();
            Ok(Value::List(List::Made(items)))
        }
        (Value::Timestamp(left), Value::Duration(right))
        | (Value::Duration(right), Value::Timestamp(left)) => {
            moments::later(left, right).map(Value::Timestamp)
        }
        (Value::Duration(left), Value::Duration(right)) => moments::sum(left, right).map(Value::Duration),
        (left, right) => Err(unknown(Operator::Add, &left, &right)),
    }
}
