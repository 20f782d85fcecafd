#![allow(clippy::unwrap_used)]
use super::apply::Applied;
use super::*;
use crate::object::Json;
use crate::schema::{Schema, builtin};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T00:00:00Z";

fn who<'a>(manager: &'a str, schema: &'a Schema) -> Applier<'a> {
    Applier { manager, api_version: "v1", subresource: "", has_status: false, time: NOW, schema }
}

fn body(value: Value) -> Json {
    value.as_object().unwrap().clone()
}

fn applied(
    live: Option<&Applied>,
    manager: &str,
    kind: &str,
    config: Value,
    force: bool,
) -> Result<Applied, Vec<String>> {
    let schema = builtin(kind);
    let live = live.map(|live| (&live.body, live.managers.as_slice()));
    apply(live, &body(config), &who(manager, &schema), force).map_err(|causes| {
        causes.into_iter().map(|cause| format!("{} {}", cause.message, cause.field)).collect()
    })
}

fn data(value: Value) -> Value {
    json!({"metadata": {"name": "a"}, "data": value})
}

#[test]
fn an_apply_owns_what_it_names() {
    let first = applied(None, "m", "ConfigMap", data(json!({"k": "v"})), false).unwrap();
    assert_eq!(first.managers.len(), 1);
    assert_eq!(first.managers[0].fields.to_json(), json!({"f:data": {"f:k": {}}}));
}

#[test]
fn a_field_no_longer_applied_is_removed() {
    let first = applied(None, "m", "ConfigMap", data(json!({"a": "1", "b": "2"})), false).unwrap();
    let second = applied(Some(&first), "m", "ConfigMap", data(json!({"a": "1"})), false).unwrap();
    assert_eq!(second.body["data"], json!({"a": "1"}));
    let third = applied(Some(&second), "m", "ConfigMap", json!({"metadata": {"name": "a"}}), false).unwrap();
    assert_eq!(third.body.get("data"), None);
    assert_eq!(third.managers, []);
}

#[test]
fn a_field_of_another_manager_survives() {
    let first = applied(None, "m", "ConfigMap", data(json!({"a": "1", "b": "2"})), false).unwrap();
    let second = applied(Some(&first), "n", "ConfigMap", data(json!({"b": "2"})), false).unwrap();
    let third = applied(Some(&second), "m", "ConfigMap", data(json!({"a": "1"})), false).unwrap();
    assert_eq!(third.body["data"], json!({"a": "1", "b": "2"}));
}

#[test]
fn another_value_is_a_conflict_and_force_takes_the_field() {
    let first = applied(None, "m", "ConfigMap", data(json!({"a": "1"})), false).unwrap();
    let refused = applied(Some(&first), "n", "ConfigMap", data(json!({"a": "2"})), false).unwrap_err();
    assert_eq!(refused, ["conflict with \"m\" .data.a"]);
    let forced = applied(Some(&first), "n", "ConfigMap", data(json!({"a": "2"})), true).unwrap();
    assert_eq!(forced.body["data"], json!({"a": "2"}));
    assert_eq!(forced.managers.iter().map(|entry| &*entry.manager).collect::<Vec<_>>(), ["n"]);
}

#[test]
fn service_ports_merge_by_port_and_protocol() {
    let ports = |list: Value| json!({"metadata": {"name": "a"}, "spec": {"ports": list}});
    let first =
        applied(None, "m", "Service", ports(json!([{"port": 80}, {"port": 53, "protocol": "UDP"}])), false)
            .unwrap();
    let second = applied(Some(&first), "n", "Service", ports(json!([{"port": 443}])), false).unwrap();
    let third =
        applied(Some(&second), "m", "Service", ports(json!([{"port": 80, "name": "http"}])), false).unwrap();
    assert_eq!(third.body["spec"]["ports"], json!([{"port": 80, "name": "http"}, {"port": 443}]));
    let owned = &third.managers.iter().find(|entry| &*entry.manager == "m").unwrap().fields;
    let expected = json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}}}}});
    assert_eq!(owned.to_json(), expected);
}

