//! Fields, annotations and labels that are accepted and have no effect: the one list that says so.
//!
//! Manifests that were written for Sveltos have them. They are kept, and told of as notes: an object that has one is not wrong.

// D-0610: a field without effect is a note.

use serde_json::Value;

use super::on_delete::{GRACE, WITHDRAW_ON_DELETE};
use crate::error::FieldError;
use crate::object;

/// What has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// In objects of these kinds.
    pub kinds: &'static [&'static str],
    /// Where it is.
    pub at: FieldLocation,
    /// Why, and what there is instead.
    pub why: &'static str,
}

/// Where something without effect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldLocation {
    /// A field of the spec.
    Field(&'static str),
    /// An annotation.
    Annotation(&'static str),
    /// A label.
    Label(&'static str),
}

const TENANTS: &[&str] = &["ClusterProfile", "Profile", "EventTrigger", "EventBasedAddOn", "RoleRequest"];
const CLUSTERS: &[&str] = &["SveltosCluster", "Cluster"];
const SVELTOS_CLUSTERS: &[&str] = &["SveltosCluster"];

const fn field(kinds: &'static [&'static str], name: &'static str, why: &'static str) -> Ignored {
    Ignored { kinds, at: FieldLocation::Field(name), why }
}

/// Everything that is accepted and has no effect.
pub const IGNORED: [Ignored; 3] = [
    field(&["RoleRequest"], "expirationSeconds", "has no effect: Sluice issues no tokens"),
    Ignored {
        kinds: CLUSTERS,
        at: FieldLocation::Annotation("sharding.projectsveltos.io/key"),
        why: "has no effect: shards follow from names",
    },
    Ignored {
        kinds: TENANTS,
        at: FieldLocation::Label("projectsveltos.io/admin-name"),
        why: "has no effect; write projectsveltos.io/serviceaccount-name and projectsveltos.io/serviceaccount-namespace",
    },
];

/// It says for how long something is kept that is not kept.
const GRACE_ALONE: Ignored = field(
    SVELTOS_CLUSTERS,
    GRACE,
    "has no effect without the annotation sluice.dev/withdraw-on-delete: what the cluster holds stays when it is deregistered",
);

impl FieldLocation {
    /// The path in an object.
    fn path(self) -> String {
        match self {
            Self::Field(name) => format!("spec.{name}"),
            Self::Annotation(name) => format!("metadata.annotations.{name}"),
            Self::Label(name) => format!("metadata.labels.{name}"),
        }
    }

    fn is_in(self, object: &Value) -> bool {
        let spec = |name: &str| object::at(object, &["spec", name]).filter(|value| says_something(value));
        match self {
            Self::Field(name) => spec(name).is_some(),
            Self::Annotation(name) => object::annotation(object, name).is_some(),
            Self::Label(name) => object::label(object, name).is_some(),
        }
    }
}

/// Whether a value differs from what is meant by none.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_on) => *is_on,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// What an object has that has no effect.
pub fn ignored(object: &Value) -> Vec<FieldError> {
    let kind = object::text(object, &["kind"]);
    let grace = (kind == "SveltosCluster" && object::annotation(object, WITHDRAW_ON_DELETE).is_none())
        .then_some(&GRACE_ALONE);
    let all = IGNORED.iter().chain(grace);
    let here = all.filter(|one| one.kinds.contains(&kind) && one.at.is_in(object));
    here.map(|one| FieldError::new(object::describe(object), one.at.path(), one.why)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLES: &str = include_str!("../../../../docs/compatibility.md");

    fn paths(object: Value) -> Vec<String> {
        ignored(&object).into_iter().map(|error| error.field).collect()
    }

    #[test]
    fn what_is_written_and_has_no_effect_is_named() {
        let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p", "labels": {"projectsveltos.io/admin-name": "a"}},
            "spec": {"maxUpdate": "30%", "reloader": true}});
        assert_eq!(paths(profile), ["metadata.labels.projectsveltos.io/admin-name"]);
        let nothing = json!({"kind": "ClusterProfile", "metadata": {"name": "p"},
            "spec": {"syncMode": "Continuous", "reloader": false}});
        assert!(paths(nothing).is_empty());
        let cluster = json!({"kind": "SveltosCluster", "metadata": {"name": "c", "annotations": {"sharding.projectsveltos.io/key": "s"}},
            "spec": {"pullMode": true, "consecutiveFailureThreshold": 3, "workloadIdentity": {"provider": "AWS"}, "readinessChecks": [], "livenessChecks": {}}});
        let expected = ["metadata.annotations.sharding.projectsveltos.io/key"];
        assert_eq!(paths(cluster), expected);
        let mut cluster = json!({"kind": "SveltosCluster", "spec": {"cleanupGracePeriod": "5m"}});
        assert_eq!(paths(cluster.clone()), ["spec.cleanupGracePeriod"]);
        cluster["metadata"] = json!({"annotations": {"sluice.dev/withdraw-on-delete": "true"}});
        assert!(paths(cluster).is_empty());
        assert!(paths(json!({"kind": "EventSource", "spec": {"pullMode": true}})).is_empty());
        assert_eq!(
            paths(json!({"kind": "RoleRequest", "spec": {"expirationSeconds": 600}})),
            ["spec.expirationSeconds"]
        );
    }

    /// The tables of what is compatible say of the same fields that they have no effect, and of no others.
    #[test]
    fn the_tables_say_the_same() {
        let rows = TABLES.lines().filter_map(|line| {
            let mut cells = line.trim_matches('|').split(" | ");
            let (names, state) = (cells.next()?, cells.next()?);
            state.trim().starts_with("no effect").then(|| names.trim())
        });
        let mut told: Vec<String> = rows
            .flat_map(|names| names.split('`').skip(1).step_by(2))
            .map(|name| name.split_once(": ").map_or(name, |(name, _)| name).to_owned())
            .collect();
        let mut known: Vec<String> = IGNORED
            .iter()
            .map(|one| match one.at {
                FieldLocation::Field(name) | FieldLocation::Annotation(name) | FieldLocation::Label(name) => {
                    name.to_owned()
                }
            })
            .collect();
        told.sort();
        known.sort();
        assert_eq!(told, known);
    }
}
