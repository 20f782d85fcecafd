//! Schema of Helm charts and their options.

use super::addon::values_from;
use super::common::secret_reference;
use super::schema::{Schema, array, boolean, int, map, name, object, off, one_of, string};

/// Helm charts.
pub(super) fn helm_charts() -> Schema {
    let chart = object([
        ("repositoryURL", name()),
        ("repositoryName", string()),
        ("chartName", string()),
        ("chartVersion", string()),
        ("releaseName", name()),
        ("releaseNamespace", name()),
        ("values", string()),
        ("valuesFrom", values_from()),
        ("helmChartAction", one_of(&["Install", "Uninstall"]).default("Install")),
        ("options", options()),
        ("registryCredentialsConfig", registry_credentials()),
        ("signatureVerification", signature_verification()),
        (
            "provenanceVerification",
            object([("keyringSecretRef", secret_reference())]).require(&["keyringSecretRef"]),
        ),
    ])
    .require(&["repositoryURL", "releaseName", "releaseNamespace"]);
    let registries = ["chartName", "chartVersion", "repositoryName"];
    array(registries.into_iter().fold(chart, |chart, field| chart.rule(&needed(field), &message(field))))
        .atomic()
}

/// A chart of a Helm or OCI registry needs the field; a Flux source brings its own.
fn needed(field: &str) -> String {
    format!(
        "!(self.repositoryURL.startsWith('http') || self.repositoryURL.startsWith('oci')) \
         || (has(self.{field}) && size(self.{field}) >= 1)"
    )
}

fn message(field: &str) -> String {
    format!("{field} must be defined for charts of http and oci repositories")
}

fn options() -> Schema {
    object([
        ("skipCRDs", off()),
        ("skipSchemaValidation", off()),
        ("wait", off()),
        ("waitForJobs", off()),
        ("timeout", string()),
        ("disableHooks", off()),
        ("disableOpenAPIValidation", off()),
        ("atomic", off()),
        ("dependencyUpdate", off()),
        ("labels", map()),
        ("enableClientCache", off()),
        ("description", string()),
        ("passCredentialsAll", boolean()),
        ("runTests", off()),
        ("postRenderStrategy", one_of(&["combined", "separate", "nohooks"])),
        ("installOptions", install_options()),
        ("upgradeOptions", upgrade_options()),
        ("uninstallOptions", uninstall_options()),
    ])
}

fn install_options() -> Schema {
    object([
        ("createNamespace", boolean().default(true)),
        ("replace", boolean().default(true)),
        ("disableHooks", off()),
        ("takeOwnership", off()),
        ("recoverAfterConsecutiveFailures", int().default(5)),
    ])
}

fn upgrade_options() -> Schema {
    object([
        ("force", off()),
        ("recreate", off()),
        ("resetValues", off()),
        ("reuseValues", off()),
        ("resetThenReuseValues", off()),
        ("maxHistory", int().default(2)),
        ("cleanupOnFail", off()),
        ("subNotes", off()),
        ("upgradeCRDs", off()),
        ("disableHooks", off()),
        ("takeOwnership", off()),
    ])
}

fn uninstall_options() -> Schema {
    object([
        ("keepHistory", boolean()),
        ("deletionPropagation", one_of(&["orphan", "foreground", "background"])),
        ("disableHooks", off()),
    ])
}

fn registry_credentials() -> Schema {
    object([
        ("credentials", secret_reference()),
        ("key", string()),
        ("ca", secret_reference()),
        ("insecureSkipTLSVerify", boolean()),
        ("plainHTTP", boolean()),
    ])
}

fn signature_verification() -> Schema {
    let identity = object([("issuer", name()), ("subject", name())]).require(&["issuer", "subject"]);
    object([
        ("provider", one_of(&["PublicKey", "Keyless"])),
        ("secretRef", secret_reference()),
        ("matchOIDCIdentity", array(identity)),
    ])
    .require(&["provider"])
}
