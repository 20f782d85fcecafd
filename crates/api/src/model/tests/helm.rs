//! Charts: every field, every option, and what is said of those that have no effect.

use serde_json::{Value, json};

use super::{are_lists, are_true_or_false, must_be_there, refused, texts_are_quoted, with};
use crate::error::FieldError;
use crate::model::{ChartAccess, ChartOptions, HelmChart, Profile, SpecCommon};

fn common(spec: Value) -> Result<SpecCommon, FieldError> {
    let object = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    Profile::read(&object).map(|profile| profile.common)
}

fn least() -> Value {
    json!({"helmCharts": [{"repositoryURL": "https://charts.example.com", "chartName": "web", "releaseName": "site", "releaseNamespace": "shop"}]})
}

/// The chart with this field, and the options of it that have no effect.
fn chart(field: &str, value: Value) -> (HelmChart, Vec<String>) {
    let spec = with(least().as_object().unwrap().clone(), &format!("helmCharts[0].{field}"), value);
    let mut common = common(spec).unwrap();
    let told = common.unsupported.iter().map(|error| error.field.clone()).collect();
    (common.helm_charts.remove(0), told)
}

fn options(field: &str, value: Value) -> ChartOptions {
    chart(&format!("options.{field}"), value).0.options
}

fn wrong(field: &str, value: Value) -> String {
    refused(common, &least(), &format!("helmCharts[0].{field}"), value)
}

#[test]
fn a_chart_that_says_the_least_has_every_default() {
    let (chart, told) = chart("values", Value::Null);
    assert_eq!((&*chart.chart_version, &*chart.repository_name, &*chart.values), ("", "", ""));
    assert!(chart.values_from.is_empty() && !chart.uninstall && told.is_empty());
    assert_eq!((chart.options, chart.access), (ChartOptions::default(), ChartAccess::default()));
    assert_eq!(chart.path, "spec.helmCharts[0]");
}

#[test]
fn a_chart_needs_an_address_and_three_names() {
    let fields = ["repositoryURL", "chartName", "releaseName", "releaseNamespace"];
    let fields = fields.map(|field| format!("helmCharts[0].{field}"));
    must_be_there(common, &least(), &fields.each_ref().map(String::as_str));
}

#[test]
fn texts_of_a_chart_are_quoted() {
    for field in
        ["repositoryName", "chartVersion", "values", "helmChartAction", "registryCredentialsConfig.key"]
    {
        texts_are_quoted(common, &least(), &[&format!("helmCharts[0].{field}")]);
    }
}

#[test]
fn a_version_that_looks_like_a_number_is_to_be_quoted() {
    assert_eq!(wrong("chartVersion", json!(1.5)), "1.5 is not a string; quote it");
}

#[test]
fn values_are_a_text_and_no_map() {
    assert_eq!(wrong("values", json!({"a": 1})), "{\"a\":1} is not a string; quote it");
}

#[test]
fn a_release_is_installed_unless_it_is_to_be_gone() {
    let uninstall = |action: &str| chart("helmChartAction", json!(action)).0.uninstall;
    assert_eq!(["", "Install", "Uninstall"].map(uninstall), [false, false, true]);
    assert_eq!(
        wrong("helmChartAction", json!("install")),
        "unknown action \"install\"; use Install or Uninstall"
    );
}

#[test]
fn every_option_with_an_effect_stands_for_itself() {
    let none = ChartOptions::default();
    for (field, expected) in [
        ("skipCRDs", ChartOptions { skip_crds: true, ..none }),
        ("skipSchemaValidation", ChartOptions { skip_schema: true, ..none }),
        ("disableHooks", ChartOptions { disable_hooks: true, ..none }),
        ("installOptions.disableHooks", ChartOptions { disable_hooks: true, ..none }),
        ("upgradeOptions.upgradeCRDs", ChartOptions { upgrade_crds: true, ..none }),
    ] {
        assert_eq!(options(field, json!(true)), expected, "{field}");
        assert_eq!(options(field, json!(false)), none, "{field}");
    }
}

#[test]
fn a_namespace_is_made_unless_it_is_said_not_to_be() {
    let skips = |value: Value| options("installOptions.createNamespace", value).skip_namespace_creation;
    assert_eq!([json!(false), json!(true), Value::Null].map(skips), [true, false, false]);
}

#[test]
fn options_are_true_or_false() {
    for option in [
        "skipCRDs",
        "skipSchemaValidation",
        "disableHooks",
        "installOptions.createNamespace",
        "upgradeOptions.upgradeCRDs",
    ] {
        are_true_or_false(common, &least(), &[&format!("helmCharts[0].options.{option}")]);
    }
}

#[test]
fn options_that_are_no_map_are_refused_and_not_passed_over() {
    for field in ["options", "options.installOptions", "options.upgradeOptions", "registryCredentialsConfig"]
    {
        for value in [json!(["skipCRDs"]), json!("login"), json!(true)] {
            assert_eq!(wrong(field, value), "must be a map", "{field}");
        }
    }
}

