//! What an EventSource says of objects: `sluice eval`.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use sluice_api::cloud_event::{CloudEvent, is_event};
use sluice_api::{ObjectKey, object};
use sluice_matcher_core::{Outcome, Program, SelectorOutcome};
use sluice_renderer_core::chosen_among;
use sluice_script::Limits;

use crate::input::key_of;
use crate::served::as_served;

/// What an EventSource says of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// Kind, namespace and name.
    pub object: String,
    /// Whether it is an event.
    pub matching: bool,
    /// What the scripts have to say; of an object that is no event, also which condition does not hold.
    pub message: String,
    /// Why there is no verdict.
    pub error: Option<String>,
}

/// An EventSource that objects are held against.
#[derive(Debug)]
pub struct Evaluator {
    program: Program,
    manifest: Value,
}

/// Why objects cannot be held against a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluatorError {
    /// It is another object.
    #[error("{0} is no EventSource")]
    Other(String),
    /// A field, a rule or a script of it is wrong.
    #[error(transparent)]
    Program(#[from] sluice_matcher_core::Error),
}

/// What selectors or criteria say of one object.
struct Judged {
    key: Option<ObjectKey>,
    /// Those that select it; none when it is no event.
    selectors: Option<Vec<u16>>,
    evaluation: Evaluation,
}

/// Of an event that selectors do not select.
const MADE: &str = "aggregatedSelection makes it";
/// Of what is none although selectors select it.
const LEFT_OUT: &str = "aggregatedSelection does not choose it";

// === impl Evaluator ===

impl Evaluator {
    /// Of the manifest of an EventSource.
    ///
    /// # Errors
    /// What is wrong with it, with its field.
    pub fn new(manifest: &Value) -> Result<Self, EvaluatorError> {
        let kind = object::text(manifest, &["kind"]);
        if kind != "EventSource" {
            return Err(EvaluatorError::Other(object::describe(manifest)));
        }
        Ok(Self { program: Program::compile(manifest)?, manifest: manifest.clone() })
    }

    /// Asks it about objects that are in one cluster together, as a server would hold them, with the limits of a matcher, in their order. Where a script
    /// chooses among all that match, the events are what it returns; what it has made of its own comes last.
    pub fn evaluate(&self, objects: &[Value]) -> Vec<Evaluation> {
        let objects = &as_served(objects.to_vec(), &[]);
        let judged: Vec<Judged> = objects.iter().map(|object| self.judge(object)).collect();
        let matches = judged.iter().zip(objects).filter_map(|(judged, object)| {
            Some((judged.key.clone()?, judged.selectors.clone()?, object.clone()))
        });
        match chosen_among(&self.manifest, matches) {
            Ok(None) => judged.into_iter().map(|judged| judged.evaluation).collect(),
            Ok(Some(chosen)) => with_choice(judged, chosen),
            Err(error) => {
                judged.into_iter().map(|judged| judged.without_choice(&error.to_string())).collect()
            }
        }
    }

    fn judge(&self, object: &Value) -> Judged {
        let key = key_of(object);
        let event = key.as_ref().filter(|_| CloudEvent::is_meant(object)).map(ToString::to_string);
        let described = event.unwrap_or_else(|| object::describe(object));
        let mut evaluation = Evaluation { object: described, ..Evaluation::default() };
        let Some(key) = key else {
            evaluation.error = Some("apiVersion, kind or metadata.name is missing".to_owned());
            return Judged { key, selectors: None, evaluation };
        };
        let limits = Limits::default();
        let selectors = match self.program.judge(&key, object, &limits) {
            Outcome::Match(selectors) => Some(selectors),
            Outcome::NoMatch => None,
            Outcome::Failed(error) => {
                evaluation.error = Some(error.to_string());
                None
            }
        };
        evaluation.matching = selectors.is_some();
        let said = |answer| match answer {
            SelectorOutcome::Yes(text) => selectors.is_some().then_some(text),
            SelectorOutcome::No(text) => selectors.is_none().then_some(text),
            _ => None,
        };
        let mut messages: Vec<String> =
            self.program.explain(&key, object, &limits).into_iter().filter_map(said).collect();
        messages.retain(|text| !text.is_empty());
        messages.dedup();
        evaluation.message = messages.join("; ");
        Judged { key: Some(key), selectors, evaluation }
    }
}

