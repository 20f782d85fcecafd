//! What an event is.

use serde_json::Value;

use super::criteria::Criteria;
use super::read::Field;
use crate::error::FieldError;
use crate::object::{self, Gvk, ObjectKey};
use crate::selector::Selector;
use crate::service_account::ServiceAccount;

/// An `EventSource`: which objects of a managed cluster, and which CloudEvents sent to it, are events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSource {
    /// What triggers refer to it by; it has no namespace.
    pub name: String,
    /// The ServiceAccount of managed clusters that its objects are watched as; `None` for the rights of the agent.
    pub tenant: Option<ServiceAccount>,
    /// An object that one of these selects is an event.
    pub selectors: Vec<ResourceSelector>,
    /// A CloudEvent that one of these selects is an event.
    pub criteria: Vec<Criteria>,
    /// Whether the whole object is handed on, and not only its identity.
    pub collect: bool,
    /// Lua source with a function `evaluate` that chooses among all objects of a cluster that are selected.
    pub aggregate: Option<String>,
}

/// One of the ways to be selected: all conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSelector {
    /// Kind of the objects.
    pub gvk: Gvk,
    /// Namespace of the objects; empty selects all.
    pub namespace: String,
    /// Name of the object; empty selects all.
    pub name: String,
    /// Labels; empty selects all.
    pub labels: Selector,
    /// Lua source with a function `evaluate`.
    pub evaluate: Option<String>,
    /// Path of the field with the source, for messages.
    pub evaluate_path: String,
    /// Rules in CEL, of which one must be true; without any, or where none is, `evaluate` decides.
    pub rules: Vec<CelRule>,
    /// Whether an object that is being deleted may be an event.
    pub deleting: bool,
}

/// A condition in CEL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CelRule {
    /// What it is called in messages; may be empty.
    pub name: String,
    /// The expression over the variable `resource`.
    pub rule: String,
    /// Path of the field with the expression, for messages.
    pub path: String,
}

// === impl EventSource ===

impl EventSource {
    /// The field with the script that chooses among all objects.
    pub const AGGREGATE: &'static str = "aggregatedSelection";

    /// Whether reports carry whole objects: templates see them, or a script that chooses among them does.
    pub fn needs_objects(&self) -> bool {
        self.collect || self.aggregate.is_some()
    }

    /// Reads the manifest, of any era.
    ///
    /// # Errors
    /// The first field that cannot be used. Such a source selects nothing.
    pub fn read(object: &Value) -> Result<Self, FieldError> {
        let spec = Field::spec(object);
        let criteria = spec.get("messagingMatchCriteria").items()?;
        let criteria = criteria.iter().map(Criteria::read).collect::<Result<Vec<_>, _>>()?;
        let mut selectors = Vec::new();
        for item in spec.get("resourceSelectors").items()? {
            selectors.push(ResourceSelector::read(&item, "evaluate")?);
        }
        if ["kind", "version", "group"].iter().any(|key| spec.get(key).value().is_some()) {
            selectors.push(ResourceSelector::read(&spec, "script")?);
        }
        if selectors.is_empty() && criteria.is_empty() {
            return Err(spec.get("resourceSelectors").error(
                "is missing; name at least one group, version and kind, or set spec.messagingMatchCriteria",
            ));
        }
        Ok(Self {
            name: object::name(object).to_owned(),
            tenant: ServiceAccount::watching(object)?,
            selectors,
            criteria,
            collect: spec.get("collectResources").flag()?,
            aggregate: Some(spec.get(Self::AGGREGATE).text()?).filter(|text| !text.trim().is_empty()),
        })
    }
}

// === impl CelRule ===

impl CelRule {
    pub(super) fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let rule = item.get("rule");
        Ok(Self { name: item.get("name").text()?, rule: rule.required_text()?, path: rule.path().to_owned() })
    }
}

// === impl ResourceSelector ===

