#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

mod fields;
mod filled_in;

/// Calls `visit` with the path and the node of every schema inside `node`.
fn walk(path: &str, node: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, node);
    if let Some(properties) = node.get("properties").and_then(Value::as_object) {
        for (name, inner) in properties {
            walk(&format!("{path}.{name}"), inner, visit);
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = node.get(key) {
            walk(&format!("{path}{mark}"), inner, visit);
        }
    }
}

fn kind_of(definition: &Value) -> &str {
    definition["spec"]["names"]["kind"].as_str().unwrap()
}

fn schema_of(definition: &Value) -> &Value {
    &definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"]
}

fn find(kind: &str) -> Value {
    all().into_iter().find(|definition| kind_of(definition) == kind).unwrap()
}

#[test]
fn every_kind_is_there_with_its_group_and_scope() {
    let table: Vec<_> = all()
        .iter()
        .map(|d| {
            let name = d["metadata"]["name"].as_str().unwrap().to_owned();
            (name, kind_of(d).to_owned(), d["spec"]["scope"] == json!("Namespaced"))
        })
        .collect();
    let expected = [
        ("sveltosclusters.lib.projectsveltos.io", "SveltosCluster", true),
        ("clustersets.lib.projectsveltos.io", "ClusterSet", false),
        ("sets.lib.projectsveltos.io", "Set", true),
        ("rolerequests.lib.projectsveltos.io", "RoleRequest", false),
        ("eventsources.lib.projectsveltos.io", "EventSource", false),
        ("eventreports.lib.projectsveltos.io", "EventReport", true),
        ("eventtriggers.lib.projectsveltos.io", "EventTrigger", false),
        ("eventbasedaddons.lib.projectsveltos.io", "EventBasedAddOn", false),
        ("clusterprofiles.config.projectsveltos.io", "ClusterProfile", false),
        ("profiles.config.projectsveltos.io", "Profile", true),
        ("clustersummaries.config.projectsveltos.io", "ClusterSummary", true),
        ("clusterconfigurations.config.projectsveltos.io", "ClusterConfiguration", true),
        ("clusterreports.config.projectsveltos.io", "ClusterReport", true),
    ]
    .map(|(name, kind, namespaced)| (name.to_owned(), kind.to_owned(), namespaced));
    assert_eq!(table, expected);
}

#[test]
fn both_versions_are_served_and_the_newer_one_is_stored() {
    for definition in all() {
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let facts: Vec<_> =
            versions.iter().map(|v| (v["name"].clone(), v["served"].clone(), v["storage"].clone())).collect();
        assert_eq!(
            facts,
            [(json!("v1alpha1"), json!(true), json!(false)), (json!("v1beta1"), json!(true), json!(true))]
        );
        assert_eq!(versions[0]["schema"], versions[1]["schema"]);
        assert_eq!(definition["spec"]["conversion"], json!({"strategy": "None"}));
    }
}

#[test]
fn every_schema_is_structural() {
    for definition in all() {
        walk(kind_of(&definition), schema_of(&definition), &mut |path, node| {
            let untyped = node.get("x-kubernetes-int-or-string").is_some()
                || node.get("x-kubernetes-preserve-unknown-fields").is_some();
            assert!(node.get("type").is_some() || untyped, "{path} has no type");
            for refused in ["anyOf", "oneOf", "allOf", "not", "$ref", "title"] {
                assert!(node.get(refused).is_none(), "{path} uses {refused}");
            }
            assert!(
                !(node.get("properties").is_some() && node.get("additionalProperties").is_some()),
                "{path} has both properties and additionalProperties"
            );
            assert_eq!(node["type"] == json!("array"), node.get("items").is_some(), "{path}");
        });
    }
}

#[test]
fn required_fields_and_list_keys_are_declared() {
    for definition in all() {
        walk(kind_of(&definition), schema_of(&definition), &mut |path, node| {
            for field in node["required"].as_array().into_iter().flatten() {
                assert!(node["properties"].get(field.as_str().unwrap()).is_some(), "{path} lacks {field}");
            }
            for key in node["x-kubernetes-list-map-keys"].as_array().into_iter().flatten() {
                let required = node["items"]["required"].as_array().unwrap();
                assert!(required.contains(key), "{path}: key {key} is not required");
            }
        });
    }
}

#[test]
fn fields_of_two_eras_carry_no_type() {
    let trigger = find("EventTrigger");
    for field in ["sourceClusterSelector", "clusterSelector", "destinationClusterSelector"] {
        let node = &schema_of(&trigger)["properties"]["spec"]["properties"][field];
        assert!(node.get("type").is_none(), "{field}");
        assert_eq!(node["x-kubernetes-preserve-unknown-fields"], json!(true), "{field}");
    }
}

#[test]
fn nothing_a_user_writes_is_pruned() {
    for definition in all() {
        let spec = &schema_of(&definition)["properties"]["spec"];
        walk("spec", spec, &mut |path, node| {
            let open = node.get("additionalProperties").is_some()
                || node["x-kubernetes-preserve-unknown-fields"] == json!(true);
            assert!(node["type"] != json!("object") || open, "{} {path}", kind_of(&definition));
        });
    }
}

#[test]
fn a_spec_of_every_wire_field_is_declared() {
    let spec = crate::wire::EventSourceSpec {
        resource_selectors: vec![crate::wire::ResourceSelector::default()],
        aggregated_selection: "x".into(),
        collect_resources: Some(true),
        messaging_match_criteria: vec![crate::wire::MessagingMatchCriteria::default()],
        group: Some(String::new()),
        version: Some(String::new()),
        kind: Some(String::new()),
        namespace: "x".into(),
        label_filters: vec![crate::wire::LabelFilter::default()],
        labels_filters: vec![crate::wire::LabelFilter::default()],
        script: "x".into(),
        extra: crate::wire::Extra::new(),
    };
    let written = serde_json::to_value(spec).unwrap();
    let definition = find("EventSource");
    let declared = schema_of(&definition)["properties"]["spec"]["properties"].as_object().unwrap();
    let missing: Vec<_> =
        written.as_object().unwrap().keys().filter(|k| !declared.contains_key(*k)).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!(written.as_object().unwrap().len(), declared.len());
}

#[test]
fn yaml_is_block_style_with_fixed_order_and_safe_quotes() {
    let value = json!({
        "spec": {"b": [1, {"z": "on", "a": [["x"], []]}], "a": "plain-text", "c": {}, "d": "has: colon\nand line"},
        "kind": "K", "apiVersion": "v1", "metadata": {"name": "5"},
    });
    let expected = r#"apiVersion: v1
kind: K
metadata:
  name: "5"
spec:
  a: plain-text
  b:
  - 1
  - a:
    - - x
    - []
    z: "on"
  c: {}
  d: "has: colon\nand line"
"#;
    assert_eq!(yaml::document(&value), expected);
}

#[test]
fn yaml_reads_back_as_the_definition() {
    let texts = yaml();
    assert_eq!(texts.len(), all().len());
    for ((file, text), definition) in texts.iter().zip(all()) {
        let read: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(read, definition, "{file}");
    }
    assert_eq!(texts[4].0, "lib.projectsveltos.io_eventsources.yaml");
}
