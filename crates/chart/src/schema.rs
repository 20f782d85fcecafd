//! `values.schema.json`: whether the values of a chart and of its dependencies are as their authors want them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value as Json};
use sluice_template::TextError;

use self::{cost::TooMuch, places::Places, tree::Looked};
use crate::{error::Error, tree::ChartTree, warning::Warnings};

mod cost;
mod formats;
mod places;
mod tree;
mod words;

/// Bytes of a compiled pattern, and of all patterns of a schema.
const PATTERN: usize = 256 << 10;
const PATTERNS: usize = 32 << 20;

/// The schema of schemas of whatever draft is the latest.
const LATEST_DRAFT: &str = "http://json-schema.org/schema";

/// Checks the values of a chart and of its dependencies.
pub(crate) fn check(
    chart: &ChartTree<'_>,
    values: &Map<String, Json>,
    warnings: &mut Warnings,
) -> Result<(), Error> {
    let mut found = Found::default();
    collect(chart, values, &mut found, warnings)?;
    if found.problems.is_empty() {
        return Ok(());
    }
    let words = "values don't meet the specifications of the schema(s) in the following chart(s):";
    let class = if found.is_limit { Error::limit } else { Error::values };
    Err(class(format!("{words}\n{}", found.problems)))
}

fn collect(
    chart: &ChartTree<'_>,
    values: &Map<String, Json>,
    found: &mut Found,
    warnings: &mut Warnings,
) -> Result<(), Error> {
    if let Some(schema) = &chart.chart.schema
        && let Err(problem) = check_one(schema, values, warnings)
    {
        match problem {
            Problem::Limit(text) => return Err(Error::limit(format!("{}: {text}", chart.name()))),
            Problem::Unread(error) => {
                found.is_limit |= error.is_limit();
                found.problems.push_str(&format!("{}:\n{error}", chart.name()));
            }
        }
    }
    for dependency in &chart.dependencies {
        match values.get(dependency.name()) {
            None | Some(Json::Null) => {}
            Some(Json::Object(values)) => collect(dependency, values, found, warnings)?,
            Some(_) => found.problems.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map)\n",
                dependency.name()
            )),
        }
    }
    Ok(())
}

/// What is wrong with the values of a chart and of its dependencies.
#[derive(Default)]
struct Found {
    problems: String,
    /// Whether a schema could not be read to its end.
    is_limit: bool,
}

/// What is wrong with a schema, or with values by it.
enum Problem {
    /// Of a schema that leads too far nothing more is said.
    Limit(String),
    Unread(TextError),
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Unread(TextError::Wrong(text))
    }
}

impl From<TextError> for Problem {
    fn from(failure: TextError) -> Self {
        Self::Unread(failure)
    }
}

fn check_one(schema: &[u8], values: &Map<String, Json>, warnings: &mut Warnings) -> Result<(), Problem> {
    sluice_template::check_json(schema)?;
    let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
    let values = with_integers(&Json::Object(values.clone()));
    let places = Places::new(&schema);
    cost::check(&schema, &values, &places).map_err(|error| {
        Problem::Limit(match error {
            TooMuch::Checks => format!("limit: values.schema.json leads to more than {} checks", cost::MOST),
            TooMuch::Depth => "limit: values.schema.json leads too deep".to_owned(),
        })
    })?;
    let elsewhere = Elsewhere::default();
    // Go's patterns have no way back either: whatever a pattern is, a text is read once.
    let size = PATTERN.min(PATTERNS / places.patterns().max(1));
    let patterns = jsonschema::PatternOptions::regex().size_limit(size).dfa_size_limit(size);
    let mut options = jsonschema::options()
        .with_registry(&referencing::SPECIFICATIONS)
        .with_pattern_options(patterns)
        .with_retriever(elsewhere.clone())
        // What is within a text is not looked at.
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json");
    for (name, check) in formats::FORMATS {
        options = options.with_format(*name, move |text: &str| check(text).is_ok());
    }
    for name in formats::UNKNOWN {
        options = options.with_format(name, |_: &str| true);
    }
    let validator = options.build(&schema).map_err(|error| error.to_string());
    elsewhere.say(warnings);
    let validator = validator?;
    let errors: Vec<_> = validator.iter_errors(&values).collect();
    let lines = words::of(&errors, Looked { schema: &schema, values: &values });
    if lines.is_empty() { Ok(()) } else { Err(lines.into()) }
}

/// Schemas that are not in the chart, and are not those of the drafts: nothing is fetched for one. Names, which lead nowhere, allow
/// everything, as for Helm.
#[derive(Clone, Default)]
struct Elsewhere(Arc<Mutex<BTreeSet<String>>>);

impl jsonschema::Retrieve for Elsewhere {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Json, Box<dyn std::error::Error + Send + Sync>> {
        if uri.as_str().starts_with("urn:") {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.as_str().to_owned());
            return Ok(Json::Bool(true));
        }
        if uri.as_str() == LATEST_DRAFT {
            return Ok(serde_json::json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}));
        }
        Err("nothing is fetched for a schema; put what it refers to into values.schema.json".into())
    }
}

impl Elsewhere {
    fn say(&self, warnings: &mut Warnings) {
        for name in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let text = "unresolved URN reference ignored; using permissive schema";
            warnings.warn(text, || vec![("urn", name.clone())]);
        }
    }
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
