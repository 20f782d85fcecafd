//! Cluster sets in the input: who its status says was selected before stays selected.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_dryrun::{Input, Output, build};

const LIB: &str = "lib.projectsveltos.io/v1beta1";

fn reference(name: &str) -> Value {
    json!({"apiVersion": LIB, "kind": "SveltosCluster", "namespace": "default", "name": name})
}

fn cluster(name: &str, connection: &str) -> Value {
    json!({"apiVersion": LIB, "kind": "SveltosCluster", "spec": {}, "status": {"connectionStatus": connection},
        "metadata": {"namespace": "default", "name": name, "labels": {"env": "fv"}}})
}

/// At most `most` of the clusters, of which the status says that these were selected.
fn set(kind: &str, most: u32, selected: &[&str]) -> Value {
    let selected: Vec<_> = selected.iter().map(|name| reference(name)).collect();
    let mut set = json!({"apiVersion": LIB, "kind": kind, "metadata": {"name": "some"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "maxReplicas": most},
        "status": {"selectedClusterRefs": selected}});
    if kind == "Set" {
        set["metadata"]["namespace"] = "default".into();
    }
    set
}

/// A profile of this kind that follows the set.
fn profile(kind: &str) -> Value {
    let mut profile = json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": kind, "metadata": {"name": "p"},
        "spec": {"setRefs": ["some"], "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    if kind == "Profile" {
        profile["metadata"]["namespace"] = "default".into();
    }
    profile
}

fn content() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content"},
        "data": {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\n"}})
}

/// The clusters that get something.
fn places(objects: impl IntoIterator<Item = Value>) -> Vec<String> {
    let management = objects.into_iter().chain([content()]).collect();
    let Output { clusters, problems, .. } = build(&Input { management, ..Input::default() });
    assert!(problems.is_empty(), "{problems:?}");
    clusters.into_iter().filter(|(_, objects)| !objects.is_empty()).map(|(name, _)| name).collect()
}

fn all() -> [Value; 3] {
    ["a", "b", "c"].map(|name| cluster(name, "Healthy"))
}

#[test]
fn who_was_selected_before_gets_the_add_on() {
    for (set_kind, profile_kind) in [("ClusterSet", "ClusterProfile"), ("Set", "Profile")] {
        let with = |most: u32, selected: &[&str]| {
            places(all().into_iter().chain([set(set_kind, most, selected), profile(profile_kind)]))
        };
        assert_eq!(with(1, &[]), ["default/a"], "the first by name");
        assert_eq!(with(1, &["c"]), ["default/c"]);
        assert_eq!(with(2, &["c"]), ["default/a", "default/c"]);
        assert_eq!(with(1, &["gone"]), ["default/a"], "who is not registered is no more");
        assert_eq!(with(0, &["c"]), ["default/a", "default/b", "default/c"], "all");
    }
}

#[test]
fn who_was_selected_before_and_is_away_is_replaced() {
    let [a, b, _] = all();
    let objects = [a, b, cluster("c", "Down"), set("ClusterSet", 1, &["c"]), profile("ClusterProfile")];
    assert_eq!(places(objects), ["default/a"]);
}

/// The events of these clusters count.
#[test]
fn a_trigger_over_a_set_looks_where_it_has_looked_before() {
    let source = json!({"apiVersion": LIB, "kind": "EventSource", "metadata": {"name": "s"},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]}});
    let trigger = json!({"apiVersion": LIB, "kind": "EventTrigger", "metadata": {"name": "t"}, "spec": {
        "clusterSetRefs": ["some"], "eventSourceName": "s", "oneForEvent": true,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": "web"}});
    let of = |selected: &[&str]| {
        let objects = [source.clone(), trigger.clone(), set("ClusterSet", 1, selected), content()];
        let clusters =
            ["a", "b", "c"].map(|name| (("default".to_owned(), name.to_owned()), vec![service.clone()]));
        let input = Input {
            management: all().into_iter().chain(objects).collect(),
            clusters: clusters.into(),
            ..Input::default()
        };
        let output = build(&input);
        let deployed = output.clusters.into_iter().filter(|(_, objects)| !objects.is_empty());
        deployed.map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!((of(&[]), of(&["b"])), (vec!["default/a".to_owned()], vec!["default/b".to_owned()]));
}
