#![allow(clippy::unwrap_used)]

use super::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

mod declared;

/// Decodes, encodes and expects what was written.
fn round_trip<T: DeserializeOwned + Serialize>(written: Value) -> T {
    let decoded: T = decode(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&decoded).unwrap(), written);
    decoded
}

fn mk_object(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
}

#[test]
fn the_flat_event_source_of_the_first_era_survives() {
    let source: EventSource = round_trip(mk_object(
        "EventSource",
        json!({
            "collectResources": true, "group": "", "version": "v1", "kind": "Service", "namespace": "eng",
            "labelsFilters": [{"key": "sveltos", "operation": "Equal", "value": "fv"}],
            "script": "function evaluate() end",
        }),
    ));
    assert_eq!(source.spec.group.as_deref(), Some(""));
    assert_eq!(source.spec.labels_filters.len(), 1);
}

#[test]
fn the_event_source_of_today_survives() {
    let source: EventSource = round_trip(mk_object(
        "EventSource",
        json!({
            "resourceSelectors": [{
                "group": "apps", "version": "v1", "kind": "Deployment", "name": "a", "namespace": "b",
                "labelFilters": [{"key": "k", "operation": "Has"}],
                "selector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
                "evaluate": "lua", "evaluateCEL": [{"name": "n", "rule": "true"}],
                "includeDeletingResources": true,
            }],
            "aggregatedSelection": "lua",
            "messagingMatchCriteria": [
                {"subject": "s", "cloudEventSource": "a", "cloudEventType": "b", "cloudEventSubject": "c"},
            ],
        }),
    ));
    assert_eq!(source.spec.resource_selectors[0].evaluate_cel[0].rule, "true");
}

#[test]
fn selectors_are_text_or_structure_and_anything_else_is_kept() {
    let trigger: EventTrigger = round_trip(mk_object(
        "EventTrigger",
        json!({
            "sourceClusterSelector": "env=fv", "destinationClusterSelector": {}, "clusterSelector": 5,
            "eventSourceName": "s",
        }),
    ));
    assert_eq!(trigger.spec.source_cluster_selector, Some(SelectorUnion::Text("env=fv".into())));
    assert_eq!(
        trigger.spec.destination_cluster_selector,
        Some(SelectorUnion::Structured(LabelSelector::default()))
    );
    assert_eq!(trigger.spec.cluster_selector, Some(SelectorUnion::Invalid(json!(5))));
}

#[test]
fn a_trigger_keeps_every_field() {
    let check = json!({"name": "n", "featureID": "Resources", "script": "lua"});
    let trigger: EventTrigger = round_trip(mk_object(
        "EventTrigger",
        json!({
            "sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "clusterSetRefs": ["s"],
            "destinationCluster": {"apiVersion": "v", "kind": "SveltosCluster", "namespace": "a", "name": "b"},
            "eventSourceName": "s", "oneForEvent": false, "profileNameFormat": "p",
            "configMapGenerator": [{"namespace": "a", "name": "b", "nameFormat": "c", "optional": true}],
            "secretGenerator": [{"name": "b", "nameFormat": "c"}],
            "syncMode": "OneTime", "tier": 3, "continueOnConflict": true, "maxUpdate": "30%",
            "stopMatchingBehavior": "LeavePolicies", "reloader": true, "dependsOn": ["d"],
            "templateResourceRefs": [{
                "resource": {"kind": "Secret", "name": "n"}, "identifier": "I", "optional": true,
                "ignoreStatusChanges": true, "watchFields": ["spec"],
            }],
            "policyRefs": [
                {"kind": "ConfigMap", "namespace": "a", "name": "b", "path": "p", "deploymentType": "Local",
                 "optional": true, "tier": 1, "skipNamespaceCreation": true, "force": true},
                {"remoteURL": {"url": "https://x", "interval": "5m", "secretRef": {"name": "n"}, "template": true,
                 "insecureSkipTLSVerify": true, "plainHTTP": true}},
            ],
            "preDeployChecks": [check], "validateHealths": [check], "preDeleteChecks": [check],
            "postDeleteChecks": [check],
            "patches": [{"patch": "p", "target": {"kind": "K", "labelSelector": "a=b"}}],
            "patchesFrom": [{"kind": "ConfigMap", "name": "n", "optional": false}],
            "driftExclusions": [{"paths": ["/spec"], "target": {"name": "n"}}],
            "cloudEventAction": "Delete", "extraLabels": {"a": "b"}, "extraAnnotations": {"c": "d"},
        }),
    ));
    assert_eq!(trigger.spec.max_update, Some(IntOrString::Text("30%".into())));
    assert!(trigger.spec.extra.is_empty());
}

