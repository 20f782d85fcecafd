//! Which add-ons follow from an event.

use serde_json::Value;

use super::cluster_set::ClusterSetId;
use super::pace::Pace;
use super::profile::{SpecCommon, set_refs};
use super::read::Field;
use super::resources::Generator;
use crate::error::FieldError;
use crate::object;
use crate::selector::Selector;
use crate::service_account::ServiceAccount;
use crate::trigger::TriggerId;

/// When the manifest was written: the rules for referenced templates changed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `EventBasedAddOn` (2023): every referenced object is instantiated.
    EveryReference,
    /// `EventTrigger` with string selectors (to 2024): objects annotated `projectsveltos.io/template`.
    Template,
    /// Today: objects annotated `projectsveltos.io/instantiate`.
    Instantiate,
}

/// An `EventTrigger` or `EventBasedAddOn`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// `EventTrigger` or `EventBasedAddOn`.
    pub kind: String,
    /// Unique within its kind; neither kind has namespaces.
    pub name: String,
    /// Which rules its references follow.
    pub era: Era,
    /// Clusters whose events count; empty selects none.
    pub source_selector: Selector,
    /// Clusters that these sets select count too.
    pub source_sets: Vec<ClusterSetId>,
    /// Clusters that get the add-ons; `None` is the cluster of the event.
    pub destination_selector: Option<Selector>,
    /// The one cluster that gets the add-ons.
    pub destination_cluster: Option<DestinationCluster>,
    /// Name of the EventSource; may be a template over the cluster.
    pub event_source: String,
    /// One profile for each matching object, or one for all of them.
    pub one_for_event: bool,
    /// Template that gives what becomes of a CloudEvent's profile: `Create` or `Delete`; `None` is `Create`. Without
    /// `one_for_event` it has no effect.
    pub cloud_event_action: Option<String>,
    /// Template of the profile's name; `None` derives it from the cause.
    pub profile_name_format: Option<String>,
    /// ConfigMaps and Secrets that are made in the management cluster.
    pub generators: Vec<Generator>,
    /// What and how.
    pub common: SpecCommon,
    /// For whom it acts.
    pub account: Option<ServiceAccount>,
    /// How fast it acts, and for how long.
    pub pace: Pace,
}

/// A cluster by its registration; each field may be a template over the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationCluster {
    /// `SveltosCluster` or `Cluster`.
    pub kind: String,
    /// Group and version of the registration; empty, or of the group that the kind is of.
    pub api_version: String,
    /// Namespace of the registration.
    pub namespace: String,
    /// Name of the registration.
    pub name: String,
}

// === impl Trigger ===

impl Trigger {
    /// Reads the manifest, of any era.
    ///
    /// # Errors
    /// The first field that cannot be used. Such a trigger does nothing, and what it made before stays.
    pub fn read(object: &Value) -> Result<Self, FieldError> {
        let spec = Field::spec(object);
        let kind = object::text(object, &["kind"]).to_owned();
        let source = if spec.get("sourceClusterSelector").value().is_some() {
            "sourceClusterSelector"
        } else {
            "clusterSelector"
        };
        let era = era(&kind, &spec);
        let source_selector = spec.get(source).selector()?;
        let source_selector = source_selector.filter(|selector| !selector.is_empty());
        let source_sets = set_refs(&spec.get("clusterSetRefs"), "")?;
        if source_selector.is_none() && source_sets.is_empty() {
            return Err(spec.get("sourceClusterSelector").error(
                "is required and must not be empty, or set spec.clusterSetRefs: they select the clusters whose events count",
            ));
        }
        let destination_selector = spec.get("destinationClusterSelector").selector()?;
        let destination_selector = destination_selector.filter(|selector| !selector.is_empty());
        let destination_cluster = destination_cluster(&spec)?;
        if destination_selector.is_some() && destination_cluster.is_some() {
            return Err(spec
                .get("destinationCluster")
                .error("cannot be set together with destinationClusterSelector; remove one of them"));
        }
        let format = spec.get("profileNameFormat").text()?;
        Ok(Self {
            kind,
            name: object::name(object).to_owned(),
            era,
            source_selector: source_selector.unwrap_or_default(),
            source_sets,
            destination_selector,
            destination_cluster,
            event_source: spec.get("eventSourceName").required_text()?,
            one_for_event: spec.get("oneForEvent").flag()?,
            cloud_event_action: cloud_event_action(&spec)?,
            profile_name_format: Some(format).filter(|format| !format.is_empty()),
            generators: Generator::all(&spec)?,
            common: SpecCommon::read(&spec)?.of(object)?,
            account: ServiceAccount::of(object)?,
            pace: Pace::read(object)?,
        })
    }

    /// What rows and problems call it.
    pub fn id(&self) -> TriggerId {
        TriggerId::new(&self.kind, &self.name)
    }
}

