#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn secret(kind: &str, text: &str) -> Value {
    named("s", kind, text)
}

fn named(name: &str, kind: &str, text: &str) -> Value {
    json!({"kind": "Secret", "type": kind, "metadata": {"name": name}, "data": {"k": STANDARD.encode(text)}})
}

fn shown(of: &StandIns, object: Value) -> String {
    plain(&of.hide(object)["data"]["k"], true).unwrap_or_default()
}

/// What a render makes of a text of a Secret.
fn failed(text: &str) -> Error {
    sluice_api::TextError::from(text).into()
}

fn covered(read_as: ReadAs, text: &str) -> Result<String> {
    let stand_ins = StandIns::default();
    let sealed = shown(&stand_ins, secret(SECRET_TYPE, text));
    let opened = stand_ins.open(&sealed).unwrap();
    assert_eq!(&*opened, text);
    stand_ins.cover(&sealed, read_as, Ok(opened.to_string()))
}

#[test]
fn equal_values_have_equal_stand_ins_that_nobody_can_reckon() {
    let (one, other) = (StandIns::default(), StandIns::default());
    let of = |stand_ins: &StandIns, text: &str| shown(stand_ins, secret("Opaque", text));
    assert_eq!(of(&one, "hunter2"), of(&one, "hunter2"));
    assert_ne!(of(&one, "hunter2"), of(&one, "hunter3"));
    assert_ne!(of(&one, "hunter2"), of(&other, "hunter2"));
    assert!(of(&one, "hunter2").starts_with("masked-"));
}

/// A question holds as many Secrets as whoever asks likes.
#[test]
fn a_guess_in_another_secret_is_told_nothing() {
    let stand_ins = StandIns::default();
    assert_ne!(
        shown(&stand_ins, named("a", "Opaque", "hunter2")),
        shown(&stand_ins, named("b", "Opaque", "hunter2"))
    );
}

#[test]
fn nothing_that_a_secret_with_content_holds_is_there_for_who_reads_it() {
    for text in ["kind: ConfigMap\ndata: {a: hunter2}\n", "{{ if }} hunter2", "hunter2", "[hunter2"] {
        let shown = shown(&StandIns::default(), secret(SECRET_TYPE, text));
        assert!(shown.starts_with("masked-") && shown.len() == 23, "{shown}");
    }
}

#[test]
fn only_content_can_be_opened() {
    let stand_ins = StandIns::default();
    let opaque = shown(&stand_ins, secret("Opaque", "hunter2"));
    assert!(stand_ins.open(&opaque).is_none() && stand_ins.open("hunter2").is_none());
}

#[test]
fn of_manifests_kinds_names_and_keys_are_shown() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, labels: {l: hunter2}}\n\
        spec: {a: hunter2, b: [1234567, true, null, ''], c: {d: hunter2}}\n---\n\
        apiVersion: v1\nkind: Secret\ntype: Opaque\nmetadata: {name: s, annotations: {x: hunter2}}\nstringData: {p: hunter2}\n";
    let documents = sluice_api::yaml::documents(&covered(ReadAs::Manifests, text).unwrap()).unwrap();
    let kept = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "labels": {"l": "*"}},
        "spec": {"a": "*", "b": ["*", "*", null, ""], "c": {"d": "*"}}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "s", "annotations": {"x": "*"}}, "stringData": {"p": "*"}});
    assert_eq!(documents.into_iter().map(starred).collect::<Vec<_>>(), [kept, secret]);
}

/// With all stand-ins alike.
fn starred(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("masked-") => "*".into(),
        Value::Array(items) => items.into_iter().map(starred).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, starred(value))).collect(),
        other => other,
    }
}

