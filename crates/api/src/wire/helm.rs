//! Helm charts and their options.

use super::{Extra, SecretReference, StringMap, ValueFrom};
use serde::{Deserialize, Serialize};

/// One release of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmChart {
    /// `http`, `oci` or Flux address; may be a template.
    #[serde(rename = "repositoryURL")]
    pub repository_url: String,
    /// Name of the repository; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository_name: String,
    /// Name of the chart; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_name: String,
    /// Version of the chart; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_version: String,
    /// Name of the release; may be a template.
    pub release_name: String,
    /// Namespace of the release; may be a template.
    pub release_namespace: String,
    /// Values as YAML; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// ConfigMaps and Secrets with further values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValueFrom>,
    /// `Install` or `Uninstall`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub helm_chart_action: String,
    /// How to install, upgrade and remove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<HelmOptions>,
    /// Access to the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_credentials_config: Option<RegistryCredentials>,
    /// Signature to check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_verification: Option<SignatureVerification>,
    /// Provenance to check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance_verification: Option<ProvenanceVerification>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a release is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmOptions {
    /// Whether the chart's CRDs are left out.
    #[serde(rename = "skipCRDs", skip_serializing_if = "Option::is_none")]
    pub skip_crds: Option<bool>,
    /// Whether values go unchecked against the chart's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_schema_validation: Option<bool>,
    /// Whether to wait until everything is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// Whether to wait for Jobs too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for_jobs: Option<bool>,
    /// How long a step may take.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    /// Whether hooks are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hooks: Option<bool>,
    /// Whether manifests go unchecked against OpenAPI.
    #[serde(rename = "disableOpenAPIValidation", skip_serializing_if = "Option::is_none")]
    pub disable_open_api_validation: Option<bool>,
    /// Whether a failed step is rolled back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic: Option<bool>,
    /// Whether dependencies are fetched first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency_update: Option<bool>,
    /// Labels of the release's record.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub labels: StringMap,
    /// Whether the client is kept between steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_client_cache: Option<bool>,
    /// Description of the release.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether credentials go to every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_credentials_all: Option<bool>,
    /// Whether the chart's tests run after an install.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_tests: Option<bool>,
    /// `combined`, `separate` or `nohooks`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub post_render_strategy: String,
    /// Options of installs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_options: Option<HelmInstallOptions>,
    /// Options of upgrades.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade_options: Option<HelmUpgradeOptions>,
    /// Options of removals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uninstall_options: Option<HelmUninstallOptions>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Options of an install.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmInstallOptions {
    /// Whether the namespace is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_namespace: Option<bool>,
    /// Whether a name that was used before may be used again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
    /// Whether hooks are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hooks: Option<bool>,
    /// Whether objects of others are taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub take_ownership: Option<bool>,
    /// After how many failures the release is installed afresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recover_after_consecutive_failures: Option<i32>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Options of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmUpgradeOptions {
    /// Whether objects are replaced instead of patched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Whether pods are restarted (older charts).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recreate: Option<bool>,
    /// Whether values start from the chart's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_values: Option<bool>,
    /// Whether values start from the last release's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_values: Option<bool>,
    /// The chart's own values, then the last release's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_then_reuse_values: Option<bool>,
    /// How many revisions are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_history: Option<i32>,
    /// Whether what a failed upgrade created is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup_on_fail: Option<bool>,
    /// Whether notes of sub-charts are rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_notes: Option<bool>,
    /// Whether CRDs are upgraded.
    #[serde(rename = "upgradeCRDs", skip_serializing_if = "Option::is_none")]
    pub upgrade_crds: Option<bool>,
    /// Whether hooks are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hooks: Option<bool>,
    /// Whether objects of others are taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub take_ownership: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Options of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmUninstallOptions {
    /// Whether the release's record is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_history: Option<bool>,
    /// `background`, `foreground` or `orphan`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deletion_propagation: String,
    /// Whether hooks are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hooks: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Access to a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryCredentials {
    /// User and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SecretReference>,
    /// Key inside the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretReference>,
    /// Whether the server's certificate goes unchecked.
    #[serde(rename = "insecureSkipTLSVerify", skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Whether the registry is spoken to without TLS.
    #[serde(rename = "plainHTTP", skip_serializing_if = "Option::is_none")]
    pub plain_http: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A signature that a chart must carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SignatureVerification {
    /// `PublicKey` or `Keyless`.
    pub provider: String,
    /// The public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Signers that are accepted.
    #[serde(rename = "matchOIDCIdentity", skip_serializing_if = "Vec::is_empty")]
    pub match_oidc_identity: Vec<OidcIdentity>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A signer, by regular expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OidcIdentity {
    /// Issuer of the identity.
    pub issuer: String,
    /// Subject of the identity.
    pub subject: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A provenance file that a chart must carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvenanceVerification {
    /// The keyring.
    pub keyring_secret_ref: SecretReference,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
