//! What works, what differs and what is missing, object by object.

use serde::Serialize;
use serde_json::Value;
use sluice_api::model::{MADE_OF_EVENTS, OWNER_NAME, Profile, Trigger, management_kinds};
use sluice_api::{Gvk, object};
use sluice_dryrun::{Definitions, Severity, check};

use crate::original::stop_it;

/// How an object, or a field of it, fares here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fit {
    /// What it asks for does not happen.
    Missing,
    /// It works, and not in the same way.
    Differs,
    /// As it is.
    Works,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    /// Kind, namespace and name.
    pub(super) object: String,
    pub(super) fit: Fit,
    /// Path of the field; empty for the whole object.
    pub(super) field: String,
    pub(super) what: String,
    pub(super) remedy: String,
}

// === impl Fit ===

impl Fit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Differs => "differs",
            Self::Works => "works",
        }
    }
}

/// Kinds that people write for Sveltos and that nothing here reads, with what they do and what takes their place.
const UNKNOWN: [(&str, &str, &str); 9] = [
    (
        "Classifier",
        "labels clusters by what they are",
        "label SveltosClusters yourself, or from a trigger that deploys to the management cluster",
    ),
    ("HealthCheck", "says how healthy objects are", "alerts of your monitoring"),
    (
        "ClusterHealthCheck",
        "notifies about the health of clusters",
        "alerts on the metrics of deploy/monitoring",
    ),
    (
        "AccessRequest",
        "asks for an account in the management cluster",
        "a ServiceAccount with deploy/managed",
    ),
    ("DebuggingConfiguration", "sets levels of logs", "RUST_LOG on the stages"),
    (
        "ClusterPromotion",
        "promotes content from stage to stage",
        "one profile for each stage, with labels on clusters",
    ),
    ("Techsupport", "collects what is needed for support", "sluice bundle"),
    ("SveltosLicense", "unlocks features", "nothing: there is nothing to unlock"),
    (
        "ManagementClusterClassifier",
        "labels clusters by objects of the management cluster",
        "label SveltosClusters yourself",
    ),
];
/// Kinds that controllers write: they are made anew.
const MADE: [&str; 10] = [
    "EventReport",
    "ClusterSummary",
    "ClusterConfiguration",
    "ClusterReport",
    "ClassifierReport",
    "HealthCheckReport",
    "ReloaderReport",
    "Reloader",
    "ResourceSummary",
    "Configuration",
];
/// All rows: what is missing first, then by object.
pub(super) fn judge(objects: &[Value]) -> Vec<Row> {
    let definitions = Definitions::among(objects);
    let mut rows: Vec<Row> = objects.iter().flat_map(|object| of_object(object, &definitions)).collect();
    rows.sort_by(|a, b| (a.fit, &a.object, &a.field).cmp(&(b.fit, &b.object, &b.field)));
    rows
}

