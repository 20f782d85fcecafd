//! `values.schema.json`: whether the values of a chart and of its dependencies are as their authors want them.

use serde_json::{Map, Value as Json};

use crate::{error::Error, tree::ChartTree};

mod words;

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
    sluice_template::check_json(schema)?;
    let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    let values = with_integers(&Json::Object(values.clone()));
    let errors: Vec<_> = validator.iter_errors(&values).collect();
    let lines = words::of(&errors, &values);
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
