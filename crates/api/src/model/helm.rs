//! Helm charts that triggers and profiles deploy.

use super::profile::PolicyRef;
use super::read::Field;
use crate::error::FieldError;

/// One release of a chart. Texts may be templates where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmChart {
    /// `http`, `https` or `oci` address. May be a template.
    pub repository_url: String,
    /// What people call the repository. May be a template.
    pub repository_name: String,
    /// Name of the chart. May be a template.
    pub chart_name: String,
    /// Its version, or a range of versions. May be a template.
    pub chart_version: String,
    /// Name of the release. May be a template.
    pub release_name: String,
    /// Namespace of the release. May be a template.
    pub release_namespace: String,
    /// Values as YAML; they win over those of `values_from`. May be a template.
    pub values: String,
    /// ConfigMaps and Secrets with values, in order.
    pub values_from: Vec<PolicyRef>,
    /// Whether the release is to be gone.
    pub uninstall: bool,
    /// How it is rendered and applied.
    pub options: ChartOptions,
    /// How its repository is reached.
    pub access: ChartAccess,
    /// Path of the field, for messages.
    pub path: String,
}

/// The options of a release that have an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChartOptions {
    /// Whether what is in `crds/` is left out.
    pub skip_crds: bool,
    /// Whether values may be what the chart's schema forbids.
    pub skip_schema: bool,
    /// Whether nobody wants to hear that hooks are not run.
    pub disable_hooks: bool,
    /// Whether a missing namespace is left missing.
    pub skip_namespace_creation: bool,
    /// Whether what is in `crds/` is changed where it is there already.
    pub upgrade_crds: bool,
}

/// How a repository is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartAccess {
    /// A Secret with user name and password.
    pub credentials: Option<SecretRef>,
    /// The key of a registry configuration within that Secret.
    pub key: String,
    /// A Secret with the certificate authority of the server.
    pub ca: Option<SecretRef>,
    /// Whether the server's certificate goes unchecked.
    pub insecure_skip_tls_verify: bool,
    /// Whether a registry is spoken to without TLS.
    pub plain_http: bool,
}

/// A Secret of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRef {
    /// Its namespace; empty means the cluster's.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Path of the field, for messages.
    pub path: String,
}

/// Options without an effect, below `options`. What Sluice does anyway is not among them.
const NO_EFFECT: [&str; 18] = [
    "wait",
    "waitForJobs",
    "timeout",
    "disableOpenAPIValidation",
    "atomic",
    "dependencyUpdate",
    "labels",
    "description",
    "passCredentialsAll",
    "runTests",
    "postRenderStrategy",
    "installOptions.takeOwnership",
    "upgradeOptions.force",
    "upgradeOptions.recreate",
    "upgradeOptions.reuseValues",
    "upgradeOptions.resetThenReuseValues",
    "uninstallOptions.keepHistory",
    "uninstallOptions.deletionPropagation",
];

// === impl HelmChart ===

impl HelmChart {
    /// Reads `helmCharts`; the second part names the options that have no effect.
    pub(super) fn all(spec: &Field<'_>) -> Result<(Vec<Self>, Vec<FieldError>), FieldError> {
        let (mut charts, mut without_effect) = (Vec::new(), Vec::new());
        for item in spec.get("helmCharts").items()? {
            charts.push(Self::read(&item)?);
            let options = item.get("options");
            for option in NO_EFFECT {
                let field = option.split('.').fold(options.clone(), |field, part| field.get(part));
                if field.is_set() {
                    without_effect.push(field.error("has no effect yet; remove it"));
                }
            }
        }
        Ok((charts, without_effect))
    }

    fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        for field in ["signatureVerification", "provenanceVerification"] {
            item.get(field).refuse(
                "signatures are not checked by this version; remove it to deploy the chart unchecked",
            )?;
        }
        let action = item.get("helmChartAction");
        let uninstall = match action.text()?.as_str() {
            "" | "Install" => false,
            "Uninstall" => true,
            other => return Err(action.error(format!("unknown action {other:?}; use Install or Uninstall"))),
        };
        let values_from = item.get("valuesFrom").items()?;
        Ok(Self {
            repository_url: item.get("repositoryURL").required_text()?,
            repository_name: item.get("repositoryName").text()?,
            chart_name: item.get("chartName").required_text()?,
            chart_version: item.get("chartVersion").text()?,
            release_name: item.get("releaseName").required_text()?,
            release_namespace: item.get("releaseNamespace").required_text()?,
            values: item.get("values").text()?,
            values_from: values_from.iter().map(PolicyRef::read).collect::<Result<_, _>>()?,
            uninstall,
            options: ChartOptions::read(&item.map("options")?)?,
            access: ChartAccess::read(&item.map("registryCredentialsConfig")?)?,
            path: item.error("").field,
        })
    }

    /// The same with every text rendered that may be a template.
    ///
    /// # Errors
    /// What `render` says of a field, whose path is its first argument.
    pub fn rendered<E>(&self, render: impl Fn(&str, &str) -> Result<String, E>) -> Result<Self, E> {
        let field = |field: &str, text: &str| render(&format!("{}.{field}", self.path), text);
        Ok(Self {
            repository_url: field("repositoryURL", &self.repository_url)?,
            repository_name: field("repositoryName", &self.repository_name)?,
            chart_name: field("chartName", &self.chart_name)?,
            chart_version: field("chartVersion", &self.chart_version)?,
            release_name: field("releaseName", &self.release_name)?,
            release_namespace: field("releaseNamespace", &self.release_namespace)?,
            values: field("values", &self.values)?,
            ..self.clone()
        })
    }

    /// The texts that may be templates, by field.
    pub fn texts(&self) -> [(&'static str, &str); 7] {
        [
            ("repositoryURL", &self.repository_url),
            ("repositoryName", &self.repository_name),
            ("chartName", &self.chart_name),
            ("chartVersion", &self.chart_version),
            ("releaseName", &self.release_name),
            ("releaseNamespace", &self.release_namespace),
            ("values", &self.values),
        ]
    }
}

// === impl ChartOptions ===

impl ChartOptions {
    fn read(options: &Field<'_>) -> Result<Self, FieldError> {
        let install = options.map("installOptions")?;
        let create = install.get("createNamespace");
        let upgrade = options.map("upgradeOptions")?;
        Ok(Self {
            skip_crds: options.get("skipCRDs").flag()?,
            skip_schema: options.get("skipSchemaValidation").flag()?,
            disable_hooks: options.get("disableHooks").flag()? || install.get("disableHooks").flag()?,
            skip_namespace_creation: create.value().is_some() && !create.flag()?,
            upgrade_crds: upgrade.get("upgradeCRDs").flag()?,
        })
    }
}

// === impl ChartAccess ===

impl ChartAccess {
    fn read(config: &Field<'_>) -> Result<Self, FieldError> {
        Ok(Self {
            credentials: SecretRef::read(&config.get("credentials"))?,
            key: config.get("key").text()?,
            ca: SecretRef::read(&config.get("ca"))?,
            insecure_skip_tls_verify: config.get("insecureSkipTLSVerify").flag()?,
            plain_http: config.get("plainHTTP").flag()?,
        })
    }
}

// === impl SecretRef ===

impl SecretRef {
    fn read(field: &Field<'_>) -> Result<Option<Self>, FieldError> {
        if field.value().is_none() {
            return Ok(None);
        }
        let (namespace, name) = (field.get("namespace").text()?, field.get("name").required_text()?);
        Ok(Some(Self { namespace, name, path: field.error("").field }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn read(extra: Value) -> Result<(Vec<HelmChart>, Vec<FieldError>), FieldError> {
        let mut chart = json!({"repositoryURL": "https://charts.example.com", "repositoryName": "example", "chartName": "example/web",
            "chartVersion": "1.x", "releaseName": "site", "releaseNamespace": "web"});
        chart.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let object =
            json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"helmCharts": [chart]}});
        HelmChart::all(&Field::spec(&object))
    }