impl ResourceSelector {
    pub(super) fn read(item: &Field<'_>, script: &str) -> Result<Self, FieldError> {
        let gvk = Gvk {
            group: item.get("group").text()?,
            version: item.get("version").required_text()?,
            kind: item.get("kind").required_text()?,
        };
        let mut labels = item.get("selector").selector()?.unwrap_or_default();
        // Old documents spell it `labelsFilters`. Dropping the misspelt field would select everything.
        for list in ["labelFilters", "labelsFilters"] {
            item.get(list).add_filters(&mut labels)?;
        }
        let field = item.get(script);
        let evaluate = Some(field.text()?).filter(|text| !text.trim().is_empty());
        Ok(Self {
            gvk,
            namespace: item.get("namespace").text()?,
            name: item.get("name").text()?,
            labels,
            evaluate,
            evaluate_path: field.path().to_owned(),
            rules: item.get("evaluateCEL").items()?.iter().map(CelRule::read).collect::<Result<_, _>>()?,
            deleting: item.get("includeDeletingResources").flag()?,
        })
    }

    /// Whether identity and labels select the object; the script is not asked.
    pub fn selects(&self, key: &ObjectKey, object: &Value) -> bool {
        self.gvk == key.gvk
            && (self.namespace.is_empty() || self.namespace == key.namespace)
            && (self.name.is_empty() || self.name == key.name)
            && self.labels.matches(object::at(object, &["metadata", "labels"]))
    }

    /// What it selects by, in words; scripts and rules are not among it.
    pub fn described(&self) -> String {
        let Self { gvk, namespace, name, labels, .. } = self;
        let part = |what: &str, value: &str| {
            if value.is_empty() { String::new() } else { format!(", {what} {value}") }
        };
        let labels = if labels.is_empty() { String::new() } else { labels.to_string() };
        let parts = [part("namespace", namespace), part("name", name), part("labels", &labels)];
        format!("kind {gvk}{}", parts.concat())
    }

