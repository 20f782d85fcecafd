//! `templateResourceRefs`.

use super::*;

fn thing(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("example.com", "v1", "Thing"), namespace: "default".into(), name: name.into() }
}

fn there(size: i64, phase: &str) -> Resource {
    Resource::There(Arc::new(json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"namespace": "default", "name": "x"}, "spec": {"size": size}, "status": {"phase": phase}})))
}

fn reference(name: &str, extra: Value) -> Value {
    let mut item = json!({"identifier": "thing",
        "resource": {"apiVersion": "example.com/v1", "kind": "Thing", "namespace": "default", "name": name}});
    item.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"templateResourceRefs": [item]})
}

/// Content that says the size of the thing when it is rendered for its destination.
fn sized(annotations: Value) -> Value {
    let size = r#"{{ getField "thing" "spec.size" }}{{ .MgmtResources.thing.status.phase }}"#;
    let text =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{size}\"}}\n");
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content", "annotations": annotations},
        "data": {"a.yaml": text}})
}

fn begin(extra: Value) -> Fixture {
    let mut fixture = Fixture::new(vec![
        trigger(true, reference("{{ .Resource.metadata.name }}", extra)),
        sized(json!({"projectsveltos.io/template": "ok"})),
    ]);
    fixture.ready(&["x"]);
    fixture
}

impl Fixture {
    pub(super) fn resource(&mut self, key: &ObjectKey, resource: Resource) {
        self.run(|renderer, step| renderer.external(ExternalInput::Resource(key.clone(), resource), step));
    }
}

#[test]
fn nothing_is_rendered_before_what_it_reads_is_known() {
    let mut fixture = begin(json!({}));
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty());
    assert_eq!(fixture.watched, [thing("x")].into(), "its name follows from the event");
    assert!(!fixture.renderer.is_decided());
    fixture.resource(&thing("x"), there(1, "up"));
    assert_eq!(fixture.wanted(), ["a 1up "]);
    assert!(fixture.renderer.is_decided());
    fixture.resource(&thing("x"), there(2, "up"));
    assert_eq!(fixture.wanted(), ["a 2up "]);
}

#[test]
fn what_is_missing_is_a_problem_that_withdraws_nothing() {
    let mut fixture = begin(json!({}));
    fixture.resource(&thing("x"), Resource::Absent);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("spec.templateResourceRefs[0]: "), "{error}");
    assert!(
        error.contains("does not exist in the management cluster; create it, or set optional: true"),
        "{error}"
    );
    fixture.resource(&thing("x"), there(1, "up"));
    assert!(fixture.problems.is_empty());
    fixture.resource(&thing("x"), Resource::Absent);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a 1up ".to_owned()], 1));
    fixture.resource(&thing("x"), Resource::Unavailable("it is forbidden".into()));
    assert!(fixture.problems.values().next().unwrap().contains("it is forbidden"));
    fixture.resource(&thing("x"), there(3, "up"));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a 3up ".to_owned()], 0));
}

#[test]
fn an_optional_object_may_be_missing() {
    let optional = reference("{{ .Resource.metadata.name }}", json!({"optional": true}));
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: \"{{ len .MgmtResources }}\"}\n";
    let content = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/template": "ok"}}, "data": {"a.yaml": text}});
    let mut fixture = Fixture::new(vec![trigger(true, optional), content]);
    fixture.ready(&["x"]);
    fixture.resource(&thing("x"), Resource::Absent);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a 0 ".to_owned()], 0));
    fixture.resource(&thing("x"), there(1, "up"));
    assert_eq!(fixture.wanted(), ["a 1 "]);
}

#[test]
fn only_changes_that_are_asked_for_render_again() {
    let mut fixture = begin(json!({"ignoreStatusChanges": true}));
    fixture.resource(&thing("x"), there(1, "up"));
    fixture.take_log();
    fixture.resource(&thing("x"), there(1, "down"));
    assert!(fixture.take_log().is_empty());
    fixture.resource(&thing("x"), there(2, "down"));
    assert_eq!((fixture.wanted(), fixture.take_log().len()), (vec!["a 2down ".to_owned()], 1));

    let mut fixture = begin(json!({"watchFields": ["status.phase"]}));
    fixture.resource(&thing("x"), there(1, "up"));
    fixture.take_log();
    fixture.resource(&thing("x"), there(2, "up"));
    assert!(fixture.take_log().is_empty());
    fixture.resource(&thing("x"), there(2, "down"));
    assert_eq!(fixture.wanted(), ["a 2down "]);
}

