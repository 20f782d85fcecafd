//! `destinationCluster`, and sets of clusters.

use super::*;

fn set(name: &str, spec: Value, selected: &[&str]) -> Value {
    let selected: Vec<_> = selected
        .iter()
        .map(|name| json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "namespace": "default", "name": name}))
        .collect();
    json!({"kind": "ClusterSet", "metadata": {"name": name}, "spec": spec, "status": {"selectedClusterRefs": selected}})
}

fn up() -> Value {
    json!({"clusterSelector": {"matchExpressions": [{"key": "up", "operator": "Exists"}]}, "maxReplicas": 1})
}

fn selected(fixture: &Fixture) -> Vec<String> {
    let status = &fixture.statuses["ClusterSet s"];
    let list = status["selectedClusterRefs"].as_array().unwrap();
    list.iter().map(|cluster| cluster["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn one_cluster_is_named_by_the_event() {
    let to = json!({"destinationCluster": {"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "namespace": "{{ .Cluster.metadata.namespace }}", "name": "{{ .Resource.metadata.name }}"}});
    let mut fixture = Fixture::new(vec![trigger(true, to), content(true, "1")]);
    fixture.ready(&["b", "later"]);
    assert_eq!(fixture.wanted(), ["b b 1"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("spec.destinationCluster: sveltos:default/later is not registered"), "{error}");
    fixture.put(registration("later", json!({})));
    assert_eq!(
        (fixture.wanted(), fixture.problems.len()),
        (vec!["b b 1".to_owned(), "later later 1".to_owned()], 0)
    );
    let profile =
        fixture.projected.values().flatten().find(|object| object["kind"] == "ClusterProfile").unwrap();
    assert_eq!(profile["spec"]["clusterRefs"][0]["namespace"], "default");
    fixture.delete(registration("later", json!({})));
    assert_eq!(fixture.wanted(), ["b b 1"], "of a cluster that is not registered nothing is said");
}

#[test]
fn a_destination_that_is_not_there_withdraws_nothing_from_the_one_before() {
    let to = |name: &str| {
        trigger(
            true,
            json!({"destinationCluster": {"kind": "SveltosCluster", "namespace": "default", "name": name}}),
        )
    };
    let mut fixture = Fixture::new(vec![to("b"), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.put(to("typo"));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["b x 1".to_owned()], 1));
    let shown = |fixture: &Fixture| {
        let profile = fixture.projected.values().flatten().find(|object| object["kind"] == "ClusterProfile");
        profile.map(|profile| profile["spec"]["clusterRefs"][0]["name"].clone())
    };
    assert_eq!(shown(&fixture), Some(json!("b")), "it says where it is");
    fixture.put(to("a"));
    assert_eq!((fixture.wanted(), shown(&fixture)), (vec!["a x 1".to_owned()], Some(json!("a"))));
    assert!(fixture.problems.is_empty());
}

#[test]
fn an_unknown_kind_of_destination_is_named() {
    let to = json!({"destinationCluster": {"kind": "Machine", "namespace": "n", "name": "c"}});
    let mut fixture = Fixture::new(vec![trigger(true, to), content(true, "1")]);
    fixture.ready(&["x"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("spec.destinationCluster.kind: unknown kind \"Machine\""), "{error}");
}

#[test]
fn the_version_of_a_destination_may_be_a_template_and_is_of_the_group_of_its_kind() {
    let of = |kind: &str, version: &str| {
        let to = json!({"destinationCluster": {"apiVersion": version, "kind": kind, "namespace": "default", "name": "b"}});
        let mut fixture = Fixture::new(vec![trigger(true, to), content(true, "1")]);
        fixture.ready(&["v1beta1"]);
        let error = fixture.problems.values().next().cloned();
        (fixture.wanted(), error.unwrap_or_default())
    };
    let there = vec!["b v1beta1 1".to_owned()];
    for version in ["", "lib.projectsveltos.io/{{ .Resource.metadata.name }}", "{{ `` }}"] {
        assert_eq!(of("SveltosCluster", version), (there.clone(), String::new()), "{version}");
    }
    let field = "spec.destinationCluster.apiVersion:";
    for (kind, version, expected) in [
        (
            "SveltosCluster",
            "cluster.x-k8s.io/v1beta1",
            "write lib.projectsveltos.io/<version>, or leave it out",
        ),
        ("SveltosCluster", "v1", "\"v1\" has no kind SveltosCluster"),
        ("SveltosCluster", "{{ .Resource.metadata.name }}", "\"v1beta1\" has no kind SveltosCluster"),
        ("SveltosCluster", "{{ .Resource.nothing }}", "nothing"),
        ("Cluster", "lib.projectsveltos.io/v1beta1", "write cluster.x-k8s.io/<version>, or leave it out"),
        ("Cluster", "cluster.x-k8s.io/v1beta2", "spec.destinationCluster: capi:default/b is not registered"),
    ] {
        let (wanted, error) = of(kind, version);
        assert!(wanted.is_empty() && error.contains(expected), "{kind} {version}: {error}");
        assert_eq!(error.contains(field), kind == "SveltosCluster" || version.starts_with("lib"), "{error}");
    }
}

#[test]
fn what_goes_nowhere_yet_goes_with_its_trigger() {
    let nowhere = |one: bool| {
        let generated = json!([{"namespace": "default", "name": "content", "nameFormat": if one { "of-one" } else { "of-all" }}]);
        trigger(
            one,
            json!({"destinationClusterSelector": {"matchLabels": {"none": "yet"}}, "configMapGenerator": generated}),
        )
    };
    let shown = |fixture: &Fixture| {
        let there = fixture
            .projected
            .iter()
            .filter(|(key, object)| object.is_some() && !key.starts_with("EventReport"));
        there.count()
    };
    let mut plain = content(true, "1");
    plain["data"]["a.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n".into();
    let mut fixture = Fixture::new(vec![nowhere(false), plain]);
    fixture.ready(&["x"]);
    assert_eq!((fixture.wanted().len(), shown(&fixture)), (0, 3), "{:?}", fixture.problems);
    fixture.put(nowhere(true));
    assert_eq!(fixture.problems.len(), 0, "{:?}", fixture.problems);
    assert_eq!(shown(&fixture), 3, "one for each in its place: {:?}", fixture.projected.keys());
    fixture.delete(nowhere(true));
    assert_eq!((shown(&fixture), fixture.problems.len()), (0, 0));
}

#[test]
fn what_waits_for_an_object_goes_with_its_trigger() {
    let reading = trigger(
        true,
        json!({"templateResourceRefs": [{"identifier": "i", "resource":
        {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"}}]}),
    );
    let mut fixture = Fixture::new(vec![reading.clone(), content(true, "1")]);
    fixture.ready(&["x"]);
    assert_eq!((fixture.wanted().len(), fixture.watched.len()), (0, 1));
    fixture.delete(reading);
    assert!(fixture.watched.is_empty(), "nobody reads it any more");
}

#[test]
fn events_count_on_the_clusters_that_a_set_selects() {
    let spec = json!({"sourceClusterSelector": null, "clusterSetRefs": ["s", "missing"]});
    let mut fixture = Fixture::new(vec![trigger(true, spec), content(true, "1")]);
    fixture.ready(&["x"]);
    assert!(fixture.wanted().is_empty());
    fixture.put(set("s", json!({"clusterSelector": {"matchLabels": {"env": "fv"}}}), &[]));
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a x 1"], "{:?}", fixture.problems);
    assert_eq!(selected(&fixture), ["a"]);
    fixture.delete(set("s", json!({}), &[]));
    assert_eq!(fixture.wanted(), ["a x 1"], "a set that is not there withdraws nothing");
    assert_eq!(fixture.problems.len(), 1, "one for all clusters: {:?}", fixture.problems);
    let error = &fixture.problems["EventTrigger t"];
    for id in ["spec.clusterSetRefs[0]: ClusterSet s", "spec.clusterSetRefs[1]: ClusterSet missing"] {
        assert!(error.contains(&format!("{id} does not exist; create it")), "{error}");
    }
    fixture.put(set("s", json!({"clusterSelector": {"matchLabels": {"env": "none"}}}), &[]));
    assert_eq!(fixture.wanted(), ["a x 1"], "the other one is not there either");
    fixture.put(set("missing", json!({}), &[]));
    assert_eq!((fixture.wanted().len(), fixture.problems.len()), (0, 0), "{:?}", fixture.problems);
}

/// A profile over one ConfigMap, with what else its spec says.
fn plain_profile(spec: Value) -> [Value; 2] {
    let mut profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}});
    profile["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own}\n";
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}});
    [profile, plain]
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"kind": "SveltosCluster", "namespace": "default", "name": name})).collect()
}

#[test]
fn a_reference_to_a_cluster_that_is_not_there_withdraws_nothing_and_others_go_on() {
    let profile = |names: &[&str]| plain_profile(json!({"clusterRefs": named(names)}));
    let mut fixture = Fixture::new(profile(&["b"]).to_vec());
    assert_eq!(fixture.wanted(), ["b own "]);
    let [typo, _] = profile(&["a", "typo"]);
    fixture.put(typo.clone());
    assert_eq!(fixture.wanted(), ["a own ", "b own "]);
    let error = &fixture.problems["ClusterProfile p"];
    assert!(
        error.starts_with("spec.clusterRefs[1]: sveltos:default/typo is not registered; register it"),
        "{error}"
    );
    let [_, mut plain] = profile(&[]);
    plain["data"]["a.yaml"] =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: new}\n".into();
    fixture.put(plain);
    assert_eq!(fixture.wanted(), ["a new ", "b own "], "who is named gets what is new");
    fixture.put(profile(&["a"])[0].clone());
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a new ".to_owned()], 0));
    fixture.put(typo.clone());
    fixture.delete(typo);
    assert_eq!((fixture.wanted().len(), fixture.problems.len()), (0, 0), "who is gone wants nothing");
}

#[test]
fn what_is_held_of_a_profile_whose_reference_is_wrong_is_not_asked_back_after_a_takeover() {
    let objects = plain_profile(json!({"setRefs": ["typo"]}));
    let mut fixture = Fixture::with(objects.to_vec(), |renderer| {
        let row = held_by("b", "p", &Cause::Profile(ProfileId::cluster("p")));
        renderer.external(ExternalInput::Status(Arc::new(row)), &mut Step::at(1));
    });
    fixture.caught_up();
    assert!(fixture.take_log().is_empty());
    fixture.put(set("typo", json!({}), &[]));
    assert_eq!(fixture.take_log(), ["-b"]);
}

#[test]
fn a_set_that_names_a_cluster_that_is_not_there_lets_nobody_go() {
    let spec = |names: &[&str]| set("s", json!({"clusterRefs": named(names)}), &[]);
    let [profile, plain] = plain_profile(json!({"setRefs": ["s"]}));
    let mut fixture = Fixture::new(vec![profile, plain, spec(&["b"])]);
    assert_eq!(fixture.wanted(), ["b own "]);
    fixture.put(spec(&["a", "typo"]));
    assert_eq!(
        (fixture.wanted(), selected(&fixture)),
        (vec!["a own ".to_owned(), "b own ".to_owned()], vec!["a".to_owned()])
    );
    let error = "spec.clusterRefs[1]: sveltos:default/typo is not registered; register it, or correct the reference; nothing is withdrawn until then";
    assert_eq!(fixture.problems["ClusterSet s"], error);
    assert_eq!(fixture.problems["ClusterProfile p"], format!("spec.setRefs[0]: ClusterSet s: {error}"));
    let condition = &fixture.statuses["ClusterSet s"]["conditions"][0];
    assert_eq!((&condition["status"], &condition["message"]), (&json!("False"), &json!(error)));
    fixture.put(spec(&["a"]));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a own ".to_owned()], 0));
}

#[test]
fn a_profile_follows_its_set_and_who_goes_down_is_replaced() {
    let spec = json!({"setRefs": ["s"], "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]});
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own}\n";
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}});
    let mut fixture = Fixture::new(vec![profile, plain, set("s", up(), &[])]);
    assert!(fixture.wanted().is_empty());
    for name in ["c", "b", "a"] {
        fixture.put(registration(name, json!({"up": "1"})));
        fixture.put(set("s", up(), &["c"]));
    }
    assert_eq!(fixture.wanted(), ["c own "], "who is selected stays");
    let mut away = registration("c", json!({"up": "1"}));
    away["status"] = json!({"connectionStatus": "Down"});
    fixture.put(away);
    assert_eq!((fixture.wanted(), selected(&fixture)), (vec!["a own ".to_owned()], vec!["a".to_owned()]));
}

#[test]
fn a_set_that_cannot_be_read_changes_nothing() {
    let spec = json!({"sourceClusterSelector": null, "clusterSetRefs": ["s"]});
    let good = set("s", json!({"clusterSelector": {"matchLabels": {"env": "fv"}}}), &[]);
    let mut fixture = Fixture::new(vec![trigger(true, spec), content(true, "1"), good.clone()]);
    fixture.ready(&["x"]);
    fixture.put(set("s", json!({"clusterSelector": "a b"}), &[]));
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(fixture.problems["ClusterSet s"].contains("spec.clusterSelector"), "{:?}", fixture.problems);
    fixture.put(good);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 0));
}

