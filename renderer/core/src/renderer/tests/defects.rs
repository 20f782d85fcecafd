//! What the original does wrong and is right here: each test says in words which defect it is about.

use super::*;

/// A ConfigMap of the namespace `default` with these texts, whose templates see the event if it is to be instantiated.
fn texts(name: &str, instantiate: bool, data: Value) -> Value {
    let annotations = if instantiate { json!({"projectsveltos.io/instantiate": "ok"}) } else { json!({}) };
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name, "annotations": annotations}, "data": data})
}

/// A manifest that [`Fixture::wanted`] shows.
fn manifest(names: &str, mark: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{names}\", mark: \"{mark}\"}}\n"
    )
}

/// The one row that is wanted.
fn row(fixture: &Fixture) -> &Desired {
    let mut rows = fixture.rows.values().flatten();
    let row = rows.next().unwrap();
    assert!(rows.next().is_none());
    row
}

/// The one ClusterProfile in the management cluster.
fn made_profile(fixture: &Fixture) -> &Value {
    let is_profile = |object: &&Value| object["kind"] == "ClusterProfile";
    let mut profiles = fixture.projected.values().flatten().filter(is_profile);
    let profile = profiles.next().unwrap();
    assert!(profiles.next().is_none());
    profile
}

/// The policyRefs of a trigger lose their order, `tier`, `optional`, `skipNamespaceCreation` and `force` on the way into the
/// generated ClusterProfile.
#[test]
fn references_keep_their_order_and_every_field() {
    let with = |name: &str, tier: i32, more: Value| {
        let mut reference = json!({"kind": "ConfigMap", "namespace": "default", "name": name, "tier": tier, "optional": true,
            "skipNamespaceCreation": true, "force": true, "path": "some/where", "deploymentType": "Remote"});
        reference.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        reference
    };
    let refs = [with("z", 30, json!({"sinceLater": {"a": [1]}})), with("a", 100, json!({}))];
    let data = |mark: &str| json!({"a.yaml": manifest("{{ `x` }}", mark)});
    let fixture = {
        let (first, second) = (texts("z", true, data("z")), texts("a", false, data("a")));
        let mut fixture = Fixture::new(vec![trigger(true, json!({"policyRefs": refs})), first, second]);
        fixture.ready(&["x"]);
        fixture
    };
    let row = row(&fixture);
    let order: Vec<_> = row.policies.iter().map(|it| (it.tier, it.skip_namespace_creation)).collect();
    assert_eq!(order, [(30, true), (100, true)]);
    let mut expected = refs;
    expected[0]["namespace"] = "projectsveltos".into();
    expected[0]["name"] = row.policies[0].name.clone().into();
    assert_eq!(row.spec["policyRefs"], json!(expected));
    assert_eq!(made_profile(&fixture)["spec"]["policyRefs"], json!(expected));
}

/// The `patchesFrom` of a trigger never reach the generated ClusterProfile.
#[test]
fn references_to_patches_keep_every_field_and_get_their_place() {
    let from = |name: &str, more: Value| {
        let mut reference = json!({"kind": "ConfigMap", "name": name, "optional": true});
        reference.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        reference
    };
    let named = from("{{ .Resource.metadata.name }}-patch", json!({"namespace": "default", "sinceLater": 1}));
    let spec = json!({"patchesFrom": [named, from("none", json!({}))]});
    let patch = texts("x-patch", false, json!({"a": "data: {mark: patched}"}));
    let mut fixture = Fixture::new(vec![trigger(true, spec), content(true, "1"), patch]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a x patched"]);
    let expected =
        [from("x-patch", json!({"namespace": "default", "sinceLater": 1})), from("none", json!({}))];
    assert_eq!(made_profile(&fixture)["spec"]["patchesFrom"], json!(expected));
}

/// The values of one ConfigMap are rendered in random order over one object, which functions of a template change for the others.
#[test]
fn values_are_rendered_in_the_order_of_their_keys_each_on_its_own_copy_of_the_event() {
    let name = "{{ .Resource.metadata.name }}";
    let changes = "{{- $_ := set .Resource.metadata \"namespace\" \"changed\" -}}{{- $_ = chainSetField .Resource \"metadata.name\" \"chained\" -}}";
    let data = json!({
        "z": manifest(name, "z"),
        "m": format!("{changes}{}", manifest(name, "m")),
        "a": manifest(name, "a"),
    });
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), texts("content", true, data)]);
    fixture.ready(&["x"]);
    let objects = row(&fixture).policies[0].objects.iter().map(|object| object["data"].clone());
    let expected = [("x", "a"), ("chained", "m"), ("x", "z")];
    assert_eq!(
        objects.collect::<Vec<_>>(),
        expected.map(|(names, mark)| json!({"names": names, "mark": mark}))
    );
}

