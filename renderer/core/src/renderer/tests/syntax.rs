//! Templates of triggers that can never be rendered, and sources that can never judge anything.

use sluice_api::model::{CheckPoint, templated_fields};

use super::*;

fn named(name: &str) -> Value {
    trigger(true, json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}))
}

/// A trigger in which every templated field has a value.
fn full() -> Value {
    let reference = || json!([{"kind": "ConfigMap", "namespace": "default", "name": "content"}]);
    let check = || json!([{"name": "c", "featureID": "Resources", "jobCheck": {"jobRef": reference()[0]}}]);
    let generator = || json!([{"namespace": "default", "name": "content", "nameFormat": "made"}]);
    trigger(
        true,
        json!({
            "profileNameFormat": "p", "cloudEventAction": "Create",
            "destinationCluster": {"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1", "namespace": "default", "name": "a"},
            "configMapGenerator": generator(), "secretGenerator": generator(),
            "policyRefs": reference(), "patchesFrom": reference(), "patches": [{"patch": "a: 1"}],
            "preDeployChecks": check(), "validateHealths": check(), "preDeleteChecks": check(), "postDeleteChecks": check(),
            "helmCharts": [{"repositoryURL": "https://charts.example.com", "repositoryName": "r", "chartName": "r/c",
                "chartVersion": "1", "releaseName": "c", "releaseNamespace": "n", "values": "a: 1", "valuesFrom": reference()}],
            "templateResourceRefs": [{"identifier": "i", "resource":
                {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "x"}}],
        }),
    )
}

/// Writes a text into such a field: `policyRefs[].name`.
fn write(trigger: &mut Value, field: &str, text: &str) {
    let pointer = format!("/spec/{}", field.replace("[]", "/0").replace('.', "/"));
    *trigger.pointer_mut(&pointer).unwrap() = text.into();
}

#[test]
fn a_template_that_is_broken_is_a_problem_of_its_trigger_before_any_event() {
    let mut fixture = Fixture::new(vec![named("{{ .Resource.metadata.name"), content(true, "1")]);
    fixture.ready(&[]);
    let said: Vec<_> = fixture.problems.iter().collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].0.contains("EventTrigger t"), "{said:?}");
    assert!(said[0].1.starts_with("spec.policyRefs[0].name: template: "), "{said:?}");
    fixture.put(named("{{ .Resource.metadata.name }}"));
    assert_eq!(fixture.problems, BTreeMap::new());
}

#[test]
fn a_broken_template_in_any_field_is_one_problem_with_field_place_and_remedy() {
    for (field, _) in templated_fields("EventTrigger") {
        let mut broken = full();
        write(&mut broken, field, "{{ nosuch . }}");
        let mut fixture = Fixture::new(vec![broken]);
        fixture.ready(&[]);
        let path = format!("spec.{}", field.replace("[]", "[0]"));
        let said = BTreeMap::from([(
            "EventTrigger t".to_owned(),
            format!("{path}: template: {path}:1: function \"nosuch\" not defined; correct the template"),
        )]);
        assert_eq!(fixture.problems, said, "{field}");
        fixture.put(full());
        assert_eq!(fixture.problems, BTreeMap::new(), "{field}");
    }
}

#[test]
fn all_that_is_broken_is_said_at_once() {
    let mut broken = full();
    write(&mut broken, "profileNameFormat", "{{ a");
    write(&mut broken, "patches[].patch", "{{ b");
    let mut fixture = Fixture::new(vec![broken]);
    fixture.ready(&[]);
    let said = &fixture.problems["EventTrigger t"];
    assert!(
        said.contains("spec.profileNameFormat: ") && said.contains("; spec.patches[0].patch: "),
        "{said}"
    );
}

#[test]
fn functions_are_those_of_the_stage_that_renders_the_field() {
    let mut late = full();
    write(&mut late, "patches[].patch", "a: {{ getResource \"i\" }}");
    let mut fixture = Fixture::new(vec![late]);
    fixture.ready(&[]);
    assert_eq!(fixture.problems, BTreeMap::new());
}

