//! What a check of a cluster says of all objects that it looks at.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::model::ClusterCheck;
use sluice_api::secrets::{is_secret, without_message};
use sluice_matcher_core::{Outcome as Judged, Program as Selection};
use sluice_script::{Limits, Script};

use crate::seen::Outcome;

/// A check of a cluster, ready to be asked.
#[derive(Debug)]
pub struct ClusterProgram {
    title: String,
    selection: Selection,
    condition: Script,
    limits: Limits,
}

/// The objects that a check of a cluster looks at, as one of its watches shows them.
#[derive(Debug, Default)]
pub struct Resources(BTreeMap<ObjectKey, Result<Value, String>>);

// === impl ClusterProgram ===

impl ClusterProgram {
    /// Compiles a check.
    ///
    /// # Errors
    /// The field and the reason, beginning with what the check is called.
    pub fn compile(check: &ClusterCheck) -> Result<Self, String> {
        let selection = Selection::of(check.source()).map_err(|error| {
            let text = error.to_string();
            text.strip_prefix("EventSource ").map_or_else(|| text.clone(), str::to_owned)
        })?;
        let condition = Script::compile(&check.condition);
        let condition = condition.map_err(|error| format!("{}: {error}", check.condition_path))?;
        Ok(Self { title: check.title.clone(), selection, condition, limits: Limits::default() })
    }

    /// Whether all that its watches show passes together; of what two of them show each object counts once. What a script says is not
    /// repeated where it has seen a Secret.
    pub fn ask(&self, shown: &[Resources]) -> Outcome {
        self.said(shown).map_err(|why| format!("{}: {why}", self.title))
    }

    fn said(&self, shown: &[Resources]) -> Outcome {
        let all: BTreeMap<_, _> = shown.iter().flat_map(|resources| &resources.0).collect();
        let objects: Result<Vec<&Value>, &String> = all.into_values().map(Result::as_ref).collect();
        let objects = objects.map_err(String::clone)?;
        let said = match self.condition.passes(&objects, &self.limits) {
            Ok(said) if said.matching => return Ok(()),
            Ok(said) if said.message.is_empty() => "the condition does not pass".to_owned(),
            Ok(said) => said.message,
            Err(error) => error.to_string(),
        };
        Err(if objects.iter().any(|object| is_secret(object)) { without_message(&said) } else { said })
    }
}

// === impl Resources ===

impl Resources {
    /// These are all.
    pub fn listed(&mut self, program: &ClusterProgram, objects: Vec<Value>) {
        self.0.clear();
        objects.into_iter().for_each(|object| self.applied(program, object));
    }

    /// An object appeared or changed.
    pub fn applied(&mut self, program: &ClusterProgram, object: Value) {
        let Some(key) = ObjectKey::of(&object) else { return };
        match program.selection.judge(&key, &object, &program.limits) {
            Judged::Match(_) => drop(self.0.insert(key, Ok(object))),
            Judged::NoMatch => self.deleted(&key),
            Judged::Failed(error) => {
                let text = format!("{key}: {error}");
                self.0.insert(key, Err(text));
            }
        }
    }

    /// An object is gone.
    pub fn deleted(&mut self, key: &ObjectKey) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_api::model::ClusterChecks;

    use super::*;

    fn check(selector: Value, condition: &str) -> ClusterCheck {
        let check = json!({"name": "c", "resourceSelectors": [selector], "condition": format!("function evaluate() {condition} end")});
        let object = json!({"kind": "SveltosCluster", "spec": {"livenessChecks": [check]}});
        ClusterCheck::clone(&ClusterChecks::read(&object).unwrap().unwrap().liveness[0])
    }

    fn nodes() -> Value {
        json!({"version": "v1", "kind": "Node", "labelFilters": [{"key": "worker", "operation": "Has"}]})
    }

    fn node(name: &str, labels: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    }

    const TWO: &str = "return {pass = #resources >= 2, message = 'there are ' .. #resources}";

    #[test]
    fn all_that_are_selected_are_looked_at_together() {
        let program = ClusterProgram::compile(&check(nodes(), TWO)).unwrap();
        let mut seen = [Resources::default(), Resources::default()];
        let worker = || json!({"worker": ""});
        seen[0].listed(&program, vec![node("a", worker()), node("b", json!({}))]);
        let said = program.ask(&seen).unwrap_err();
        assert_eq!(said, "spec.livenessChecks[0] \"c\": there are 1");
        seen[0].applied(&program, node("b", worker()));
        assert_eq!(program.ask(&seen), Ok(()));
        seen[0].applied(&program, node("a", json!({})));
        assert!(program.ask(&seen).is_err());
        seen[0].applied(&program, node("a", worker()));
        seen[0].deleted(&ObjectKey::of(&node("a", json!({}))).unwrap());
        seen[1].listed(&program, vec![node("b", worker())]);
        assert!(program.ask(&seen).is_err(), "two watches show one node");
        seen[1].listed(&program, vec![node("c", worker())]);
        assert_eq!(program.ask(&seen), Ok(()), "a list of one takes nothing of the other away");
        seen[1].listed(&program, Vec::new());
        assert!(program.ask(&seen).is_err());
    }

    #[test]
    fn what_fails_does_not_pass() {
        let failing = |selector: Value, condition: &str| {
            let program = ClusterProgram::compile(&check(selector, condition)).unwrap();
            let mut seen = Resources::default();
            seen.applied(&program, node("a", json!({"worker": ""})));
            program.ask(&[seen]).unwrap_err()
        };
        assert!(failing(nodes(), "return {pass = 1}").contains("pass is a number"));
        assert!(failing(nodes(), "return {}").ends_with("the condition does not pass"));
        assert!(failing(nodes(), "while true do end").contains("ran for too long"));
        let script =
            json!({"version": "v1", "kind": "Node", "evaluate": "function evaluate() error('x') end"});
        assert!(failing(script, "return {pass = true}").contains("Node a: "));
    }

    #[test]
    fn what_cannot_be_compiled_names_the_check() {
        let of = |selector: Value, condition: &str| {
            ClusterProgram::compile(&check(selector, condition)).unwrap_err()
        };
        assert!(of(nodes(), "return {").starts_with("spec.livenessChecks[0].condition: "));
        let script = json!({"version": "v1", "kind": "Node", "evaluate": "function evaluate( end"});
        let path = "spec.livenessChecks[0] \"c\": spec.livenessChecks[0].resourceSelectors[0].evaluate: ";
        assert!(of(script, "return {pass = true}").starts_with(path));
    }

    #[test]
    fn what_a_condition_says_of_secrets_is_not_repeated() {
        let selector = json!({"version": "v1", "kind": "Secret"});
        let condition = "return {pass = false, message = resources[1].data.password}";
        let program = ClusterProgram::compile(&check(selector, condition)).unwrap();
        let mut seen = Resources::default();
        seen.applied(&program, json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "s"}, "data": {"password": "hunter2"}}));
        assert!(!program.ask(&[seen]).unwrap_err().contains("hunter2"));
    }
}
