//! Who draws which random values.

use super::charts::{loaded, profile};
use super::*;

const CHART: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: DRAWN, mark: b}\n";

fn chart(drawn: &str) -> ChartState {
    loaded("1.0.0", &[("templates/a.yaml", &CHART.replace("DRAWN", drawn))])
}

fn annotated(mut object: Value, text: &str) -> Value {
    object["metadata"]["annotations"] = json!({"sluice.dev/shared-random": text});
    object
}

/// A profile for both clusters with a template that draws a value for each.
fn templated(kind: &str, namespace: &str, name: &str) -> Value {
    json!({"kind": kind, "metadata": {"namespace": namespace, "name": name}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"},
            {"kind": "SveltosCluster", "namespace": "default", "name": "b"}],
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "drawing"}]}})
}

fn drawing(annotation: &str, text: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "drawing", "annotations": {annotation: "ok"}},
        "data": {"a": text}})
}

fn content(annotation: &str) -> Value {
    drawing(
        annotation,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: '{{ randAlphaNum 20 }}', mark: m}\n",
    )
}

impl Fixture {
    /// What was drawn, by place.
    fn drawn(&self) -> BTreeMap<&str, String> {
        let text = |desired: &Desired| object_text(&desired.policies[0].objects[0]);
        self.rows
            .iter()
            .filter_map(|(place, desired)| Some((place.as_str(), text(desired.as_ref()?))))
            .collect()
    }
}

fn object_text(object: &Value) -> String {
    sluice_api::object::text(object, &["data", "names"]).to_owned()
}

/// All of them are different.
fn assert_apart<'t>(texts: impl IntoIterator<Item = &'t String>) {
    let all: Vec<_> = texts.into_iter().collect();
    let different: BTreeSet<_> = all.iter().collect();
    assert!(different.len() == all.len() && all.iter().all(|text| text.len() == 20), "{all:?}");
}

#[test]
fn each_cluster_draws_its_own_values_of_a_chart_for_each_profile() {
    let mut other = profile(json!({}));
    other["metadata"]["name"] = "other".into();
    let mut fixture = Fixture::new(vec![profile(json!({})), other]);
    fixture.chart(chart("{{ randAlphaNum 20 }}"));
    assert_eq!(fixture.drawn().len(), 4);
    assert_apart(fixture.drawn().values());
    assert_eq!(fixture.renderer.rendering.outputs.count(), 4);
}

#[test]
fn what_draws_nothing_is_rendered_once_for_everybody() {
    let mut other = profile(json!({}));
    other["metadata"]["name"] = "other".into();
    let mut fixture = Fixture::new(vec![profile(json!({})), other]);
    fixture.chart(chart("{{ if false }}{{ randAlphaNum 20 }}{{ end }}plain"));
    assert_eq!(fixture.drawn().len(), 4);
    assert_eq!(fixture.renderer.rendering.outputs.count(), 1);
}

#[test]
fn a_profile_may_share_what_it_draws_between_its_clusters_and_with_nobody_else() {
    let mut other = annotated(profile(json!({})), "true");
    other["metadata"]["name"] = "other".into();
    let mut fixture = Fixture::new(vec![annotated(profile(json!({})), "true"), other]);
    fixture.chart(chart("{{ randAlphaNum 20 }}"));
    let drawn = fixture.drawn();
    assert_eq!((&drawn["a/p"], &drawn["a/other"]), (&drawn["b/p"], &drawn["b/other"]));
    assert_apart([&drawn["a/p"], &drawn["a/other"]]);
    assert_eq!(fixture.renderer.rendering.outputs.count(), 2);
    let before = drawn["a/p"].clone();
    fixture.put(profile(json!({})));
    let drawn = fixture.drawn();
    assert_apart([&before, &drawn["a/p"], &drawn["b/p"]]);
}

#[test]
fn templates_and_scripts_draw_for_each_profile_and_cluster() {
    let script = "function evaluate()\n  local sprig = require('sprig')\n  return {resources = \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: x}\\n\" ..\n    \"data: {names: '\" .. sprig.randInt(1000000000, 2000000000) .. sprig.randInt(1000000000, 2000000000) .. \"'}\\n\"}\nend";
    for content in [content("projectsveltos.io/template"), drawing("projectsveltos.io/lua", script)] {
        let profiles = [
            templated("ClusterProfile", "", "p"),
            templated("ClusterProfile", "", "q"),
            templated("Profile", "default", "p"),
        ];
        let mut fixture = Fixture::new([profiles.to_vec(), vec![content.clone()]].concat());
        assert_eq!(fixture.drawn().len(), 6, "{:?}", fixture.problems);
        assert_apart(fixture.drawn().values());
        fixture.put(annotated(templated("ClusterProfile", "", "p"), "true"));
        let drawn = fixture.drawn();
        assert_eq!(drawn["a/p"], drawn["b/p"]);
        assert_ne!(drawn["a/p"], drawn["a/q"]);
    }
}

#[test]
fn triggers_of_one_text_draw_different_values() {
    let one = |name: &str| {
        let mut trigger = trigger(
            true,
            json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "drawing"}]}),
        );
        trigger["metadata"]["name"] = name.into();
        trigger
    };
    for annotation in ["projectsveltos.io/instantiate", "projectsveltos.io/template"] {
        let mut fixture = Fixture::new(vec![one("t"), one("u"), content(annotation)]);
        fixture.ready(&["x"]);
        assert_eq!(fixture.drawn().len(), 2, "{:?}", fixture.problems);
        assert_apart(fixture.drawn().values());
    }
}

#[test]
fn what_was_drawn_formerly_is_drawn_by_who_is_no_tenant_alone() {
    let content = content("projectsveltos.io/template");
    let profiles = [templated("ClusterProfile", "", "p"), templated("Profile", "default", "p")]
        .map(|one| annotated(one, "as-formerly"));
    let fixture = Fixture::new([&profiles[..], std::slice::from_ref(&content)].concat());
    let (text, seen) = (sluice_api::object::text(&content, &["data", "a"]), json!({}));
    let dot = crate::rendering::templates::cluster_only(&seen);
    let formerly =
        fixture.renderer.rendering.templates.render("p", text, sluice_template::Stage::Deploy, &dot).unwrap();
    let formerly = object_text(&sluice_api::yaml::documents(&formerly).unwrap()[0]);
    let drawn = fixture.drawn();
    assert_eq!([&drawn["a/p"], &drawn["b/p"]], [&formerly; 2]);
    assert_apart([&formerly, &drawn["a/default/p"], &drawn["b/default/p"]]);
}
