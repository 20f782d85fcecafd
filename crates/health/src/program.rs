//! What a check asks of one object.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::model::Check;
use sluice_api::secrets::{is_secret, without_message};
use sluice_script::cel::Rule;
use sluice_script::{Limits, Script};

use crate::error::Error;

/// A check, ready to be asked. What says nothing of an object takes it as healthy.
#[derive(Clone, Debug)]
pub struct Program {
    script: Option<Script>,
    rules: Vec<Rule>,
    /// What the script knows besides the object.
    metrics: BTreeMap<String, f64>,
    limits: Limits,
}

// === impl Program ===

impl Program {
    /// Compiles a check.
    ///
    /// # Errors
    /// The field and the reason.
    pub fn compile(check: &Check) -> Result<Self, Error> {
        let at = |field: String| move |error| Error { field, error };
        let script = check.script.as_deref().map(Script::compile).transpose();
        let mut rules = Vec::new();
        for rule in &check.rules {
            rules.push(Rule::compile(&rule.rule).map_err(at(rule.path.clone()))?);
        }
        Ok(Self {
            script: script.map_err(at(format!("{}.script", check.path)))?,
            rules,
            metrics: BTreeMap::new(),
            limits: Limits::default(),
        })
    }

    /// The same with numbers that its script knows by their names.
    #[must_use]
    pub fn knowing(self, metrics: BTreeMap<String, f64>) -> Self {
        Self { metrics, ..self }
    }

    /// Why an object is not healthy; `None` when it is. The script must say so, and one of the rules. Of a Secret what a script says
    /// is not repeated.
    pub fn ask(&self, object: &Value) -> Option<String> {
        let reason = self.by_script(object).or_else(|| self.by_rules(object))?;
        Some(if is_secret(object) { without_message(&reason) } else { reason })
    }

    /// The same without an object: the script knows numbers only.
    pub fn ask_alone(&self) -> Option<String> {
        self.ask(&json!({}))
    }

    fn by_script(&self, object: &Value) -> Option<String> {
        match self.script.as_ref()?.is_healthy(object, &self.metrics, &self.limits) {
            Ok(said) if said.matching => None,
            Ok(said) if said.message.is_empty() => Some("the script says that it is not healthy".to_owned()),
            Ok(said) => Some(said.message),
            Err(error) => Some(error.to_string()),
        }
    }

    fn by_rules(&self, object: &Value) -> Option<String> {
        let mut reason = None;
        for rule in &self.rules {
            reason = Some(match rule.holds(object, &self.limits) {
                Ok(true) => return None,
                Ok(false) => "none of its rules in evaluateCEL is true".to_owned(),
                Err(error) => error.to_string(),
            });
        }
        reason
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A check of Pods with this script and these rules.
    fn program(script: &str, rules: &[&str]) -> Program {
        let rules: Vec<_> = rules.iter().map(|rule| json!({"name": "r", "rule": rule})).collect();
        let mut check = json!({"name": "c", "featureID": "Resources", "version": "v1", "kind": "Pod", "evaluateCEL": rules});
        if !script.is_empty() {
            check["script"] = format!("function evaluate() {script} end").into();
        }
        let spec = json!({"validateHealths": [check]});
        Program::compile(&Check::all(spec.as_object().unwrap()).unwrap()[0]).unwrap()
    }

    fn asked(script: &str, rules: &[&str]) -> Option<String> {
        program(script, rules).ask(&json!({"kind": "Pod", "status": {"phase": "Running"}}))
    }

    const RUNS: &str = "resource.status.phase == 'Running'";
    const IS_HEALTHY: &str = "return {healthy = obj.status.phase == 'Running', message = 'phase'}";

    #[test]
    fn the_script_and_one_rule_must_agree() {
        assert_eq!(asked(IS_HEALTHY, &["false", RUNS]), None);
        assert_eq!(asked("", &[]), None, "that it is there is enough");
        assert_eq!(
            asked("return {healthy = false, message = 'not yet'}", &[RUNS]),
            Some("not yet".to_owned())
        );
        assert_eq!(
            asked(IS_HEALTHY, &["false"]),
            Some("none of its rules in evaluateCEL is true".to_owned())
        );
    }

    #[test]
    fn what_fails_is_not_healthy() {
        assert!(asked("error('x')", &[]).unwrap().contains('x'));
        assert!(asked("return 1", &[]).unwrap().contains("{ healthy = true }"));
        assert!(asked("return {}", &[]).unwrap().contains("not healthy"));
        assert!(asked("return {healthy = 'yes'}", &[]).unwrap().contains("healthy is a string"));
        assert!(asked("while true do end", &[]).unwrap().contains("ran for too long"));
        assert!(asked("", &["resource.spec.x == 1"]).unwrap().contains("no such key"));
    }

    #[test]
    fn numbers_are_known_by_their_names() {
        let script = "return {healthy = metrics.errors < 0.05, message = 'errors ' .. metrics.errors}";
        let program = program(script, &[]);
        let with = |errors: f64| program.clone().knowing([("errors".to_owned(), errors)].into());
        assert_eq!(with(0.01).ask_alone(), None);
        assert_eq!(with(0.5).ask_alone(), Some("errors 0.5".to_owned()));
    }

    #[test]
    fn what_a_script_says_of_a_secret_is_not_repeated() {
        let program = program("return {healthy = false, message = obj.data.password}", &[]);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "hunter2"}});
        assert!(!program.ask(&secret).unwrap().contains("hunter2"));
    }

    #[test]
    fn what_is_no_script_or_rule_is_named() {
        let wrong = |check: Value| {
            let spec = json!({"preDeployChecks": [check]});
            Program::compile(&Check::all(spec.as_object().unwrap()).unwrap()[0]).unwrap_err().to_string()
        };
        let with = |field: &str, value: Value| json!({"featureID": "Helm", "version": "v1", "kind": "Pod", field: value});
        assert!(wrong(with("script", json!("evaluate ="))).starts_with("spec.preDeployChecks[0].script: "));
        let rules = json!([{"name": "r", "rule": "1 +"}]);
        assert!(
            wrong(with("evaluateCEL", rules)).starts_with("spec.preDeployChecks[0].evaluateCEL[0].rule: ")
        );
    }
}
