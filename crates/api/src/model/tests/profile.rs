//! Profiles: whom they select, and what they share with triggers.

use serde_json::{Value, json};

use super::{are_lists, are_true_or_false, must_be_there, refused, texts_are_quoted};
use crate::cluster::{ClusterKind, ClusterRef};
use crate::error::FieldError;
use crate::model::{Deployment, PAUSED, Profile, REDEPLOY, SHARED_RANDOM, Sharing};

fn read(spec: Value) -> Result<Profile, FieldError> {
    Profile::read(&json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec}))
}

fn of_namespace(spec: Value) -> Result<Profile, FieldError> {
    Profile::read(&json!({"kind": "Profile", "metadata": {"namespace": "team", "name": "p"}, "spec": spec}))
}

fn annotated(key: &str, value: &str) -> Profile {
    let metadata = json!({"name": "p", "annotations": {key: value}});
    Profile::read(&json!({"kind": "ClusterProfile", "metadata": metadata, "spec": {}})).unwrap()
}

fn wrong(path: &str, value: Value) -> String {
    refused(read, &json!({}), path, value)
}

/// A reference of each list.
fn referring(list: &str) -> Value {
    json!({list: [{"kind": "ConfigMap", "name": "x"}]})
}

#[test]
fn a_profile_that_says_nothing_selects_nothing_and_has_every_default() {
    let profile = read(json!({})).unwrap();
    assert!(profile.selector.is_empty() && profile.clusters.is_empty() && profile.sets.is_empty());
    assert!(!profile.paused && profile.account.is_none() && profile.grants_to.is_none());
    let common = profile.common;
    assert_eq!((common.tier, common.leave, common.dry_run, common.one_time), (100, false, false, false));
    assert_eq!((common.redeploy.as_str(), common.random), ("", Sharing::No));
    assert!(common.unsupported.is_empty() && common.ignored.is_empty());
}

#[test]
fn a_profile_without_a_spec_is_read_too() {
    let profile = Profile::read(&json!({"kind": "ClusterProfile", "metadata": {"name": "p"}})).unwrap();
    assert!(profile.common.raw.is_empty());
}

#[test]
fn the_namespace_says_which_kind_of_profile_it_is() {
    assert_eq!(read(json!({})).unwrap().id.to_string(), "ClusterProfile p");
    assert_eq!(of_namespace(json!({})).unwrap().id.to_string(), "Profile team/p");
}

#[test]
fn a_selector_of_the_first_era_is_text() {
    assert_eq!(read(json!({"clusterSelector": "env=fv"})).unwrap().selector.to_string(), "env=fv");
}

#[test]
fn clusters_of_both_registrations_are_referred_to() {
    let refs = json!([{"kind": "SveltosCluster", "namespace": "a", "name": "b"}, {"kind": "Cluster", "namespace": "c", "name": "d"}]);
    let capi = ClusterRef { kind: ClusterKind::Capi, namespace: "c".into(), name: "d".into() };
    assert_eq!(read(json!({"clusterRefs": refs})).unwrap().clusters, [ClusterRef::sveltos("a", "b"), capi]);
}

#[test]
fn a_profile_of_a_namespace_refers_to_clusters_of_it_alone() {
    let refs = json!([{"kind": "SveltosCluster", "namespace": "other", "name": "a"}, {"kind": "SveltosCluster", "name": "b"}]);
    let clusters = of_namespace(json!({"clusterRefs": refs})).unwrap().clusters;
    assert_eq!(clusters, [ClusterRef::sveltos("team", "a"), ClusterRef::sveltos("team", "b")]);
}

#[test]
fn a_profile_of_a_namespace_refers_to_sets_of_it_alone() {
    let sets = |profile: Profile| profile.sets.iter().map(ToString::to_string).collect::<Vec<_>>();
    let spec = json!({"setRefs": ["s"]});
    assert_eq!(sets(read(spec.clone()).unwrap()), ["ClusterSet s"]);
    assert_eq!(sets(of_namespace(spec).unwrap()), ["Set team/s"]);
}

