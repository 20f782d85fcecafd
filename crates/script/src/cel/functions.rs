//! Functions over values, but for conversions.

use regex::{Regex, RegexBuilder};

use super::budget::{Budget, Fault};
use super::convert::convert;
use super::moments;
use super::syntax::{Function, Part};
use super::value::Value;

/// Bytes of a compiled pattern.
const PATTERN: usize = 256 * 1024;
/// Bytes of a text that a pattern is looked for in.
const SEARCHED: usize = 1 << 20;
/// What compiling a pattern counts.
const STEPS_OF_PATTERN: usize = 20_000;

/// Calls a function. How many arguments it has is known from the parser.
pub(super) fn call<'a>(
    function: Function,
    mut arguments: Vec<Value<'a>>,
    budget: &mut Budget,
) -> Result<Value<'a>, Fault> {
    let second = if arguments.len() > 1 { arguments.pop() } else { None };
    let Some(first) = arguments.pop() else { return Err(Fault::data("a function without arguments")) };
    match (function, &first, &second) {
        (Function::Size, value, None) => size(value, budget),
        (Function::Part(part), value, zone) => part_of(part, value, zone.as_ref()),
        (_, Value::Text(text), Some(Value::Text(other))) => {
            budget.step(text.len() / 16)?;
            Ok(Value::Bool(match function {
                Function::Contains => text.contains(&**other),
                Function::StartsWith => text.starts_with(&**other),
                Function::EndsWith => text.ends_with(&**other),
                _ => {
                    budget.step(STEPS_OF_PATTERN)?;
                    return matches(text, &pattern(other).map_err(Fault::Data)?, budget);
                }
            }))
        }
        (_, left, Some(right)) => {
            let types = (left.type_name(), right.type_name());
            Err(Fault::data(format!("no such overload: {}.{function:?}({})", types.0, types.1)))
        }
        _ => convert(function, first, budget),
    }
}

/// Compiles a pattern.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let compiled =
        RegexBuilder::new(text).size_limit(PATTERN).dfa_size_limit(PATTERN * 4).nest_limit(50).build();
    compiled.map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("{text:?} is no pattern: {reason}")
    })
}

/// Whether the pattern is found in the text.
pub(super) fn matches<'a>(text: &str, regex: &Regex, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    if text.len() > SEARCHED {
        return Err(Fault::Limit(format!(
            "limit: a text of more than {SEARCHED} bytes is not searched for a pattern"
        )));
    }
    budget.step(text.len())?;
    Ok(Value::Bool(regex.is_match(text)))
}

fn size<'a>(value: &Value<'a>, budget: &mut Budget) -> Result<Value<'a>, Fault> {
    let size = match value {
        Value::Text(text) => {
            budget.step(text.len() / 16)?;
            text.chars().count()
        }
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => return Err(Fault::data(format!("no such overload: size({})", other.type_name()))),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn part_of<'a>(part: Part, value: &Value<'a>, zone: Option<&Value<'a>>) -> Result<Value<'a>, Fault> {
    let found = match (value, zone) {
        (Value::Timestamp(moment), None) => Some(moments::part_of_timestamp(part, *moment, None)?),
        (Value::Timestamp(moment), Some(Value::Text(zone))) => {
            Some(moments::part_of_timestamp(part, *moment, Some(zone))?)
        }
        (Value::Duration(duration), None) => moments::part_of_duration(part, *duration),
        _ => None,
    };
    let unknown = || Fault::data(format!("no such overload: {}.get{part:?}()", value.type_name()));
    found.map(Value::Int).ok_or_else(unknown)
}