#[test]
fn every_field_of_the_list_is_rendered() {
    // What charts, generators and checks lack would be said instead.
    let checks = CheckPoint::ALL.map(CheckPoint::field);
    let aside = [&["helmCharts", "secretGenerator", "configMapGenerator"][..], &checks].concat();
    let pod = ObjectKey { gvk: Gvk::new("", "v1", "Pod"), namespace: "default".into(), name: "x".into() };
    // An action is of CloudEvents: their tests render it.
    for (field, _) in
        templated_fields("EventTrigger").into_iter().filter(|(field, _)| *field != "cloudEventAction")
    {
        let mut failing = full();
        for other in aside.iter().filter(|other| !field.starts_with(**other)) {
            failing["spec"].as_object_mut().unwrap().remove(*other);
        }
        write(&mut failing, field, "{{ fail `as wanted` }}");
        let secret = json!({"kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
            "metadata": {"namespace": "default", "name": "content"}});
        let mut fixture = Fixture::new(vec![failing, content(true, "1"), secret]);
        fixture.ready(&["x"]);
        let there = Resource::There(Arc::new(json!({})));
        fixture.run(|renderer, step| renderer.external(ExternalInput::Resource(pod.clone(), there), step));
        let said = format!("{:?}", fixture.problems);
        let name = field.rsplit('.').next().unwrap();
        assert!(
            said.contains(&format!("{name}: template: ")) && said.contains("as wanted"),
            "{field}: {said}"
        );
    }
}

#[test]
fn a_template_that_fails_with_an_event_only_is_no_problem_before() {
    let mut fixture =
        Fixture::new(vec![named("{{ index .Resource.metadata.labels 3 }}"), content(true, "1")]);
    fixture.ready(&[]);
    assert_eq!(fixture.problems, BTreeMap::new());
}

/// An EventSource that no trigger uses.
fn unused(script: &str) -> Value {
    json!({"kind": "EventSource", "metadata": {"name": "unused"}, "spec": {"resourceSelectors": [
        {"version": "v1", "kind": "Pod"}, {"version": "v1", "kind": "Pod", "evaluate": script}]}})
}

const GOOD: &str = "function evaluate() return {matching = true} end";

#[test]
fn a_script_that_is_broken_is_a_problem_of_its_source_before_any_trigger_uses_it() {
    let mut fixture = Fixture::new(vec![unused("function evaluate( end")]);
    let said = fixture.problems.get("EventSource unused").cloned().unwrap_or_default();
    let start = "EventSource unused: spec.resourceSelectors[1].evaluate: evaluate:1: ";
    assert!(said.starts_with(start) && said.ends_with("; correct the script"), "{:?}", fixture.problems);
    fixture.put(unused(GOOD));
    assert_eq!(fixture.problems, BTreeMap::new());
    fixture.put(unused("return {"));
    assert_eq!(fixture.problems.len(), 1);
    fixture.delete(unused("return {"));
    assert_eq!(fixture.problems, BTreeMap::new());
}

#[test]
fn a_rule_that_is_broken_is_a_problem_of_a_source_that_nobody_uses() {
    let with_rule = |rule: &str| {
        let mut source = unused(GOOD);
        source["spec"]["resourceSelectors"][0]["evaluateCEL"] = json!([{"name": "a", "rule": rule}]);
        source
    };
    let mut fixture = Fixture::new(vec![with_rule("obj.kind == 'Pod'")]);
    let said = fixture.problems.get("EventSource unused").cloned().unwrap_or_default();
    let start =
        "EventSource unused: spec.resourceSelectors[0].evaluateCEL[0].rule: 1:1: \"obj\" is not known";
    assert!(said.starts_with(start) && said.ends_with("; correct the rule"), "{said}");
    fixture.put(with_rule("resource.kind == 'Pod'"));
    assert_eq!(fixture.problems, BTreeMap::new());
}
