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