/// The same where one template sees all objects.
#[test]
fn values_over_all_objects_are_rendered_each_on_its_own_copy_of_them() {
    let names = "{{ range .Resources }}{{ .metadata.name }}{{ end }}";
    let changes = "{{- range .Resources }}{{- $_ := setField . \"metadata.name\" \"changed\" -}}{{- end -}}";
    let data = json!({"a": format!("{changes}{}", manifest(names, "a")), "b": manifest(names, "b")});
    let mut fixture = Fixture::new(vec![trigger(false, json!({})), texts("content", true, data)]);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a changedchanged a", "a xy b"]);
}

/// All values of a ConfigMap are rendered as one template, their JSON, in which quotes are escaped.
#[test]
fn a_value_may_have_quotes_in_its_actions() {
    let data = json!({"a": manifest("{{ printf \"%s\" .Resource.metadata.name }}", "a")});
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), texts("content", true, data)]);
    fixture.ready(&["x"]);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x a".to_owned()], 0));
}

/// An edit of a ConfigMap whose name is a template over the event is not noticed.
#[test]
fn an_edit_of_content_that_the_event_names_is_rendered() {
    let named =
        json!([{"kind": "ConfigMap", "namespace": "default", "name": "of-{{ .Resource.metadata.name }}"}]);
    let of = |name: &str, mark: &str| texts(&format!("of-{name}"), true, json!({"a": manifest(name, mark)}));
    let mut fixture =
        Fixture::new(vec![trigger(true, json!({"policyRefs": named})), of("x", "1"), of("y", "1")]);
    fixture.ready(&["x", "y"]);
    fixture.take_log();
    fixture.put(of("x", "2"));
    assert_eq!(
        (fixture.wanted(), fixture.take_log()),
        (vec!["a x 2".into(), "a y 1".into()], vec!["+a".into()])
    );
}

/// What belongs to a trigger is found by the beginning of its name: `foo` takes away what `foo-bar` has made.
#[test]
fn triggers_of_which_one_name_begins_with_the_other_leave_each_other_alone() {
    let named = |name: &str| {
        let reference = json!([{"kind": "ConfigMap", "namespace": "default", "name": format!("of-{name}")}]);
        let mut trigger = trigger(true, json!({"policyRefs": reference}));
        trigger["metadata"]["name"] = name.into();
        trigger
    };
    let of = |name: &str, mark: &str| {
        texts(&format!("of-{name}"), true, json!({"a": manifest("{{ .Resource.metadata.name }}", mark)}))
    };
    let projected = |fixture: &Fixture, name: &str| {
        let label = "eventtrigger.lib.projectsveltos.io/eventtriggername";
        let objects = fixture.projected.values().flatten();
        objects.filter(|object| sluice_api::object::label(object, label) == Some(name)).count()
    };
    for (goes, stays) in [("foo", "foo-bar"), ("foo-bar", "foo")] {
        let mut fixture = Fixture::new(vec![named(goes), named(stays), of(goes, "goes"), of(stays, "stays")]);
        fixture.ready(&["x"]);
        assert_eq!(fixture.wanted(), ["a x goes", "a x stays"]);
        let before = fixture.rows.clone();
        fixture.take_log();
        fixture.put(of(goes, "changed"));
        assert_eq!(fixture.take_log(), ["+a"]);
        fixture.delete(named(goes));
        assert_eq!((fixture.wanted(), fixture.take_log()), (vec!["a x stays".into()], vec!["-a".into()]));
        assert_eq!((projected(&fixture, goes), projected(&fixture, stays)), (0, 2));
        let kept: Vec<_> = fixture.rows.iter().filter(|(_, row)| row.is_some()).collect();
        assert!(kept.iter().all(|(place, row)| before[*place] == **row), "{stays} is not even written again");
    }
}

