//! What does not meet a schema, in the words of Helm's library.

use std::collections::HashMap;

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind as Rule};
use serde_json::Value as Json;
use sluice_template::{format_go_float, go_quoted};

use super::formats;
use super::tree::{self, Looked};

/// The errors of these values, a line for each and for each reason that one has.
pub(super) fn of(errors: &[ValidationError<'_>], looked: Looked<'_>) -> String {
    let mut lines = String::new();
    tree::of(errors, looked).iter().for_each(|line| line.write(0, &mut lines));
    lines
}

/// What a schema says that allows nothing.
pub(super) const NO: &str = "false schema";

pub(super) fn reason(error: &ValidationError<'_>, values: &Json) -> String {
    let found = error.instance();
    let bound = |word: &str, limit: &Json| format!("{word}: got {}, want {}", number(found), number(limit));
    let count = |word: &str, limit: u64| {
        format!("{word}: got {}, want {}", grouped(&length(found).to_string()), grouped(&limit.to_string()))
    };
    match error.kind() {
        Rule::Type { kind } => format!("got {}, want {}", type_name(found), wanted(kind)),
        Rule::AdditionalProperties { unexpected } => not_allowed(unexpected.iter()),
        Rule::Enum { options } => one_of(options.as_array().map_or(&[], Vec::as_slice)),
        Rule::Constant { expected_value } if is_collection(expected_value) => "'const' failed".to_owned(),
        Rule::Constant { expected_value } => format!("value must be {}", shown(expected_value)),
        Rule::Minimum { limit } => bound("minimum", limit),
        Rule::Maximum { limit } => bound("maximum", limit),
        Rule::ExclusiveMinimum { limit } => bound("exclusiveMinimum", limit),
        Rule::ExclusiveMaximum { limit } => bound("exclusiveMaximum", limit),
        Rule::MultipleOf { multiple_of } => bound("multipleOf", &Json::from(*multiple_of)),
        Rule::Pattern { pattern } => {
            format!("{} does not match pattern {}", quoted_text(found), quoted(pattern))
        }
        Rule::MinLength { limit } => count("minLength", *limit),
        Rule::MaxLength { limit } => count("maxLength", *limit),
        Rule::MinItems { limit } => count("minItems", *limit),
        Rule::MaxItems { limit } => count("maxItems", *limit),
        Rule::MinProperties { limit } => count("minProperties", *limit),
        Rule::MaxProperties { limit } => count("maxProperties", *limit),
        Rule::Not { .. } => "'not' failed".to_owned(),
        Rule::AnyOf { .. } => "'anyOf' failed".to_owned(),
        Rule::OneOfNotValid { .. } => "'oneOf' failed, none matched".to_owned(),
        Rule::OneOfMultipleValid { context } => {
            let valid: Vec<String> = context
                .iter()
                .enumerate()
                .filter(|(_, errors)| errors.is_empty())
                .map(|(at, _)| at.to_string())
                .collect();
            format!("'oneOf' failed, subschemas {} matched", valid[..valid.len().min(2)].join(", "))
        }
        Rule::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            // The library shows one of the properties, and tells where the object is.
            let object = values.pointer(error.instance_path().as_str()).and_then(Json::as_object);
            not_allowed(object.into_iter().flatten().map(|(name, _)| name))
        }
        Rule::FalseSchema => NO.to_owned(),
        Rule::AdditionalItems { limit } => {
            format!("last {} additionalItem(s) not allowed", length(found).saturating_sub(*limit))
        }
        Rule::Format { format } => {
            let why = found.as_str().and_then(|text| formats::reason(format, text)).unwrap_or_default();
            format!("{} is not valid {format}: {why}", quoted_text(found))
        }
        Rule::UniqueItems => equal_items(found),
        Rule::Contains => "no items match contains schema".to_owned(),
        Rule::PropertyNames { error } => format!("invalid propertyName {}", quoted_text(error.instance())),
        _ => error.to_string(),
    }
}

fn not_allowed<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.map(|name| quoted(name)).collect();
    format!("additional properties {} not allowed", names.join(", "))
}

fn one_of(options: &[Json]) -> String {
    if options.iter().any(is_collection) {
        return "'enum' failed".to_owned();
    }
    let options: Vec<String> = options.iter().map(shown).collect();
    match options.as_slice() {
        [only] => format!("value must be {only}"),
        many => format!("value must be one of {}", many.join(", ")),
    }
}

fn equal_items(found: &Json) -> String {
    let items = found.as_array().map_or(&[][..], Vec::as_slice);
    let mut seen = HashMap::new();
    for (later, item) in items.iter().enumerate() {
        if let Some(earlier) = seen.insert(item, later) {
            return format!("items at {earlier} and {later} are equal");
        }
    }
    "items are equal".to_owned()
}

fn is_collection(value: &Json) -> bool {
    value.is_array() || value.is_object()
}

fn length(value: &Json) -> usize {
    match value {
        Json::String(text) => text.chars().count(),
        Json::Array(items) => items.len(),
        Json::Object(map) => map.len(),
        _ => 0,
    }
}

fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(many) => many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

pub(super) fn quoted(text: &str) -> String {
    // With its quotes, as Helm's library does it: a backslash at the end loses another one.
    let quoted = go_quoted(text).replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &quoted[1..quoted.len() - 1])
}

pub(super) fn quoted_text(value: &Json) -> String {
    quoted(value.as_str().unwrap_or_default())
}

/// A value that is wanted, as it is written.
fn shown(value: &Json) -> String {
    match value {
        Json::Null => "<nil>".to_owned(),
        Json::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A number as people write it: thousands are grouped, and what is large or small is a power of ten.
fn number(value: &Json) -> String {
    let float = value.as_f64().unwrap_or_default();
    let scientific = format_go_float(float, 'e', None);
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or_default();
    if float != 0.0 && !(-4..6).contains(&power) {
        let raised = exponent.trim_start_matches('+').chars().map(raised);
        return format!("{digits}×10{}", raised.collect::<String>());
    }
    grouped(&format_go_float(float, 'f', None))
}

fn raised(digit: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or('⁻', |digit| RAISED[digit as usize])
}

fn grouped(text: &str) -> String {
    let end = text.find('.').unwrap_or(text.len());
    let mut grouped = text.to_owned();
    let mut at = end;
    while at > 3 && text.as_bytes()[at - 4].is_ascii_digit() {
        at -= 3;
        grouped.insert(at, ',');
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_english() {
        let texts =
            [0.0, -5.0, 1000.0, 1234.5, 123_456_789.0, 1e6, 0.0001, 1e-7, -1_234_567.25, 1e300, 123_456.0]
                .map(|float| number(&Json::from(float)));
        let wanted = [
            "0",
            "-5",
            "1,000",
            "1,234.5",
            "1.23456789×10⁰⁸",
            "1×10⁰⁶",
            "0.0001",
            "1×10⁻⁰⁷",
            "-1.23456725×10⁰⁶",
            "1×10³⁰⁰",
            "123,456",
        ];
        assert_eq!(texts, wanted);
    }
}
