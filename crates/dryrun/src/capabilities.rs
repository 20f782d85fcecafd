//! What a cluster can do: what a file in its folder says, and the kinds that definitions among its objects bring.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sluice_api::object;
use sluice_chart::Capabilities;
use sluice_renderer_core::ClusterCapabilities;

use crate::input::InputError;

/// The file in a cluster's folder. Without it a cluster can do what `helm template` assumes.
pub(crate) const FILE: &str = "capabilities.yaml";

/// What the file says, as the arguments of `helm template` do.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    /// The Kubernetes version; without it that of the default.
    #[serde(default)]
    kube_version: String,
    /// API versions besides those that every cluster has: `group/version` or `group/version/Kind`.
    #[serde(default)]
    api_versions: Vec<String>,
}

/// Reads the file.
///
/// # Errors
/// The file, and what is wrong with it.
pub(crate) fn read(file: &Path) -> Result<Capabilities, InputError> {
    let failed = |reason: String| InputError::of(file, reason);
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let mut documents = sluice_api::yaml::documents(&text).map_err(|error| failed(error.to_string()))?;
    let written: Written = match documents.pop() {
        Some(written) => serde_json::from_value(written).map_err(|error| failed(error.to_string()))?,
        None => Written::default(),
    };
    let mut capabilities = Capabilities::default();
    if !written.kube_version.is_empty() {
        let known = capabilities.with_kube_version(&written.kube_version);
        capabilities = known.map_err(|error| failed(format!("kubeVersion: {error}")))?;
    }
    Ok(capabilities.with_api_versions(written.api_versions))
}

/// What a cluster can do that holds these objects.
pub(crate) fn of_cluster(said: Option<&Capabilities>, objects: &[Value]) -> ClusterCapabilities {
    let more: BTreeSet<String> = objects.iter().flat_map(served).collect();
    ClusterCapabilities::of(said.cloned().unwrap_or_default().with_api_versions(more))
}

/// The API versions that a definition of a kind brings, with and without the kind.
fn served(definition: &Value) -> Vec<String> {
    if object::text(definition, &["kind"]) != "CustomResourceDefinition" {
        return Vec::new();
    }
    let group = object::text(definition, &["spec", "group"]);
    let kind = object::text(definition, &["spec", "names", "kind"]);
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let is_served = |version: &&Value| version.get("served").and_then(Value::as_bool) == Some(true);
    let both = |version: &Value| {
        let version = format!("{group}/{}", object::text(version, &["name"]));
        [format!("{version}/{kind}"), version]
    };
    versions.into_iter().flatten().filter(is_served).flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_in_a_cluster_are_kinds_that_it_has_in_the_versions_that_are_served() {
        let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "example.com", "names": {"kind": "Rule"},
            "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}, {"name": 7, "served": true}, 8]}});
        let expected = ["example.com/v1/Rule", "example.com/v1"];
        assert_eq!(served(&definition)[..2], expected);
        assert!(served(&json!({"kind": "ConfigMap", "spec": definition["spec"]})).is_empty());
        let with = of_cluster(None, &[definition]);
        assert_ne!(with, of_cluster(None, &[]));
    }
}
