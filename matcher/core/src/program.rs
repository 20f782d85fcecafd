//! A compiled EventSource.

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::cloud_event::{EventKey, is_event};
use sluice_api::model::{EventSource, ResourceSelector};
use sluice_script::Limits;

use crate::condition::Condition;
use crate::error::{Error, Result};

// D-0806: programs are compiled once, by content.
/// An EventSource, ready to judge objects.
#[derive(Debug)]
pub struct Program {
    source: EventSource,
    /// What its selectors ask of an object, in their order.
    conditions: Vec<Condition>,
}

/// What an EventSource says of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is an event, selected by the resource selectors (of a CloudEvent: the criteria) with these indexes.
    Match(Vec<u16>),
    /// It is none.
    NoMatch,
    /// A script failed, or needed too much; the last verdict stays.
    Failed(Error),
}

/// What one resource selector, or one of the criteria, says of an object, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorOutcome {
    /// It is an event; the script's message, or the rule that is true.
    Yes(String),
    /// It is none: the condition that does not hold, or the script's message.
    No(String),
    /// The script failed, or a rule needed too much.
    Failed(Error),
}

impl Program {
    /// Compiles the manifest of an EventSource.
    ///
    /// # Errors
    /// The field and the reason.
    pub fn compile(manifest: &Value) -> Result<Self> {
        Self::of(EventSource::read(manifest)?)
    }

    /// Compiles an EventSource that was read.
    ///
    /// # Errors
    /// The field and the reason.
    pub fn of(source: EventSource) -> Result<Self> {
        let compile = |selector| Condition::compile(&source.name, selector);
        Ok(Self { conditions: source.selectors.iter().map(compile).collect::<Result<_, _>>()?, source })
    }

    /// The ServiceAccount of the cluster that its objects are watched as; empty for the agent itself.
    pub fn viewer(&self) -> &str {
        self.source.tenant.as_ref().map_or("", |account| &account.name)
    }

    /// Whether a script chooses among all that match: to match alone makes no event.
    pub fn chooses(&self) -> bool {
        self.source.aggregate.is_some()
    }

    /// Whether reports carry the whole object.
    pub fn collects(&self) -> bool {
        self.source.needs_objects()
    }

    /// Whether objects of its kind can be events at all.
    pub fn watches(&self, key: &ObjectKey) -> bool {
        match is_event(key) {
            true => !self.source.criteria.is_empty(),
            false => self.source.selectors.iter().any(|selector| selector.gvk == key.gvk),
        }
    }

    /// Judges an object. One that is being deleted is an event only where a selector says that it may be.
    pub fn judge(&self, key: &ObjectKey, object: &Value, limits: &Limits) -> Outcome {
        if is_event(key) {
            return self.judge_event(key);
        }
        let mut selected = Vec::new();
        for (index, (selector, condition)) in (0..).zip(self.source.selectors.iter().zip(&self.conditions)) {
            if !selector.selects(key, object) || (!selector.deleting && is_deleted(object)) {
                continue;
            }
            match condition.ask(object, limits) {
                SelectorOutcome::Yes(_) => selected.push(index),
                SelectorOutcome::No(_) => {}
                SelectorOutcome::Failed(error) => return Outcome::Failed(error),
            }
        }
        if selected.is_empty() { Outcome::NoMatch } else { Outcome::Match(selected) }
    }

    /// What a CloudEvent is called says all that criteria look at.
    fn judge_event(&self, key: &ObjectKey) -> Outcome {
        let Some(event) = EventKey::of(key) else { return Outcome::NoMatch };
        let selects = (0..).zip(&self.source.criteria).filter(|(_, criteria)| criteria.selects(&event));
        let selected: Vec<u16> = selects.map(|(index, _)| index).collect();
        if selected.is_empty() { Outcome::NoMatch } else { Outcome::Match(selected) }
    }

