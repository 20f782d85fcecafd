//! `configMapGenerator` and `secretGenerator`.

use super::*;

fn generators(format: &str) -> Value {
    json!({"configMapGenerator": [{"namespace": "default", "name": "template", "nameFormat": format}],
        "policyRefs": [{"kind": "ConfigMap", "namespace": "projectsveltos", "name": format}]})
}

/// What the generator is made of: its value is a manifest with the name of the object in it.
fn template(mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{{{{ .Resource.metadata.name }}}}\", mark: \"{mark}\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "template", "annotations": {"mine": "1"}},
        "data": {"a.yaml": text}})
}

fn output(fixture: &Fixture) -> &Option<Value> {
    let found = fixture.projected.iter().find(|(key, _)| key.contains("made-x"));
    found.unwrap_or_else(|| panic!("{:?}", fixture.projected.keys())).1
}

#[test]
fn what_a_generator_makes_is_read_at_once_and_goes_with_its_cause() {
    let mut fixture =
        Fixture::new(vec![trigger(true, generators("made-{{ .Resource.metadata.name }}")), template("1")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a x 1"], "{:?}", fixture.problems);
    let object = output(&fixture).clone().unwrap();
    assert_eq!(object["metadata"]["annotations"], json!({"mine": "1"}));
    let label = |name: &str| {
        sluice_api::object::label(&object, &format!("eventtrigger.lib.projectsveltos.io/{name}"))
    };
    assert_eq!(label("fromgenerator"), Some("ok"));
    assert_eq!(
        (label("eventsourcename"), label("refname"), label("resourcename")),
        (None, Some("template"), Some("x"))
    );
    fixture.put(template("2"));
    assert_eq!(fixture.wanted(), ["a x 2"]);
    fixture.row(report("x", true));
    assert!(fixture.wanted().is_empty() && output(&fixture).is_none());
}

/// A trigger that deploys content which reads, for each destination, what its generator makes of the event.
fn reads_its_own() -> Vec<Value> {
    let name = "{{ .Cluster.metadata.name }}-{{ .Resource.metadata.name }}";
    let spec = json!({
        "configMapGenerator": [{"namespace": "default", "name": "template", "nameFormat": name}],
        "templateResourceRefs": [{"identifier": "Made",
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "projectsveltos", "name": name}}],
    });
    let text = "{{ (getResource \"Made\").data | toYaml | indent 2 }}";
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n{text}\n");
    let reader = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/template": "ok"}}, "data": {"a.yaml": text}});
    let made_of = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "template"},
        "data": {"names": "{{ .Resource.metadata.name }}"}});
    vec![trigger(true, spec), reader, made_of]
}

#[test]
fn content_reads_what_a_generator_of_its_own_trigger_makes() {
    let [trigger, reader, mut made_of] = reads_its_own().try_into().unwrap();
    let mut fixture = Fixture::new(vec![trigger, reader]);
    fixture.ready(&["x"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(
        error.contains("spec.configMapGenerator[0]: ConfigMap default/template does not exist"),
        "{error}"
    );
    fixture.put(made_of.clone());
    assert_eq!(
        (fixture.wanted(), fixture.problems.len()),
        (vec!["a x ".to_owned()], 0),
        "{:?}",
        fixture.problems
    );
    fixture.row(report("y", false));
    assert_eq!(fixture.wanted(), ["a x ", "a y "]);
    made_of["data"]["names"] = json!("{{ .Resource.metadata.name }}!");
    fixture.put(made_of);
    assert_eq!(fixture.wanted(), ["a x! ", "a y! "]);
    fixture.row(report("x", true));
    assert_eq!(fixture.wanted(), ["a y! "]);
}

#[test]
fn a_template_of_the_event_that_reads_what_is_missing_fails_and_names_it() {
    let [trigger, mut reader, made_of] = reads_its_own().try_into().unwrap();
    reader["metadata"]["annotations"] = json!({"projectsveltos.io/instantiate": "ok"});
    reader["data"]["a.yaml"] = json!("{{ .MgmtResources.Missing.data.names }}");
    let mut missing = trigger;
    missing["spec"]["templateResourceRefs"][0]["identifier"] = json!("Missing");
    missing["spec"]["templateResourceRefs"][0]["resource"]["name"] = json!("nobody");
    let mut fixture = Fixture::new(vec![missing, reader, made_of]);
    fixture.ready(&["x"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(
        error.contains("spec.templateResourceRefs[0]: ConfigMap projectsveltos/nobody does not exist"),
        "{error}"
    );
    assert!(error.contains("data.a.yaml: "), "{error}");
}

#[test]
fn others_see_what_a_generator_makes_as_soon_as_it_is_made() {
    let spec = json!({"clusterSelector": {"matchLabels": {"dep": "eng"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "projectsveltos", "name": "made-x"}]});
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let mut makes = generators("made-{{ .Resource.metadata.name }}");
    makes["policyRefs"] = json!([]);
    let mut fixture = Fixture::new(vec![trigger(true, makes), template("1"), profile]);
    assert_eq!(fixture.problems.len(), 1, "{:?}", fixture.problems);
    fixture.ready(&["x"]);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["b x 1".to_owned()], 0));
    fixture.put(template("2"));
    assert_eq!(fixture.wanted(), ["b x 2"]);
}

#[test]
fn a_name_that_somebody_else_has_is_not_written_over() {
    let foreign = json!({"kind": "ConfigMap", "metadata": {"namespace": "projectsveltos", "name": "made-x"}, "data": {"a": "mine"}});
    let mut fixture = Fixture::new(vec![
        trigger(true, generators("made-{{ .Resource.metadata.name }}")),
        template("1"),
        foreign.clone(),
    ]);
    fixture.ready(&["x"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("spec.configMapGenerator[0]: nameFormat: ConfigMap projectsveltos/made-x is already made by somebody else"), "{error}");
    assert!(fixture.projected.keys().all(|key| !key.contains("made-x")));
    fixture.delete(foreign);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 0));
}

#[test]
fn names_of_sluices_own_are_refused_also_where_nothing_is_yet() {
    let format = "sluice-local-{{ .Resource.metadata.name }}";
    let mut fixture = Fixture::new(vec![trigger(true, generators(format)), template("1")]);
    fixture.ready(&["x"]);
    let error = fixture.problems.values().next().unwrap();
    let said = "nameFormat: ConfigMap projectsveltos/sluice-local-x is already made by Sluice itself";
    assert!(error.contains(said) && error.contains("nameFormat differ"), "{error}");
    assert!(fixture.projected.keys().all(|key| !key.contains("sluice-local")) && fixture.wanted().is_empty());
}

#[test]
fn two_causes_of_one_name_are_a_problem_of_the_second() {
    let mut fixture = Fixture::new(vec![trigger(true, generators("made-x")), template("1")]);
    fixture.ready(&["x"]);
    fixture.row(report("y", false));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 1));
    fixture.row(report("x", true));
    assert_eq!(
        (fixture.wanted(), fixture.problems.len()),
        (vec!["a y 1".to_owned()], 0),
        "{:?}",
        fixture.problems
    );
}