#[test]
fn a_profile_with_charts_and_kustomizations_keeps_every_field() {
    let profile: ClusterProfile = round_trip(mk_object(
        "ClusterProfile",
        json!({
            "clusterSelector": {"matchLabels": {"a": "b"}}, "clusterRefs": [{"name": "c"}], "setRefs": ["s"],
            "continueOnError": true, "maxConsecutiveFailures": 3, "maxUpdate": 5, "transitionFrom": ["before"],
            "helmCharts": [{
                "repositoryURL": "https://r", "repositoryName": "r", "chartName": "c", "chartVersion": "1",
                "releaseName": "n", "releaseNamespace": "ns", "values": "a: b", "helmChartAction": "Install",
                "valuesFrom": [{"kind": "Secret", "name": "v"}],
                "options": {
                    "skipCRDs": true, "disableOpenAPIValidation": true, "timeout": "5m",
                    "installOptions": {"createNamespace": false, "recoverAfterConsecutiveFailures": 5},
                    "upgradeOptions": {"upgradeCRDs": true, "maxHistory": 2},
                    "uninstallOptions": {"keepHistory": true},
                },
                "registryCredentialsConfig": {"plainHTTP": true, "ca": {"name": "ca"}},
                "signatureVerification":
                    {"provider": "Keyless", "matchOIDCIdentity": [{"issuer": "i", "subject": "s"}]},
                "provenanceVerification": {"keyringSecretRef": {"name": "k"}},
            }],
            "kustomizationRefs": [{
                "kind": "GitRepository", "name": "n", "path": "p", "targetNamespace": "t",
                "components": ["c"], "values": {"a": "b"}, "valuesFrom": [{"kind": "ConfigMap", "name": "v"}],
            }],
            "validateHealths": [{
                "name": "n", "featureID": "Helm", "group": "g", "version": "v1", "kind": "K",
                "labelFilters": [{"key": "k", "operation": "Has"}],
                "evaluateCEL": [{"name": "r", "rule": "true"}],
                "metricSource": {"url": "u", "secretRef": {"name": "s"}},
                "metricQueries": [{"name": "q", "query": "up"}],
                "jobCheck": {"jobRef": {"kind": "Secret", "namespace": "a", "name": "b"}, "timeout": "5m"},
            }],
        }),
    ));
    assert!(profile.spec.extra.is_empty());
    assert!(profile.spec.helm_charts[0].extra.is_empty());
    assert!(profile.spec.helm_charts[0].options.as_ref().unwrap().extra.is_empty());
    assert!(profile.spec.validate_healths[0].extra.is_empty());
}

#[test]
fn a_cluster_keeps_every_field() {
    let cluster: SveltosCluster = round_trip(mk_object(
        "SveltosCluster",
        json!({
            "kubeconfigName": "k", "kubeconfigKeyName": "re-kubeconfig", "paused": true, "data": {"a": "b"},
            "tokenRequestRenewalOption": {"renewTokenRequestInterval": "1h", "saName": "n"},
            "activeWindow": {"from": "0 0 * * *", "to": "0 5 * * *"}, "consecutiveFailureThreshold": 3,
            "readinessChecks": [{"name": "n", "condition": "lua"}],
            "pullMode": true,
            "workloadIdentity": {"provider": "AWS", "endpoint": "e", "aws": {"clusterName": "c", "roleARN": "r"}},
        }),
    ));
    assert!(cluster.spec.extra.is_empty());
}

#[test]
fn unknown_fields_are_kept_at_every_depth() {
    let source: EventSource = round_trip(mk_object(
        "EventSource",
        json!({
            "futureField": [1, 2],
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Pod", "fieldSelector": {"a": "b"}}],
        }),
    ));
    assert_eq!(source.spec.extra["futureField"], json!([1, 2]));
    assert_eq!(source.spec.resource_selectors[0].extra["fieldSelector"], json!({"a": "b"}));
}

#[test]
fn null_members_count_as_absent() {
    let written = mk_object("EventSource", json!({"resourceSelectors": null, "collectResources": null}));
    let source: EventSource = decode(written).unwrap();
    assert_eq!(source.spec, EventSourceSpec::default());
}

#[test]
fn an_error_names_the_field() {
    let written = mk_object(
        "EventTrigger",
        json!({"eventSourceName": "s", "policyRefs": [{"kind": "ConfigMap", "name": "a"}, {"name": 7}]}),
    );
    let error = decode::<EventTrigger>(written).unwrap_err();
    assert_eq!(error.path, "spec.policyRefs[1].name");
    assert_eq!(error.to_string(), "spec.policyRefs[1].name: invalid type: integer `7`, expected a string");
}

#[test]
fn an_error_at_the_top_has_no_path() {
    let error = decode::<EventSource>(json!("text")).unwrap_err();
    assert_eq!(error.path, "");
    assert!(error.message.contains("invalid type"), "{error}");
}

#[test]
fn a_wrong_union_says_what_is_expected() {
    let written = mk_object("ClusterProfile", json!({"maxUpdate": [1], "tier": 5}));
    let error = decode::<ClusterProfile>(written).unwrap_err();
    assert_eq!(error.to_string(), "spec.maxUpdate: expected a number or a text such as `30%`");
}

#[test]
fn a_role_request_survives() {
    let request: RoleRequest = round_trip(mk_object(
        "RoleRequest",
        json!({
            "clusterSelector": {"matchLabels": {"env": "fv"}}, "expirationSeconds": 600,
            "serviceAccountName": "deployer", "serviceAccountNamespace": "team-a",
            "roleRefs": [{"kind": "ConfigMap", "namespace": "a", "name": "b"}],
        }),
    ));
    assert_eq!(request.spec.role_refs[0].name, "b");
}
