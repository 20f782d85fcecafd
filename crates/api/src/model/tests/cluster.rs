//! Registrations, sets and the fleet that they make.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{are_lists, must_be_there, refused};
use crate::cluster::{ClusterKind, ClusterRef};
use crate::error::FieldError;
use crate::model::{Cluster, ClusterSet, Fleet, FleetChange, KubeconfigRef, Profile, REDEPLOY, Trigger};

fn cluster(more: Value) -> Cluster {
    let mut object = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c"}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Cluster::read(&Arc::new(object)).unwrap()
}

fn registration(name: &str, labels: Value, more: Value) -> Arc<Value> {
    let mut object =
        json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": name, "labels": labels}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Arc::new(object)
}

fn plain(name: &str) -> Arc<Value> {
    registration(name, json!({"env": "fv"}), json!({}))
}

fn read_set(spec: Value) -> Result<ClusterSet, FieldError> {
    ClusterSet::read(&json!({"kind": "ClusterSet", "metadata": {"name": "s"}, "spec": spec}))
}

fn set(kind: &str, namespace: &str, spec: Value) -> Arc<Value> {
    Arc::new(json!({"kind": kind, "metadata": {"namespace": namespace, "name": "s"}, "spec": spec}))
}

fn fleet(objects: &[Arc<Value>]) -> Fleet {
    let mut fleet = Fleet::default();
    for object in objects {
        fleet.put(object, false);
    }
    fleet
}

fn profile(namespace: &str, spec: Value) -> Profile {
    let kind = if namespace.is_empty() { "ClusterProfile" } else { "Profile" };
    Profile::read(&json!({"kind": kind, "metadata": {"namespace": namespace, "name": "p"}, "spec": spec}))
        .unwrap()
}

/// The names of those that a profile is for.
fn selected(profile: &Profile, fleet: &Fleet) -> Vec<String> {
    let those = fleet.clusters().values().filter(|cluster| profile.is_for(cluster, fleet));
    those.map(|cluster| cluster.id.name.clone()).collect()
}

#[test]
fn other_kinds_are_no_clusters() {
    for kind in ["ClusterSet", "ConfigMap", ""] {
        assert_eq!(
            Cluster::read(&Arc::new(json!({"kind": kind, "metadata": {"name": "c"}}))),
            None,
            "{kind}"
        );
    }
}

#[test]
fn a_registration_without_a_spec_is_not_paused_and_has_the_standard_kubeconfig() {
    let cluster = cluster(json!({}));
    let standard = KubeconfigRef { secret: "c-sveltos-kubeconfig".into(), renewed: None, key: None };
    assert_eq!((cluster.pause.at(0), cluster.kubeconfig), (None, standard));
}

#[test]
fn empty_names_of_a_kubeconfig_count_as_none() {
    let empty = cluster(json!({"spec": {"kubeconfigName": "", "kubeconfigKeyName": ""}}));
    assert_eq!(empty.kubeconfig, cluster(json!({})).kubeconfig);
}

#[test]
fn both_registrations_can_be_paused() {
    assert!(cluster(json!({"spec": {"paused": true}})).pause.at(0).is_some());
    let capi = cluster(json!({"kind": "Cluster", "spec": {"paused": true}}));
    assert!(capi.pause.at(0).is_some() && capi.id.kind == ClusterKind::Capi);
}

#[test]
fn a_cluster_is_away_when_its_status_says_so() {
    for (status, expected) in [
        (json!({"connectionStatus": "Down"}), true),
        (json!({"connectionStatus": "Healthy"}), false),
        (json!({}), false),
    ] {
        assert_eq!(cluster(json!({"status": status})).is_down(), expected);
    }
}

#[test]
fn a_cluster_is_asked_to_be_deployed_to_once_more() {
    let metadata = json!({"namespace": "n", "name": "c", "annotations": {REDEPLOY: "x"}});
    assert_eq!(cluster(json!({"metadata": metadata})).redeploy(), "x");
    assert_eq!(cluster(json!({})).redeploy(), "");
}

#[test]
fn a_registration_of_sveltos_refers_to_no_objects_of_its_provider() {
    let reference =
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "DockerCluster", "name": "x"});
    assert_eq!(
        cluster(json!({"spec": {"infrastructureRef": reference}})).referenced("infrastructureRef"),
        None
    );
}

#[test]
fn a_set_without_a_spec_selects_nothing() {
    let set = read_set(Value::Null).unwrap();
    assert!(
        set.selector.is_empty() && set.clusters.is_empty() && set.most.is_none() && set.before.is_empty()
    );
}

#[test]
fn a_set_is_of_all_namespaces_or_of_one() {
    let read = |namespace: &str| {
        ClusterSet::read(&json!({"metadata": {"namespace": namespace, "name": "s"}})).unwrap().id
    };
    assert_eq!((read("").kind(), read("").to_string()), ("ClusterSet", "ClusterSet s".to_owned()));
    assert_eq!((read("n").kind(), read("n").to_string()), ("Set", "Set n/s".to_owned()));
}

