//! From events to causes: which exist, and how long.

use super::*;

fn ready(trigger: Value, content: Value, names: &[&str]) -> Fixture {
    let mut fixture = Fixture::new(vec![trigger, content]);
    fixture.ready(names);
    fixture
}

#[test]
fn a_trigger_that_changes_between_one_and_all_replaces_what_it_made() {
    let mut fixture = ready(trigger(true, json!({})), content(true, "1"), &["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
    fixture.put(content(false, "1"));
    fixture.put(trigger(false, json!({})));
    assert_eq!(fixture.wanted(), ["a xy 1"]);
    fixture.put(content(true, "1"));
    fixture.put(trigger(true, json!({})));
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
}

#[test]
fn the_name_of_the_source_may_depend_on_the_cluster() {
    let by_label = trigger(true, json!({"eventSourceName": "{{ .Cluster.metadata.labels.source }}"}));
    let mut fixture = Fixture::new(vec![by_label, content(true, "1")]);
    assert!(fixture.problems["EventTrigger t"].contains("spec.eventSourceName"), "{:?}", fixture.problems);
    let names = |fixture: &Fixture| {
        fixture.interests[&cluster("a")].sources.iter().map(|s| s.name.clone()).collect::<Vec<_>>()
    };
    assert!(names(&fixture).is_empty());
    fixture.put(registration("a", json!({"env": "fv", "source": "s"})));
    assert_eq!((names(&fixture), fixture.problems.len()), (vec!["s".to_owned()], 0));
}

#[test]
fn a_name_that_no_server_takes_is_a_problem_of_the_event_and_changes_nothing() {
    let mut fixture = ready(trigger(true, json!({"profileNameFormat": "front"})), content(true, "1"), &["x"]);
    fixture.take_log();
    fixture.put(trigger(true, json!({"profileNameFormat": "Not A Name"})));
    assert!(fixture.take_log().is_empty());
    let error = &fixture.problems["EventTrigger t, EventSource s, Service default/x"];
    assert!(error.contains("spec.profileNameFormat: \"Not A Name\" is not a name"), "{error}");
    fixture.put(trigger(true, json!({"profileNameFormat": "back"})));
    assert_eq!(fixture.take_log(), ["+a", "-a"], "the new name is there before the old one goes");
    assert!(fixture.rows["a/back"].is_some() && fixture.rows["a/front"].is_none());
}

#[test]
fn a_cluster_that_is_deregistered_loses_its_events_and_says_so_in_its_interest() {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}});
    let mut fixture = ready(trigger(true, to), content(true, "1"), &["x"]);
    assert_eq!(fixture.wanted(), ["b x 1"]);
    let before = fixture.revision();
    fixture.now += 1_000_000;
    fixture.delete(registration("a", json!({})));
    assert!(fixture.wanted().is_empty());
    let row = &fixture.interests[&cluster("a")];
    assert!(row.sources.is_empty() && row.revision > before);
}

#[test]
fn a_match_that_went_and_came_back_before_the_end_of_the_table_is_there() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    for (name, gone) in [("x", true), ("x", false), ("y", false), ("y", true)] {
        fixture.row(report(name, gone));
    }
    fixture.row(complete(fixture.revision()));
    assert!(fixture.take_log().is_empty(), "rows may be older than what there was");
    fixture.caught_up();
    assert_eq!(fixture.wanted(), ["a x 1"]);
}

#[test]
fn a_match_of_an_unknown_form_is_there_and_nothing_is_made_of_it() {
    let mut fixture = ready(trigger(true, json!({})), content(true, "1"), &["x"]);
    fixture.take_log();
    let mut strange = report("x", false);
    strange.head.meta = Meta::Complete(Complete::of_all(Incarnation::new(1), Revision::new(1)));
    fixture.row(strange);
    assert!(fixture.take_log().is_empty());
    assert!(fixture.problems.values().any(|error| error.contains("its meta data are")));
    fixture.row(complete(fixture.revision()));
    assert_eq!(fixture.wanted(), ["a x 1"], "also a complete set does not withdraw it");
    fixture.row(report("x", true));
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
}

#[test]
fn an_addon_of_2023_instantiates_every_reference() {
    let old = json!({"kind": "EventBasedAddOn", "metadata": {"name": "t"}, "spec": {
        "sourceClusterSelector": "env=fv", "eventSourceName": "s", "oneForEvent": true,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}});
    let mut plain = content(true, "1");
    plain["metadata"]["annotations"] = json!({});
    let fixture = ready(old, plain, &["x"]);
    assert_eq!(fixture.wanted(), ["a x 1"]);
}

#[test]
fn a_spec_is_copied_without_what_only_a_trigger_has() {
    let fixture = ready(
        trigger(true, json!({"tier": 7, "stopMatchingBehavior": "LeavePolicies"})),
        content(true, "1"),
        &["x"],
    );
    let row = fixture.rows.values().next().unwrap().as_ref().unwrap();
    assert_eq!((row.tier, row.leave), (7, true));
    let fields: Vec<_> = row.spec.keys().map(String::as_str).collect();
    assert_eq!(fields, ["clusterRefs", "policyRefs", "stopMatchingBehavior", "tier"]);
    assert_eq!(row.spec["clusterRefs"][0]["name"], "a");
    assert_eq!(row.spec["policyRefs"][0]["namespace"], "projectsveltos", "it refers to what was made of it");
}