/// The set as the API server has it once the status that was written has arrived.
fn told(fixture: &mut Fixture, mut set: Value) -> Value {
    set["status"] = fixture.statuses["ClusterSet s"].clone();
    fixture.statuses.clear();
    fixture.put(set.clone());
    assert!(fixture.statuses.is_empty(), "it says so already: {:?}", fixture.statuses);
    set
}

#[test]
fn a_set_that_cannot_be_read_says_so_beside_what_it_selects_until_it_is_mended() {
    let mut good = set("s", up(), &["c"]);
    let up_and_down = [registration("b", json!({"up": "1"})), registration("c", json!({"up": "1"}))];
    let mut fixture = Fixture::new(up_and_down.into_iter().chain([good.clone()]).collect());
    good = told(&mut fixture, good);
    let lists = good["status"].clone();
    let mut broken = good.clone();
    broken["spec"]["clusterSelector"] = "a b".into();
    fixture.put(broken.clone());
    let mut expected = lists.clone();
    let mut condition = fixture.statuses["ClusterSet s"]["conditions"][0].clone();
    let text = condition["message"].take();
    let text = text.as_str().unwrap();
    assert!(text.starts_with("spec.clusterSelector: ") && text.contains("write it as"), "{text}");
    assert_eq!(
        condition,
        json!({"type": "Ready", "status": "False", "reason": "Problem", "message": null, "lastTransitionTime": "1970-01-01T00:00:01Z"})
    );
    condition["message"] = text.into();
    expected["conditions"] = json!([condition]);
    assert_eq!(fixture.statuses["ClusterSet s"], expected, "one write has both");
    broken = told(&mut fixture, broken);
    fixture.now += 60_000_000;
    broken["spec"]["maxReplicas"] = "many".into();
    fixture.put(broken.clone());
    let condition = &fixture.statuses["ClusterSet s"]["conditions"][0];
    assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:01Z", "another mistake, wrong since then");
    assert!(condition["message"].as_str().unwrap().starts_with("spec.maxReplicas: "), "{condition}");
    let broken = told(&mut fixture, broken);
    good["status"] = broken["status"].clone();
    fixture.put(good.clone());
    let mended = &fixture.statuses["ClusterSet s"];
    let condition = &mended["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["lastTransitionTime"]),
        (&json!("True"), &json!("1970-01-01T00:01:01Z"))
    );
    for field in ["matchingClusterRefs", "selectedClusterRefs"] {
        assert_eq!(mended[field], lists[field], "who was selected stays");
    }
    told(&mut fixture, good);
}

