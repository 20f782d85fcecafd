//! What profiles depend on goes where they go.

use super::*;

fn profile(name: &str, selector: Value, needs: &[&str]) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": {"clusterSelector": selector, "dependsOn": needs,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}})
}

fn content_of(name: &str) -> Value {
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: {name}}}\n");
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}, "data": {"a.yaml": text}})
}

fn on(label: &str) -> Value {
    json!({"matchLabels": {"in": label}})
}

fn fixture(profiles: Vec<Value>) -> Fixture {
    let clusters = [("a", "yes"), ("b", "no")].map(|(name, label)| registration(name, json!({"in": label})));
    let contents = ["app", "base", "root"].map(content_of);
    let mut fixture = Fixture::new(clusters.into_iter().chain(contents).chain(profiles).collect());
    fixture.ready(&[]);
    fixture
}

#[test]
fn a_prerequisite_without_a_selector_goes_where_its_dependents_go_and_goes_with_them() {
    let mut fixture = fixture(vec![
        profile("app", on("yes"), &["base"]),
        profile("base", json!({}), &["root"]),
        profile("root", json!({}), &[]),
    ]);
    assert_eq!(fixture.wanted(), ["a app ", "a base ", "a root "]);
    fixture.put(profile("app", on("no"), &["base"]));
    assert_eq!(fixture.wanted(), ["b app ", "b base ", "b root "]);
    fixture.put(registration("a", json!({"in": "no"})));
    assert_eq!(fixture.wanted().len(), 6);
    fixture.put(profile("app", on("no"), &[]));
    assert_eq!(fixture.wanted(), ["a app ", "b app "]);
    fixture.put(profile("app", on("no"), &["base"]));
    fixture.delete(profile("app", on("no"), &["base"]));
    assert_eq!(fixture.wanted(), Vec::<String>::new());
}

#[test]
fn a_dependent_that_cannot_be_read_withdraws_nothing_of_what_it_depends_on() {
    let mut fixture = fixture(vec![profile("app", on("yes"), &["base"]), profile("base", json!({}), &[])]);
    let mut wrong = profile("app", on("yes"), &["base"]);
    wrong["spec"]["tier"] = json!("wrong");
    fixture.put(wrong);
    assert_eq!(fixture.wanted(), ["a app ", "a base "]);
    let told = fixture
        .problems
        .values()
        .any(|text| text.contains("ClusterProfile app, which depends on it, cannot be read"));
    assert!(told, "{:?}", fixture.problems);
    fixture.put(profile("app", on("no"), &["base"]));
    assert_eq!(fixture.wanted(), ["b app ", "b base "]);
}

#[test]
fn without_it_a_prerequisite_goes_only_where_it_selects_clusters() {
    let objects = vec![
        registration("a", json!({"in": "yes"})),
        content_of("app"),
        content_of("base"),
        profile("app", on("yes"), &["base"]),
        profile("base", json!({}), &[]),
    ];
    let mut fixture = Fixture::with(objects, |renderer| renderer.knowledge.catalog.without_dependents());
    fixture.ready(&[]);
    assert_eq!(fixture.wanted(), ["a app "]);
}