// === impl Judged ===

impl Judged {
    /// Whether it is among what a script chooses from, or may be replaced by what it makes: CloudEvents never.
    fn is_asked_about(&self) -> bool {
        self.evaluation.error.is_none() && !self.key.as_ref().is_some_and(is_event)
    }

    /// As the script that chooses among all has chosen.
    fn with_choice(mut self, chosen: &[ObjectKey]) -> Evaluation {
        if self.is_asked_about() {
            let is_chosen = self.key.as_ref().is_some_and(|key| chosen.contains(key));
            match (self.evaluation.matching, is_chosen) {
                (true, false) => self.evaluation.message = LEFT_OUT.into(),
                (false, true) => self.evaluation.message = MADE.into(),
                _ => {}
            }
            self.evaluation.matching = is_chosen;
        }
        self.evaluation
    }

    /// There is no verdict on what matches while that script fails.
    fn without_choice(mut self, error: &str) -> Evaluation {
        if self.evaluation.matching && self.is_asked_about() {
            let object = self.evaluation.object;
            self.evaluation = Evaluation { object, error: Some(error.to_owned()), ..Evaluation::default() };
        }
        self.evaluation
    }
}

fn with_choice(judged: Vec<Judged>, chosen: Vec<ObjectKey>) -> Vec<Evaluation> {
    let given: BTreeSet<&ObjectKey> = judged.iter().filter_map(|judged| judged.key.as_ref()).collect();
    let made: Vec<Evaluation> = chosen
        .iter()
        .filter(|key| !given.contains(key))
        .map(|key| Evaluation { object: key.to_string(), matching: true, message: MADE.into(), error: None })
        .collect();
    judged.into_iter().map(|judged| judged.with_choice(&chosen)).chain(made).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn source(selector: Value) -> Value {
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"resourceSelectors": [selector]}})
    }

    fn service() -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b"}})
    }

    /// What it says of one object that is alone.
    fn say(evaluator: &Evaluator, object: Value) -> Evaluation {
        evaluator.evaluate(&[object]).remove(0)
    }

    #[test]
    fn the_verdict_comes_with_what_the_script_says() {
        let script = "function evaluate() return {matching = obj.metadata.name == 'a', message = 'seen'} end";
        let evaluator =
            Evaluator::new(&source(json!({"version": "v1", "kind": "Service", "evaluate": script}))).unwrap();
        let object = "Service b/a".to_owned();
        let seen = Evaluation { object, matching: true, message: "seen".into(), error: None };
        assert_eq!(say(&evaluator, service()), seen);
        let mut deleted = service();
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let verdict = say(&evaluator, deleted);
        assert_eq!((verdict.matching, verdict.message.as_str()), (false, "it is being deleted"));
    }

    #[test]
    fn what_is_no_event_comes_with_the_condition() {
        let selector = json!({"version": "v1", "kind": "Service",
            "labelFilters": [{"key": "sveltos", "operation": "Equal", "value": "fv"}]});
        let verdict = say(&Evaluator::new(&source(selector)).unwrap(), service());
        assert_eq!(
            (verdict.matching, verdict.message.as_str()),
            (false, "its labels do not fulfil sveltos=fv")
        );
    }

    #[test]
    fn a_cloud_event_is_held_against_criteria() {
        let manifest = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"messagingMatchCriteria": [{"cloudEventType": "created"}]}});
        let evaluator = Evaluator::new(&manifest).unwrap();
        let event = |kind: &str| json!({"specversion": "1.0", "id": "1", "source": "/shop", "subject": "o", "type": kind});
        let verdict = say(&evaluator, event("created"));
        assert_eq!((verdict.object.as_str(), verdict.matching), ("CloudEvent /shop/o created events", true));
        let verdict = say(&evaluator, event("deleted"));
        let reason = "its type is \"deleted\", which \"created\" does not match";
        assert_eq!((verdict.matching, verdict.message.as_str()), (false, reason));
    }

    #[test]
    fn what_fails_is_an_error_and_no_verdict() {
        let selector =
            json!({"version": "v1", "kind": "Service", "evaluate": "function evaluate() return obj.a.b end"});
        let evaluator = Evaluator::new(&source(selector)).unwrap();
        assert!(say(&evaluator, service()).error.unwrap().contains("index nil"));
        assert!(say(&evaluator, json!({"kind": "Service"})).error.unwrap().contains("apiVersion"));
        assert!(
            Evaluator::new(&service()).unwrap_err().to_string().contains("Service b/a is no EventSource")
        );
        assert!(
            Evaluator::new(&source(json!({"version": "v1"})))
                .unwrap_err()
                .to_string()
                .contains("kind: is required")
        );
    }

    /// Of Services with these names, of which selectors select all but `z`, a script that returns those of these names.
    fn chosen_of(names: &[&str], returns: &str) -> Vec<(String, bool, String)> {
        let script = format!(
            "function evaluate(given) local by = {{}} for _, o in ipairs(given) do by[o.metadata.name] = o end return {{resources = {returns}}} end"
        );
        let mut manifest = source(json!({"version": "v1", "kind": "Service", "namespace": "b"}));
        manifest["spec"]["aggregatedSelection"] = json!(script);
        let service = |name: &&str| {
            let namespace = if *name == "z" { "elsewhere" } else { "b" };
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}})
        };
        let objects: Vec<Value> = names.iter().map(service).collect();
        let evaluations = Evaluator::new(&manifest).unwrap().evaluate(&objects);
        let told = |said: Evaluation| (said.object, said.matching, said.error.unwrap_or(said.message));
        evaluations.into_iter().map(told).collect()
    }

    fn told(object: &str, matching: bool, message: &str) -> (String, bool, String) {
        (object.to_owned(), matching, message.to_owned())
    }

    #[test]
    fn events_are_what_a_script_chooses_among_all() {
        let said = chosen_of(&["x", "y", "z"], "{by.y}");
        let no = "its namespace is \"elsewhere\", not \"b\"";
        let wanted = [
            told("Service b/x", false, LEFT_OUT),
            told("Service b/y", true, ""),
            told("Service elsewhere/z", false, no),
        ];
        assert_eq!(said, wanted);
        assert_eq!(chosen_of(&["y"], "{by.x}"), [told("Service b/y", false, LEFT_OUT)]);
    }

    #[test]
    fn what_a_script_makes_is_an_event_too() {
        let made = |namespace: &str, name: &str| {
            format!(
                "{{apiVersion = 'v1', kind = 'Service', metadata = {{namespace = '{namespace}', name = '{name}'}}}}"
            )
        };
        let returns = format!("{{by.x, {}, {}}}", made("b", "sum"), made("elsewhere", "z"));
        let wanted = [
            told("Service b/x", true, ""),
            told("Service elsewhere/z", true, MADE),
            told("Service b/sum", true, MADE),
        ];
        assert_eq!(chosen_of(&["x", "z"], &returns), wanted);
    }

    #[test]
    fn while_the_script_over_all_fails_there_is_no_verdict_on_what_matches() {
        let said = chosen_of(&["x", "z"], "by.x.no.such");
        assert!(said[0].2.starts_with("EventSource s: spec.aggregatedSelection: "), "{}", said[0].2);
        assert_eq!((said[0].1, said[1].1, said[1].2.starts_with("its namespace")), (false, false, true));
    }
}