#[test]
fn exactly_the_readers_are_rendered_and_nothing_is_watched_that_nobody_reads() {
    let mut fixture = begin(json!({}));
    fixture.row(report("y", false));
    assert_eq!(fixture.watched, [thing("x"), thing("y")].into());
    fixture.resource(&thing("x"), there(1, "up"));
    fixture.resource(&thing("y"), there(2, "up"));
    fixture.take_log();
    fixture.resource(&thing("y"), there(3, "up"));
    assert_eq!(fixture.take_log().len(), 1);
    fixture.row(report("y", true));
    assert_eq!((fixture.watched.clone(), fixture.wanted()), ([thing("x")].into(), vec!["a 1up ".to_owned()]));
    fixture.resource(&thing("y"), there(4, "up"));
    assert_eq!(fixture.wanted(), ["a 1up "], "a late word of what nobody reads");
    fixture.delete(trigger(true, json!({})));
    assert!(fixture.watched.is_empty());
}

#[test]
fn what_is_left_of_a_name_is_rendered_for_each_destination() {
    let mut spec = reference("{{ `{{ .Cluster.metadata.name }}` }}", json!({}));
    spec["destinationClusterSelector"] = json!({"matchExpressions": [{"key": "env", "operator": "Exists"}]});
    let mut fixture =
        Fixture::new(vec![trigger(true, spec), sized(json!({"projectsveltos.io/template": "ok"}))]);
    fixture.put(registration("b", json!({"env": "other"})));
    fixture.ready(&["x"]);
    assert_eq!(fixture.watched, [thing("a"), thing("b")].into());
    fixture.resource(&thing("a"), there(1, "up"));
    assert!(fixture.wanted().is_empty(), "of one destination nothing is known");
    fixture.resource(&thing("b"), Resource::Absent);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a 1up ".to_owned()], 1));
}

#[test]
fn templates_of_the_event_and_users_profiles_read_them_too() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: \"{{ .MgmtResources.thing.spec.size }}\"}\n";
    let content = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"a.yaml": text}});
    let mut fixture = Fixture::new(vec![trigger(true, reference("x", json!({}))), content]);
    fixture.ready(&["s"]);
    fixture.resource(&thing("x"), there(7, "up"));
    assert_eq!(fixture.wanted(), ["a 7 "]);

    let mut spec = reference("x", json!({}));
    spec["clusterSelector"] = json!({"matchLabels": {"env": "fv"}});
    spec["policyRefs"] = json!([{"kind": "ConfigMap", "namespace": "default", "name": "content"}]);
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let mut fixture = Fixture::new(vec![profile, sized(json!({"projectsveltos.io/template": "ok"}))]);
    assert_eq!(fixture.watched, [thing("x")].into());
    fixture.resource(&thing("x"), there(8, "up"));
    assert_eq!(fixture.wanted(), ["a 8up "]);
}

#[test]
fn contents_are_read_without_a_watch_and_lua_sees_them() {
    let secret =
        json!({"kind": "Secret", "metadata": {"namespace": "default", "name": "s"}, "data": {"k": "dg=="}});
    let mut spec = reference("s", json!({}));
    spec["templateResourceRefs"][0]["resource"] = json!({"apiVersion": "v1", "kind": "Secret", "name": "s"});
    let script = r#"function evaluate()
  local hs = {}
  hs.resources = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: '" .. resources.thing.data.k .. "'}\n"
  return hs
end"#;
    let content = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/lua": "ok"}}, "data": {"a.lua": script}});
    let mut fixture = Fixture::new(vec![trigger(true, spec), content, secret.clone()]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a dg== "], "{:?}", fixture.problems);
    assert!(fixture.watched.is_empty());
    let mut changed = secret;
    changed["data"]["k"] = json!("eA==");
    fixture.put(changed);
    assert_eq!(fixture.wanted(), ["a eA== "]);
}

#[test]
fn a_reference_that_would_be_another_path_reads_nothing() {
    for (namespace, name, field) in [
        ("kube-system/secrets?x=", "t", "namespace"),
        ("{{ .Resource.metadata.name }}/../kube-system", "t", "namespace"),
        ("default", "t?watch=1", "name"),
        ("default", "{{ .Resource.metadata.name }}/../../secrets/s", "name"),
    ] {
        let mut item = reference(name, json!({}));
        item["templateResourceRefs"][0]["resource"]["namespace"] = namespace.into();
        let mut fixture =
            Fixture::new(vec![trigger(true, item), sized(json!({"projectsveltos.io/template": "ok"}))]);
        fixture.ready(&["x"]);
        let error = fixture.problems.values().next().unwrap();
        assert!(error.contains(&format!("spec.templateResourceRefs[0].resource.{field}: ")), "{error}");
        assert!(fixture.watched.is_empty() && fixture.wanted().is_empty(), "{:?}", fixture.watched);
    }
}