/// The labels of the generated profile name the reference that was rendered last, another one each time.
#[test]
fn the_labels_of_a_profile_do_not_depend_on_its_references() {
    let reference = |name: &str| json!({"kind": "ConfigMap", "namespace": "default", "name": name});
    let of = |name: &str| texts(name, true, json!({"a": manifest(name, "1")}));
    let label = |name: &str| format!("eventtrigger.lib.projectsveltos.io/{name}");
    let mut expected = serde_json::Map::new();
    for (name, value) in [
        ("eventtriggername", "t"),
        ("clusterNamespace", "default"),
        ("clustername", "a"),
        ("clustertype", "Sveltos"),
        ("eventreportname", "s"),
        ("eventsourcename", "s"),
        ("resourcename", "x"),
        ("resourcenamespace", "default"),
    ] {
        expected.insert(label(name), value.into());
    }
    for names in [vec!["one", "two", "six"], vec!["six", "one", "two"], vec!["two"]] {
        let refs: Vec<_> = names.iter().map(|name| reference(name)).collect();
        let objects = vec![trigger(true, json!({"policyRefs": refs})), of("one"), of("two"), of("six")];
        let mut fixture = Fixture::new(objects);
        fixture.ready(&["x"]);
        assert_eq!(made_profile(&fixture)["metadata"]["labels"], json!(expected), "{names:?}");
        for policy in row(&fixture).policies.iter().zip(&names) {
            let made = &fixture.projected[&format!("ConfigMap projectsveltos/{}", policy.0.name)];
            let named = made.as_ref().unwrap()["metadata"]["labels"][label("refname")].clone();
            assert_eq!(named, **policy.1, "what was made of each has the name of it");
        }
    }
}

/// An empty selector of destinations is compared with the zero value, which an explicit one is not in every form. Here it counts
/// as absent in all of them.
#[test]
fn an_empty_selector_of_destinations_is_the_cluster_of_the_event() {
    let empty = [
        json!({}),
        json!({"matchLabels": {}}),
        json!({"matchExpressions": []}),
        json!({"matchLabels": {}, "matchExpressions": []}),
        json!(""),
        json!(null),
    ];
    for selector in empty {
        let to = json!({"destinationClusterSelector": selector});
        let mut fixture = Fixture::new(vec![trigger(true, to.clone()), content(true, "1")]);
        fixture.ready(&["x"]);
        assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 0), "{to}");
        assert_eq!(row(&fixture).spec["clusterRefs"][0]["name"], "a", "{to}");
    }
}

/// A trigger whose template fails, or whose reference is missing, stops every trigger of its EventSource, and an object on which a
/// template fails stops its trigger.
#[test]
fn what_fails_of_one_source_fails_alone() {
    let named = |name: &str| {
        let reference = json!([{"kind": "ConfigMap", "namespace": "default", "name": format!("of-{name}")}]);
        let mut trigger = trigger(true, json!({"policyRefs": reference}));
        trigger["metadata"]["name"] = name.into();
        trigger
    };
    let of = |name: &str, text: &str| texts(&format!("of-{name}"), true, json!({"a": manifest(text, name)}));
    let good = "{{ .Resource.metadata.name }}";
    let on_one = "{{ if eq .Resource.metadata.name \"y\" }}{{ fail \"no luck\" }}{{ end }}{{ .Resource.metadata.name }}";
    let mut objects: Vec<_> = ["a", "b", "c", "d", "e"].map(named).into();
    objects.extend([of("a", "{{ .Resource.nothing.at }}"), of("b", good), of("d", good), of("e", on_one)]);
    let mut fixture = Fixture::new(objects);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x b", "a x d", "a x e", "a y b", "a y d"]);
    let failing: Vec<_> = fixture.problems.keys().cloned().collect();
    let problem = |trigger: &str, object: &str| {
        format!("EventTrigger {trigger}, EventSource s, Service default/{object}")
    };
    let expected = [("a", "x"), ("a", "y"), ("c", "x"), ("c", "y"), ("e", "y")];
    assert_eq!(failing, expected.map(|(trigger, object)| problem(trigger, object)));
    assert!(fixture.problems[&problem("e", "y")].contains("no luck"), "{:?}", fixture.problems);
    fixture.row(report("z", false));
    fixture.row(report("x", true));
    assert_eq!(fixture.wanted(), ["a y b", "a y d", "a z b", "a z d", "a z e"]);
}
