//! Triggers of every era.

use serde_json::{Value, json};

use super::{are_lists, are_true_or_false, must_be_there, refused, texts_are_quoted};
use crate::error::FieldError;
use crate::model::{DestinationCluster, Era, INSTANTIATE, TEMPLATE, Trigger, no_action};

fn read(spec: Value) -> Result<Trigger, FieldError> {
    Trigger::read(&json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": spec}))
}

fn least() -> Value {
    json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s"})
}

fn trigger(more: Value) -> Trigger {
    let mut spec = least();
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read(spec).unwrap()
}

fn wrong(path: &str, value: Value) -> String {
    refused(read, &least(), path, value)
}

#[test]
fn a_trigger_that_says_the_least_has_every_default() {
    let trigger = trigger(json!({}));
    assert_eq!((&*trigger.kind, &*trigger.name, trigger.era), ("EventTrigger", "t", Era::Instantiate));
    assert_eq!((trigger.source_selector.to_string().as_str(), &*trigger.event_source), ("env=fv", "s"));
    assert!(!trigger.one_for_event && trigger.source_sets.is_empty() && trigger.generators.is_empty());
    assert_eq!((trigger.destination_selector, trigger.destination_cluster), (None, None));
    assert_eq!((trigger.cloud_event_action, trigger.profile_name_format), (None, None));
    assert_eq!((trigger.account, trigger.pace), (None, crate::model::Pace::default()));
}

#[test]
fn what_a_trigger_deploys_has_the_defaults_of_profiles() {
    let common = trigger(json!({})).common;
    assert_eq!((common.tier, common.leave, common.dry_run, common.one_time), (100, false, false, false));
    assert!(common.policy_refs.is_empty() && common.helm_charts.is_empty() && common.unsupported.is_empty());
}

#[test]
fn null_is_as_good_as_nothing() {
    let nothing = json!({"oneForEvent": null, "profileNameFormat": null, "clusterSetRefs": null, "destinationCluster": null,
        "destinationClusterSelector": null, "cloudEventAction": null, "policyRefs": null, "tier": null});
    let mut with_nulls = trigger(nothing);
    with_nulls.common.raw = trigger(json!({})).common.raw;
    assert_eq!(with_nulls, trigger(json!({})));
}

#[test]
fn a_trigger_is_called_by_kind_and_name() {
    assert_eq!(trigger(json!({})).id().described(), "EventTrigger t");
}

#[test]
fn the_version_of_a_trigger_says_nothing_of_its_era() {
    for version in ["v1alpha1", "v1beta1"] {
        let object = json!({"apiVersion": format!("lib.projectsveltos.io/{version}"), "kind": "EventTrigger",
            "metadata": {"name": "t"}, "spec": least()});
        assert_eq!(Trigger::read(&object).unwrap().era, Era::Instantiate, "{version}");
    }
}

#[test]
fn one_selector_of_text_is_enough_for_the_second_era() {
    let structured = json!({"matchLabels": {"env": "fv"}});
    for spec in [
        json!({"sourceClusterSelector": "env=fv", "eventSourceName": "s"}),
        json!({"clusterSelector": "env=fv", "eventSourceName": "s"}),
        json!({"sourceClusterSelector": structured, "destinationClusterSelector": "a=b", "eventSourceName": "s"}),
    ] {
        assert_eq!(read(spec.clone()).unwrap().era, Era::Template, "{spec}");
    }
}

#[test]
fn the_first_spelling_counts_only_without_the_second() {
    let both = json!({"sourceClusterSelector": {"matchLabels": {"a": "new"}}, "clusterSelector": {"matchLabels": {"a": "old"}},
        "eventSourceName": "s"});
    assert_eq!(read(both).unwrap().source_selector.to_string(), "a=new");
}

#[test]
fn a_selector_is_said_as_text_or_as_a_structure() {
    let of =
        |selector: Value| read(json!({"sourceClusterSelector": selector, "eventSourceName": "s"})).unwrap();
    assert_eq!(
        of(json!("env=fv")).source_selector,
        of(json!({"matchLabels": {"env": "fv"}})).source_selector
    );
}

#[test]
fn a_trigger_that_selects_no_cluster_says_what_to_write() {
    for nothing in [Value::Null, json!({}), json!(""), json!({"matchLabels": {}})] {
        let reason = wrong("sourceClusterSelector", nothing);
        assert!(
            reason.starts_with("is required and must not be empty, or set spec.clusterSetRefs"),
            "{reason}"
        );
    }
}

#[test]
fn a_selector_that_cannot_be_read_says_why() {
    assert!(wrong("sourceClusterSelector", json!(7)).contains("is not a selector"));
    assert!(wrong("destinationClusterSelector", json!({"matchLabel": {}})).contains("unknown field"));
}

#[test]
fn the_first_spelling_is_named_when_it_is_wrong() {
    let error = read(json!({"clusterSelector": "a b", "eventSourceName": "s"})).unwrap_err();
    assert_eq!(error.field, "spec.clusterSelector");
}

#[test]
fn sets_and_selector_count_both() {
    let trigger = trigger(json!({"clusterSetRefs": ["a", "b"]}));
    let sets: Vec<_> = trigger.source_sets.iter().map(ToString::to_string).collect();
    assert_eq!(sets, ["ClusterSet a", "ClusterSet b"]);
    assert!(!trigger.source_selector.is_empty());
}

#[test]
fn an_empty_destination_selector_counts_as_not_set() {
    for empty in [json!({}), json!(""), json!({"matchExpressions": []})] {
        assert_eq!(trigger(json!({"destinationClusterSelector": empty})).destination_selector, None);
    }
}

#[test]
fn a_destination_selector_is_read() {
    let trigger = trigger(json!({"destinationClusterSelector": {"matchLabels": {"role": "edge"}}}));
    assert_eq!(trigger.destination_selector.unwrap().to_string(), "role=edge");
}

#[test]
fn a_destination_cluster_has_four_texts() {
    let written = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "namespace": "{{ n }}", "name": "c"});
    let expected = DestinationCluster {
        kind: "SveltosCluster".into(),
        api_version: "lib.projectsveltos.io/v1beta1".into(),
        namespace: "{{ n }}".into(),
        name: "c".into(),
    };
    assert_eq!(trigger(json!({"destinationCluster": written})).destination_cluster, Some(expected));
}

