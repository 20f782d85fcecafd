use proptest::prelude::*;
use serde_json::json;

use super::*;

mod directives;
mod lists;

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "web", "image": "x"}]}}}})
}

#[test]
fn both_forms_are_read_in_yaml_and_json() {
    for text in [
        "- op: replace\n  path: /spec/replicas\n  value: 3\n",
        "[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]",
        "spec:\n  replicas: 3\n",
        "---\nspec: {replicas: 3}\n",
        "{\"spec\": {\"replicas\": 3}}",
    ] {
        let patched = Patch::parse(text).unwrap().apply(&deployment()).unwrap().unwrap();
        assert_eq!(patched["spec"]["replicas"], 3, "{text}");
    }
}

#[test]
fn what_is_no_patch_says_so() {
    for (text, part) in [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("spec", "\"spec\" is no patch"),
        ("spec: [", "line"),
        ("spec: {}\n---\nspec: {}\n", "more than one document"),
        ("- op: replace\n", "operation 1: missing field"),
        (&format!("a: {}1{}", "[".repeat(200), "]".repeat(200)), "deeper than 100"),
    ] {
        let error = Patch::parse(text).unwrap_err();
        assert!(error.text().contains(part), "{text:.40}: {error}");
    }
}

#[test]
fn what_is_more_than_is_taken_is_a_limit_wherever_it_stands() {
    let deep = format!("a: {}1{}", "[".repeat(200), "]".repeat(200));
    assert!(Patch::parse(&deep).unwrap_err().is_limit());
    assert!(!Patch::parse("limit: [").unwrap_err().is_limit());
    let held =
        |patch: &str| Rule::read_all(&json!([{"patch": "a: 1"}, {"patch": patch}]).to_string()).unwrap_err();
    assert!(
        held(&deep).is_limit() && held(&deep).text().starts_with("[1].patch: limit: "),
        "{}",
        held(&deep)
    );
    assert!(!held("limit: [").is_limit());
}

#[test]
fn a_merge_keeps_kind_and_names() {
    let patch =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: any, namespace: any, labels: {a: b}}\n";
    let patched = Patch::parse(patch).unwrap().apply(&deployment()).unwrap().unwrap();
    assert_eq!(patched["metadata"], json!({"name": "web", "namespace": "shop", "labels": {"a": "b"}}));
}

#[test]
fn an_object_can_be_left_out_but_not_lose_its_name() {
    let apply = |text: &str| Patch::parse(text).unwrap().apply(&deployment());
    assert_eq!(apply("$patch: delete"), Ok(None));
    for text in ["metadata: null", "[{op: remove, path: /kind}]", "[{op: replace, path: '', value: 5}]"] {
        assert!(
            apply(text).unwrap_err().text().contains("without apiVersion, kind or metadata.name"),
            "{text}"
        );
    }
}

#[test]
fn a_patch_without_a_target_is_for_what_it_names() {
    let is_for =
        |text: &str, target: Option<&Target>| Patch::parse(text).unwrap().is_for(target, &deployment());
    assert!(is_for("spec: {}", None) && is_for("[]", None));
    assert!(is_for("{kind: Deployment, metadata: {name: web}}", None));
    assert!(!is_for("{kind: Deployment, metadata: {name: other}}", None));
    assert!(!is_for("{kind: StatefulSet}", None));
    let target = Target::read(&json!({"kind": "Deployment"})).unwrap();
    assert!(is_for("{kind: Deployment, metadata: {name: other}}", Some(&target)));
}

proptest! {
    #[test]
    fn no_text_panics(text in "[ -~\n]{0,200}") {
        if let Ok(patch) = Patch::parse(&text) {
            let _patched = patch.apply(&deployment());
        }
    }

    #[test]
    fn no_operations_panic(operations in proptest::collection::vec(
        (0..6_usize, "(/(spec|replicas|template|containers|0|1|-|~1|~0|~)?){0,4}", "(/(spec|metadata|x|0|-)){0,3}"), 0..12)) {
        let operation = |(op, path, from): (usize, String, String)| {
            let op = ["add", "remove", "replace", "move", "copy", "test"][op];
            json!({"op": op, "path": path, "from": from, "value": {"a": [1]}})
        };
        if let Ok(patch) = Patch::read(operations.into_iter().map(operation).collect()) {
            let _patched = patch.apply(&deployment());
        }
    }
}
