//! What the definitions say of single fields, as Sveltos' own do: defaults, choices, what is required, and rules.

use regex::Regex;

use super::*;

/// The schema of a field at a path such as `spec.policyRefs[].kind`.
fn field(kind: &str, path: &str) -> Value {
    let definition = find(kind);
    path.split('.').fold(schema_of(&definition).clone(), |node, step| {
        let below = &node["properties"][step.trim_end_matches("[]")];
        let below = if step.ends_with("[]") { &below["items"] } else { below };
        assert!(!below.is_null(), "{kind}: {path}");
        below.clone()
    })
}

fn default(kind: &str, path: &str) -> Value {
    field(kind, path).get("default").cloned().unwrap_or_default()
}

fn required(kind: &str, path: &str) -> Vec<String> {
    let names = field(kind, path)["required"].clone();
    names.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn choices(kind: &str, path: &str) -> Value {
    field(kind, path)["enum"].clone()
}

/// The rules of a field.
fn rules(kind: &str, path: &str) -> Vec<String> {
    let rules = field(kind, path)["x-kubernetes-validations"].clone();
    rules.as_array().into_iter().flatten().map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
}

/// The kinds that say what is deployed.
const DEPLOYING: [&str; 4] = ["EventTrigger", "EventBasedAddOn", "ClusterProfile", "Profile"];

#[test]
fn what_is_deployed_has_the_defaults_of_sveltos() {
    for kind in DEPLOYING {
        for (path, expected) in [
            ("spec.syncMode", json!("Continuous")),
            ("spec.tier", json!(100)),
            ("spec.stopMatchingBehavior", json!("WithdrawPolicies")),
            ("spec.continueOnConflict", json!(false)),
            ("spec.reloader", json!(false)),
            ("spec.policyRefs[].deploymentType", json!("Remote")),
            ("spec.policyRefs[].tier", json!(100)),
            ("spec.policyRefs[].optional", json!(false)),
            ("spec.kustomizationRefs[].deploymentType", json!("Remote")),
            ("spec.templateResourceRefs[].optional", json!(false)),
            ("spec.helmCharts[].helmChartAction", json!("Install")),
            ("spec.helmCharts[].options.installOptions.createNamespace", json!(true)),
            ("spec.helmCharts[].options.installOptions.replace", json!(true)),
            ("spec.helmCharts[].options.installOptions.recoverAfterConsecutiveFailures", json!(5)),
            ("spec.helmCharts[].options.upgradeOptions.maxHistory", json!(2)),
        ] {
            assert_eq!(default(kind, path), expected, "{kind}: {path}");
        }
    }
}

#[test]
fn triggers_create_unless_they_are_told_to_delete() {
    assert_eq!(default("EventTrigger", "spec.cloudEventAction"), "Create");
}

#[test]
fn sources_do_not_collect_unless_they_are_told_to() {
    assert_eq!(default("EventSource", "spec.collectResources"), false);
}

#[test]
fn clusters_have_the_defaults_of_sveltos() {
    assert_eq!(default("SveltosCluster", "spec.consecutiveFailureThreshold"), 3);
    assert_eq!(default("SveltosCluster", "spec.pullMode"), false);
    assert_eq!(default("SveltosCluster", "spec.paused"), Value::Null);
}

#[test]
fn one_for_event_has_no_default_since_it_may_not_change() {
    assert_eq!(default("EventTrigger", "spec.oneForEvent"), Value::Null);
    assert_eq!(rules("EventTrigger", "spec.oneForEvent"), ["self == oldSelf"]);
}

#[test]
fn a_tier_is_at_least_one() {
    for kind in DEPLOYING {
        assert_eq!(field(kind, "spec.tier")["minimum"], 1, "{kind}");
        assert_eq!(field(kind, "spec.policyRefs[].tier")["minimum"], 1, "{kind}");
    }
}

#[test]
fn choices_are_those_of_sveltos() {
    for (kind, path, expected) in [
        (
            "Profile",
            "spec.syncMode",
            json!(["OneTime", "Continuous", "ContinuousWithDriftDetection", "DryRun"]),
        ),
        ("Profile", "spec.stopMatchingBehavior", json!(["WithdrawPolicies", "LeavePolicies"])),
        ("Profile", "spec.policyRefs[].deploymentType", json!(["Local", "Remote"])),
        ("Profile", "spec.patchesFrom[].kind", json!(["ConfigMap", "Secret"])),
        ("Profile", "spec.helmCharts[].valuesFrom[].kind", json!(["ConfigMap", "Secret"])),
        ("Profile", "spec.helmCharts[].helmChartAction", json!(["Install", "Uninstall"])),
        ("Profile", "spec.validateHealths[].featureID", json!(["Resources", "Helm", "Kustomize"])),
        (
            "EventSource",
            "spec.resourceSelectors[].labelFilters[].operation",
            json!(["Equal", "Different", "Has", "DoesNotHave"]),
        ),
        ("EventReport", "status.phase", json!(["WaitingForDelivery", "Delivering", "Processed"])),
        ("SveltosCluster", "status.connectionStatus", json!(["Healthy", "Down"])),
        ("SveltosCluster", "spec.workloadIdentity.provider", json!(["AWS", "GCP", "Azure"])),
        ("ClusterSummary", "status.helmReleaseSummaries[].status", json!(["Managing", "Conflict"])),
    ] {
        assert_eq!(choices(kind, path), expected, "{kind}: {path}");
    }
}

#[test]
fn sources_of_manifests_are_of_five_kinds() {
    let kinds = json!(["GitRepository", "OCIRepository", "Bucket", "ConfigMap", "Secret"]);
    for list in ["policyRefs", "kustomizationRefs"] {
        assert_eq!(choices("ClusterProfile", &format!("spec.{list}[].kind")), kinds, "{list}");
    }
}

#[test]
fn what_must_be_there_is_said() {
    for (kind, path, expected) in [
        ("EventTrigger", "spec", &["eventSourceName"][..]),
        ("EventTrigger", "spec.configMapGenerator[]", &["name", "nameFormat"]),
        ("EventSource", "spec.resourceSelectors[]", &["group", "version", "kind"]),
        ("EventSource", "spec.resourceSelectors[].evaluateCEL[]", &["name", "rule"]),
        ("EventReport", "spec", &["clusterNamespace", "clusterName", "clusterType", "eventSourceName"]),
        ("ClusterProfile", "spec.helmCharts[]", &["repositoryURL", "releaseName", "releaseNamespace"]),
        ("ClusterProfile", "spec.templateResourceRefs[]", &["resource", "identifier"]),
        ("ClusterProfile", "spec.patches[]", &["patch"]),
        ("ClusterProfile", "spec.driftExclusions[]", &["paths"]),
        ("RoleRequest", "spec", &["serviceAccountName", "serviceAccountNamespace"]),
        ("SveltosCluster", "spec.activeWindow", &["from", "to"]),
        ("ClusterSummary", "spec", &["clusterNamespace", "clusterName", "clusterType"]),
    ] {
        assert_eq!(required(kind, path), expected, "{kind}: {path}");
    }
}

#[test]
fn a_profile_and_a_set_need_nothing() {
    for kind in ["ClusterProfile", "Profile", "ClusterSet", "Set", "SveltosCluster", "EventSource"] {
        assert_eq!(required(kind, "spec"), [""; 0], "{kind}");
    }
}

#[test]
fn a_source_of_manifests_is_an_object_or_an_address() {
    for kind in DEPLOYING {
        assert_eq!(rules(kind, "spec.policyRefs[]"), ["has(self.remoteURL) != has(self.kind)"], "{kind}");
    }
}

#[test]
fn a_chart_of_a_registry_needs_name_version_and_repository() {
    let rules = rules("ClusterProfile", "spec.helmCharts[]");
    for field in ["chartName", "chartVersion", "repositoryName"] {
        assert!(rules.iter().any(|rule| rule.contains(&format!("has(self.{field})"))), "{field}: {rules:?}");
    }
}

#[test]
fn a_job_excludes_scripts_and_rules() {
    let rules = rules("ClusterProfile", "spec.validateHealths[]");
    assert!(rules[0].contains("!has(self.script) && !has(self.evaluateCEL)"), "{rules:?}");
}

#[test]
fn each_provider_has_its_own_details() {
    let rules = rules("SveltosCluster", "spec.workloadIdentity");
    let wanted = ["aws", "gcp", "azure"].map(|field| format!("has(self.{field})"));
    assert!(wanted.iter().zip(&rules).all(|(part, rule)| rule.ends_with(part)), "{rules:?}");
}

#[test]
fn how_many_are_updated_is_a_number_or_a_percentage() {
    let schema = field("EventTrigger", "spec.maxUpdate");
    assert_eq!(field("ClusterProfile", "spec.maxUpdate"), schema);
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for (text, expected) in [
        ("30%", true),
        ("100%", true),
        ("5", true),
        ("101%", false),
        ("-1", false),
        ("x%", false),
        ("", false),
    ] {
        assert_eq!(pattern.is_match(text), expected, "{text}");
    }
}

#[test]
fn addresses_are_of_http_or_oci() {
    let schema = field("ClusterProfile", "spec.policyRefs[].remoteURL.url");
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for (text, expected) in
        [("https://x", true), ("http://x", true), ("oci://x", true), ("ftp://x", false), ("x", false)]
    {
        assert_eq!(pattern.is_match(text), expected, "{text}");
    }
}

#[test]
fn resources_of_a_profile_are_a_map_by_identifier_and_those_of_a_trigger_a_list() {
    let keyed = |kind: &str| {
        let definition = find(kind);
        schema_of(&definition)["properties"]["spec"]["properties"]["templateResourceRefs"]["x-kubernetes-list-map-keys"].clone()
    };
    assert_eq!(keyed("ClusterProfile"), json!(["identifier"]));
    assert_eq!(keyed("EventTrigger"), Value::Null);
}

#[test]
fn triggers_have_no_fields_that_only_profiles_have() {
    let definition = find("EventTrigger");
    let fields = &schema_of(&definition)["properties"]["spec"]["properties"];
    for name in ["setRefs", "clusterRefs", "continueOnError", "maxConsecutiveFailures", "transitionFrom"] {
        assert!(fields.get(name).is_none(), "{name}");
    }
}

#[test]
fn both_kinds_of_a_pair_have_the_same_schema() {
    for (one, other) in
        [("ClusterProfile", "Profile"), ("ClusterSet", "Set"), ("EventTrigger", "EventBasedAddOn")]
    {
        for part in ["spec", "status"] {
            assert_eq!(field(one, part), field(other, part), "{one} {part}");
        }
    }
}

#[test]
fn a_summary_holds_the_spec_of_its_profile() {
    let mut copy = field("ClusterSummary", "spec.clusterProfileSpec");
    copy.as_object_mut().unwrap().remove("description");
    assert_eq!(copy, field("ClusterProfile", "spec"));
}

#[test]
fn every_kind_has_conditions_by_type() {
    for definition in all() {
        let conditions = field(kind_of(&definition), "status.conditions[]");
        assert_eq!(conditions["required"], json!(["type", "status"]));
    }
}

#[test]
fn every_kind_has_names_that_follow_from_it() {
    for definition in all() {
        let (kind, names) = (kind_of(&definition), &definition["spec"]["names"]);
        assert_eq!(names["singular"], kind.to_lowercase());
        assert_eq!(names["listKind"], format!("{kind}List"));
        let (plural, group) =
            (names["plural"].as_str().unwrap(), definition["spec"]["group"].as_str().unwrap());
        assert_eq!(definition["metadata"]["name"], format!("{plural}.{group}"));
    }
}

#[test]
fn every_kind_has_a_status_of_its_own_and_an_age() {
    for definition in all() {
        for version in definition["spec"]["versions"].as_array().unwrap() {
            assert_eq!(version["subresources"], json!({"status": {}}));
            let columns = version["additionalPrinterColumns"].as_array().unwrap();
            assert_eq!(columns.last().unwrap()["jsonPath"], ".metadata.creationTimestamp");
        }
    }
}

#[test]
fn every_column_is_of_a_declared_field() {
    let choice = Regex::new(r"\[\?\(.*?\)\]").unwrap();
    for definition in all() {
        for column in definition["spec"]["versions"][1]["additionalPrinterColumns"].as_array().unwrap() {
            let path = column["jsonPath"].as_str().unwrap();
            let Some(path) = path.strip_prefix('.').filter(|path| !path.starts_with("metadata")) else {
                continue;
            };
            let path = choice.replace_all(path, "[]").into_owned();
            assert!(field(kind_of(&definition), &path).is_object(), "{path}");
        }
    }
}

#[test]
fn where_something_can_be_wrong_a_column_says_what() {
    for kind in ["EventSource", "EventTrigger", "EventBasedAddOn", "ClusterProfile", "Profile", "RoleRequest"]
    {
        let columns = find(kind)["spec"]["versions"][1]["additionalPrinterColumns"].clone();
        assert!(columns.as_array().unwrap().iter().any(|column| column["name"] == "Problem"), "{kind}");
    }
}
