use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::patch::keys::Shape;

fn merged(kind: &str, target: Value, patch: Value) -> Result<Value, String> {
    let Value::Object(patch) = patch else { panic!("a map is merged") };
    let group = if kind == "Thing" { "example.com" } else { "apps" };
    merge(target, &patch, Shape::of(group, kind)).map(Option::unwrap_or_default)
}

fn pod(spec: Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

/// What becomes of the pod of a Deployment.
fn merged_pod(target: Value, patch: Value) -> Value {
    merged("Deployment", pod(target), pod(patch)).unwrap()["spec"]["template"]["spec"].clone()
}

#[test]
fn containers_merge_by_name_and_what_is_in_them_too() {
    let target = json!({"containers": [
        {"name": "a", "image": "x", "env": [{"name": "K", "value": "1"}], "volumeMounts": [{"mountPath": "/m", "name": "v"}]},
        {"name": "b", "args": ["1", "2"]}]});
    let patch = json!({"containers": [
        {"name": "b", "args": ["3"]},
        {"name": "a", "env": [{"name": "L", "value": "2"}, {"name": "K", "value": "3"}],
            "volumeMounts": [{"mountPath": "/m", "readOnly": true}]}]});
    let expected = json!({"containers": [
        {"name": "b", "args": ["3"]},
        {"name": "a", "image": "x", "env": [{"name": "L", "value": "2"}, {"name": "K", "value": "3"}],
            "volumeMounts": [{"mountPath": "/m", "name": "v", "readOnly": true}]}]});
    assert_eq!(merged_pod(target, patch), expected);
}

#[test]
fn what_is_new_comes_first_and_what_is_not_named_keeps_its_place() {
    let target = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let patch = json!({"containers": [{"name": "new", "env": [{"name": "K", "value": null}]}, {"name": "b", "image": "x"}]});
    let expected = json!({"containers": [{"name": "new", "env": [{"name": "K"}]}, {"name": "a"}, {"name": "b", "image": "x"}, {"name": "c"}]});
    assert_eq!(merged_pod(target, patch), expected);
}

#[test]
fn every_list_of_a_pod_has_its_key() {
    for (list, key) in [
        ("initContainers", "name"),
        ("ephemeralContainers", "name"),
        ("volumes", "name"),
        ("imagePullSecrets", "name"),
        ("hostAliases", "ip"),
        ("topologySpreadConstraints", "topologyKey"),
    ] {
        let target = json!({list: [{key: "a", "x": 1}, {key: "b"}]});
        let patch = json!({list: [{key: "a", "y": 2}]});
        assert_eq!(
            merged_pod(target, patch),
            json!({list: [{key: "a", "x": 1, "y": 2}, {key: "b"}]}),
            "{list}"
        );
    }
    let (target, patch) = (json!({"tolerations": [{"key": "a"}]}), json!({"tolerations": [{"key": "b"}]}));
    assert_eq!(merged_pod(target, patch.clone()), patch, "tolerations are replaced");
}

#[test]
fn ports_are_told_apart_by_their_protocol_where_the_patch_says_it() {
    let target = json!({"spec": {"ports": [{"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP", "name": "udp"}]}});
    let of = |ports: Value| {
        merged("Service", target.clone(), json!({"spec": {"ports": ports}})).unwrap()["spec"]["ports"].clone()
    };
    assert_eq!(
        of(json!([{"port": 53, "protocol": "UDP", "nodePort": 1}])),
        json!([{"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP", "name": "udp", "nodePort": 1}])
    );
    assert_eq!(of(json!([{"port": 53, "protocol": "TCP", "nodePort": 1}]))[0]["nodePort"], 1);
    assert_eq!(of(json!([{"port": 53, "nodePort": 1}]))[0]["nodePort"], 1);
    assert_eq!(of(json!([{"port": 80}])).as_array().unwrap().len(), 3);
}

#[test]
fn directives_delete_and_replace() {
    let target =
        json!({"containers": [{"name": "a", "image": "x"}, {"name": "b"}], "nodeSelector": {"a": "1"}});
    for (patch, expected) in [
        (json!({"containers": [{"name": "a", "$patch": "delete"}]}), json!({"containers": [{"name": "b"}]})),
        (
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"containers": [{"name": "c"}]}),
        ),
        (
            json!({"containers": [{"name": "a", "$patch": "replace", "args": []}]}),
            json!({"containers": [{"name": "a", "args": []}, {"name": "b"}]}),
        ),
        (
            json!({"containers": [{"name": "z", "$patch": "delete"}]}),
            json!({"containers": target["containers"]}),
        ),
    ] {
        assert_eq!(
            merged_pod(target.clone(), patch.clone())["containers"],
            expected["containers"],
            "{patch}"
        );
    }
    assert_eq!(
        merged_pod(target.clone(), json!({"nodeSelector": {"$patch": "delete"}})),
        json!({"containers": target["containers"]})
    );
    assert_eq!(
        merged_pod(target.clone(), json!({"nodeSelector": {"$patch": "replace", "b": "2"}}))["nodeSelector"],
        json!({"b": "2"})
    );
    assert_eq!(
        merged_pod(target, json!({"nodeSelector": {"$patch": "merge", "b": "2"}}))["nodeSelector"],
        json!({"a": "1", "b": "2"})
    );
    assert_eq!(merged("Deployment", json!({"a": 1}), json!({"$patch": "delete"})), Ok(Value::Null));
}