#[test]
fn an_item_goes_with_its_creator_even_if_another_wrote_a_field_of_it() {
    let schema = builtin("Service");
    let ports = |list: Value| json!({"metadata": {"name": "a"}, "spec": {"ports": list}});
    let first = applied(None, "m", "Service", ports(json!([{"port": 80}, {"port": 81}])), false).unwrap();
    let edited = body(ports(json!([{"port": 80}, {"port": 81, "targetPort": 8}])));
    let managers = track_update(Some(&first.body), &edited, first.managers, &who("edit", &schema));
    let live = Applied { body: edited, managers };
    let second = applied(Some(&live), "m", "Service", ports(json!([{"port": 80}])), false).unwrap();
    assert_eq!(second.body["spec"]["ports"], json!([{"port": 80}]));
}

#[test]
fn an_update_owns_what_it_changed_and_frees_what_it_removed() {
    let schema = builtin("ConfigMap");
    let first = applied(None, "m", "ConfigMap", data(json!({"a": "1", "b": "2"})), false).unwrap();
    let after = body(data(json!({"a": "9", "c": "3"})));
    let managers = track_update(Some(&first.body), &after, first.managers, &who("edit", &schema));
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].operation, Operation::Update);
    assert_eq!(managers[0].fields.to_json(), json!({"f:data": {"f:a": {}, "f:c": {}}}));
}

#[test]
fn a_creator_owns_the_maps_it_creates() {
    let schema = builtin("ConfigMap");
    let after = body(json!({"metadata": {"name": "a", "labels": {"x": "y"}}}));
    let managers = track_update(None, &after, Vec::new(), &who("edit", &schema));
    assert_eq!(managers[0].fields.to_json(), json!({"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}));
}

#[test]
fn fields_are_read_back_as_written() {
    let fields = json!({"f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}, "f:list": {"v:\"a\"": {}}});
    let set = FieldSet::from_json(fields.as_object().unwrap()).unwrap();
    assert_eq!(set.to_json(), fields);
    assert_eq!(set.paths(), [".list[=\"a\"]", ".spec.ports[port=80]", ".spec.ports[port=80].name"]);
}

fn small_map() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-d]", "[x-z]", 0..4).prop_map(|map| json!(map))
}

fn service(ports: &[(u16, bool)], labels: Value) -> Value {
    let mut seen = std::collections::BTreeSet::new();
    let ports: Vec<Value> =
        ports
            .iter()
            .filter(|port| seen.insert(**port))
            .map(|(port, udp)| {
                if *udp {
                    json!({"port": port, "protocol": "UDP"})
                } else {
                    json!({"port": port, "name": "n"})
                }
            })
            .collect();
    json!({"metadata": {"name": "a", "labels": labels}, "spec": {"ports": ports, "type": "ClusterIP"}})
}

fn ports() -> impl Strategy<Value = Vec<(u16, bool)>> {
    proptest::collection::vec((80u16..84, any::<bool>()), 0..5)
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing(one in ports(), two in ports(), a in small_map(), b in small_map()) {
        let first = applied(None, "m", "Service", service(&one, a), true).unwrap();
        let config = service(&two, b);
        let second = applied(Some(&first), "n", "Service", config.clone(), true).unwrap();
        let again = applied(Some(&second), "n", "Service", config.clone(), false).unwrap();
        prop_assert_eq!(&second.body, &again.body);
        prop_assert_eq!(&second.managers, &again.managers);
        let schema = builtin("Service");
        prop_assert!(is_applied(&second.body, &second.managers, &body(config), &who("n", &schema)));
    }

    #[test]
    fn disjoint_fields_survive_each_other(a in small_map(), b in small_map(), next in small_map()) {
        let upper = |map: &Value| -> Value {
            json!(map.as_object().unwrap().iter().map(|(k, v)| (k.to_uppercase(), v.clone())).collect::<Json>())
        };
        let first = applied(None, "m", "ConfigMap", data(a), false).unwrap();
        let second = applied(Some(&first), "n", "ConfigMap", data(upper(&b)), false).unwrap();
        let third = applied(Some(&second), "m", "ConfigMap", data(next.clone()), false).unwrap();
        let mut expected = body(next);
        expected.extend(body(upper(&b)));
        let found = third.body.get("data").cloned().unwrap_or_else(|| json!({}));
        prop_assert_eq!(found, Value::Object(expected));
    }
}
