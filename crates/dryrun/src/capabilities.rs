//! What a cluster can do, from a file in its folder.

use std::path::Path;

use serde::Deserialize;
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
pub(crate) fn read(file: &Path) -> Result<ClusterCapabilities, InputError> {
    let failed = |reason: String| InputError::of(file, reason);
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let mut documents = sluice_api::yaml::documents(&text).map_err(failed)?;
    let written: Written = match documents.pop() {
        Some(written) => serde_json::from_value(written).map_err(|error| failed(error.to_string()))?,
        None => Written::default(),
    };
    let mut capabilities = Capabilities::default();
    if !written.kube_version.is_empty() {
        let known = capabilities.with_kube_version(&written.kube_version);
        capabilities = known.map_err(|error| failed(format!("kubeVersion: {error}")))?;
    }
    Ok(ClusterCapabilities::of(capabilities.with_api_versions(written.api_versions)))
}