    #[test]
    fn charts_are_read_with_their_values_and_access() {
        let (charts, without_effect) = read(json!({
            "values": "a: 1", "valuesFrom": [{"kind": "Secret", "name": "s", "optional": true}], "helmChartAction": "Uninstall",
            "options": {"skipCRDs": true, "skipSchemaValidation": true, "installOptions": {"createNamespace": false, "disableHooks": true},
                "upgradeOptions": {"upgradeCRDs": true}},
            "registryCredentialsConfig": {"credentials": {"namespace": "n", "name": "login"}, "key": "k", "plainHTTP": true}
        }))
        .unwrap();
        let chart = &charts[0];
        assert!(without_effect.is_empty() && chart.uninstall && chart.access.plain_http);
        assert_eq!(
            (&*chart.path, &*chart.values_from[0].path),
            ("spec.helmCharts[0]", "spec.helmCharts[0].valuesFrom[0]")
        );
        let all = ChartOptions {
            skip_crds: true,
            skip_schema: true,
            disable_hooks: true,
            skip_namespace_creation: true,
            upgrade_crds: true,
        };
        assert_eq!(chart.options, all);
        let login = chart.access.credentials.as_ref().unwrap();
        assert_eq!((&*login.namespace, &*login.name), ("n", "login"));
    }

    #[test]
    fn what_api_servers_fill_in_is_no_option() {
        let (charts, without_effect) = read(json!({"options": {"wait": false, "labels": {}, "timeout": "",
            "installOptions": {"createNamespace": true, "replace": true, "takeOwnership": false, "recoverAfterConsecutiveFailures": 5},
            "upgradeOptions": {"maxHistory": 2, "force": false}}}))
        .unwrap();
        assert_eq!((charts[0].options, without_effect), (ChartOptions::default(), Vec::new()));
    }

    #[test]
    fn options_without_an_effect_are_told() {
        let (_, told) =
            read(json!({"options": {"wait": true, "timeout": "5m", "upgradeOptions": {"force": true}}}))
                .unwrap();
        let fields: Vec<_> = told.iter().map(|error| error.field.as_str()).collect();
        let place = |option: &str| format!("spec.helmCharts[0].options.{option}");
        assert_eq!(fields, [place("wait"), place("timeout"), place("upgradeOptions.force")]);
    }

    #[test]
    fn a_chart_that_cannot_be_deployed_as_asked_is_refused() {
        for (extra, part) in [
            (json!({"chartName": ""}), "spec.helmCharts[0].chartName: is required"),
            (json!({"helmChartAction": "Test"}), "unknown action \"Test\"; use Install or Uninstall"),
            (json!({"provenanceVerification": {}}), "signatures are not checked"),
            (json!({"valuesFrom": [{"kind": "Pod", "name": "x"}]}), "spec.helmCharts[0].valuesFrom[0].kind"),
            (
                json!({"registryCredentialsConfig": {"ca": {}}}),
                "registryCredentialsConfig.ca.name: is required",
            ),
        ] {
            let error = read(extra).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_text_is_rendered_and_errors_name_the_field() {
        let chart = read(json!({"values": "v"})).unwrap().0.remove(0);
        let marked = chart.rendered(|_, text| Ok::<_, String>(format!("{text}!"))).unwrap();
        assert!(marked.texts().iter().all(|(_, text)| text.ends_with('!')));
        let error =
            chart.rendered(|field, text| if text == "v" { Err(field.to_owned()) } else { Ok(String::new()) });
        assert_eq!(error.unwrap_err(), "spec.helmCharts[0].values");
    }
}
