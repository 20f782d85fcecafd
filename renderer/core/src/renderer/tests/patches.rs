//! Patches of a trigger, as they change.

use serde_json::json;

use super::*;

fn marked(mark: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "patch"},
        "data": {"a.yaml": format!("data: {{mark: '{mark}'}}")}})
}

fn patched() -> Value {
    trigger(true, json!({"patchesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "patch"}]}))
}

#[test]
fn what_patches_come_from_is_read_again_when_it_changes() {
    let mut fixture = Fixture::new(vec![patched(), content(true, "1"), marked("2")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a x 2"]);
    fixture.put(marked("3"));
    assert_eq!(fixture.wanted(), ["a x 3"]);
    fixture.delete(marked("3"));
    let said =
        fixture.problems.values().any(|error| error.contains("ConfigMap default/patch does not exist"));
    assert!(said, "{:?}", fixture.problems);
    assert_eq!(fixture.wanted(), ["a x 3"], "nothing is withdrawn by an error");
    fixture.put(marked("4"));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 4".to_owned()], 0));
}

#[test]
fn a_patch_that_does_not_apply_leaves_what_is_there() {
    let with =
        |patch: &str| trigger(true, json!({"patches": [{"patch": patch, "target": {"kind": "ConfigMap"}}]}));
    let mut fixture = Fixture::new(vec![with("data: {mark: '2'}"), content(true, "1")]);
    fixture.ready(&["x"]);
    for wrong in ["- {op: test, path: /data/mark, value: '7'}", "data: ["] {
        fixture.put(with(wrong));
        assert_eq!(
            (fixture.wanted(), fixture.problems.is_empty()),
            (vec!["a x 2".to_owned()], false),
            "{wrong}"
        );
    }
    fixture.put(with("data: {mark: '3'}"));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 3".to_owned()], 0));
}

#[test]
fn destinations_get_the_same_unless_a_patch_is_a_template() {
    let to =
        json!({"destinationClusterSelector": {}, "sourceClusterSelector": {"matchLabels": {"env": "fv"}}});
    for (mark, expected) in [("2", ["a x 2", "b x 2"]), ("{{ .Cluster.metadata.name }}", ["a x a", "b x b"])]
    {
        let mut spec = to.clone();
        spec["destinationClusterSelector"] =
            json!({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]});
        spec["patches"] = json!([{"patch": format!("data: {{mark: '{mark}'}}")}]);
        let mut fixture = Fixture::new(vec![trigger(true, spec), content(true, "1")]);
        fixture.ready(&["x"]);
        assert_eq!(fixture.wanted(), expected);
    }
}