    /// What every resource selector, or of a CloudEvent all criteria, say of an object, in their order. [`Program::judge`] is what follows from it.
    pub fn explain(&self, key: &ObjectKey, object: &Value, limits: &Limits) -> Vec<SelectorOutcome> {
        if let Some(event) = EventKey::of(key) {
            let unmet = self.source.criteria.iter().map(|criteria| criteria.unmet(&event));
            return unmet
                .map(|unmet| unmet.map_or(SelectorOutcome::Yes(String::new()), SelectorOutcome::No))
                .collect();
        }
        let ask = |(selector, condition): (&ResourceSelector, &Condition)| match selector.unmet(key, object) {
            Some(reason) => SelectorOutcome::No(reason),
            None if !selector.deleting && is_deleted(object) => {
                SelectorOutcome::No("it is being deleted".to_owned())
            }
            None => condition.ask(object, limits),
        };
        self.source.selectors.iter().zip(&self.conditions).map(ask).collect()
    }
}

fn is_deleted(object: &Value) -> bool {
    !sluice_api::object::text(object, &["metadata", "deletionTimestamp"]).is_empty()
}

/// Whether a source can have to do with objects of this kind; one that cannot be compiled may.
pub(crate) fn watches(program: &Result<Program>, key: &ObjectKey) -> bool {
    program.as_ref().map_or(true, |program| program.watches(key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn judge(selectors: Value, object: Value) -> Outcome {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": selectors}});
        let program = Program::compile(&manifest).unwrap();
        program.judge(&ObjectKey::of(&object).unwrap(), &object, &Limits::default())
    }

    fn service(labels: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b", "labels": labels}})
    }

    #[test]
    fn every_selector_that_selects_is_named() {
        let has = |key: &str| json!({"version": "v1", "kind": "Service", "labelFilters": [{"key": key, "operation": "Has"}]});
        let selectors = json!([has("x"), has("y"), has("x")]);
        assert_eq!(judge(selectors.clone(), service(json!({"x": ""}))), Outcome::Match(vec![0, 2]));
        assert_eq!(judge(selectors, service(json!({}))), Outcome::NoMatch);
    }

    #[test]
    fn a_failing_script_is_no_verdict() {
        let selectors = json!([{"version": "v1", "kind": "Service", "evaluate": "function evaluate() return obj.a.b end"}]);
        assert!(
            matches!(judge(selectors, service(json!({}))), Outcome::Failed(error) if error.to_string().contains("index nil"))
        );
    }

    #[test]
    fn a_script_sees_only_what_the_selector_selects_and_decides_alone() {
        let script = "function evaluate() return {matching = obj.metadata.labels.x == 'yes'} end";
        let selector = json!({"version": "v1", "kind": "Service", "evaluate": script,
            "labelFilters": [{"key": "x", "operation": "Has"}]});
        let selectors = json!([selector, {"version": "v1", "kind": "Pod"}]);
        assert_eq!(judge(selectors.clone(), service(json!({"x": "yes"}))), Outcome::Match(vec![0]));
        assert_eq!(judge(selectors.clone(), service(json!({"x": "no"}))), Outcome::NoMatch);
        assert_eq!(judge(selectors, service(json!(null))), Outcome::NoMatch, "it has no labels to fail on");
    }

    #[test]
    fn a_selector_that_fails_is_no_verdict_also_where_another_one_selects() {
        let fails =
            json!({"version": "v1", "kind": "Service", "evaluate": "function evaluate() error('x') end"});
        let plain = json!({"version": "v1", "kind": "Service"});
        for selectors in [json!([fails, plain]), json!([plain, fails])] {
            assert!(matches!(judge(selectors, service(json!({}))), Outcome::Failed(_)));
        }
    }

    #[test]
    fn every_selector_answers_for_itself() {
        let script = |body: &str| json!({"version": "v1", "kind": "Service", "evaluate": format!("function evaluate() {body} end")});
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [
            {"version": "v1", "kind": "Pod"}, {"version": "v1", "kind": "Service"},
            script("return {matching = true, message = 'good'}"), script("return {matching = false, message = 'bad'}"),
            script("error('x')")]}});
        let object = service(json!({}));
        let answers = Program::compile(&manifest).unwrap().explain(
            &ObjectKey::of(&object).unwrap(),
            &object,
            &Limits::default(),
        );
        let [
            SelectorOutcome::No(kind),
            SelectorOutcome::Yes(plain),
            SelectorOutcome::Yes(good),
            SelectorOutcome::No(bad),
            SelectorOutcome::Failed(failed),
        ] = &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert!(
            kind.contains("\"v1/Pod\"") && plain.is_empty() && failed.to_string().contains('x'),
            "{answers:?}"
        );
        assert_eq!((good.as_str(), bad.as_str()), ("good", "bad"));
    }

    #[test]
    fn a_script_that_never_ends_is_stopped() {
        let selectors = json!([{"version": "v1", "kind": "Service", "evaluate": "function evaluate() while true do end end"}]);
        assert!(matches!(judge(selectors, service(json!({}))), Outcome::Failed(_)));
    }

    #[test]
    fn a_source_watches_its_kinds_and_one_that_cannot_be_read_may_watch_any() {
        let manifest = |kind: &str, version: Value| json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [{"version": version, "kind": kind}]}});
        let key = ObjectKey::of(&service(json!({}))).unwrap();
        assert!(watches(&Program::compile(&manifest("Service", json!("v1"))), &key));
        assert!(!watches(&Program::compile(&manifest("Service", json!("v2"))), &key));
        assert!(!watches(&Program::compile(&manifest("Pod", json!("v1"))), &key));
        let broken = Program::compile(&manifest("Pod", json!(1)));
        assert!(broken.is_err() && watches(&broken, &key));
    }

    #[test]
    fn cloud_events_are_judged_by_criteria_and_objects_by_selectors() {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {
            "resourceSelectors": [{"version": "v1", "kind": "Service"}],
            "messagingMatchCriteria": [{"cloudEventType": "^created$"}, {"subject": "^orders"}, {"cloudEventSource": "/shop"}]}});
        let program = Program::compile(&manifest).unwrap();
        let event = |kind: &str, channel: &str| EventKey {
            source: "/shop".into(),
            subject: "o".into(),
            kind: kind.into(),
            channel: channel.into(),
        };
        let judge = |event: EventKey| program.judge(&event.object_key(), &json!({}), &Limits::default());
        assert_eq!(judge(event("created", "x")), Outcome::Match(vec![0, 2]));
        assert_eq!(judge(event("deleted", "orders.eu")), Outcome::Match(vec![1, 2]));
        assert_eq!(judge(EventKey { source: "/else".into(), ..event("deleted", "x") }), Outcome::NoMatch);
        let object = service(json!({}));
        let key = ObjectKey::of(&object).unwrap();
        assert_eq!(program.judge(&key, &object, &Limits::default()), Outcome::Match(vec![0]));
        let answers = program.explain(&event("deleted", "x").object_key(), &json!({}), &Limits::default());
        assert!(
            matches!(&answers[..], [SelectorOutcome::No(kind), SelectorOutcome::No(_), SelectorOutcome::Yes(_)] if kind.contains("\"deleted\""))
        );
        let objects_only = Program::compile(
            &json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"version": "v1", "kind": "Service"}}),
        );
        assert!(!watches(&objects_only, &event("created", "x").object_key()));
        assert!(program.watches(&event("created", "x").object_key()) && program.watches(&key));
    }

    #[test]
    fn what_is_being_deleted_is_no_event() {
        let mut object = service(json!({}));
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let plain = json!({"version": "v1", "kind": "Service"});
        assert_eq!(judge(json!([plain]), object.clone()), Outcome::NoMatch);
        let deleting = json!({"version": "v1", "kind": "Service", "includeDeletingResources": true});
        assert_eq!(judge(json!([plain, deleting]), object), Outcome::Match(vec![1]));
    }

    #[test]
    fn broken_scripts_are_named_when_compiled() {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"resourceSelectors": [{"version": "v1", "kind": "Pod", "evaluate": "function evaluate("}]}});
        let error = Program::compile(&manifest).unwrap_err().to_string();
        assert!(
            error.starts_with("EventSource s: spec.resourceSelectors[0].evaluate: evaluate:1:"),
            "{error}"
        );
        let rule = json!({"kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"resourceSelectors": [{"version": "v1", "kind": "Pod", "evaluateCEL": [{"name": "a", "rule": "1 +"}]}]}});
        let error = Program::compile(&rule).unwrap_err().to_string();
        let field = "EventSource s: spec.resourceSelectors[0].evaluateCEL[0].rule: 1:4: ";
        assert!(error.starts_with(field), "{error}");
        let flat = json!({"kind": "EventSource", "metadata": {"name": "s"},
            "spec": {"version": "v1", "kind": "Pod", "script": "function evaluate("}});
        let error = Program::compile(&flat).unwrap_err().to_string();
        assert!(error.starts_with("EventSource s: spec.script: evaluate:1:"), "{error}");
    }
}
