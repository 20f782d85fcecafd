//! Which fields of triggers and profiles are templates: the one list that says so.
//!
//! Who renders them reads the fields of the model; who looks for mistakes before anything is rendered goes through this list, so
//! that `sluice check` and the problems of a trigger speak of the same fields.

use serde_json::{Map, Value};

use crate::object;

/// What a template is rendered over, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The cluster where events are looked for, before there is one.
    Source,
    /// The event.
    Event,
    /// The cluster that the add-ons go to.
    Destination,
}

/// A field of a manifest that is a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templated<'a> {
    /// Where it is, such as `spec.policyRefs[0].name`.
    pub path: String,
    /// The template.
    pub text: &'a str,
    /// What it is rendered over.
    pub sees: Sees,
}

/// Fields that only triggers have. `[]` stands for each item of a list.
const OF_TRIGGERS: [(&str, Sees); 13] = [
    ("eventSourceName", Sees::Source),
    ("profileNameFormat", Sees::Event),
    ("cloudEventAction", Sees::Event),
    ("destinationCluster.kind", Sees::Event),
    ("destinationCluster.apiVersion", Sees::Event),
    ("destinationCluster.namespace", Sees::Event),
    ("destinationCluster.name", Sees::Event),
    ("configMapGenerator[].namespace", Sees::Event),
    ("configMapGenerator[].name", Sees::Event),
    ("configMapGenerator[].nameFormat", Sees::Event),
    ("secretGenerator[].namespace", Sees::Event),
    ("secretGenerator[].name", Sees::Event),
    ("secretGenerator[].nameFormat", Sees::Event),
];
/// Fields that triggers and profiles have: over the event in a trigger, over the destination in a profile.
const OF_BOTH: [&str; 23] = [
    "policyRefs[].namespace",
    "policyRefs[].name",
    "patchesFrom[].namespace",
    "patchesFrom[].name",
    "preDeployChecks[].jobCheck.jobRef.namespace",
    "preDeployChecks[].jobCheck.jobRef.name",
    "validateHealths[].jobCheck.jobRef.namespace",
    "validateHealths[].jobCheck.jobRef.name",
    "preDeleteChecks[].jobCheck.jobRef.namespace",
    "preDeleteChecks[].jobCheck.jobRef.name",
    "postDeleteChecks[].jobCheck.jobRef.namespace",
    "postDeleteChecks[].jobCheck.jobRef.name",
    "helmCharts[].repositoryURL",
    "helmCharts[].repositoryName",
    "helmCharts[].chartName",
    "helmCharts[].chartVersion",
    "helmCharts[].releaseName",
    "helmCharts[].releaseNamespace",
    "helmCharts[].values",
    "helmCharts[].valuesFrom[].namespace",
    "helmCharts[].valuesFrom[].name",
    "templateResourceRefs[].resource.namespace",
    "templateResourceRefs[].resource.name",
];
/// Fields of both that are templates over the destination in a trigger too.
const OF_DESTINATIONS: [&str; 1] = ["patches[].patch"];
/// Fields of a RoleRequest.
const OF_ROLE_REQUESTS: [&str; 2] = ["roleRefs[].namespace", "roleRefs[].name"];

/// The fields of this kind of object that are templates. Kinds without any have none.
pub fn templated_fields(kind: &str) -> Vec<(&'static str, Sees)> {
    let over = |fields: &[&'static str], sees: Sees| -> Vec<(&'static str, Sees)> {
        fields.iter().map(|field| (*field, sees)).collect()
    };
    let patches = over(&OF_DESTINATIONS, Sees::Destination);
    match kind {
        "EventTrigger" | "EventBasedAddOn" => {
            [&OF_TRIGGERS[..], &over(&OF_BOTH, Sees::Event), &patches].concat()
        }
        "ClusterProfile" | "Profile" => [over(&OF_BOTH, Sees::Destination), patches].concat(),
        "RoleRequest" => over(&OF_ROLE_REQUESTS, Sees::Destination),
        _ => Vec::new(),
    }
}

/// The templates in a manifest: texts with actions in those fields. What is no text is somebody else's to complain about.
pub fn templates(manifest: &Value) -> Vec<Templated<'_>> {
    let spec = manifest.get("spec").and_then(Value::as_object);
    spec.map(|spec| templates_of(object::text(manifest, &["kind"]), spec)).unwrap_or_default()
}

/// The same where there is only the spec of such an object.
pub fn templates_of<'a>(kind: &str, spec: &'a Map<String, Value>) -> Vec<Templated<'a>> {
    let mut found = Vec::new();
    for (field, sees) in templated_fields(kind) {
        let steps: Vec<&str> = field.split('.').collect();
        let mut texts = Vec::new();
        collect(spec.get(key(steps[0])), &steps, "spec", &mut texts);
        found.extend(texts.into_iter().map(|(path, text)| Templated { path, text, sees }));
    }
    found
}