#[test]
fn every_option_without_effect_is_told_of_alone() {
    for (option, value) in [
        ("wait", json!(true)),
        ("waitForJobs", json!(true)),
        ("timeout", json!("5m")),
        ("disableOpenAPIValidation", json!(true)),
        ("atomic", json!(true)),
        ("dependencyUpdate", json!(true)),
        ("labels", json!({"a": "b"})),
        ("description", json!("x")),
        ("passCredentialsAll", json!(true)),
        ("runTests", json!(true)),
        ("postRenderStrategy", json!("combined")),
        ("installOptions.takeOwnership", json!(true)),
        ("upgradeOptions.force", json!(true)),
        ("upgradeOptions.recreate", json!(true)),
        ("upgradeOptions.reuseValues", json!(true)),
        ("upgradeOptions.resetThenReuseValues", json!(true)),
        ("uninstallOptions.keepHistory", json!(true)),
        ("uninstallOptions.deletionPropagation", json!("orphan")),
    ] {
        let (chart, told) = chart(&format!("options.{option}"), value);
        assert_eq!(told, [format!("spec.helmCharts[0].options.{option}")]);
        assert_eq!(chart.options, ChartOptions::default(), "{option}");
    }
}

#[test]
fn what_the_product_does_anyway_is_not_told_of() {
    for (option, value) in [
        ("enableClientCache", json!(true)),
        ("installOptions.replace", json!(true)),
        ("upgradeOptions.resetValues", json!(true)),
        ("upgradeOptions.maxHistory", json!(9)),
        ("upgradeOptions.cleanupOnFail", json!(true)),
        ("upgradeOptions.subNotes", json!(true)),
    ] {
        assert_eq!(chart(&format!("options.{option}"), value).1, Vec::<String>::new(), "{option}");
    }
}

#[test]
fn an_option_without_effect_does_not_make_the_chart_fail() {
    let (chart, told) = chart("options.wait", json!(true));
    assert_eq!((chart.chart_name.as_str(), told.len()), ("web", 1));
}

#[test]
fn a_chart_whose_signature_is_to_be_checked_is_refused() {
    for (field, value) in [
        ("signatureVerification", json!({"provider": "Keyless"})),
        ("provenanceVerification", json!({"keyringSecretRef": {"name": "k"}})),
    ] {
        assert!(wrong(field, value).contains("remove it to deploy the chart unchecked"), "{field}");
    }
}

#[test]
fn values_come_from_config_maps_and_secrets_in_their_order() {
    let from = json!([{"kind": "Secret", "name": "a", "namespace": "n"}, {"kind": "ConfigMap", "name": "b"}]);
    let read: Vec<_> = chart("valuesFrom", from)
        .0
        .values_from
        .iter()
        .map(|one| format!("{} {}/{}", one.kind, one.namespace, one.name))
        .collect();
    assert_eq!(read, ["Secret n/a", "ConfigMap /b"]);
}

#[test]
fn values_are_never_local() {
    let local = json!([{"kind": "ConfigMap", "name": "a", "deploymentType": "Local"}]);
    let spec = with(least().as_object().unwrap().clone(), "helmCharts[0].valuesFrom", local);
    let error = common(spec).unwrap_err();
    assert_eq!(error.field, "spec.helmCharts[0].valuesFrom[0].deploymentType");
}

#[test]
fn values_come_from_a_list() {
    are_lists(common, &least(), &["helmCharts[0].valuesFrom"]);
}

#[test]
fn a_repository_is_reached_as_it_is_said() {
    let config = json!({"credentials": {"namespace": "n", "name": "login"}, "key": "k", "ca": {"name": "ca"},
        "insecureSkipTLSVerify": true, "plainHTTP": true});
    let access = chart("registryCredentialsConfig", config).0.access;
    let (credentials, ca) = (access.credentials.unwrap(), access.ca.unwrap());
    assert_eq!((&*credentials.namespace, &*credentials.name, &*access.key), ("n", "login", "k"));
    assert_eq!((&*ca.namespace, &*ca.name), ("", "ca"));
    assert_eq!(credentials.path, "spec.helmCharts[0].registryCredentialsConfig.credentials");
    assert!(access.insecure_skip_tls_verify && access.plain_http);
}

#[test]
fn a_secret_of_a_repository_has_a_name() {
    for secret in ["credentials", "ca"] {
        let field = format!("registryCredentialsConfig.{secret}.name");
        assert_eq!(wrong(&field, json!("")), "is required and must not be empty");
    }
}

#[test]
fn switches_of_a_repository_are_true_or_false() {
    for field in ["insecureSkipTLSVerify", "plainHTTP"] {
        are_true_or_false(common, &least(), &[&format!("helmCharts[0].registryCredentialsConfig.{field}")]);
    }
}

#[test]
fn every_text_of_a_chart_is_a_template_and_nothing_else_changes() {
    let (chart, _) = chart("values", json!("v"));
    let same = chart.rendered(|_, text| Ok::<_, String>(text.to_owned())).unwrap();
    assert_eq!(same, chart);
    for (field, text) in chart.texts() {
        let failing =
            chart.rendered(
                |place, other| if other == text { Err(place.to_owned()) } else { Ok(other.to_owned()) },
            );
        let error = failing.unwrap_err();
        assert!(text.is_empty() || error == format!("spec.helmCharts[0].{field}"), "{error}");
    }
}

#[test]
fn the_second_chart_is_named_by_its_place() {
    let one = least()["helmCharts"][0].clone();
    let error = common(json!({"helmCharts": [one, {}]})).unwrap_err();
    assert_eq!(error.field, "spec.helmCharts[1].repositoryURL");
}
