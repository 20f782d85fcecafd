//! What is told where something goes wrong that has to do with a Secret.

use sluice_api::model::SECRET_TYPE;

use super::charts::{loaded, profile};
use super::*;

const MARKER: &str = "hunter2";

/// A Secret with content.
fn holding(annotation: &str, text: &str) -> Value {
    json!({"kind": "Secret", "type": SECRET_TYPE, "apiVersion": "v1",
        "metadata": {"namespace": "default", "name": "held", "annotations": {annotation: "ok"}}, "stringData": {"k": text}})
}

fn of_held(spec: Value) -> Value {
    let mut profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    profile
}

fn reference(kind: &str, name: &str) -> Value {
    json!([{"kind": kind, "namespace": "default", "name": name}])
}

/// What is wrong, without what is secret.
fn wrong(fixture: &Fixture) -> String {
    let text: String = fixture.problems.values().cloned().collect();
    assert!(!text.is_empty() && !text.contains(MARKER), "{text}");
    text
}

#[test]
fn of_a_broken_text_of_a_secret_the_place_is_told() {
    for (annotation, text, told) in [
        ("x", "a: [hunter2", "cannot be rendered or read"),
        ("x", "a: hunter2\n b: hunter2", "cannot be rendered or read at line 2"),
        ("x", "- hunter2: [hunter2", "cannot be rendered or read"),
        ("projectsveltos.io/template", "a\n{{ hunter2 }}", "at line 2"),
        ("projectsveltos.io/template", "a\n{{ fail \"hunter2\" }}", "at line 2"),
        ("projectsveltos.io/template", "a: ['{{ \"hunter2\" }}'", "cannot be rendered or read"),
        ("projectsveltos.io/lua", "hunter2 hunter2", "cannot be rendered or read"),
        ("projectsveltos.io/lua", "function evaluate() error('hunter2') end", "at line 1"),
    ] {
        let fixture = Fixture::new(vec![
            of_held(json!({"policyRefs": reference("Secret", "held")})),
            holding(annotation, text),
        ]);
        let said = wrong(&fixture);
        assert!(said.contains("Secret default/held: data.k: ") && said.contains(told), "{text}: {said}");
    }
    let patches = |text: &str| {
        let map = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "c"}, "data": {}});
        let spec =
            json!({"policyRefs": reference("ConfigMap", "c"), "patchesFrom": reference("Secret", "held")});
        Fixture::new(vec![of_held(spec), map, holding("x", text)])
    };
    for text in ["hunter2", "[hunter2", "[{op: hunter2}]", "{patch: 'a: 1', hunter2: 1}"] {
        assert!(wrong(&patches(text)).contains("data.k: cannot be rendered or read"), "{text}");
    }
}

#[test]
fn of_a_text_that_reads_a_secret_the_expression_is_told() {
    let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"namespace": "default", "name": "s"},
        "data": {"p": "hunter2"}});
    for (annotation, text, told) in [
        (
            "projectsveltos.io/template",
            "a: {{ fail (getResource \"S\").data.p }}",
            "at <fail (getResource \"S\").data.p> fails",
        ),
        (
            "projectsveltos.io/template",
            "a: [{{ (getResource \"S\").data.p }}",
            "data.k: cannot be rendered or read",
        ),
        (
            "projectsveltos.io/lua",
            "function evaluate() error(resources.S.data.p) end",
            "data.k: evaluate:1 fails",
        ),
    ] {
        let map = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "c", "annotations": {annotation: "ok"}},
            "data": {"k": text}});
        let refs = json!([{"resource": {"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "s"}, "identifier": "S"}]);
        let spec = json!({"policyRefs": reference("ConfigMap", "c"), "templateResourceRefs": refs});
        let fixture = Fixture::new(vec![of_held(spec), map, secret.clone()]);
        assert!(wrong(&fixture).contains(told), "{text}: {:?}", fixture.problems);
    }
}

#[test]
fn of_an_event_that_is_a_secret_the_expression_is_told() {
    let source = json!({"kind": "EventSource", "metadata": {"name": "s"},
        "spec": {"collectResources": true, "resourceSelectors": [{"version": "v1", "kind": "Secret"}]}});
    let text = "{{ fail (index .Resource.data \"p\") }}";
    let map = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"k": text}});
    let held = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "x"}, "data": {"p": "hunter2"}});
    let mut fixture = Fixture::new(vec![source, trigger(true, json!({})), map]);
    let mut row = report("x", false);
    if let Subject::Report { object, .. } = &mut row.subject {
        object.gvk.kind = "Secret".into();
    }
    row.body = held.to_string().into_bytes().into();
    fixture.row(row);
    fixture.caught_up();
    assert!(
        wrong(&fixture).contains("at <fail (index .Resource.data \"p\")> fails"),
        "{:?}",
        fixture.problems
    );
}

#[test]
fn of_a_chart_with_values_of_a_secret_the_place_is_told() {
    let chart = "{{ required .Values.secret nil }}";
    let spec = || profile(json!({"valuesFrom": reference("Secret", "held")}));
    let mut fixture = Fixture::new(vec![spec(), holding("x", "secret: hunter2")]);
    fixture.chart(loaded("1.0.0", &[("templates/a.yaml", chart)]));
    assert!(wrong(&fixture).contains("templates/a.yaml:1:3"), "{:?}", fixture.problems);
    let schema = r#"{"properties": {"secret": {"enum": ["other"]}}}"#;
    fixture.chart(loaded("1.1.0", &[("values.schema.json", schema)]));
    assert!(wrong(&fixture).contains("correct the values"), "{:?}", fixture.problems);
    fixture.put(holding("x", "secret: [hunter2"));
    assert!(wrong(&fixture).contains("data.k: cannot be rendered or read"), "{:?}", fixture.problems);
}