#[test]
fn a_limit_of_a_set_is_a_whole_number_and_zero_is_none() {
    let most = |value: Value| read_set(json!({"maxReplicas": value})).unwrap().most;
    assert_eq!([json!(0), json!(1), Value::Null].map(most), [None, Some(1), None]);
    for wrong in [json!(-1), json!("3"), json!(1.5)] {
        let reason = refused(read_set, &json!({}), "maxReplicas", wrong.clone());
        assert_eq!(reason, format!("{wrong} is not a whole number of at least 0"));
    }
}

#[test]
fn fields_of_a_set_are_checked() {
    are_lists(read_set, &json!({}), &["clusterRefs"]);
    let spec = json!({"clusterRefs": [{"kind": "Cluster", "namespace": "n", "name": "c"}]});
    must_be_there(read_set, &spec, &["clusterRefs[0].namespace", "clusterRefs[0].name"]);
    refused(read_set, &json!({}), "clusterSelector", json!(5));
}

#[test]
fn what_a_status_says_that_cannot_be_read_counts_as_nothing() {
    for said in [json!("x"), json!([{"kind": "Pod"}]), json!([5])] {
        let object = json!({"metadata": {"name": "s"}, "status": {"selectedClusterRefs": said}});
        assert!(ClusterSet::read(&object).unwrap().before.is_empty());
    }
}

#[test]
fn a_set_of_a_namespace_matches_clusters_of_it_alone() {
    let cluster = Cluster::read(&plain("a")).unwrap();
    let matching = |namespace: &str| {
        let set = ClusterSet::read(&set("Set", namespace, json!({"clusterSelector": "env=fv"}))).unwrap();
        set.matching([&cluster])
    };
    assert_eq!((matching("n"), matching("other")), (vec![cluster.id.clone()], Vec::new()));
}

#[test]
fn a_set_selects_by_name_as_well_as_by_label() {
    let spec = json!({"clusterSelector": "env=fv", "clusterRefs": [{"kind": "SveltosCluster", "namespace": "n", "name": "b"}]});
    let other = registration("b", json!({}), json!({}));
    let fleet =
        fleet(&[plain("a"), other, registration("c", json!({}), json!({})), set("ClusterSet", "", spec)]);
    assert_eq!(selected(&profile("", json!({"setRefs": ["s"]})), &fleet), ["a", "b"]);
}

#[test]
fn a_profile_is_for_those_that_label_name_or_set_select() {
    let fleet = fleet(&[
        plain("a"),
        registration("b", json!({}), json!({})),
        registration("c", json!({"env": "set"}), json!({})),
        registration("d", json!({}), json!({})),
        set("ClusterSet", "", json!({"clusterSelector": "env=set"})),
    ]);
    let by_all = json!({"clusterSelector": "env=fv", "setRefs": ["s"], "clusterRefs": [{"kind": "SveltosCluster", "namespace": "n", "name": "b"}]});
    assert_eq!(selected(&profile("", by_all), &fleet), ["a", "b", "c"]);
    assert_eq!(selected(&profile("", json!({})), &fleet), [""; 0]);
}

#[test]
fn a_profile_of_another_namespace_is_for_nobody() {
    assert_eq!(
        selected(&profile("other", json!({"clusterSelector": "env=fv"})), &fleet(&[plain("a")])),
        [""; 0]
    );
}

#[test]
fn a_cluster_that_is_away_is_selected_by_its_label_and_not_by_a_set() {
    let away = registration("a", json!({"env": "fv"}), json!({"status": {"connectionStatus": "Down"}}));
    let fleet = fleet(&[away, set("ClusterSet", "", json!({"clusterSelector": "env=fv"}))]);
    assert_eq!(selected(&profile("", json!({"clusterSelector": "env=fv"})), &fleet), ["a"]);
    assert_eq!(selected(&profile("", json!({"setRefs": ["s"]})), &fleet), [""; 0]);
}

#[test]
fn heartbeats_are_no_change_and_what_users_write_is_one() {
    let mut fleet = fleet(&[plain("a")]);
    let heartbeat =
        registration("a", json!({"env": "fv"}), json!({"status": {"agentLastReportTime": "now"}}));
    assert_eq!(fleet.put(&heartbeat, false), FleetChange::Nothing);
    let id = ClusterRef::sveltos("n", "a");
    let moved = registration("a", json!({"env": "prod"}), json!({}));
    assert_eq!(fleet.put(&moved, false), FleetChange::Cluster(id.clone()));
    let paused = registration("a", json!({"env": "prod"}), json!({"spec": {"paused": true}}));
    assert_eq!(fleet.put(&paused, false), FleetChange::Cluster(id.clone()));
    let mut asked = Value::clone(&paused);
    asked["metadata"]["annotations"] = json!({REDEPLOY: "x"});
    assert_eq!(fleet.put(&Arc::new(asked), false), FleetChange::Cluster(id));
}

