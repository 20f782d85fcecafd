//! Label selectors in their text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.

use serde_json::Value;

use crate::object::Json;

/// A conjunction of requirements on labels; empty selects everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Reads a selector; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        split_outside_brackets(text)
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(Requirement::parse)
            .collect::<Result<_, _>>()
            .map(Self)
            .map_err(|why| format!("unable to parse requirement: {why} in the label selector {text:?}"))
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: Option<&Json>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }
}

// === impl Requirement ===

impl Requirement {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(key) = text.strip_prefix('!') {
            return Self::new(key, Operator::Missing);
        }
        if let Some((head, values)) = text.split_once('(') {
            return Self::parse_set(head, values);
        }
        for (symbol, make) in [
            ("!=", (|value| Operator::NotIn(vec![value])) as fn(String) -> Operator),
            ("==", |value| Operator::In(vec![value])),
            ("=", |value| Operator::In(vec![value])),
        ] {
            if let Some((key, value)) = text.split_once(symbol) {
                return Self::new(key, make(valid_value(value)?));
            }
        }
        for (symbol, make) in [('>', Operator::Greater as fn(i64) -> Operator), ('<', Operator::Less)] {
            if let Some((key, value)) = text.split_once(symbol) {
                let number = value.trim().parse().map_err(|_| format!("{value:?} is not an integer"))?;
                return Self::new(key, make(number));
            }
        }
        Self::new(text, Operator::Exists)
    }

    fn parse_set(head: &str, values: &str) -> Result<Self, String> {
        let values = values.trim().strip_suffix(')').ok_or("a closing bracket is missing")?;
        let values = values.split(',').map(valid_value).collect::<Result<Vec<_>, _>>()?;
        match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => Self::new(key, Operator::In(values)),
            [key, "notin"] => Self::new(key, Operator::NotIn(values)),
            _ => Err(format!("expected `key in (..)` or `key notin (..)`, found {head:?}")),
        }
    }

    fn new(key: &str, operator: Operator) -> Result<Self, String> {
        let key = key.trim();
        let valid = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if key.is_empty() || !key.chars().all(valid) {
            return Err(format!("{key:?} is not a label key"));
        }
        Ok(Self { key: key.to_owned(), operator })
    }

    fn matches(&self, labels: Option<&Json>) -> bool {
        let value = labels.and_then(|labels| labels.get(&self.key)).and_then(Value::as_str);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.iter().any(|wanted| wanted == value)),
            Operator::NotIn(values) => {
                value.is_none_or(|value| values.iter().all(|refused| refused != value))
            }
            Operator::Exists => value.is_some(),
            Operator::Missing => value.is_none(),
            Operator::Greater(least) => number().is_some_and(|number| number > *least),
            Operator::Less(most) => number().is_some_and(|number| number < *most),
        }
    }
}

fn valid_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if value.len() > 63 || !value.chars().all(valid) {
        return Err(format!("{value:?} is not a label value"));
    }
    Ok(value.to_owned())
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn matches(selector: &str, labels: Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(labels.as_object())
    }

    #[test]
    fn each_operator_selects() {
        let labels = || json!({"app": "web", "tier": "front", "n": "5"});
        for selector in [
            "",
            "app=web",
            "app==web",
            "app = web , tier=front",
            "app!=db",
            "x!=y",
            "app in (web, db)",
            "x notin (a)",
            "app notin (db,cache)",
            "app",
            "!x",
            "n>4",
            "n<6",
            "app in (web),!x,n>1",
        ] {
            assert!(matches(selector, labels()), "{selector} should select");
        }
        for selector in ["app=db", "app!=web", "app in (db)", "app notin (web)", "x", "!app", "n>5", "app>1"]
        {
            assert!(!matches(selector, labels()), "{selector} should not select");
        }
    }

    #[test]
    fn an_object_without_labels_is_selected_by_negations_only() {
        let missing = |selector: &str| LabelSelector::parse(selector).unwrap().matches(None);
        assert!(missing("") && missing("a!=b") && missing("a notin (b)") && missing("!a"));
        assert!(!missing("a") && !missing("a=b"));
    }

    #[test]
    fn nonsense_is_refused() {
        for selector in ["a in b", "a in (b", "=", "a b", "a=b c", "!", "a>x", "a within (b)"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector:?} should be refused");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            prop_assert!(LabelSelector::parse(&text).is_ok() || LabelSelector::parse(&text).is_err());
        }

        #[test]
        fn in_and_notin_are_opposites(value in "[a-c]", wanted in "[a-c]") {
            let labels = json!({"k": value});
            let within = matches(&format!("k in ({wanted})"), labels.clone());
            prop_assert_ne!(within, matches(&format!("k notin ({wanted})"), labels));
        }
    }
}
