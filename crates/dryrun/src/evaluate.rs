//! What an EventSource says of objects: `sluice eval`.

use serde::Serialize;
use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::object;
use sluice_matcher_core::{Answer, Outcome, Program};
use sluice_script::Limits;

use crate::input::key_of;

/// What an EventSource says of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
pub struct Evaluator(Program);

// === impl Evaluator ===

impl Evaluator {
    /// Of the manifest of an EventSource.
    ///
    /// # Errors
    /// What is wrong with it, with its field.
    pub fn new(manifest: &Value) -> Result<Self, String> {
        let kind = object::text(manifest, &["kind"]);
        if kind != "EventSource" {
            return Err(format!("{} is no EventSource", object::describe(manifest)));
        }
        Program::compile(manifest).map(Self)
    }

    /// Asks it about one object, with the limits of a matcher.
    pub fn evaluate(&self, object: &Value) -> Evaluation {
        let key = key_of(object);
        let event = key.as_ref().filter(|_| CloudEvent::is_meant(object)).map(ToString::to_string);
        let described = event.unwrap_or_else(|| object::describe(object));
        let Some(key) = key else {
            let error = "apiVersion, kind or metadata.name is missing".to_owned();
            return Evaluation {
                object: described,
                matching: false,
                message: String::new(),
                error: Some(error),
            };
        };
        let limits = Limits::default();
        let outcome = self.0.judge(&key, object, &limits);
        let matching = matches!(outcome, Outcome::Match(_));
        let mut messages: Vec<String> = Vec::new();
        for answer in self.0.explain(&key, object, &limits) {
            match answer {
                Answer::Yes(text) if matching => messages.push(text),
                Answer::No(text) if !matching => messages.push(text),
                _ => {}
            }
        }
        messages.retain(|text| !text.is_empty());
        messages.dedup();
        let error = match outcome {
            Outcome::Failed(error) => Some(error),
            Outcome::Match(_) | Outcome::NoMatch => None,
        };
        Evaluation { object: described, matching, message: messages.join("; "), error }
    }
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

    #[test]
    fn the_verdict_comes_with_what_the_script_says() {
        let script = "function evaluate() return {matching = obj.metadata.name == 'a', message = 'seen'} end";
        let evaluator =
            Evaluator::new(&source(json!({"version": "v1", "kind": "Service", "evaluate": script}))).unwrap();
        let object = "Service b/a".to_owned();
        let seen = Evaluation { object, matching: true, message: "seen".into(), error: None };
        assert_eq!(evaluator.evaluate(&service()), seen);
        let mut deleted = service();
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let verdict = evaluator.evaluate(&deleted);
        assert_eq!((verdict.matching, verdict.message.as_str()), (false, "it is being deleted"));
    }

    #[test]
    fn what_is_no_event_comes_with_the_condition() {
        let selector = json!({"version": "v1", "kind": "Service",
            "labelFilters": [{"key": "sveltos", "operation": "Equal", "value": "fv"}]});
        let verdict = Evaluator::new(&source(selector)).unwrap().evaluate(&service());
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
        let verdict = evaluator.evaluate(&event("created"));
        assert_eq!((verdict.object.as_str(), verdict.matching), ("CloudEvent /shop/o created events", true));
        let verdict = evaluator.evaluate(&event("deleted"));
        let reason = "its type is \"deleted\", which \"created\" does not match";
        assert_eq!((verdict.matching, verdict.message.as_str()), (false, reason));
    }

    #[test]
    fn what_fails_is_an_error_and_no_verdict() {
        let selector =
            json!({"version": "v1", "kind": "Service", "evaluate": "function evaluate() return obj.a.b end"});
        let evaluator = Evaluator::new(&source(selector)).unwrap();
        assert!(evaluator.evaluate(&service()).error.unwrap().contains("index nil"));
        assert!(evaluator.evaluate(&json!({"kind": "Service"})).error.unwrap().contains("apiVersion"));
        assert!(Evaluator::new(&service()).unwrap_err().contains("Service b/a is no EventSource"));
        assert!(Evaluator::new(&source(json!({"version": "v1"}))).unwrap_err().contains("kind: is required"));
    }
}
