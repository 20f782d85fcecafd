//! From one type to another.

use super::budget::{Budget, Fault};
use super::moments;
use super::numbers::{to_int, to_uint};
use super::syntax::Function;
use super::value::{Shared, Value};

/// `int(value)` and the like.
pub(super) fn convert<'a>(to: Function, value: Value<'a>, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    match to {
        Function::Bool => bool(value),
        Function::Bytes => bytes(value, budget),
        Function::Double => double(&value).map(Value::Double),
        Function::Duration => duration(value),
        Function::Int => int(&value).map(Value::Int),
        Function::Text => text(value, budget),
        Function::Timestamp => timestamp(value),
        Function::Uint => uint(&value).map(Value::Uint),
        Function::Type => Ok(Value::Type(value.type_name())),
        _ => Ok(value),
    }
}

fn no_way(value: &Value<'_>, to: &str) -> Fault {
    Fault::data(format!("no such overload: {to}({})", value.type_name()))
}

fn not(text: &str, what: &str) -> Fault {
    let short: String = text.chars().take(40).collect();
    Fault::data(format!("{short:?} is no {what}"))
}

fn bool(value: Value<'_>) -> Result<Value<'_>, Fault> {
    match value {
        Value::Bool(_) => Ok(value),
        Value::Text(text) => match &*text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => Err(not(other, "bool")),
        },
        other => Err(no_way(&other, "bool")),
    }
}

fn bytes<'a>(value: Value<'a>, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    match value {
        Value::Bytes(_) => Ok(value),
        Value::Text(Shared::Lent(text)) => Ok(Value::Bytes(Shared::Lent(text.as_bytes()))),
        Value::Text(text) => {
            budget.hold(text.len())?;
            Ok(Value::bytes(text.as_bytes()))
        }
        other => Err(no_way(&other, "bytes")),
    }
}

fn double(value: &Value<'_>) -> Result<f64, Fault> {
    #[expect(clippy::cast_precision_loss, reason = "as CEL has it")]
    match value {
        Value::Double(value) => Ok(*value),
        Value::Int(value) => Ok(*value as f64),
        Value::Uint(value) => Ok(*value as f64),
        Value::Text(text) => text.parse().map_err(|_| not(text, "double")),
        other => Err(no_way(other, "double")),
    }
}

fn duration(value: Value<'_>) -> Result<Value<'_>, Fault> {
    match value {
        Value::Duration(_) => Ok(value),
        Value::Text(text) => moments::parse_duration(&text).map(Value::Duration),
        other => Err(no_way(&other, "duration")),
    }
}

fn int(value: &Value<'_>) -> Result<i64, Fault> {
    let overflow = || Fault::data("integer overflow");
    match value {
        Value::Int(value) => Ok(*value),
        Value::Uint(value) => i64::try_from(*value).map_err(|_| overflow()),
        Value::Double(value) => to_int(*value).ok_or_else(overflow),
        Value::Text(text) => text.parse().map_err(|_| not(text, "int")),
        Value::Timestamp(moment) => {
            // Down to the whole second, also before 1970.
            i64::try_from(moment.as_nanosecond().div_euclid(1_000_000_000)).map_err(|_| overflow())
        }
        Value::Duration(duration) => i64::try_from(duration.as_nanos()).map_err(|_| overflow()),
        other => Err(no_way(other, "int")),
    }
}

fn uint(value: &Value<'_>) -> Result<u64, Fault> {
    let overflow = || Fault::data("unsigned integer overflow");
    match value {
        Value::Uint(value) => Ok(*value),
        Value::Int(value) => u64::try_from(*value).map_err(|_| overflow()),
        Value::Double(value) => to_uint(*value).ok_or_else(overflow),
        // Without a sign.
        Value::Text(text) if !text.starts_with('+') => text.parse().map_err(|_| not(text, "uint")),
        Value::Text(text) => Err(not(text, "uint")),
        other => Err(no_way(other, "uint")),
    }
}

fn timestamp(value: Value<'_>) -> Result<Value<'_>, Fault> {
    match value {
        Value::Timestamp(_) => Ok(value),
        Value::Int(seconds) => moments::timestamp(seconds).map(Value::Timestamp),
        Value::Text(text) => moments::parse_timestamp(&text).map(Value::Timestamp),
        other => Err(no_way(&other, "timestamp")),
    }
}

fn text<'a>(value: Value<'a>, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    match value {
        Value::Text(_) => return Ok(value),
        Value::Bytes(Shared::Lent(bytes)) => {
            budget.step(bytes.len() / 16)?;
            return std::str::from_utf8(bytes)
                .map(Value::lend)
                .map_err(|_| Fault::data("the bytes are not UTF-8"));
        }
        _ => {}
    }
    let made = match &value {
        Value::Bytes(bytes) => {
            budget.hold(bytes.len())?;
            std::str::from_utf8(bytes).map_err(|_| Fault::data("the bytes are not UTF-8"))?.to_owned()
        }
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => written(*value),
        Value::Timestamp(value) => value.to_string(),
        Value::Duration(value) => moments::written(*value),
        other => return Err(no_way(other, "string")),
    };
    budget.hold(made.len())?;
    Ok(Value::text(made))
}

/// As Go writes a double: the shortest digits, with an exponent below -4 and from 6 digits before the point on that are not there.
fn written(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
