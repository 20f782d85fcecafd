//! `values.schema.json`: whether the values of a chart and of its dependencies are as their authors want them.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Value as Json};
use sluice_template::{format_go_float, go_quoted};

use crate::{error::Error, tree::ChartTree};

/// Checks the values of a chart and of its dependencies.
pub(crate) fn check(chart: &ChartTree<'_>, values: &Map<String, Json>) -> Result<(), Error> {
    let mut problems = String::new();
    collect(chart, values, &mut problems);
    if problems.is_empty() {
        return Ok(());
    }
    let words = "values don't meet the specifications of the schema(s) in the following chart(s):";
    Err(Error::Values(format!("{words}\n{problems}")))
}

fn collect(chart: &ChartTree<'_>, values: &Map<String, Json>, problems: &mut String) {
    if let Some(schema) = &chart.chart.schema
        && let Err(problem) = check_one(schema, values)
    {
        problems.push_str(&format!("{}:\n{problem}", chart.name()));
    }
    for dependency in &chart.dependencies {
        match values.get(dependency.name()) {
            None | Some(Json::Null) => {}
            Some(Json::Object(values)) => collect(dependency, values, problems),
            Some(_) => problems.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map)\n",
                dependency.name()
            )),
        }
    }
}

fn check_one(schema: &[u8], values: &Map<String, Json>) -> Result<(), String> {
    let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    let values = with_integers(&Json::Object(values.clone()));
    let mut lines = String::new();
    for error in validator.iter_errors(&values) {
        let place = error.instance_path().as_str().to_owned();
        for reason in reasons(error.kind(), error.instance(), &error.to_string()) {
            lines.push_str(&format!("- at '{place}': {reason}\n"));
        }
    }
    if lines.is_empty() { Ok(()) } else { Err(lines) }
}

/// Floats without a fraction are integers, as they are for JSON Schema.
fn with_integers(json: &Json) -> Json {
    match json {
        Json::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Json::from(float as i64)
            }
            _ => json.clone(),
        },
        Json::Array(items) => Json::Array(items.iter().map(with_integers).collect()),
        Json::Object(map) => Json::Object(map.iter().map(|(k, v)| (k.clone(), with_integers(v))).collect()),
        other => other.clone(),
    }
}

/// What is wrong, in the words of Helm's library for the keywords that charts use.
fn reasons(kind: &ValidationErrorKind, found: &Json, otherwise: &str) -> Vec<String> {
    let one = match kind {
        ValidationErrorKind::Type { kind } => format!("got {}, want {}", type_name(found), wanted(kind)),
        ValidationErrorKind::Required { property } => {
            format!("missing property '{}'", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| format!("'{name}'")).collect();
            format!("additional properties {} not allowed", names.join(", "))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(shown).collect();
            match options.as_slice() {
                [only] => format!("value must be {only}"),
                many => format!("value must be one of {}", many.join(", ")),
            }
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("value must be {}", shown(expected_value))
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("minimum: got {}, want {}", shown(found), shown(limit))
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("maximum: got {}, want {}", shown(found), shown(limit))
        }
        ValidationErrorKind::Pattern { pattern } => {
            let found = found.as_str().unwrap_or_default();
            format!("'{found}' does not match pattern {}", shown(&Json::String(pattern.clone())))
        }
        ValidationErrorKind::MinLength { limit } => format!("minLength: got {}, want {limit}", length(found)),
        ValidationErrorKind::MaxLength { limit } => format!("maxLength: got {}, want {limit}", length(found)),
        ValidationErrorKind::MinItems { limit } => format!("minItems: got {}, want {limit}", length(found)),
        ValidationErrorKind::MaxItems { limit } => format!("maxItems: got {}, want {limit}", length(found)),
        _ => otherwise.to_owned(),
    };
    vec![one]
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

/// A value as the library shows it.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => {
            let quoted = go_quoted(text);
            format!("'{}'", quoted[1..quoted.len() - 1].replace("\\\"", "\"").replace('\'', "\\'"))
        }
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => int.to_string(),
            (None, Some(float)) => format_go_float(float, 'g', None),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
