//! The part of JSONPath that printer columns use: fields, indices and one equality filter.

use serde_json::Value;

use crate::object::Json;

/// A parsed path.
#[derive(Debug)]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(usize),
    Where { field: String, equals: String },
}

// === impl JsonPath ===

impl JsonPath {
    /// Reads a path; steps that are not understood select nothing.
    pub fn parse(text: &str) -> Self {
        let (mut steps, mut rest) = (Vec::new(), text.trim());
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let Some(end) = inner.find(']') else { break };
                steps.push(bracket(&inner[..end]));
                rest = &inner[end + 1..];
            } else {
                let name = rest.strip_prefix('.').unwrap_or(rest);
                let end = field_end(name);
                steps.push(Step::Field(name[..end].replace("\\.", ".")));
                rest = if end == 0 { "" } else { &name[end..] };
            }
        }
        Self(steps)
    }

    /// The value it selects.
    pub fn find<'a>(&self, body: &'a Json) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        let Step::Field(name) = first else { return None };
        rest.iter().try_fold(body.get(name)?, |value, step| step.apply(value))
    }
}

impl Step {
    fn apply<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Field(name) => value.get(name),
            Self::Index(index) => value.get(index),
            Self::Where { field, equals } => {
                value.as_array()?.iter().find(|item| item.get(field).and_then(Value::as_str) == Some(equals))
            }
        }
    }
}

fn field_end(name: &str) -> usize {
    let mut escaped = false;
    for (index, c) in name.char_indices() {
        match c {
            '\\' => escaped = true,
            '.' | '[' if !escaped => return index,
            _ => escaped = false,
        }
    }
    name.len()
}

fn bracket(inner: &str) -> Step {
    let unquote = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let filter = inner.strip_prefix("?(@.").and_then(|inner| inner.strip_suffix(')'));
    if let Some((field, equals)) = filter.and_then(|filter| filter.split_once("==")) {
        return Step::Where { field: field.trim().to_owned(), equals: unquote(equals) };
    }
    match inner.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Field(unquote(inner)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn fields_indices_and_filters_select() {
        let body = json!({
            "spec": {"list": [{"x": 1}]},
            "metadata": {"labels": {"a.b/c": "d"}},
            "status": {"conditions": [{"type": "A", "status": "no"}, {"type": "Ready", "status": "yes"}]},
        });
        let body = body.as_object().unwrap();
        let find = |path: &str| JsonPath::parse(path).find(body).cloned();
        assert_eq!(find(".spec.list[0].x"), Some(json!(1)));
        assert_eq!(find(".status.conditions[?(@.type==\"Ready\")].status"), Some(json!("yes")));
        assert_eq!(find(".metadata.labels.a\\.b/c"), Some(json!("d")));
        assert_eq!(find(".metadata.labels['a.b/c']"), Some(json!("d")));
        assert_eq!(find(".spec.nothing.here"), None);
    }

    proptest! {
        #[test]
        fn no_path_makes_it_panic(path in ".{0,30}") {
            prop_assert!(JsonPath::parse(&path).find(&Json::new()).is_none());
        }
    }
}