#[test]
fn a_reference_to_a_cluster_needs_kind_namespace_and_name() {
    let spec = json!({"clusterRefs": [{"kind": "Cluster", "namespace": "n", "name": "c"}]});
    must_be_there(read, &spec, &["clusterRefs[0].namespace", "clusterRefs[0].name"]);
    let reason = refused(read, &spec, "clusterRefs[0].kind", json!("Node"));
    assert_eq!(reason, "unknown kind \"Node\"; use SveltosCluster or Cluster");
    assert!(refused(read, &spec, "clusterRefs[0].kind", Value::Null).contains("unknown kind \"\""));
}

#[test]
fn a_set_is_referred_to_by_its_name() {
    assert_eq!(wrong("setRefs[0]", json!("")), "is required and must not be empty");
    assert_eq!(wrong("setRefs[0]", json!({"name": "s"})), "{\"name\":\"s\"} is not a string; quote it");
}

#[test]
fn lists_of_a_profile_are_lists() {
    let fields = [
        "clusterRefs",
        "setRefs",
        "policyRefs",
        "patches",
        "patchesFrom",
        "helmCharts",
        "templateResourceRefs",
    ];
    are_lists(read, &json!({}), &fields);
}

#[test]
fn every_mode_of_synchronisation_is_known() {
    for (mode, dry_run, one_time) in [
        ("Continuous", false, false),
        ("ContinuousWithDriftDetection", false, false),
        ("OneTime", false, true),
        ("DryRun", true, false),
        ("", false, false),
    ] {
        let common = read(json!({"syncMode": mode})).unwrap().common;
        assert_eq!((common.dry_run, common.one_time), (dry_run, one_time), "{mode}");
    }
}

#[test]
fn another_mode_is_refused_with_those_there_are() {
    assert_eq!(
        wrong("syncMode", json!("dryrun")),
        "unknown mode \"dryrun\"; use OneTime, Continuous, ContinuousWithDriftDetection or DryRun"
    );
}

#[test]
fn add_ons_go_with_their_cause_unless_they_are_left() {
    let leave = |text: &str| read(json!({"stopMatchingBehavior": text})).unwrap().common.leave;
    assert_eq!(["", "WithdrawPolicies", "LeavePolicies"].map(leave), [false, false, true]);
    assert_eq!(
        wrong("stopMatchingBehavior", json!("Leave")),
        "unknown behaviour \"Leave\"; use WithdrawPolicies or LeavePolicies"
    );
}

#[test]
fn a_tier_is_a_whole_number_from_one_on() {
    for tier in [1, 100, i32::MAX] {
        assert_eq!(read(json!({"tier": tier})).unwrap().common.tier, tier);
    }
    for tier in [json!(0), json!(-5), json!(1.5), json!("3"), json!(i64::from(i32::MAX) + 1), json!(true)] {
        let reason = wrong("tier", tier.clone());
        assert_eq!(reason, format!("{tier} is not a whole number of at least 1"));
    }
}

#[test]
fn a_paused_profile_is_so_by_the_presence_of_the_annotation() {
    assert!(annotated(PAUSED, "").paused && annotated(PAUSED, "false").paused);
    assert!(!annotated("other", "").paused);
}

#[test]
fn a_profile_is_asked_to_deploy_once_more() {
    assert_eq!(annotated(REDEPLOY, "monday").common.redeploy, "monday");
}

#[test]
fn who_draws_the_same_random_values_is_said_by_an_annotation() {
    for (text, expected) in [
        ("true", Sharing::Destinations),
        ("as-formerly", Sharing::AsFormerly),
        ("false", Sharing::No),
        ("x", Sharing::No),
    ] {
        assert_eq!(annotated(SHARED_RANDOM, text).common.random, expected, "{text}");
    }
}

#[test]
fn a_reference_says_where_and_how() {
    let written = json!({"kind": "Secret", "namespace": "n", "name": "x", "tier": 7, "optional": true, "skipNamespaceCreation": true,
        "force": true, "deploymentType": "Local"});
    let reference = read(json!({"policyRefs": [written]})).unwrap().common.policy_refs.remove(0);
    assert_eq!((&*reference.kind, &*reference.namespace, &*reference.name), ("Secret", "n", "x"));
    assert_eq!((reference.tier, reference.optional, reference.skip_namespace_creation), (7, true, true));
    assert_eq!((reference.force, reference.deployment), (true, Deployment::Local));
    assert_eq!(Value::Object(reference.raw), written);
}

