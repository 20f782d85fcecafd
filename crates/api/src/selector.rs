//! Label selectors: the string form of old manifests, `metav1.LabelSelector`, and label filters, all
//! read into one list of requirements.

use std::fmt;

use serde_json::{Map, Value};

/// All requirements must hold. An empty selector holds for everything; who must treat it as
/// "nothing" (cluster selectors) asks [`Selector::is_empty`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

// === impl Requirement ===

impl Requirement {
    fn new(key: &str, test: Test) -> Result<Self, String> {
        if !crate::names::is_label_key(key) {
            return Err(format!("{key:?} is not a label key; write it as [prefix/]name"));
        }
        if let Test::In(values) | Test::NotIn(values) = &test
            && let Some(value) = values.iter().find(|value| !crate::names::is_label_value(value))
        {
            return Err(format!(
                "{value:?} is not a label value; use at most 63 letters, digits, '-', '_', '.'"
            ));
        }
        Ok(Self { key: key.to_owned(), test })
    }

    /// A label filter of an EventSource: Equal, Different, Has or DoesNotHave.
    ///
    /// # Errors
    /// The reason, when the operation is unknown or key or value is not valid.
    pub fn filter(key: &str, operation: &str, value: &str) -> Result<Self, String> {
        let test = match operation {
            "Equal" => Test::In(vec![value.to_owned()]),
            "Different" => Test::NotIn(vec![value.to_owned()]),
            "Has" => Test::Exists,
            "DoesNotHave" => Test::Absent,
            other => {
                return Err(format!("unknown operation {other:?}; use Equal, Different, Has or DoesNotHave"));
            }
        };
        Self::new(key, test)
    }

    fn holds(&self, label: Option<&str>) -> bool {
        match &self.test {
            Test::In(values) => label.is_some_and(|label| values.iter().any(|value| value == label)),
            Test::NotIn(values) => label.is_none_or(|label| values.iter().all(|value| value != label)),
            Test::Exists => label.is_some(),
            Test::Absent => label.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.test {
            Test::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
            Test::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
            Test::In(values) => write!(f, "{key} in ({})", values.join(",")),
            Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            Test::Exists => f.write_str(key),
            Test::Absent => write!(f, "!{key}"),
        }
    }
}

// === impl Selector ===

impl Selector {
    /// Whether it has no requirement at all.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Adds a requirement.
    pub fn and(&mut self, requirement: Requirement) {
        self.requirements.push(requirement);
    }

    /// Adds all requirements of `other`.
    pub fn and_all(&mut self, other: Self) {
        self.requirements.extend(other.requirements);
    }

    /// Whether `labels` (a JSON map of strings, or nothing) fulfil it.
    pub fn matches(&self, labels: Option<&Value>) -> bool {
        let get = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        self.requirements.iter().all(|requirement| requirement.holds(get(&requirement.key)))
    }

    /// Whether it selects what has these labels: an empty one selects nothing.
    pub fn selects(&self, labels: Option<&Value>) -> bool {
        !self.is_empty() && self.matches(labels)
    }

    /// The first requirement that `labels` do not fulfil, and what the label is, in words; `None` when they fulfil all.
    pub fn unmet(&self, labels: Option<&Value>) -> Option<String> {
        let get = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        let unmet = self.requirements.iter().find(|requirement| !requirement.holds(get(&requirement.key)))?;
        let is = match get(&unmet.key) {
            Some(value) => format!("the label {} is {value:?}", unmet.key),
            None => format!("there is no label {}", unmet.key),
        };
        Some(format!("{unmet} is wanted, and {is}"))
    }

    /// The structured form of today's manifests.
    pub fn to_label_selector(&self) -> Value {
        let expression = |requirement: &Requirement| {
            let (operator, values) = match &requirement.test {
                Test::In(values) => ("In", Some(values)),
                Test::NotIn(values) => ("NotIn", Some(values)),
                Test::Exists => ("Exists", None),
                Test::Absent => ("DoesNotExist", None),
            };
            let mut map = Map::new();
            map.insert("key".into(), requirement.key.clone().into());
            map.insert("operator".into(), operator.into());
            map.extend(values.map(|values| ("values".into(), values.clone().into())));
            Value::Object(map)
        };
        let (mut labels, mut expressions, mut selector) = (Map::new(), Vec::new(), Map::new());
        for requirement in &self.requirements {
            match &requirement.test {
                Test::In(values) if values.len() == 1 && !labels.contains_key(&requirement.key) => {
                    labels.insert(requirement.key.clone(), values[0].clone().into());
                }
                _ => expressions.push(expression(requirement)),
            }
        }
        if !labels.is_empty() {
            selector.insert("matchLabels".into(), labels.into());
        }
        if !expressions.is_empty() {
            selector.insert("matchExpressions".into(), expressions.into());
        }
        Value::Object(selector)
    }

    /// Reads the string form: `env=fv`, `a!=b`, `a in (x, y)`, `a notin (x)`, `a`, `!a`, joined by commas.
    ///
    /// # Errors
    /// The reason, naming the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut selector = Self::default();
        for part in split_outside_parentheses(text) {
            if !part.trim().is_empty() {
                selector.and(parse_requirement(part.trim())?);
            }
        }
        Ok(selector)
    }