fn of_object(manifest: &Value, definitions: &Definitions) -> Vec<Row> {
    let gvk = Gvk::parse(object::text(manifest, &["apiVersion"]), object::text(manifest, &["kind"]));
    let row = |fit, field: &str, what: &str, remedy: &str| Row {
        object: object::describe(manifest),
        fit,
        field: field.to_owned(),
        what: what.to_owned(),
        remedy: remedy.to_owned(),
    };
    if gvk.kind == "Deployment" {
        let remedy = stop_it(manifest).map(|command| format!("before Sluice starts: {command}"));
        let what = "it runs, and would write the same objects as Sluice";
        return remedy.map(|remedy| row(Fit::Differs, "spec.replicas", what, &remedy)).into_iter().collect();
    }
    let made_of_event = format!("{MADE_OF_EVENTS}eventtriggername");
    let is_made = object::label(manifest, &made_of_event).is_some()
        || object::annotation(manifest, OWNER_NAME).is_some();
    let is_content = gvk.group.is_empty() && ["ConfigMap", "Secret"].contains(&&*gvk.kind);
    if is_made || !(gvk.group.ends_with("projectsveltos.io") || is_content) || MADE.contains(&&*gvk.kind) {
        return Vec::new();
    }
    if let Some((_, does, instead)) = UNKNOWN.iter().find(|(kind, ..)| *kind == gvk.kind) {
        return vec![row(Fit::Missing, "", &format!("nothing reads this kind; it {does}"), instead)];
    }
    let is_read = management_kinds().iter().any(|read| read.group == gvk.group && read.kind == gvk.kind);
    if !is_content && !is_read {
        return vec![row(
            Fit::Missing,
            "",
            "nothing reads this kind",
            "docs/compatibility.md says which are read",
        )];
    }
    let unsupported = unsupported(manifest);
    let findings = check(manifest, definitions).into_iter().map(|finding| {
        let is_missing = finding.severity == Severity::Error || unsupported.contains(&finding.field);
        let fit = if is_missing { Fit::Missing } else { Fit::Differs };
        row(fit, &finding.field, &finding.reason, "docs/compatibility.md#field-by-field")
    });
    let rows: Vec<Row> = findings.collect();
    // Contents are many; only what is wrong with them is told.
    if rows.is_empty() && !is_content {
        return vec![row(Fit::Works, "", "works as it is", "")];
    }
    rows
}

/// Fields whose wish is a problem here.
fn unsupported(manifest: &Value) -> Vec<String> {
    let common = match object::text(manifest, &["kind"]) {
        "EventTrigger" | "EventBasedAddOn" => Trigger::read(manifest).ok().map(|trigger| trigger.common),
        "ClusterProfile" | "Profile" => Profile::read(manifest).ok().map(|profile| profile.common),
        _ => None,
    };
    common.into_iter().flat_map(|common| common.unsupported).map(|error| error.field).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: &str, group: &str, spec: &Value) -> Vec<(Fit, String)> {
        let object = json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind, "metadata": {"name": "n"}, "spec": spec});
        judge(&[object]).into_iter().map(|row| (row.fit, row.field)).collect()
    }

    #[test]
    fn each_object_works_differs_or_is_missing_and_every_row_says_what_to_do() {
        let (lib, config) = ("lib.projectsveltos.io", "config.projectsveltos.io");
        let cluster = json!({"matchLabels": {"env": "fv"}});
        let profile = |more: &str, value: Value| {
            let mut spec = json!({"clusterSelector": cluster});
            spec[more] = value;
            of("ClusterProfile", config, &spec)
        };
        assert_eq!(profile("tier", json!(50)), [(Fit::Works, String::new())]);
        assert_eq!(profile("reloader", json!(true)), [(Fit::Works, String::new())]);
        let missing = profile(
            "kustomizationRefs",
            json!([{"kind": "ConfigMap", "namespace": "a", "name": "b", "path": "p"}]),
        );
        assert_eq!(
            missing.first(),
            Some(&(Fit::Missing, "spec.kustomizationRefs".to_owned())),
            "{missing:?}"
        );
        assert_eq!(of("Classifier", lib, &json!({})), [(Fit::Missing, String::new())]);
        assert_eq!(of("Novelty", lib, &json!({})), [(Fit::Missing, String::new())]);
        assert_eq!(of("ClusterSummary", config, &json!({})), []);
        assert_eq!(of("Thing", "example.com", &json!({})), []);
    }

    #[test]
    fn what_the_original_has_made_and_what_does_not_run_is_not_told() {
        let labels = json!({"eventtrigger.lib.projectsveltos.io/eventtriggername": "t"});
        let made = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "n", "labels": labels}, "spec": {}});
        let manager = |replicas: u64| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "event-manager", "namespace": "projectsveltos"}, "spec": {"replicas": replicas}});
        assert_eq!(judge(&[made, manager(0)]), []);
        let rows = judge(&[manager(1)]);
        assert!(rows.len() == 1 && rows[0].remedy.contains("scale deployment event-manager"), "{rows:?}");
    }
}