#[test]
fn a_reference_that_says_the_least_has_every_default() {
    let reference = read(referring("policyRefs")).unwrap().common.policy_refs.remove(0);
    assert_eq!((&*reference.namespace, reference.tier, reference.optional), ("", 100, false));
    assert!(!reference.skip_namespace_creation && !reference.force);
    assert_eq!(reference.deployment, Deployment::Remote);
}

#[test]
fn fields_of_references_are_checked_in_every_list() {
    for list in ["policyRefs", "patchesFrom"] {
        let field = |name: &str| format!("{list}[0].{name}");
        let spec = referring(list);
        must_be_there(read, &spec, &[&field("kind"), &field("name")]);
        texts_are_quoted(read, &spec, &[&field("namespace"), &field("name"), &field("deploymentType")]);
        are_true_or_false(
            read,
            &spec,
            &[&field("optional"), &field("skipNamespaceCreation"), &field("force")],
        );
        assert!(refused(read, &spec, &field("tier"), json!(0)).contains("at least 1"));
    }
}

#[test]
fn only_config_maps_and_secrets_are_referred_to() {
    for kind in ["GitRepository", "OCIRepository", "Bucket", "configmap"] {
        let reason = refused(read, &referring("policyRefs"), "policyRefs[0].kind", json!(kind));
        assert_eq!(
            reason,
            format!("kind {kind:?} is not supported by this version; use ConfigMap or Secret")
        );
    }
}

#[test]
fn remote_addresses_are_refused_with_what_to_do_instead() {
    let reason = wrong("policyRefs[0].remoteURL", json!({"url": "https://example.com/a.yaml"}));
    assert!(reason.contains("put the content into a ConfigMap"), "{reason}");
}

#[test]
fn references_keep_their_order_and_their_paths() {
    let refs: Vec<_> =
        ["c", "a", "b"].iter().map(|name| json!({"kind": "ConfigMap", "name": name})).collect();
    let read = read(json!({"policyRefs": refs})).unwrap().common.policy_refs;
    let places: Vec<_> = read.iter().map(|one| format!("{} {}", one.name, one.path)).collect();
    assert_eq!(places, ["c spec.policyRefs[0]", "a spec.policyRefs[1]", "b spec.policyRefs[2]"]);
}

#[test]
fn what_is_not_done_yet_is_told_of_and_the_rest_is_read() {
    let told = |field: &str, entry: Value| {
        let mut spec = referring("policyRefs");
        spec[field] = json!([entry]);
        let common = read(spec).unwrap().common;
        assert_eq!(common.policy_refs.len(), 1);
        common.unsupported.into_iter().map(|error| error.field).collect::<Vec<_>>()
    };
    assert_eq!(told("kustomizationRefs", json!({"name": "x"})), ["spec.kustomizationRefs"]);
    let check = json!({"name": "x", "featureID": "Helm", "metricSource": {"url": "http://p.m.svc", "secretRef": {"namespace": "n", "name": "s"}}});
    assert_eq!(told("preDeleteChecks", check), ["spec.preDeleteChecks[0].metricSource.secretRef"]);
}

#[test]
fn what_is_not_done_yet_and_empty_is_not_told_of() {
    for nothing in [json!([]), Value::Null] {
        assert!(read(json!({"kustomizationRefs": nothing})).unwrap().common.unsupported.is_empty());
    }
}

#[test]
fn what_a_profile_depends_on_has_a_name() {
    let of_names = |names: Value| read(json!({"dependsOn": names}));
    assert!(of_names(json!(["base", "other"])).unwrap().common.unsupported.is_empty());
    assert!(of_names(json!([""])).unwrap_err().to_string().contains("spec.dependsOn[0]: is required"));
    assert!(of_names(json!("base")).unwrap_err().to_string().contains("spec.dependsOn: must be a list"));
    let error = read(json!({"continueOnError": "yes"})).unwrap_err().to_string();
    assert!(error.contains("spec.continueOnError: \"yes\" is not true or false"), "{error}");
}

#[test]
fn every_field_is_kept_as_it_was_written() {
    let spec = json!({"tier": 3, "future": {"a": [1]}, "maxUpdate": "30%"});
    assert_eq!(Value::Object(read(spec.clone()).unwrap().common.raw), spec);
}
