//! Every field that a definition declares is one of the wire types, of the same form: nothing is kept as unknown by mistake.

use super::*;

/// The schema of a kind.
fn schema(kind: &str) -> Value {
    let definitions = crate::crd::all();
    let definition = definitions.iter().find(|one| one["spec"]["names"]["kind"] == kind).unwrap();
    definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"].clone()
}

/// A value of a schema with every field.
fn sample(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") if schema.get("additionalProperties").is_some() => json!({"key": "text"}),
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields
                .map(|(name, inner)| (name.clone(), sample(inner)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Some("array") => json!([sample(&schema["items"])]),
        Some("boolean") => json!(true),
        Some("integer") => json!(7),
        Some("string") => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("text")),
        _ if schema.get("x-kubernetes-int-or-string").is_some() => json!("30%"),
        _ => json!({"matchLabels": {"a": "b"}}),
    }
}

/// The paths of all fields that have a form, each with a value of another one.
fn wrong(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    let is_typed = schema.get("type").is_some() || schema.get("x-kubernetes-int-or-string").is_some();
    if is_typed {
        let other = if schema["type"] == "object" { json!("wrong") } else { json!({"wrong": true}) };
        found.push((path.to_owned(), other));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        wrong(inner, &format!("{path}.{name}"), found);
    }
    if let Some(items) = schema.get("items") {
        wrong(items, &format!("{path}[0]"), found);
    }
}

/// The value at a path as errors write it.
fn place<'v>(object: &'v mut Value, path: &str) -> &'v mut Value {
    let pointer = format!("/{}", path.replace("[0]", "/0").replace('.', "/"));
    object.pointer_mut(&pointer).unwrap()
}

fn is_declared_and_known<T: DeserializeOwned + Serialize>(kind: &str) {
    let schema = schema(kind);
    let mut whole = mk_object(kind, json!({}));
    for part in ["spec", "status"] {
        whole[part] = sample(&schema["properties"][part]);
    }
    round_trip::<T>(whole.clone());
    let mut places = Vec::new();
    wrong(&schema["properties"]["spec"], "spec", &mut places);
    wrong(&schema["properties"]["status"], "status", &mut places);
    // Conditions are written by their owner as they are; nobody reads them from these types.
    places.retain(|(path, _)| !path.starts_with("status.conditions"));
    assert!(places.len() > 2, "{kind}");
    for (path, value) in places {
        let mut broken = whole.clone();
        *place(&mut broken, &path) = value;
        let error = decode::<T>(broken).err().map(|error| error.path);
        assert_eq!(error.as_deref(), Some(path.as_str()), "{kind}");
    }
}

#[test]
fn every_declared_field_of_a_cluster_is_known() {
    is_declared_and_known::<SveltosCluster>("SveltosCluster");
}

#[test]
fn every_declared_field_of_sets_is_known() {
    is_declared_and_known::<ClusterSet>("ClusterSet");
    is_declared_and_known::<Set>("Set");
}

#[test]
fn every_declared_field_of_a_role_request_is_known() {
    is_declared_and_known::<RoleRequest>("RoleRequest");
}

#[test]
fn every_declared_field_of_an_event_source_is_known() {
    is_declared_and_known::<EventSource>("EventSource");
}

#[test]
fn every_declared_field_of_an_event_report_is_known() {
    is_declared_and_known::<EventReport>("EventReport");
}

#[test]
fn every_declared_field_of_a_trigger_is_known() {
    is_declared_and_known::<EventTrigger>("EventTrigger");
    is_declared_and_known::<EventBasedAddOn>("EventBasedAddOn");
}

#[test]
fn every_declared_field_of_profiles_is_known() {
    is_declared_and_known::<ClusterProfile>("ClusterProfile");
    is_declared_and_known::<Profile>("Profile");
}

#[test]
fn every_declared_field_of_a_summary_is_known() {
    is_declared_and_known::<ClusterSummary>("ClusterSummary");
}