/// What is no template is looked at at once.
fn cloud_event_action(spec: &Field<'_>) -> Result<Option<String>, FieldError> {
    let field = spec.get("cloudEventAction");
    let text = field.text()?;
    if !text.contains("{{") && !matches!(text.as_str(), "" | "Create" | "Delete") {
        return Err(field.error(no_action(&text)));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// What is said of an action that there is not.
pub fn no_action(text: &str) -> String {
    format!("{text:?} is no action; write Create, Delete, or a template that gives one of them")
}

fn destination_cluster(spec: &Field<'_>) -> Result<Option<DestinationCluster>, FieldError> {
    let field = spec.get("destinationCluster");
    if field.value().is_none() {
        return Ok(None);
    }
    Ok(Some(DestinationCluster {
        kind: field.get("kind").required_text()?,
        api_version: field.get("apiVersion").text()?,
        namespace: field.get("namespace").required_text()?,
        name: field.get("name").required_text()?,
    }))
}

fn era(kind: &str, spec: &Field<'_>) -> Era {
    let text = |key| spec.get(key).value().is_some_and(Value::is_string);
    if kind == "EventBasedAddOn" {
        Era::EveryReference
    } else if text("sourceClusterSelector") || text("destinationClusterSelector") || text("clusterSelector") {
        Era::Template
    } else {
        Era::Instantiate
    }
}

// === impl Era ===

impl Era {
    /// Whether a referenced object is rendered with the event's data.
    pub fn instantiates(self, referenced: &Value) -> bool {
        let has = |key| object::annotation(referenced, key).is_some();
        match self {
            Self::EveryReference => true,
            Self::Template => has(super::TEMPLATE) || has(super::INSTANTIATE),
            Self::Instantiate => has(super::INSTANTIATE),
        }
    }

    /// Whether a referenced object (or what was instantiated from it) is rendered once more for its destination.
    pub fn renders_on_deploy(self, referenced: &Value) -> bool {
        self == Self::Instantiate && object::annotation(referenced, super::TEMPLATE).is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trigger(kind: &str, spec: Value) -> Result<Trigger, FieldError> {
        Trigger::read(&json!({"kind": kind, "metadata": {"name": "t"}, "spec": spec}))
    }

    #[test]
    fn the_era_follows_from_kind_and_selectors() {
        let of = |kind: &str, selector: Value| {
            trigger(kind, json!({"sourceClusterSelector": selector, "eventSourceName": "s"})).unwrap().era
        };
        assert_eq!(of("EventBasedAddOn", json!("env=fv")), Era::EveryReference);
        assert_eq!(of("EventTrigger", json!("env=fv")), Era::Template);
        assert_eq!(of("EventTrigger", json!({"matchLabels": {"env": "fv"}})), Era::Instantiate);
    }

    #[test]
    fn eras_differ_in_what_they_instantiate() {
        let with = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
        let (none, template, instantiate) =
            (json!({}), with(super::super::TEMPLATE), with(super::super::INSTANTIATE));
        let row = |era: Era| [&none, &template, &instantiate].map(|object| era.instantiates(object));
        assert_eq!(row(Era::EveryReference), [true, true, true]);
        assert_eq!(row(Era::Template), [false, true, true]);
        assert_eq!(row(Era::Instantiate), [false, false, true]);
        assert!(Era::Instantiate.renders_on_deploy(&template) && !Era::Template.renders_on_deploy(&template));
    }

    #[test]
    fn the_oldest_spelling_is_read() {
        let trigger = trigger(
            "EventBasedAddOn",
            json!({"clusterSelector": "env=fv", "eventSourceName": "s", "oneForEvent": true}),
        )
        .unwrap();
        assert!(
            trigger.one_for_event
                && trigger.source_selector.to_string() == "env=fv"
                && trigger.id().as_str() == "EventBasedAddOn/t"
        );
    }

    #[test]
    fn sets_alone_say_where_events_count() {
        let trigger =
            trigger("EventTrigger", json!({"clusterSetRefs": ["a"], "eventSourceName": "s"})).unwrap();
        assert!(trigger.source_selector.is_empty() && trigger.source_sets[0].to_string() == "ClusterSet a");
    }

    #[test]
    fn wrong_fields_are_named() {
        for (spec, part) in [
            (json!({"eventSourceName": "s"}), "spec.sourceClusterSelector: is required"),
            (json!({"sourceClusterSelector": "env=fv"}), "spec.eventSourceName: is required"),
            (json!({"sourceClusterSelector": "a b", "eventSourceName": "s"}), "spec.sourceClusterSelector: "),
            (json!({"sourceClusterSelector": {}, "eventSourceName": "s"}), "must not be empty"),
            (
                json!({"clusterSetRefs": ["a", ""], "eventSourceName": "s"}),
                "spec.clusterSetRefs[1]: is required",
            ),
            (
                json!({"sourceClusterSelector": "env=fv", "eventSourceName": "s", "destinationCluster": {"kind": "Cluster"}}),
                "spec.destinationCluster.namespace: is required",
            ),
            (
                json!({"sourceClusterSelector": "env=fv", "eventSourceName": "s", "destinationClusterSelector": "a=b",
                    "destinationCluster": {"kind": "Cluster", "namespace": "n", "name": "c"}}),
                "spec.destinationCluster: cannot be set together",
            ),
        ] {
            let error = super::tests::trigger("EventTrigger", spec).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
