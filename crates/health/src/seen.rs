//! What a check says of all its objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::model::{Check, CheckedObjects};

use crate::program::Program;

/// Objects that are named at most.
const MOST: usize = 3;

/// What came of a check: nothing, or why it fails.
pub type Outcome = Result<(), String>;

/// The objects of a check, as a watch shows them. Of each it is kept whether it is healthy, and not what it is.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    is_listed: bool,
    healthy: BTreeSet<ObjectKey>,
    unhealthy: BTreeMap<ObjectKey, String>,
}

// === impl Seen ===

impl Seen {
    /// These are all.
    pub fn listed(&mut self, program: &Program, objects: &[Value]) {
        *self = Self { is_listed: true, ..Self::default() };
        objects.iter().for_each(|object| self.applied(program, object));
    }

    /// An object appeared or changed.
    pub fn applied(&mut self, program: &Program, object: &Value) {
        let Some(key) = ObjectKey::of(object) else { return };
        self.deleted(&key);
        match program.ask(object) {
            None => drop(self.healthy.insert(key)),
            Some(reason) => drop(self.unhealthy.insert(key, reason)),
        }
    }

    /// An object is gone.
    pub fn deleted(&mut self, key: &ObjectKey) {
        self.healthy.remove(key);
        self.unhealthy.remove(key);
    }

    /// What the check says; `None` until all its objects are known.
    pub fn outcome(&self, check: &Check) -> Option<Outcome> {
        if !self.is_listed {
            return None;
        }
        if !self.unhealthy.is_empty() {
            return Some(Err(format!("{}: {}", check.title(), self.reasons())));
        }
        match &check.objects {
            Some(objects) if self.healthy.is_empty() && check.point.needs_objects() => {
                Some(Err(format!("{}: there is no {}", check.title(), described(objects))))
            }
            _ => Some(Ok(())),
        }
    }

    fn reasons(&self) -> String {
        let named = |(key, reason): (&ObjectKey, &String)| format!("{key}: {reason}");
        let mut reasons: Vec<_> = self.unhealthy.iter().take(MOST).map(named).collect();
        if let more @ 1.. = self.unhealthy.len() - reasons.len() {
            reasons.push(format!("{more} more"));
        }
        reasons.join("; ")
    }
}

/// What is looked for, in words.
fn described(objects: &CheckedObjects) -> String {
    let CheckedObjects { gvk, namespace, labels } = objects;
    let namespace = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    let labels = if labels.is_empty() { String::new() } else { format!(" with the labels {labels}") };
    format!("{}{namespace}{labels}", gvk.kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// A check of Pods that run, in this list.
    fn check(list: &str) -> (Check, Program) {
        let rule = json!({"name": "r", "rule": "resource.status.phase == 'Running'"});
        let check = json!({"name": "up", "featureID": "Resources", "version": "v1", "kind": "Pod", "namespace": "web", "evaluateCEL": [rule],
            "labelFilters": [{"key": "app", "operation": "Equal", "value": "x"}]});
        let spec = json!({list: [check]});
        let check = Check::all(spec.as_object().unwrap()).unwrap().remove(0);
        let program = Program::compile(&check).unwrap();
        (check, program)
    }

    fn pod(name: &str, phase: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": name}, "status": {"phase": phase}})
    }

    #[test]
    fn every_object_must_be_healthy() {
        let (check, program) = check("validateHealths");
        let mut seen = Seen::default();
        assert_eq!(seen.outcome(&check), None);
        seen.listed(&program, &[pod("a", "Running"), pod("b", "Pending")]);
        let said = seen.outcome(&check).unwrap().unwrap_err();
        let wanted = "spec.validateHealths[0] \"up\": Pod web/b: none of its rules in evaluateCEL is true";
        assert_eq!(said, wanted);
        seen.applied(&program, &pod("b", "Running"));
        assert_eq!(seen.outcome(&check), Some(Ok(())));
        seen.applied(&program, &pod("c", "Pending"));
        assert!(seen.outcome(&check).unwrap().is_err());
        seen.deleted(&ObjectKey::of(&pod("c", "")).unwrap());
        assert_eq!(seen.outcome(&check), Some(Ok(())));
    }

    #[test]
    fn nothing_is_healthy_only_after_a_removal() {
        for (list, is_fine) in [
            ("preDeployChecks", false),
            ("validateHealths", false),
            ("preDeleteChecks", true),
            ("postDeleteChecks", true),
        ] {
            let (check, program) = check(list);
            let mut seen = Seen::default();
            seen.listed(&program, &[]);
            assert_eq!(seen.outcome(&check).unwrap().is_ok(), is_fine, "{list}");
        }
        let (check, program) = check("validateHealths");
        let mut seen = Seen::default();
        seen.listed(&program, &[]);
        let said = seen.outcome(&check).unwrap().unwrap_err();
        assert!(said.ends_with("there is no Pod in namespace web with the labels app=x"), "{said}");
    }

    #[test]
    fn of_many_only_some_are_named() {
        let (check, program) = check("validateHealths");
        let mut seen = Seen::default();
        let pods: Vec<_> = (0..9).map(|index| pod(&format!("p{index}"), "Pending")).collect();
        seen.listed(&program, &pods);
        let said = seen.outcome(&check).unwrap().unwrap_err();
        assert!(said.contains("web/p2") && !said.contains("web/p3") && said.ends_with("; 6 more"), "{said}");
    }
}
