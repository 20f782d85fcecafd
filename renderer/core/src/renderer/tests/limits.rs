//! What reaches a limit is a problem of that class, whatever its text is; what only says so is none.

use sluice_tera::InProcess;

use super::charts::loaded;
use super::*;

/// A template, and a script, that make too much; and those that say so of themselves.
const TEMPLATE: &str = "{{ repeat 2000000000 \"x\" }}";
const SAYS: &str = "{{ fail \"limit: x\" }}";
const SCRIPT: &str = "function evaluate() return {resources = require('strings').Repeat('a', 1e15)} end";
const SCRIPT_SAYS: &str = "function evaluate() error('limit: x') end";

/// What no reader of YAML takes.
fn deep() -> String {
    format!("a: {}{}", "[".repeat(200), "]".repeat(200))
}

/// A profile for cluster `a`.
fn profile(spec: Value) -> Value {
    let mut profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    profile
}

fn reference(kind: &str) -> Value {
    json!([{"kind": kind, "namespace": "default", "name": "c"}])
}

/// An object with this text, of which an annotation may say what it is.
fn held(kind: &str, annotation: &str, text: &str) -> Value {
    let field = if kind == "Secret" { "stringData" } else { "data" };
    json!({"kind": kind, "type": "addons.projectsveltos.io/cluster-profile", "metadata": {"namespace": "default", "name": "c",
        "annotations": {annotation: "ok"}}, field: {"a.yaml": text}})
}

/// The class of the one problem of the profile, when `a` gets what is in this object.
fn class_of(held: Value) -> Class {
    let kind = held["kind"].as_str().unwrap().to_owned();
    class(vec![profile(json!({"policyRefs": reference(&kind)})), held])
}

fn class(objects: Vec<Value>) -> Class {
    let tera = Arc::new(InProcess::default());
    told(&Fixture::with(objects, |renderer| renderer.rendering.templates.set_tera(tera)))
}

fn told(fixture: &Fixture) -> Class {
    assert_eq!(fixture.problems.len(), 1, "{:?}", fixture.problems);
    fixture.classes["ClusterProfile p"]
}

#[test]
fn templates_and_scripts_reach_a_limit() {
    for kind in ["ConfigMap", "Secret"] {
        for (annotation, over, says) in
            [("projectsveltos.io/template", TEMPLATE, SAYS), ("projectsveltos.io/lua", SCRIPT, SCRIPT_SAYS)]
        {
            assert_eq!(class_of(held(kind, annotation, over)), Class::Limit, "{kind}: {over}");
            assert_eq!(class_of(held(kind, annotation, says)), Class::Other, "{kind}: {says}");
        }
    }
}

#[test]
fn the_second_engine_says_which_it_is() {
    for (text, expected) in [
        ("{{ repeat(count=2000000000, text='x') }}", Class::Limit),
        ("{{ fail(message='limit: x') }}", Class::Other),
    ] {
        let mut content = held("ConfigMap", "projectsveltos.io/template", text);
        content["metadata"]["annotations"]["sluice.dev/engine"] = json!("tera");
        assert_eq!(class_of(content), expected, "{text}");
    }
}

#[test]
fn manifests_and_patches_have_limits() {
    for (text, expected) in [(deep(), Class::Limit), ("limit: [".to_owned(), Class::Other)] {
        assert_eq!(class_of(held("ConfigMap", "x", &text)), expected, "{text:.20}");
        assert_eq!(class_of(held("Secret", "x", &text)), expected, "{text:.20}");
        let patches = json!({"patches": [{"patch": text}]});
        assert_eq!(class(vec![profile(patches)]), expected, "{text:.20}");
        let patches = json!({"patches": [{"patch": format!("{text}{{{{ \"\" }}}}")}], "policyRefs": reference("ConfigMap")});
        assert_eq!(class(vec![profile(patches), held("ConfigMap", "x", "")]), expected, "{text:.20}");
        let from = json!({"patchesFrom": reference("ConfigMap")});
        assert_eq!(class(vec![profile(from), held("ConfigMap", "x", &text)]), expected, "{text:.20}");
    }
}

#[test]
fn charts_have_limits() {
    let chart = |values: &str| {
        json!({"repositoryURL": "https://charts.example.com", "repositoryName": "example", "chartName": "example/web",
            "chartVersion": "1.x", "releaseName": "site", "releaseNamespace": "web", "values": values})
    };
    let of = |values: &str, state: ChartState| {
        let mut fixture = Fixture::new(vec![profile(json!({"helmCharts": [chart(values)]}))]);
        fixture.chart(state);
        told(&fixture)
    };
    let template = |text: &str| loaded("1.0.0", &[("templates/a.yaml", text)]);
    assert_eq!(of("", template(TEMPLATE)), Class::Limit);
    assert_eq!(of("", template(SAYS)), Class::Other);
    assert_eq!(of(&deep(), template("")), Class::Limit);
    assert_eq!(of("limit: [", template("")), Class::Other);
    let failed = ChartState::failed("limit: the archive is large");
    assert_eq!(of("", failed.clone()), Class::Other);
    assert_eq!(of("", ChartState { limit: true, ..failed }), Class::Limit);
}

/// A limit on one of two clusters is one of the cause.
#[test]
fn a_limit_stays_one_among_other_errors() {
    let text =
        format!("{{{{ if eq .Cluster.metadata.name \"a\" }}}}{TEMPLATE}{{{{ else }}}}{SAYS}{{{{ end }}}}");
    let mut both = profile(json!({"policyRefs": reference("ConfigMap")}));
    both["spec"]["clusterSelector"] = json!({"matchLabels": {"dep": "eng"}});
    assert_eq!(class(vec![both, held("ConfigMap", "projectsveltos.io/template", &text)]), Class::Limit);
}

#[test]
fn a_script_that_chooses_among_many_reaches_a_limit() {
    for (script, expected) in [(SCRIPT, Class::Limit), (SCRIPT_SAYS, Class::Other)] {
        let mut source = source();
        source["spec"]["collectResources"] = json!(true);
        source["spec"]["aggregatedSelection"] = json!(script);
        let mut fixture = Fixture::new(vec![source, trigger(true, json!({})), content(true, "1")]);
        fixture.ready(&["x"]);
        assert_eq!(fixture.classes["EventSource s"], expected, "{:?}", fixture.problems);
    }
}