#[test]
fn a_set_of_a_namespace_says_what_is_wrong_with_it() {
    let mut set = set("s", json!({"maxReplicas": -1}), &[]);
    set["kind"] = "Set".into();
    set["metadata"]["namespace"] = "team".into();
    let mut fixture = Fixture::new(vec![set.clone()]);
    let status = fixture.statuses["Set team/s"].clone();
    let text = status["conditions"][0]["message"].as_str().unwrap();
    assert_eq!(text, "spec.maxReplicas: -1 is not a whole number of at least 0");
    fixture.statuses.clear();
    set["spec"] = json!({});
    fixture.put(set);
    let status = &fixture.statuses["Set team/s"];
    assert_eq!(status["conditions"][0]["status"], "True");
    assert_eq!([&status["matchingClusterRefs"], &status["selectedClusterRefs"]], [&json!([]), &json!([])]);
}

#[test]
fn a_profile_that_somebody_else_wrote_is_not_written_over_and_nothing_is_deployed_beside_it() {
    let own = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {}});
    let named = json!({"profileNameFormat": "p"});
    let mut fixture = Fixture::new(vec![trigger(true, named), content(true, "1"), own.clone()]);
    fixture.ready(&["x"]);
    let made = |fixture: &Fixture| {
        let profile = fixture.projected.get("ClusterProfile p").is_some_and(Option::is_some);
        (profile, fixture.wanted().len())
    };
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("spec.profileNameFormat: ClusterProfile p is somebody else's"), "{error}");
    assert_eq!(made(&fixture), (false, 0));
    fixture.delete(own.clone());
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    assert_eq!(made(&fixture), (true, 1));
    fixture.put(own);
    assert_eq!(made(&fixture), (false, 0), "it goes when somebody else's comes");
    assert_eq!(fixture.problems.len(), 1);
}