#[test]
fn a_destination_cluster_may_be_without_a_version() {
    let written = json!({"kind": "Cluster", "namespace": "n", "name": "c"});
    assert_eq!(trigger(json!({"destinationCluster": written})).destination_cluster.unwrap().api_version, "");
}

#[test]
fn a_destination_cluster_needs_kind_namespace_and_name() {
    let mut spec = least();
    spec["destinationCluster"] = json!({"kind": "Cluster", "namespace": "n", "name": "c"});
    must_be_there(
        read,
        &spec,
        &["destinationCluster.kind", "destinationCluster.namespace", "destinationCluster.name"],
    );
    texts_are_quoted(read, &spec, &["destinationCluster.apiVersion", "destinationCluster.name"]);
}

#[test]
fn two_ways_to_say_the_destination_are_one_too_many() {
    let mut spec = least();
    spec["destinationClusterSelector"] = json!("a=b");
    let cluster = json!({"kind": "Cluster", "namespace": "n", "name": "c"});
    let reason = refused(read, &spec, "destinationCluster", cluster);
    assert!(reason.contains("destinationClusterSelector; remove one of them"), "{reason}");
}

#[test]
fn an_empty_destination_selector_may_stand_beside_a_destination_cluster() {
    let cluster = json!({"kind": "Cluster", "namespace": "n", "name": "c"});
    let both = trigger(json!({"destinationClusterSelector": {}, "destinationCluster": cluster}));
    assert!(both.destination_cluster.is_some());
}

#[test]
fn an_event_source_is_needed() {
    must_be_there(read, &least(), &["eventSourceName"]);
}

#[test]
fn texts_of_a_trigger_are_quoted() {
    let fields =
        ["eventSourceName", "profileNameFormat", "cloudEventAction", "syncMode", "stopMatchingBehavior"];
    texts_are_quoted(read, &least(), &fields);
}

#[test]
fn switches_of_a_trigger_are_true_or_false() {
    are_true_or_false(read, &least(), &["oneForEvent"]);
}

