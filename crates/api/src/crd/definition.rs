//! The frame around a schema: names, scope, versions and columns of one CustomResourceDefinition.

use super::common::conditions;
use super::schema::{Schema, closed_object};
use serde_json::{Value, json};

/// Group of events, triggers and clusters.
pub(super) const LIB_GROUP: &str = "lib.projectsveltos.io";
/// Group of profiles and what is made of them.
pub(super) const CONFIG_GROUP: &str = "config.projectsveltos.io";

/// Versions served, oldest first; the last one is stored.
const VERSIONS: [&str; 2] = ["v1alpha1", "v1beta1"];

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Cluster,
    Namespaced,
}

/// One definition under construction.
pub(super) struct Definition {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    scope: Scope,
    schema: Value,
    columns: Vec<Value>,
}

// === impl Definition ===

impl Definition {
    /// A kind without fields.
    pub(super) fn new(group: &'static str, kind: &'static str, plural: &'static str, scope: Scope) -> Self {
        Self { group, kind, plural, scope, schema: Value::Null, columns: Vec::new() }
    }

    /// Sets what spec and status look like.
    pub(super) fn schemas(mut self, spec: Schema, status: Schema) -> Self {
        let status = status.field("conditions", conditions());
        self.schema = closed_object([("spec", spec), ("status", status)])
            .doc(&format!("Schema of {}, shared by its versions.", self.kind))
            .build();
        self
    }

    /// Adds a column of `kubectl get`.
    pub(super) fn column(mut self, name: &str, kind: &str, json_path: &str) -> Self {
        self.columns.push(json!({"name": name, "type": kind, "jsonPath": json_path}));
        self
    }

    /// Adds the columns that say whether all is well, and what is wrong.
    pub(super) fn problem(self) -> Self {
        let ready = self.column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#);
        ready.column("Problem", "string", r#".status.conditions[?(@.type=="Ready")].message"#)
    }

    /// Adds the column with the age.
    pub(super) fn age(self) -> Self {
        self.column("Age", "date", ".metadata.creationTimestamp")
    }

    /// Name of the file that holds the definition.
    pub(super) fn file_name(&self) -> String {
        format!("{}_{}.yaml", self.group, self.plural)
    }

    /// The finished object.
    pub(super) fn build(self) -> Value {
        let stored = VERSIONS[VERSIONS.len() - 1];
        let versions: Vec<Value> =
            VERSIONS.iter().map(|version| self.version(version, *version == stored)).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                },
                "scope": match self.scope {
                    Scope::Cluster => "Cluster",
                    Scope::Namespaced => "Namespaced",
                },
                "conversion": {"strategy": "None"},
                "versions": versions,
            },
        })
    }

    fn version(&self, name: &str, stored: bool) -> Value {
        json!({
            "name": name,
            "served": true,
            "storage": stored,
            "subresources": {"status": {}},
            "additionalPrinterColumns": self.columns,
            "schema": {"openAPIV3Schema": self.schema},
        })
    }
}
