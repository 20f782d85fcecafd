//! YAML as Go decodes it into typed structures: texts from any scalar, names in any case.

use serde_json::{Map, Value as Json};
use sluice_template::{Integers, TextError, fields_from_yaml, from_yaml};

/// An object that is decoded into a Go struct of that name.
pub(crate) struct Fields<'a> {
    name: &'static str,
    object: &'a Map<String, Json>,
}

/// The first document, for a Go type.
pub(crate) fn read(text: &[u8]) -> Result<Json, TextError> {
    from_yaml(&String::from_utf8_lossy(text), Integers::Kept)
}

/// The first document, of which only these fields are decoded, in any case; what is wrong elsewhere in it is said as well.
pub(crate) fn read_fields(text: &str, fields: &[&str]) -> Result<Json, TextError> {
    let is_one = |key: &[u8]| fields.iter().any(|field| key.eq_ignore_ascii_case(field.as_bytes()));
    fields_from_yaml(text, is_one)
}

/// The first document as a Go map: numbers are floats.
pub(crate) fn read_map(text: &str) -> Result<Map<String, Json>, TextError> {
    match from_yaml(text, Integers::Floats)? {
        Json::Object(map) => Ok(map),
        Json::Null => Ok(Map::new()),
        other => Err(TextError::Wrong(mismatch(&other, "Go value of type map[string]interface {}"))),
    }
}

fn mismatch(found: &Json, wanted: &str) -> String {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    format!("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into {wanted}")
}

impl<'a> Fields<'a> {
    /// The fields of an object; none of a null.
    pub(crate) fn of(json: &'a Json, name: &'static str, go_type: &str) -> Result<Option<Self>, String> {
        match json {
            Json::Object(object) => Ok(Some(Self { name, object })),
            Json::Null => Ok(None),
            other => Err(mismatch(other, &format!("Go value of type {go_type}"))),
        }
    }

    pub(crate) fn get(&self, field: &str) -> Option<&'a Json> {
        let exact = self.object.get(field);
        let any_case = || {
            self.object.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(field)).map(|(_, value)| value)
        };
        exact.or_else(any_case).filter(|value| !value.is_null())
    }

    fn wrong(&self, field: &str, found: &Json, go_type: &str) -> String {
        mismatch(found, &format!("Go struct field {}.{field} of type {go_type}", self.name))
    }

    /// The complaint about something that should be an object.
    pub(crate) fn wrong_struct(&self, field: &str, found: &Json) -> String {
        let inner = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";
        self.wrong(field, found, inner)
    }

    pub(crate) fn text(&self, field: &str) -> Result<String, String> {
        let Some(value) = self.get(field) else { return Ok(String::new()) };
        as_text(value).ok_or_else(|| self.wrong(field, value, "string"))
    }

    pub(crate) fn truth(&self, field: &str) -> Result<bool, String> {
        match self.get(field) {
            None => Ok(false),
            Some(Json::Bool(truth)) => Ok(*truth),
            Some(other) => Err(self.wrong(field, other, "bool")),
        }
    }

    pub(crate) fn list(&self, field: &str, go_type: &str) -> Result<&'a [Json], String> {
        match self.get(field) {
            None => Ok(&[]),
            Some(Json::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(field, other, go_type)),
        }
    }

    pub(crate) fn texts(&self, field: &str) -> Result<Vec<String>, String> {
        let items = self.list(field, "[]string")?;
        let text = |item: &Json| match item {
            Json::Null => Ok(String::new()),
            other => as_text(other).ok_or_else(|| self.wrong(field, other, "string")),
        };
        items.iter().map(text).collect()
    }

    pub(crate) fn text_map(&self, field: &str) -> Result<Vec<(String, String)>, String> {
        let map = match self.get(field) {
            None => return Ok(Vec::new()),
            Some(Json::Object(map)) => map,
            Some(other) => return Err(self.wrong(field, other, "map[string]string")),
        };
        let text = |value: &Json| match value {
            Json::Null => Ok(String::new()),
            other => as_text(other).ok_or_else(|| self.wrong(field, other, "string")),
        };
        map.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect()
    }
}

/// The text that a scalar becomes where a text is wanted.
fn as_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(truth) => Some(truth.to_string()),
        Json::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() => of_float(float),
            _ => number.to_string(),
        }),
        _ => None,
    }
}

/// A float as Helm's reader of YAML makes a text of it: with the digits that tell it among floats of 32 bits.
fn of_float(float: f64) -> String {
    let digits = (float as f32).to_string().parse().unwrap_or(float);
    sluice_template::format_go_float(digits, 'g', None)
}