#[test]
fn lists_of_texts_lose_and_win_values() {
    let target = json!({"metadata": {"finalizers": ["x", "y"]}});
    let patch = json!({"metadata": {"finalizers": ["z", "y"], "$deleteFromPrimitiveList/finalizers": ["x"]}});
    let expected = json!({"metadata": {"finalizers": ["z", "y"]}});
    assert_eq!(merged("ConfigMap", target, patch), Ok(expected));
}

#[test]
fn an_order_is_kept() {
    let target = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let patch = json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "new"}, {"name": "a"}], "containers": [{"name": "new"}]});
    let names: Vec<_> = merged_pod(target, patch)["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| container["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["b", "c", "new", "a"]);
}

#[test]
fn only_the_retained_keys_stay() {
    let target = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        merged("Deployment", target.clone(), patch),
        Ok(json!({"spec": {"strategy": {"type": "Recreate"}}}))
    );
    let patch = json!({"spec": {"strategy": {"$retainKeys": [], "type": "Recreate"}}});
    let error = merged("Deployment", target, patch).unwrap_err();
    assert!(error.starts_with("spec.strategy.$retainKeys: lacks \"type\""), "{error}");
}

#[test]
fn custom_resources_merge_without_keys() {
    let target = json!({"spec": {"containers": [{"name": "a"}], "x": {"y": 1, "z": 2}}});
    let patch = json!({"spec": {"containers": [{"name": "b"}], "x": {"y": null}}});
    assert_eq!(
        merged("Thing", target, patch),
        Ok(json!({"spec": {"containers": [{"name": "b"}], "x": {"z": 2}}}))
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (patch, part) in [
        (pod(json!({"containers": [{"image": "x"}]})), "spec.template.spec.containers[0].name: is missing"),
        (pod(json!({"containers": ["x"]})), "spec.template.spec.containers[0].name: is missing"),
        (
            pod(json!({"containers": [{"name": "a", "env": [{"value": "x"}]}]})),
            "spec.template.spec.containers[0].env[0].name: is missing",
        ),
        (
            pod(json!({"containers": [{"name": {}}]})),
            "spec.template.spec.containers[0].name: is no plain value",
        ),
        (
            json!({"spec": {"$patch": "drop"}}),
            "spec.$patch: \"drop\" is no directive; use merge, replace or delete",
        ),
        (pod(json!({"tolerations": [{"$patch": "delete", "key": "a"}]})), "tolerations[0].$patch: the items"),
        (json!({"spec": {"$setElementOrder/x": 1}}), "spec.$setElementOrder/x: must be a list"),
        (json!({"$deleteFromPrimitiveList/x": {}}), "$deleteFromPrimitiveList/x: must be a list"),
    ] {
        let error = merged("Deployment", json!({}), patch).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

/// Objects as kinds have them, with the fields that matter and others, and directives where `directives`.
fn anything(directives: bool) -> impl Strategy<Value = Value> {
    let plain = [
        "name",
        "containers",
        "env",
        "ports",
        "finalizers",
        "spec",
        "template",
        "metadata",
        "port",
        "containerPort",
        "protocol",
        "x",
    ];
    let all = [
        &plain[..],
        &["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"],
    ]
    .concat();
    let fields = proptest::sample::select(if directives { all } else { plain.to_vec() });
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        proptest::sample::select(vec!["a", "b", "delete", "replace", "TCP"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        let map =
            proptest::collection::btree_map(fields.clone().prop_map(str::to_owned), inner.clone(), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            map.prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_map(directives: bool) -> impl Strategy<Value = Map<String, Value>> {
    anything(directives).prop_map(|value| match value {
        Value::Object(map) => map,
        other => Map::from_iter([("spec".to_owned(), json!({"template": {"spec": {"containers": other}}}))]),
    })
}

proptest! {
    #[test]
    fn no_patch_panics(target in anything(true), patch in any_map(true)) {
        for shape in [Shape::of("apps", "Deployment"), Shape::of("", "Pod"), Shape::of("", "Service"), Shape::PLAIN] {
            let _merged = merge(target.clone(), &patch, shape);
        }
    }

    #[test]
    fn an_empty_patch_changes_nothing(target in any_map(false)) {
        let target = Value::Object(target);
        let merged = merge(target.clone(), &Map::new(), Shape::of("apps", "Deployment"));
        prop_assert_eq!(merged, Ok(Some(target)));
    }

    #[test]
    fn without_keys_and_directives_it_is_a_json_merge_patch(target in anything(false), patch in any_map(false)) {
        let mut expected = target.clone();
        json_patch::merge(&mut expected, &Value::Object(patch.clone()));
        prop_assert_eq!(merge(target, &patch, Shape::PLAIN), Ok(Some(expected)));
    }

    #[test]
    fn the_same_patch_again_changes_nothing(target in anything(false), patch in any_map(false)) {
        for shape in [Shape::PLAIN, Shape::of("apps", "Deployment"), Shape::of("", "Service")] {
            let Ok(Some(once)) = merge(target.clone(), &patch, shape) else { continue };
            prop_assert_eq!(merge(once.clone(), &patch, shape), Ok(Some(once)));
        }
    }
}
