//! What a selector asks of an object beside its labels: rules in CEL and a script in Lua.

use serde_json::Value;
use sluice_api::model::ResourceSelector;
use sluice_api::secrets::{is_secret, without_message};
use sluice_script::cel::{Rule, Unanswered};
use sluice_script::{Limits, Script};

use crate::error::{Error, Result};
use crate::program::SelectorOutcome;

/// Rules and script of one selector, compiled.
///
/// One rule that is true is enough. Where none is, the script decides, if there is one. A selector with neither asks nothing.
#[derive(Debug)]
pub(crate) struct Condition {
    /// Each with what it is called.
    rules: Vec<(String, Rule)>,
    script: Option<Script>,
}

impl Condition {
    /// Compiles those of a selector of this EventSource.
    ///
    /// # Errors
    /// The field and the reason.
    pub(crate) fn compile(source: &str, selector: &ResourceSelector) -> Result<Self> {
        let named =
            |path: &str, error| Error::Compile { name: source.to_owned(), path: path.to_owned(), error };
        let mut rules = Vec::new();
        for (number, rule) in (1..).zip(&selector.rules) {
            let compiled = Rule::compile(&rule.rule).map_err(|error| named(&rule.path, error))?;
            let name =
                if rule.name.is_empty() { format!("rule {number}") } else { format!("rule {:?}", rule.name) };
            rules.push((name, compiled));
        }
        let script = selector.evaluate.as_deref().map(Script::compile).transpose();
        Ok(Self { rules, script: script.map_err(|error| named(&selector.evaluate_path, error))? })
    }

    /// What they say of an object; of a Secret without what a script says, which may repeat what is in it. A rule that has no value for it is not true; one that needed too much says nothing.
    pub(crate) fn ask(&self, object: &Value, limits: &Limits) -> SelectorOutcome {
        match (self.say(object, limits), is_secret(object)) {
            (SelectorOutcome::Yes(_), true) => SelectorOutcome::Yes(String::new()),
            (SelectorOutcome::No(_), true) => SelectorOutcome::No("a rule or script says no".to_owned()),
            (SelectorOutcome::Failed(error), true) => SelectorOutcome::Failed(error.covered(without_message)),
            (answer, false) => answer,
        }
    }

    fn say(&self, object: &Value, limits: &Limits) -> SelectorOutcome {
        let (mut reasons, mut failed) = (Vec::new(), None);
        for (name, rule) in &self.rules {
            match rule.holds(object, limits) {
                Ok(true) => return SelectorOutcome::Yes(format!("{name} is true")),
                Ok(false) => reasons.push(format!("{name} is false")),
                Err(Unanswered::Undecided(text)) => reasons.push(format!("{name} has no value: {text}")),
                Err(error) => failed = failed.or_else(|| Some(Error::Rule { rule: name.clone(), error })),
            }
        }
        let verdict = match &self.script {
            None if self.rules.is_empty() => return SelectorOutcome::Yes(String::new()),
            None => None,
            Some(script) => match script.evaluate(object, limits) {
                Err(error) => return SelectorOutcome::Failed(error.into()),
                Ok(verdict) if verdict.matching => return SelectorOutcome::Yes(verdict.message),
                Ok(verdict) => Some(verdict.message),
            },
        };
        if let Some(error) = failed {
            return SelectorOutcome::Failed(error);
        }
        reasons.extend(verdict.filter(|message| !message.is_empty()));
        SelectorOutcome::No(reasons.join("; "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_api::model::EventSource;

    use super::*;

    /// What rules, and a script where one is named, say of an object with a label `x` of this value.
    fn ask(rules: &[&str], script: Option<&str>, label: Option<&str>) -> SelectorOutcome {
        let rules: Vec<_> =
            rules.iter().map(|rule| json!({"name": format!("r{}", rule.len()), "rule": rule})).collect();
        let mut selector = json!({"version": "v1", "kind": "Service", "evaluateCEL": rules});
        if let Some(body) = script {
            selector["evaluate"] = json!(format!("function evaluate() {body} end"));
        }
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [selector]}});
        let source = EventSource::read(&manifest).unwrap();
        let labels = label.map_or(json!({}), |value| json!({"x": value}));
        let object = json!({"metadata": {"labels": labels}});
        Condition::compile("s", &source.selectors[0])
            .unwrap()
            .ask(&object, &Limits { steps: 10_000, ..Limits::default() })
    }

    fn no(text: &str) -> SelectorOutcome {
        SelectorOutcome::No(text.to_owned())
    }

    fn yes(text: &str) -> SelectorOutcome {
        SelectorOutcome::Yes(text.to_owned())
    }

    const HAS: &str = "has(resource.metadata.labels.x)";
    const IS_Y: &str = "resource.metadata.labels.x == 'y'";

    #[test]
    fn one_true_rule_is_enough() {
        assert_eq!(ask(&["false", HAS], None, Some("y")), yes("rule \"r31\" is true"));
        assert_eq!(ask(&["false", HAS], None, None), no("rule \"r5\" is false; rule \"r31\" is false"));
    }

    #[test]
    fn a_rule_without_a_value_is_not_true() {
        assert_eq!(ask(&[IS_Y], None, None), no("rule \"r33\" has no value: no such key: x"));
        assert_eq!(ask(&[IS_Y, "true"], None, None), yes("rule \"r4\" is true"));
    }

    #[test]
    fn where_no_rule_is_true_the_script_decides() {
        let yes_says = "return {matching = true, message = 'lua'}";
        assert_eq!(ask(&["false"], Some(yes_says), None), yes("lua"));
        assert_eq!(ask(&["true"], Some("error('x')"), None), yes("rule \"r4\" is true"));
        let no_says = "return {matching = false, message = 'lua'}";
        assert_eq!(ask(&["false"], Some(no_says), None), no("rule \"r5\" is false; lua"));
        assert!(matches!(ask(&["false"], Some("error('x')"), None), SelectorOutcome::Failed(_)));
        assert_eq!(ask(&[], None, None), yes(""));
    }

    #[test]
    fn a_rule_that_needs_too_much_says_nothing() {
        let ones = vec!["1"; 200].join(",");
        let long = format!("[{ones}].all(x, [{ones}].all(y, true))");
        assert!(
            matches!(ask(&[&long], None, None), SelectorOutcome::Failed(error) if error.is_limit() && error.to_string().contains("ran for too long"))
        );
        assert!(matches!(ask(&[&long, "true"], None, None), SelectorOutcome::Yes(_)));
    }
}