#[test]
fn what_is_being_deleted_has_gone() {
    let mut fleet = fleet(&[plain("a")]);
    let mut leaving = Value::clone(&plain("a"));
    leaving["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    assert_eq!(fleet.put(&Arc::new(leaving), false), FleetChange::Cluster(ClusterRef::sveltos("n", "a")));
    assert!(fleet.clusters().is_empty());
}

#[test]
fn a_cluster_of_cluster_api_comes_once_it_is_initialised() {
    let mut fleet = Fleet::default();
    let capi = |is_ready: bool| {
        Arc::new(
            json!({"kind": "Cluster", "metadata": {"namespace": "n", "name": "c"}, "status": {"controlPlaneReady": is_ready}}),
        )
    };
    assert_eq!(fleet.put(&capi(false), false), FleetChange::Nothing);
    assert!(matches!(fleet.put(&capi(true), false), FleetChange::Cluster(_)));
    assert_eq!(fleet.clusters().len(), 1);
}

#[test]
fn objects_of_other_kinds_are_nothing_to_a_fleet() {
    let config = Arc::new(json!({"kind": "ConfigMap", "metadata": {"name": "s"}}));
    assert_eq!(Fleet::default().put(&config, false), FleetChange::Nothing);
}

#[test]
fn a_set_that_cannot_be_read_withdraws_nothing_and_says_why() {
    let fleet = fleet(&[plain("a"), set("ClusterSet", "", json!({"maxReplicas": -1}))]);
    let unsure = profile("", json!({"setRefs": ["s"]})).unsure(&fleet).unwrap();
    assert!(
        unsure.starts_with("spec.setRefs[0]: ClusterSet s: ClusterSet s: spec.maxReplicas: -1 is not"),
        "{unsure}"
    );
}

#[test]
fn a_set_that_names_a_missing_cluster_selects_the_others_and_is_not_sure() {
    let refs = json!([{"kind": "SveltosCluster", "namespace": "n", "name": "x"}, {"kind": "SveltosCluster", "namespace": "n", "name": "a"}]);
    let fleet = fleet(&[plain("a"), set("ClusterSet", "", json!({"clusterRefs": refs}))]);
    let profile = profile("", json!({"setRefs": ["s"]}));
    assert_eq!(selected(&profile, &fleet), ["a"]);
    assert!(profile.unsure(&fleet).unwrap().contains("spec.clusterRefs[0]: sveltos:n/x is not registered"));
}

#[test]
fn a_trigger_with_a_missing_set_counts_where_its_selector_selects_and_is_not_sure_elsewhere() {
    let spec = json!({"sourceClusterSelector": "env=fv", "clusterSetRefs": ["gone"], "eventSourceName": "s"});
    let trigger =
        Trigger::read(&json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": spec})).unwrap();
    let fleet = fleet(&[plain("a"), registration("b", json!({}), json!({}))]);
    let asked: Vec<_> = fleet.clusters().values().map(|cluster| trigger.selects(cluster, &fleet)).collect();
    assert_eq!(asked[0], Ok(true));
    assert!(
        asked[1].as_ref().unwrap_err().starts_with("spec.clusterSetRefs[0]: ClusterSet gone does not exist")
    );
}

#[test]
fn of_many_missing_clusters_five_are_named() {
    let refs: Vec<_> = (0..8)
        .map(|i| json!({"kind": "SveltosCluster", "namespace": "n", "name": format!("x{i}")}))
        .collect();
    let unsure = profile("", json!({"clusterRefs": refs})).unsure(&Fleet::default()).unwrap();
    assert!(unsure.contains("x4") && !unsure.contains("x5") && unsure.ends_with("and 3 more"), "{unsure}");
}

proptest! {
    #[test]
    fn a_set_selects_of_those_that_match_as_many_as_it_may_and_keeps_whom_it_had(
        matching in proptest::collection::btree_set("[a-e]", 0..5), before in proptest::collection::btree_set("[a-e]", 0..5), most in 0..4_usize,
    ) {
        let named = |names: &std::collections::BTreeSet<String>| names.iter().map(|name| ClusterRef::sveltos("n", name)).collect::<Vec<_>>();
        let mut set = read_set(json!({"maxReplicas": most})).unwrap();
        set.before = named(&before).into_iter().collect();
        let matching = named(&matching);
        let selected = set.select(&matching);
        prop_assert!(selected.iter().all(|cluster| matching.contains(cluster)));
        let wanted = if most == 0 { matching.len() } else { most.min(matching.len()) };
        prop_assert_eq!(selected.len(), wanted);
        let is_kept = |cluster: &ClusterRef| set.before.contains(cluster);
        let kept = selected.iter().filter(|cluster| is_kept(cluster)).count();
        prop_assert_eq!(kept, wanted.min(matching.iter().filter(|cluster| is_kept(cluster)).count()));
    }
}
