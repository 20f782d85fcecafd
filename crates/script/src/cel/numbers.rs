//! Which values are equal, and which comes first. Numbers of all types are compared by what they mean.

use std::cmp::Ordering;

use super::budget::{Budget, Fault};
use super::value::{List, Map, Value};

/// 2^63 and 2^64: what is smaller fits into 64 bits.
const ABOVE_INT: f64 = 9_223_372_036_854_775_808.0;
const ABOVE_UINT: f64 = 18_446_744_073_709_551_616.0;

/// Whether two values are equal. Values of different types are not, except numbers.
pub(super) fn equal(left: &Value<'_>, right: &Value<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    budget.step(1)?;
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => {
            budget.step(left.len().min(right.len()) / 64)?;
            **left == **right
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            budget.step(left.len().min(right.len()) / 64)?;
            **left == **right
        }
        (Value::List(left), Value::List(right)) => equal_lists(left, right, budget)?,
        (Value::Map(left), Value::Map(right)) => equal_maps(left, right, budget)?,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Type(left), Value::Type(right)) => left == right,
        _ => order_of_numbers(left, right) == Some(Ordering::Equal),
    })
}

fn equal_lists(left: &List<'_>, right: &List<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.iter().zip(right.iter()) {
        if !equal(&left, &right, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(left: &Map<'_>, right: &Map<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (key, value) in left.entries() {
        match lookup(right, &key, budget)? {
            Some(other) if equal(&value, &other, budget)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The value of a key; numbers find each other as they are equal.
pub(super) fn lookup<'a>(
    map: &Map<'a>,
    key: &Value<'_>,
    budget: &mut Budget,
) -> Result<Option<Value<'a>>, Fault> {
    match (map, key) {
        (Map::Json(_), Value::Text(name)) => Ok(map.field(name)),
        (Map::Json(_), _) => Ok(None),
        (Map::Made(entries), _) => {
            for (other, value) in entries.iter() {
                if equal(other, key, budget)? {
                    return Ok(Some(value.clone()));
                }
            }
            Ok(None)
        }
    }
}

/// Which of two values of an ordered type comes first.
pub(super) fn order(left: &Value<'_>, right: &Value<'_>, budget: &mut Budget) -> Result<Ordering, Fault> {
    let order = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => {
            budget.step(left.len().min(right.len()) / 64)?;
            Some((**left).cmp(&**right))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            budget.step(left.len().min(right.len()) / 64)?;
            Some((**left).cmp(&**right))
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => Some(left.cmp(right)),
        (Value::Duration(left), Value::Duration(right)) => Some(left.cmp(right)),
        _ if is_number(left) && is_number(right) => {
            let order = order_of_numbers(left, right);
            return order.ok_or_else(|| Fault::data("NaN values cannot be ordered"));
        }
        _ => None,
    };
    let types = || Fault::data(format!("no such overload: {} < {}", left.type_name(), right.type_name()));
    order.ok_or_else(types)
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

/// `None` where one of them is no number. A whole number beside a double is rounded to one, as in cel-go.
#[expect(clippy::cast_precision_loss, reason = "as CEL has it")]
fn order_of_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Int(left), Value::Double(right)) => (*left as f64).partial_cmp(right),
        (Value::Uint(left), Value::Double(right)) => (*left as f64).partial_cmp(right),
        (Value::Double(_), Value::Int(_) | Value::Uint(_)) | (Value::Uint(_), Value::Int(_)) => {
            order_of_numbers(right, left).map(Ordering::reverse)
        }
        _ => None,
    }
}

/// A double as a whole number, cut off; `None` where it does not fit.
pub(super) fn to_int(double: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (double > -ABOVE_INT && double < ABOVE_INT).then_some(double as i64)
}

/// The same without a sign.
pub(super) fn to_uint(double: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..ABOVE_UINT).contains(&double).then_some(double as u64)
}

#[cfg(test)]
mod tests;