#[test]
fn a_tombstone_of_a_former_owner_is_not_said_again_while_it_is_young() {
    let place = (cluster("b"), ProfileId::cluster("old"));
    let found = |renderer: &mut Renderer| {
        let subject = renderer.desired(&place.0, &place.1);
        renderer.found(&subject, &Head { tombstone: true, time: 900_000, ..Head::default() });
        let held = held_by("b", "old", &cause(None));
        renderer.external(ExternalInput::Status(Arc::new(held)), &mut Step::at(1));
    };
    let mut fixture = Fixture::with(vec![], found);
    fixture.caught_up();
    assert!(fixture.take_log().is_empty(), "its deployer is about to read it");
    fixture.now += 2_000_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(fixture.take_log(), ["-b"], "it has expired, and something is held still");
}

#[test]
fn what_has_no_effect_is_a_note_of_its_object() {
    let works = json!({"syncMode": "ContinuousWithDriftDetection", "reloader": true});
    let labels = json!({"projectsveltos.io/admin-name": "a"});
    let mut profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}}});
    profile["spec"].as_object_mut().unwrap().extend(works.as_object().unwrap().clone());
    let mut trigger = trigger(true, works);
    for object in [&mut profile, &mut trigger] {
        object["metadata"]["labels"] = labels.clone();
    }
    let sharded = json!({"sharding.projectsveltos.io/key": "s"});
    let mut cluster = registration("c", json!({}));
    cluster["metadata"]["annotations"] = sharded;
    let mut fixture = Fixture::new(vec![trigger, profile, cluster]);
    for (object, fields) in [
        ("EventTrigger t", "admin-name: has no effect"),
        ("ClusterProfile p", "admin-name: has no effect"),
        ("cluster", "sharding.projectsveltos.io/key"),
    ] {
        let said = fixture.problems.get(object).unwrap_or_else(|| panic!("{object}: {:?}", fixture.problems));
        assert!(said.starts_with("note: ") && said.contains(fields), "{said}");
    }
    fixture.put(registration("c", json!({})));
    assert!(!fixture.problems.contains_key("cluster"));
}

/// Every field that says how to deploy, but for those that refer to something.
fn every_other_field() -> Value {
    let target = json!({"kind": "Deployment", "labelSelector": "app=x"});
    let check = json!([{"name": "up", "featureID": "Resources", "group": "apps", "version": "v1", "kind": "Deployment",
        "script": "function evaluate() return {healthy = true} end"}]);
    json!({
        "syncMode": "ContinuousWithDriftDetection", "tier": 7, "continueOnConflict": true, "continueOnError": true,
        "maxUpdate": "30%", "maxConsecutiveFailures": 3, "stopMatchingBehavior": "LeavePolicies", "reloader": true,
        "dependsOn": ["other", "another"],
        "kustomizationRefs": [{"kind": "GitRepository", "namespace": "flux", "name": "repo", "path": "./there",
            "targetNamespace": "apps", "values": {"a": "{{ .Cluster.metadata.name }}"}, "tier": 9, "force": true}],
        "preDeployChecks": check, "validateHealths": check, "preDeleteChecks": check, "postDeleteChecks": check,
        "driftExclusions": [{"paths": ["/spec/replicas"], "target": target}],
        "patches": [{"patch": "metadata: {labels: {p: '1'}}", "target": target}],
        "extraLabels": {"l": "1"}, "extraAnnotations": {"a": "1"},
        "sinceLater": {"some": ["thing", 1, null]},
    })
}

/// `spec` with `more` in it.
fn with(mut spec: Value, more: &Value) -> Value {
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

#[test]
fn every_other_field_of_a_trigger_is_in_its_rows_and_in_its_profile_as_written() {
    let fixture = ready(trigger(true, every_other_field()), content(true, "1"), &["x"]);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    let row = fixture.rows.values().next().unwrap().as_ref().unwrap();
    let made = json!({"kind": "ConfigMap", "namespace": "projectsveltos", "name": row.policies[0].name, "deploymentType": "Remote"});
    let here = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "namespace": "default", "name": "a"});
    let expected = with(every_other_field(), &json!({"policyRefs": [made], "clusterRefs": [here]}));
    assert_eq!(json!(row.spec), expected);
    let profile = &fixture.projected[&format!("ClusterProfile {}", row.owner_name)];
    assert_eq!(profile.as_ref().unwrap()["spec"], expected);
}

#[test]
fn every_field_of_a_users_profile_is_in_its_rows_as_written() {
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content"},
        "data": {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}});
    let refs =
        json!([{"kind": "ConfigMap", "namespace": "default", "name": "content", "force": true, "path": "p"}]);
    let spec =
        json!({"clusterSelector": {"matchLabels": {"env": "fv"}}, "setRefs": ["none"], "policyRefs": refs});
    let spec = with(spec, &every_other_field());
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let fixture = ready(profile, plain, &[]);
    let row = fixture.rows["a/p"].as_ref().unwrap();
    assert_eq!(json!(row.spec), spec);
}

#[test]
fn what_went_while_another_of_the_set_could_not_be_read_goes_once_it_can() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
    fixture.row(Row { body: b"?".as_slice().into(), ..report("x", false) });
    // Of an older interest: it proves nothing by itself.
    let mut gone = report("y", true);
    gone.head.view.note(&cluster("a").to_string(), Revision::new(1));
    assert!(fixture.revision() > Revision::new(1));
    fixture.row(gone);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"], "not everything of the set is known");
    fixture.row(report("x", false));
    assert_eq!(fixture.wanted(), ["a x 1"]);
}