#[test]
fn what_a_definition_defines_is_shown() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.g}\n\
        spec: {group: g, scope: Cluster, names: {kind: X}, versions: [{name: v1, served: true, schema: {d: hunter2}}]}\n";
    let found: Value =
        sluice_api::yaml::documents(&covered(ReadAs::Manifests, text).unwrap()).unwrap().remove(0);
    let version = json!({"name": "v1", "served": true, "schema": {"d": "*"}});
    let expected = json!({"group": "g", "scope": "Cluster", "names": {"kind": "X"}, "versions": [version]});
    assert_eq!(starred(found["spec"].clone()), expected);
}

#[test]
fn what_cannot_be_read_has_one_stand_in_that_changes_with_it() {
    let error = |text: &str| {
        let error = covered(ReadAs::Manifests, text).unwrap_err().to_string();
        assert!(error.starts_with("masked-") && !error.contains("hunter2"), "{error}");
    };
    ["a: [hunter2", "hunter2", "5", "- a: hunter2", "- 'a: ['"].into_iter().for_each(error);
    let stand_ins = StandIns::default();
    let said = |text: &str| {
        let sealed = shown(&stand_ins, secret(SECRET_TYPE, text));
        stand_ins.cover(&sealed, ReadAs::Manifests, Err(failed("at hunter2"))).unwrap_err().to_string()
    };
    assert_eq!(said("{{ hunter2"), said("{{ hunter2"));
    assert_ne!(said("{{ hunter2"), said("{{ hunter3"));
}

#[test]
fn values_of_charts_keep_what_charts_choose_and_count_by() {
    let text = "enabled: false\nreplicas: 1234567\npassword: hunter2\nempty: ''\nlist: [{name: hunter2}]\n";
    let found = sluice_api::yaml::documents(&covered(ReadAs::Values, text).unwrap()).unwrap().remove(0);
    let replicas = found["replicas"].as_u64().unwrap();
    assert!((1..=COUNTABLE).contains(&replicas), "{found}");
    let expected = json!({"enabled": false, "replicas": replicas, "password": "*", "empty": "", "list": [{"name": "*"}]});
    assert_eq!(starred(found), expected);
    assert_eq!(covered(ReadAs::Values, "").unwrap(), "");
    assert!(["5", "- hunter2", "a: ["].iter().all(|text| covered(ReadAs::Values, text).is_err()));
}

#[test]
fn of_patches_operations_paths_and_targets_are_shown() {
    let text = "patch: |\n  - {op: add, path: /data/a, value: hunter2}\ntarget: {kind: ConfigMap}\n---\n\
        kind: ConfigMap\nmetadata: {name: c}\ndata: {a: hunter2, $patch: replace}\n";
    let found = covered(ReadAs::Patches, text).unwrap();
    assert!(!found.contains("hunter2") && found.contains("masked-"), "{found}");
    for kept in ["/data/a", "add", "target", "ConfigMap", "replace"] {
        assert!(found.contains(kept), "{kept}: {found}");
    }
    assert!(
        ["hunter2", "[hunter2]", "patch: '['"].iter().all(|text| covered(ReadAs::Patches, text).is_err())
    );
}

#[test]
fn what_was_rendered_for_an_event_is_sealed_again() {
    let stand_ins = StandIns::default();
    let sealed = shown(&stand_ins, secret(SECRET_TYPE, "{{ .x }} hunter2"));
    let again = stand_ins.close(&sealed, Ok("kind: X # hunter2".into())).unwrap();
    assert!(again.starts_with("masked-") && again != sealed, "{again}");
    assert_eq!(stand_ins.open(&again).as_deref(), Some("kind: X # hunter2"));
    let error = stand_ins.close(&sealed, Err(failed("hunter2"))).unwrap_err().to_string();
    assert!(error.contains(&sealed) && !error.contains("hunter2"), "{error}");
    let limit = sluice_api::TextError::Limit("hunter2".to_owned());
    assert!(stand_ins.close(&sealed, Err(limit.into())).unwrap_err().is_limit());
}

#[test]
fn other_objects_stay_as_they_are() {
    let object = json!({"kind": "ConfigMap", "data": {"k": "v"}});
    assert_eq!(StandIns::default().hide(object.clone()), object);
}