#[test]
fn mistakes_name_the_generator_and_its_field() {
    for (generator, part) in [
        (
            json!({"name": "nothing", "nameFormat": "x"}),
            "spec.secretGenerator[0]: Secret default/nothing does not exist",
        ),
        (json!({"name": "{{ .Nope }}", "nameFormat": "x"}), "spec.secretGenerator[0]: name: "),
    ] {
        let mut fixture =
            Fixture::new(vec![trigger(true, json!({"secretGenerator": [generator]})), content(true, "1")]);
        fixture.ready(&["x"]);
        let error = fixture.problems.values().next().unwrap();
        assert!(error.contains(part), "{error}");
        assert!(fixture.wanted().is_empty());
    }
    let missing = json!({"secretGenerator": [{"name": "nothing", "nameFormat": "x", "optional": true}]});
    let mut fixture = Fixture::new(vec![trigger(true, missing), content(true, "1")]);
    fixture.ready(&["x"]);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 0));
    let wrong = json!({"configMapGenerator": [{"name": "template", "namespace": "default", "nameFormat": "Not A Name"}]});
    let mut fixture = Fixture::new(vec![trigger(true, wrong), template("1"), content(true, "1")]);
    fixture.ready(&["x"]);
    assert!(fixture.problems.values().next().unwrap().contains("nameFormat: \"Not A Name\" is not a name"));
}

/// A trigger whose generator makes `made-<name>` of what `made-<other>` says, and something more.
fn appending(name: &str, other: &str) -> [Value; 2] {
    let mut trigger = trigger(
        true,
        json!({"configMapGenerator": [{"namespace": "default", "name": format!("from-{name}"), "nameFormat": format!("made-{name}")}],
            "templateResourceRefs": [{"identifier": "other", "optional": true,
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "projectsveltos", "name": format!("made-{other}")}}],
            "policyRefs": []}),
    );
    trigger["metadata"]["name"] = json!(name);
    let text = "{{ with .MgmtResources.other }}{{ .data.a }}{{ end }}+";
    let template = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": format!("from-{name}")},
        "data": {"a": text.replace(".MgmtResources.other", "(index .MgmtResources \"other\")")}});
    [trigger, template]
}

#[test]
fn what_leads_to_itself_slows_down_and_says_so_until_it_ends() {
    let mut fixture = Fixture::new([appending("x", "y"), appending("y", "x")].concat());
    fixture.ready(&["e"]);
    let length = |fixture: &Fixture| output(fixture).as_ref().unwrap()["data"]["a"].as_str().unwrap().len();
    let before = length(&fixture);
    assert!((5..20).contains(&before), "{before}");
    let from = fixture.now;
    while fixture.now < from + 3_000_000 {
        fixture.wait();
    }
    let grown = length(&fixture) - before;
    assert!((1..=8).contains(&grown), "it goes on, slowly: {grown}");
    let error = fixture.problems.values().next().unwrap();
    assert!(
        error.contains("it is rendered once a second") && error.contains("ConfigMap projectsveltos/made-"),
        "{error}"
    );
    let [_, mut harmless] = appending("y", "x");
    harmless["data"]["a"] = json!("fixed");
    fixture.put(harmless);
    while fixture.now < from + 60_000_000 {
        fixture.wait();
    }
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    assert_eq!(length(&fixture), "fixed+".len());
}