    /// Reads either form of a selector field: a string, or a `metav1.LabelSelector`.
    ///
    /// # Errors
    /// The reason, naming the sub-field.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Self::parse(text),
            Value::Object(map) => Self::structured(map),
            other => Err(format!(
                "{other} is not a selector; write a label selector (matchLabels, matchExpressions) or a string such as env=fv"
            )),
        }
    }

    fn structured(map: &Map<String, Value>) -> Result<Self, String> {
        let mut selector = Self::default();
        if let Some(field) =
            map.keys().find(|key| !matches!(key.as_str(), "matchLabels" | "matchExpressions"))
        {
            return Err(format!(
                "unknown field {field:?}; a label selector has matchLabels and matchExpressions"
            ));
        }
        let said = |field: &str| map.get(field).filter(|value| !value.is_null());
        // Of what is something else nothing would be left, and a selector of nothing matches everything.
        let labels = said("matchLabels").map(|labels| labels.as_object().ok_or("matchLabels must be a map"));
        for (key, value) in labels.transpose()?.into_iter().flatten() {
            let value =
                value.as_str().ok_or_else(|| format!("matchLabels.{key} must be a string, quote it"))?;
            selector.and(Requirement::new(key, Test::In(vec![value.to_owned()]))?);
        }
        let entries =
            said("matchExpressions").map(|list| list.as_array().ok_or("matchExpressions must be a list"));
        for (index, entry) in entries.transpose()?.into_iter().flatten().enumerate() {
            selector.and(expression(entry).map_err(|reason| format!("matchExpressions[{index}]: {reason}"))?);
        }
        Ok(selector)
    }
}

impl fmt::Display for Selector {
    /// The form that API servers take in `labelSelector=`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

fn expression(entry: &Value) -> Result<Requirement, String> {
    let key = entry.get("key").and_then(Value::as_str).ok_or("key is missing")?;
    let values = || -> Result<Vec<String>, String> {
        let list = entry.get("values").and_then(Value::as_array).filter(|list| !list.is_empty());
        let texts = list.ok_or("values must be a list of at least one string")?.iter();
        texts
            .map(|value| {
                value.as_str().map(str::to_owned).ok_or_else(|| "values must be strings, quote them".into())
            })
            .collect()
    };
    let test = match entry.get("operator").and_then(Value::as_str).unwrap_or_default() {
        "In" => Test::In(values()?),
        "NotIn" => Test::NotIn(values()?),
        "Exists" => Test::Exists,
        "DoesNotExist" => Test::Absent,
        other => return Err(format!("unknown operator {other:?}; use In, NotIn, Exists or DoesNotExist")),
    };
    Requirement::new(key, test)
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_requirement(part: &str) -> Result<Requirement, String> {
    let one = |value: &str| vec![value.trim().to_owned()];
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = part.split_once(operator) {
            let test = if equal { Test::In(one(value)) } else { Test::NotIn(one(value)) };
            return Requirement::new(key.trim(), test);
        }
    }
    if let Some(key) = part.strip_prefix('!') {
        return Requirement::new(key.trim(), Test::Absent);
    }
    let Some((head, values)) = part.strip_suffix(')').and_then(|rest| rest.split_once('(')) else {
        return Requirement::new(part, Test::Exists);
    };
    let values: Vec<_> = values.split(',').map(|value| value.trim().to_owned()).collect();
    match head.trim().rsplit_once(char::is_whitespace) {
        Some((key, "in")) => Requirement::new(key.trim(), Test::In(values)),
        Some((key, "notin")) => Requirement::new(key.trim(), Test::NotIn(values)),
        _ => Err(format!("{part:?} cannot be read; write for example env=fv or env in (a, b)")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn holds(text: &str, labels: Value) -> bool {
        Selector::parse(text).unwrap().matches(Some(&labels))
    }

    #[test]
    fn string_selectors_select() {
        let labels = json!({"env": "fv", "tier": "a"});
        for (text, expected) in [
            ("env=fv", true),
            ("env==fv,tier!=b", true),
            ("env in (x, fv)", true),
            ("env notin (fv)", false),
            ("env", true),
            ("!env", false),
            ("!other, tier", true),
            ("missing!=x", true),
            ("", true),
        ] {
            assert_eq!(holds(text, labels.clone()), expected, "{text}");
        }
    }

    #[test]
    fn structured_selectors_select() {
        let selector = json!({"matchLabels": {"env": "fv"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]});
        let selector = Selector::from_value(&selector).unwrap();
        assert!(selector.matches(Some(&json!({"env": "fv"}))));
        assert!(!selector.matches(Some(&json!({"env": "fv", "x": ""}))));
        assert!(!selector.matches(None));
        assert_eq!(selector.to_string(), "env=fv,!x");
    }

    #[test]
    fn both_forms_say_the_same() {
        let selector = Selector::parse("a=b,c in (d,e),!f,g,h!=i").unwrap();
        let structured = Selector::from_value(&selector.to_label_selector()).unwrap();
        assert_eq!(structured.to_string(), selector.to_string());
    }

    #[test]
    fn wrong_selectors_say_what_to_write() {
        for (value, part) in [
            (json!(5), "write a label selector"),
            (json!({"matchLabel": {}}), "unknown field"),
            (json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}), "matchExpressions[0]"),
            (json!({"matchExpressions": [{"key": "a", "operator": "In"}]}), "at least one"),
            (json!("a b c"), "label key"),
            (json!("a like (b)"), "cannot be read"),
            (json!("=x"), "label key"),
        ] {
            let error = Selector::from_value(&value).unwrap_err();
            assert!(error.contains(part), "{value}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            if let Ok(selector) = Selector::parse(&text) {
                prop_assert_eq!(Selector::parse(&selector.to_string()).unwrap(), selector);
            }
        }
    }
}