fn key(step: &str) -> &str {
    step.trim_end_matches("[]")
}

/// The texts at the end of these steps; `value` is what the first one leads to, from `above`.
fn collect<'a>(value: Option<&'a Value>, steps: &[&str], above: &str, texts: &mut Vec<(String, &'a str)>) {
    let (Some(value), [step, rest @ ..]) = (value, steps) else { return };
    let path = format!("{above}.{}", key(step));
    let places: Vec<(String, &Value)> = match value.as_array() {
        _ if !step.ends_with("[]") => vec![(path, value)],
        items => {
            let items = items.into_iter().flatten().enumerate();
            items.map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
        }
    };
    for (path, place) in places {
        match (rest, place) {
            ([], Value::String(text)) if text.contains("{{") => texts.push((path, text)),
            ([], _) => {}
            ([next, ..], _) => collect(place.get(key(next)), rest, &path, texts),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::crd;

    #[test]
    fn texts_with_actions_are_found_in_lists_and_maps_with_their_paths() {
        let manifest = json!({"kind": "EventTrigger", "spec": {
            "eventSourceName": "{{ a }}", "destinationCluster": {"kind": "Cluster", "apiVersion": "{{ v }}", "name": "{{ b }}", "namespace": 3},
            "policyRefs": [{"name": "plain"}, {"name": "{{ c }}"}], "patches": [{"patch": "{{ d }}"}],
            "helmCharts": [{"valuesFrom": [{"name": "x"}, {"namespace": "{{ e }}"}]}, "x"],
            "extraAnnotations": {"a": "{{ f }}"}}});
        let found: Vec<_> =
            templates(&manifest).into_iter().map(|one| (one.path, one.text, one.sees)).collect();
        let one = |path: &str, text, sees| (path.to_owned(), text, sees);
        assert_eq!(
            found,
            [
                one("spec.eventSourceName", "{{ a }}", Sees::Source),
                one("spec.destinationCluster.apiVersion", "{{ v }}", Sees::Event),
                one("spec.destinationCluster.name", "{{ b }}", Sees::Event),
                one("spec.policyRefs[1].name", "{{ c }}", Sees::Event),
                one("spec.helmCharts[0].valuesFrom[1].namespace", "{{ e }}", Sees::Event),
                one("spec.patches[0].patch", "{{ d }}", Sees::Destination),
            ]
        );
    }

    #[test]
    fn a_profile_sees_its_destination_and_other_kinds_have_no_templates() {
        let spec = json!({"policyRefs": [{"name": "{{ a }}"}], "eventSourceName": "{{ b }}"});
        let of = |kind: &str| {
            let manifest = json!({"kind": kind, "spec": spec});
            templates(&manifest).iter().map(|one| (one.path.clone(), one.sees)).collect::<Vec<_>>()
        };
        assert_eq!(of("Profile"), [("spec.policyRefs[0].name".to_owned(), Sees::Destination)]);
        assert_eq!((of("EventSource"), of("RoleRequest")), (Vec::new(), Vec::new()));
        assert!(templates(&json!({"kind": "EventTrigger"})).is_empty());
    }

    #[test]
    fn the_texts_of_a_chart_are_those_that_are_rendered() {
        let spec = json!({"helmCharts": [{"repositoryURL": "u", "chartName": "c", "releaseName": "r", "releaseNamespace": "n"}]});
        let profile =
            crate::model::Profile::read(&json!({"kind": "Profile", "metadata": {"name": "p"}, "spec": spec}));
        let charts = profile.unwrap().common.helm_charts;
        let rendered = charts[0].texts().map(|(field, _)| format!("helmCharts[].{field}"));
        let listed = OF_BOTH.into_iter().filter(|field| field.matches('.').count() == 1);
        let listed: Vec<_> = listed.filter(|field| field.starts_with("helmCharts[].")).collect();
        assert_eq!(listed, rendered);
    }

    #[test]
    fn every_field_of_the_list_is_one_of_the_definition() {
        for definition in crd::all() {
            let kind = object::text(&definition, &["spec", "names", "kind"]).to_owned();
            let schema =
                definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
            for (field, _) in templated_fields(&kind) {
                let at = field.split('.').try_fold(schema, |schema, step| {
                    let below = schema.get("properties")?.get(key(step))?;
                    if step.ends_with("[]") { below.get("items") } else { Some(below) }
                });
                assert_eq!(at.map(|at| object::text(at, &["type"])), Some("string"), "{kind}: {field}");
            }
        }
    }
}