    /// Why it does not select an object, in words; `None` when it does.
    pub fn unmet(&self, key: &ObjectKey, object: &Value) -> Option<String> {
        if self.selects(key, object) {
            return None;
        }
        let Self { gvk, namespace, name, labels, .. } = self;
        let unlike =
            |what: &str, is: &str, wanted: &str| Some(format!("its {what} is {is:?}, not {wanted:?}"));
        if *gvk != key.gvk {
            unlike("kind", &key.gvk.to_string(), &gvk.to_string())
        } else if !namespace.is_empty() && *namespace != key.namespace {
            unlike("namespace", &key.namespace, namespace)
        } else if !name.is_empty() && *name != key.name {
            unlike("name", &key.name, name)
        } else {
            Some(format!("its labels do not fulfil {labels}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(spec: Value) -> Result<EventSource, FieldError> {
        EventSource::read(&json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": spec}))
    }

    /// The same, with its script in this field.
    fn written_as(mut source: EventSource, field: &str) -> EventSource {
        field.clone_into(&mut source.selectors[0].evaluate_path);
        source
    }

    #[test]
    fn what_a_selector_selects_by_is_said_in_words() {
        let described = |selector: Value| {
            source(json!({"resourceSelectors": [selector]})).unwrap().selectors[0].described()
        };
        assert_eq!(
            described(json!({"group": "apps", "version": "v1", "kind": "Deployment"})),
            "kind apps/v1/Deployment"
        );
        let filter = json!([{"key": "sveltos", "operation": "Equal", "value": "fv"}]);
        assert_eq!(
            described(
                json!({"version": "v1", "kind": "Service", "namespace": "shop", "name": "web", "labelFilters": filter})
            ),
            "kind v1/Service, namespace shop, name web, labels sveltos=fv"
        );
    }

    #[test]
    fn every_era_reads_alike() {
        let filter = json!([{"key": "sveltos", "operation": "Equal", "value": "fv"}]);
        let new = source(json!({"collectResources": true, "resourceSelectors":
            [{"group": "", "version": "v1", "kind": "Service", "labelFilters": filter}]}))
        .unwrap();
        let old = source(json!({"collectResources": true, "group": "", "version": "v1", "kind": "Service", "labelsFilters": filter})).unwrap();
        assert_eq!(new, written_as(old, "spec.resourceSelectors[0].evaluate"));
        assert_eq!(new.selectors[0].labels.to_string(), "sveltos=fv");
    }

    #[test]
    fn flat_and_listed_scripts_have_their_own_field() {
        let flat = source(json!({"version": "v1", "kind": "Service", "script": "x"})).unwrap();
        let listed =
            source(json!({"resourceSelectors": [{"version": "v1", "kind": "Service", "evaluate": "x"}]}))
                .unwrap();
        assert_eq!(flat.selectors[0].evaluate_path, "spec.script");
        assert_eq!(written_as(flat, "spec.resourceSelectors[0].evaluate"), listed);
    }

    #[test]
    fn a_script_over_all_needs_whole_objects() {
        let selector = json!([{"version": "v1", "kind": "Pod"}]);
        let plain = source(json!({"resourceSelectors": selector, "aggregatedSelection": " "})).unwrap();
        assert!(plain.aggregate.is_none() && !plain.needs_objects());
        let chooses = source(json!({"resourceSelectors": selector, "aggregatedSelection": "x"})).unwrap();
        assert!(chooses.aggregate.as_deref() == Some("x") && !chooses.collect && chooses.needs_objects());
    }

    #[test]
    fn rules_have_names_and_paths() {
        let rules = json!([{"name": "a", "rule": "true"}, {"rule": "false"}]);
        let selector =
            json!({"version": "v1", "kind": "Pod", "evaluateCEL": rules, "includeDeletingResources": true});
        let read = source(json!({"resourceSelectors": [selector]})).unwrap();
        let rule = |name: &str, rule: &str, index: usize| CelRule {
            name: name.to_owned(),
            rule: rule.to_owned(),
            path: format!("spec.resourceSelectors[0].evaluateCEL[{index}].rule"),
        };
        assert_eq!(read.selectors[0].rules, [rule("a", "true", 0), rule("", "false", 1)]);
        assert!(read.selectors[0].deleting);
    }

    #[test]
    fn wrong_fields_are_named() {
        for (spec, part) in [
            (
                json!({"resourceSelectors": [{"version": "v1"}]}),
                "spec.resourceSelectors[0].kind: is required",
            ),
            (json!({}), "spec.resourceSelectors: is missing"),
            (
                json!({"version": "v1", "kind": "Service", "labelFilters": [{"key": "a", "operation": "Equals"}]}),
                "spec.labelFilters[0]: unknown operation",
            ),
            (json!({"version": 1, "kind": "Service"}), "spec.version: 1 is not a string"),
            (
                json!({"resourceSelectors": [{"version": "v1", "kind": "Pod", "evaluateCEL": [{"rule": "true"}, {"name": "x"}]}]}),
                "spec.resourceSelectors[0].evaluateCEL[1].rule: is required",
            ),
            (
                json!({"resourceSelectors": [{"version": "v1", "kind": "Pod", "includeDeletingResources": "yes"}]}),
                "spec.resourceSelectors[0].includeDeletingResources: \"yes\" is not true or false",
            ),
        ] {
            let error = source(spec).unwrap_err().to_string();
            assert!(error.starts_with("EventSource s: ") && error.contains(part), "{error}");
        }
    }

    #[test]
    fn selects_by_kind_place_and_labels() {
        let source = source(json!({"version": "v1", "kind": "Service", "namespace": "eng", "selector": {"matchLabels": {"a": "b"}}})).unwrap();
        let object = |namespace: &str, label: &str| {
            json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "x", "namespace": namespace, "labels": {"a": label}}})
        };
        let selects = |object: &Value| source.selectors[0].selects(&ObjectKey::of(object).unwrap(), object);
        assert!(selects(&object("eng", "b")));
        assert!(!selects(&object("eng", "c")) && !selects(&object("hr", "b")));

        let unmet = |object: &Value| source.selectors[0].unmet(&ObjectKey::of(object).unwrap(), object);
        assert_eq!(unmet(&object("eng", "b")), None);
        assert_eq!(unmet(&object("eng", "c")).unwrap(), "its labels do not fulfil a=b");
        assert_eq!(unmet(&object("hr", "b")).unwrap(), "its namespace is \"hr\", not \"eng\"");
    }
}