#[test]
fn lists_of_a_trigger_are_lists() {
    let fields = [
        "clusterSetRefs",
        "configMapGenerator",
        "secretGenerator",
        "policyRefs",
        "helmCharts",
        "patches",
        "patchesFrom",
    ];
    are_lists(read, &least(), &fields);
}

#[test]
fn a_format_of_names_is_kept_as_written() {
    let format = "{{ .Resource.metadata.name }}-x";
    assert_eq!(trigger(json!({"profileNameFormat": format})).profile_name_format.as_deref(), Some(format));
    assert_eq!(trigger(json!({"profileNameFormat": ""})).profile_name_format, None);
}

#[test]
fn an_action_is_create_delete_or_a_template() {
    for action in ["Create", "Delete", "{{ if x }}Delete{{ end }}"] {
        let trigger = trigger(json!({"cloudEventAction": action}));
        assert_eq!(trigger.cloud_event_action.as_deref(), Some(action));
    }
    assert_eq!(trigger(json!({"cloudEventAction": ""})).cloud_event_action, None);
}

#[test]
fn another_action_is_refused_with_those_there_are() {
    for action in ["create", "DELETE", "Update", " Create"] {
        assert_eq!(wrong("cloudEventAction", json!(action)), no_action(action));
    }
    assert!(no_action("x").contains("write Create, Delete, or a template"));
}

#[test]
fn generators_say_what_they_make_of_what() {
    let one = json!({"namespace": "n", "name": "x", "nameFormat": "{{ y }}", "optional": true});
    let generator = trigger(json!({"secretGenerator": [one]})).generators.remove(0);
    assert_eq!((generator.kind, &*generator.namespace, &*generator.name), ("Secret", "n", "x"));
    assert_eq!((&*generator.name_format, generator.optional), ("{{ y }}", true));
}

#[test]
fn a_generator_needs_a_name_and_a_format() {
    for list in ["configMapGenerator", "secretGenerator"] {
        let mut spec = least();
        spec[list] = json!([{"name": "x", "nameFormat": "y"}]);
        must_be_there(read, &spec, &[&format!("{list}[0].name"), &format!("{list}[0].nameFormat")]);
        are_true_or_false(read, &spec, &[&format!("{list}[0].optional")]);
        texts_are_quoted(read, &spec, &[&format!("{list}[0].namespace")]);
    }
}

#[test]
fn annotations_of_pace_are_part_of_a_trigger() {
    let object = |text: &str| {
        json!({"kind": "EventTrigger", "spec": least(),
        "metadata": {"name": "t", "annotations": {"sluice.dev/ttl": text}}})
    };
    assert_eq!(Trigger::read(&object("2s")).unwrap().pace.ttl, Some(2_000_000));
    assert_eq!(Trigger::read(&object("soon")).unwrap_err().field, "metadata.annotations[sluice.dev/ttl]");
}

#[test]
fn labels_of_a_tenant_are_part_of_a_trigger() {
    let object = |labels: Value| json!({"kind": "EventTrigger", "spec": least(), "metadata": {"name": "t", "labels": labels}});
    let both = json!({"projectsveltos.io/serviceaccount-name": "d", "projectsveltos.io/serviceaccount-namespace": "team"});
    assert_eq!(Trigger::read(&object(both)).unwrap().account.unwrap().to_string(), "team/d");
    assert!(Trigger::read(&object(json!({"projectsveltos.io/serviceaccount-name": "d"}))).is_err());
}

#[test]
fn an_annotation_counts_by_its_presence_whatever_its_value_is() {
    for value in ["", "ok", "false"] {
        let referenced = json!({"metadata": {"annotations": {INSTANTIATE: value}}});
        assert!(Era::Instantiate.instantiates(&referenced), "{value}");
    }
}

#[test]
fn only_today_something_is_rendered_once_more_when_it_is_deployed() {
    let both = json!({"metadata": {"annotations": {INSTANTIATE: "", TEMPLATE: ""}}});
    let renders =
        [Era::EveryReference, Era::Template, Era::Instantiate].map(|era| era.renders_on_deploy(&both));
    assert_eq!(renders, [false, false, true]);
}
