//! What an API server fills in does not change what a manifest means.

use super::*;
use crate::model::{EventSource, Profile, Trigger};

/// Fills in every default, as an API server does.
fn fill_in(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = inner.get("default")
                    && !map.contains_key(name)
                {
                    map.insert(name.clone(), default.clone());
                }
                if let Some(value) = map.get_mut(name) {
                    fill_in(value, inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(item, &schema["items"])),
        _ => {}
    }
}

/// The manifest as it was written, and as a server gives it.
fn both(kind: &str, spec: Value) -> [Value; 2] {
    let written = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec});
    let mut filled = written.clone();
    fill_in(&mut filled, schema_of(&find(kind)));
    assert_ne!(written, filled, "there is something to fill in");
    [written, filled]
}

/// References and charts with nothing but what they need.
fn add_ons() -> Value {
    json!({"policyRefs": [{"kind": "ConfigMap", "name": "a"}], "patchesFrom": [{"kind": "Secret", "name": "b"}],
        "helmCharts": [{"repositoryURL": "https://x", "chartName": "c", "releaseName": "r", "releaseNamespace": "n",
            "options": {"installOptions": {}, "upgradeOptions": {}, "uninstallOptions": {}}, "valuesFrom": [{"kind": "ConfigMap", "name": "v"}]}],
        "templateResourceRefs": [{"identifier": "I", "resource": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}]})
}

/// Without what is kept as it was written.
fn meant(mut common: crate::model::SpecCommon) -> crate::model::SpecCommon {
    common.raw.clear();
    let charts = common.helm_charts.iter_mut().flat_map(|chart| chart.values_from.iter_mut());
    for reference in common.policy_refs.iter_mut().chain(&mut common.patches_from).chain(charts) {
        reference.raw.clear();
    }
    common
}

#[test]
fn a_profile_means_the_same_with_every_default() {
    for kind in ["ClusterProfile", "Profile"] {
        let [written, filled] = both(kind, add_ons()).map(|object| {
            let profile = Profile::read(&object).unwrap();
            Profile { common: meant(profile.common.clone()), ..profile }
        });
        assert_eq!(written, filled, "{kind}");
    }
}

#[test]
fn a_trigger_means_the_same_with_every_default() {
    let mut spec = add_ons();
    let own = json!({"sourceClusterSelector": "env=fv", "eventSourceName": "s", "configMapGenerator": [{"name": "a", "nameFormat": "b"}]});
    spec.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    let [mut written, mut filled] = both("EventTrigger", spec).map(|object| {
        let trigger = Trigger::read(&object).unwrap();
        Trigger { common: meant(trigger.common.clone()), ..trigger }
    });
    // That it creates is what it does where nothing is said.
    assert_eq!(
        (written.cloud_event_action.take(), filled.cloud_event_action.take()),
        (None, Some("Create".to_owned()))
    );
    assert_eq!(written, filled);
}

#[test]
fn a_source_means_the_same_with_every_default() {
    let spec = json!({"resourceSelectors": [{"group": "", "version": "v1", "kind": "Pod"}]});
    let [written, filled] = both("EventSource", spec).map(|object| EventSource::read(&object).unwrap());
    assert_eq!(written, filled);
}

#[test]
fn nothing_that_is_filled_in_is_told_of_as_without_effect() {
    for kind in ["ClusterProfile", "SveltosCluster"] {
        let [_, filled] = both(kind, json!({}));
        assert_eq!(crate::model::ignored(&filled), [], "{kind}");
    }
}

#[test]
fn every_default_is_a_value_of_its_field() {
    for definition in all() {
        walk(kind_of(&definition), schema_of(&definition), &mut |path, node| {
            let Some(default) = node.get("default") else { return };
            let fits = match node["type"].as_str() {
                Some("boolean") => default.is_boolean(),
                Some("integer") => {
                    default.as_i64() >= node.get("minimum").and_then(Value::as_i64).or(Some(i64::MIN))
                }
                Some("string") => node["enum"].as_array().is_none_or(|choices| choices.contains(default)),
                _ => false,
            };
            assert!(fits, "{path}: {default}");
        });
    }
}

#[test]
fn a_field_that_is_filled_in_is_never_required() {
    for definition in all() {
        walk(kind_of(&definition), schema_of(&definition), &mut |path, node| {
            for name in node["required"].as_array().into_iter().flatten() {
                let field = &node["properties"][name.as_str().unwrap()];
                assert!(field.get("default").is_none(), "{path}.{name}");
            }
        });
    }
}