#[test]
fn every_declared_field_of_a_configuration_is_known() {
    is_declared_and_known::<ClusterConfiguration>("ClusterConfiguration");
}

#[test]
fn every_declared_field_of_a_report_is_known() {
    is_declared_and_known::<ClusterReport>("ClusterReport");
}

#[test]
fn metadata_is_kept_with_what_is_not_known_of_it() {
    let mut object = mk_object("EventSource", json!({}));
    object["metadata"] = json!({"name": "x", "namespace": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "u",
        "resourceVersion": "7", "generation": 3, "creationTimestamp": "2024-01-01T00:00:00Z", "deletionTimestamp": "2024-01-02T00:00:00Z",
        "finalizers": ["f"], "managedFields": [{"manager": "kubectl"}], "generateName": "x-",
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": true, "blockOwnerDeletion": false}]});
    let source: EventSource = round_trip(object);
    let unknown: Vec<_> = source.metadata.extra.keys().map(String::as_str).collect();
    assert_eq!(unknown, ["generateName", "managedFields"]);
    assert_eq!(
        (source.metadata.generation, source.metadata.owner_references[0].controller),
        (Some(3), Some(true))
    );
}

#[test]
fn an_explicit_false_is_no_absence() {
    let trigger: EventTrigger =
        round_trip(mk_object("EventTrigger", json!({"eventSourceName": "s", "oneForEvent": false})));
    assert_eq!((trigger.spec.one_for_event, trigger.spec.reloader), (Some(false), None));
}

#[test]
fn an_explicit_nothing_is_written_no_more() {
    let mut written =
        mk_object("ClusterProfile", json!({"syncMode": "", "policyRefs": [], "extraLabels": {}}));
    let profile: ClusterProfile = decode(written.clone()).unwrap();
    written["spec"] = json!({});
    assert_eq!(serde_json::to_value(profile).unwrap(), written);
}

#[test]
fn an_object_without_a_status_gets_none() {
    let set: ClusterSet = round_trip(mk_object("ClusterSet", json!({"maxReplicas": 0})));
    assert_eq!((set.status, set.spec.max_replicas), (None, Some(0)));
}

#[test]
fn a_limit_of_updates_is_a_number_or_a_text() {
    let limit = |value: Value| {
        round_trip::<ClusterProfile>(mk_object("ClusterProfile", json!({"maxUpdate": value}))).spec.max_update
    };
    assert_eq!(limit(json!(5)), Some(IntOrString::Int(5)));
    assert_eq!(limit(json!("30%")), Some(IntOrString::Text("30%".into())));
}

#[test]
fn nothing_within_a_list_stays_and_nothing_within_a_map_goes() {
    let value = json!({"a": null, "b": [null, {"c": null, "d": 1}], "e": {"f": null}});
    assert_eq!(without_nulls(value), json!({"b": [null, {"d": 1}], "e": {}}));
}

#[test]
fn of_several_mistakes_one_is_named() {
    let written = mk_object(
        "EventSource",
        json!({"collectResources": "x", "resourceSelectors": [{"kind": 1}, {"kind": "Pod"}]}),
    );
    let error = decode::<EventSource>(written).unwrap_err();
    assert!(
        ["spec.collectResources", "spec.resourceSelectors[0].kind"].contains(&error.path.as_str()),
        "{error}"
    );
}

#[test]
fn a_list_that_is_a_map_is_named_as_a_whole() {
    let error =
        decode::<EventSource>(mk_object("EventSource", json!({"resourceSelectors": {"kind": "Pod"}})))
            .unwrap_err();
    assert_eq!(error.path, "spec.resourceSelectors");
    assert!(error.message.contains("expected a sequence"), "{error}");
}

#[test]
fn a_label_that_is_no_text_is_named_by_its_key() {
    let mut written = mk_object("EventSource", json!({}));
    written["metadata"]["labels"] = json!({"a": "b", "port": 80});
    assert_eq!(decode::<EventSource>(written).unwrap_err().path, "metadata.labels.port");
}
