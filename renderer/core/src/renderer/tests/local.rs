//! `deploymentType: Local`: what goes to the management cluster because of all destinations.

use sluice_protocol::rows::{State, Status};

use super::*;

/// A reference whose content is for the management cluster.
fn local(name: &str) -> Value {
    json!({"kind": "ConfigMap", "namespace": "default", "name": name, "deploymentType": "Local"})
}

fn profile(refs: Value) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterSelector": {"matchExpressions": [{"key": "in", "operator": "Exists"}]}, "policyRefs": refs}})
}

/// One object for each destination, with this in it.
fn each(mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Cluster.metadata.name }}}}\"}}\n\
         data: {{names: \"{{{{ .Cluster.metadata.name }}}}\", mark: \"{mark}\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "each",
        "annotations": {"projectsveltos.io/template": "ok"}}, "data": {"a.yaml": text}})
}

/// One object, the same because of all.
fn shared(mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: shared, mark: \"{mark}\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "shared"}, "data": {"a.yaml": text}})
}

fn in_use(name: &str) -> Value {
    registration(name, json!({"in": "yes"}))
}

/// A profile for clusters `a` and `b`.
fn mk_fixture(refs: Value, contents: Vec<Value>) -> Fixture {
    let objects = [in_use("a"), in_use("b"), profile(refs)].into_iter().chain(contents);
    let mut fixture = Fixture::new(objects.collect());
    fixture.ready(&[]);
    fixture
}

/// What the management cluster is to have.
fn there(fixture: &Fixture) -> Vec<String> {
    fixture
        .wanted()
        .into_iter()
        .filter_map(|one| one.strip_prefix("management ").map(str::to_owned))
        .collect()
}

#[test]
fn one_row_has_what_all_destinations_give_and_equal_objects_once() {
    let fixture = mk_fixture(json!([local("each"), local("shared")]), vec![each("1"), shared("1")]);
    assert_eq!(there(&fixture), ["a 1", "b 1", "shared 1"]);
    let row = fixture.rows["management/p"].as_ref().unwrap();
    let counts: Vec<_> =
        row.policies.iter().map(|policy| (policy.name.as_str(), policy.objects.len())).collect();
    assert_eq!(counts, [("each", 2), ("shared", 1)]);
    assert!(
        fixture.rows["a/p"].as_ref().unwrap().policies.is_empty(),
        "nothing of it goes to the destinations"
    );
    assert!(fixture.problems.is_empty());
}

#[test]
fn what_is_remote_goes_to_the_destinations_and_what_is_local_does_not() {
    let remote = json!({"kind": "ConfigMap", "namespace": "default", "name": "shared"});
    let fixture = mk_fixture(json!([remote, local("each")]), vec![each("1"), shared("1")]);
    assert_eq!(fixture.wanted(), ["a shared 1", "b shared 1", "management a 1", "management b 1"]);
}

#[test]
fn a_part_goes_with_its_destination_and_the_row_with_the_last_one() {
    let mut fixture = mk_fixture(json!([local("each")]), vec![each("1")]);
    fixture.put(registration("b", json!({})));
    assert_eq!(there(&fixture), ["a 1"]);
    fixture.take_log();
    fixture.delete(in_use("a"));
    assert!(there(&fixture).is_empty());
    assert!(fixture.take_log().contains(&"-management".to_owned()));
}

#[test]
fn the_row_goes_with_its_cause_and_with_its_last_local_reference() {
    let mut fixture = mk_fixture(json!([local("shared")]), vec![shared("1")]);
    fixture.put(profile(json!([{"kind": "ConfigMap", "namespace": "default", "name": "shared"}])));
    assert_eq!(fixture.wanted(), ["a shared 1", "b shared 1"]);
    fixture.put(profile(json!([local("shared")])));
    assert_eq!(fixture.wanted(), ["management shared 1"]);
    fixture.delete(profile(json!([])));
    assert!(fixture.wanted().is_empty());
}

#[test]
fn a_destination_that_cannot_be_rendered_keeps_all_of_the_row() {
    let refs = json!([local("each"), {"kind": "ConfigMap", "namespace": "default", "name": "for-{{ .Cluster.metadata.name }}"}]);
    let own = |name: &str| {
        let mut object = shared("1");
        object["metadata"]["name"] = format!("for-{name}").into();
        object
    };
    let mut fixture = mk_fixture(refs, vec![each("1"), own("a"), own("b")]);
    assert_eq!(there(&fixture), ["a 1", "b 1"]);
    fixture.delete(own("b"));
    fixture.put(each("2"));
    assert_eq!(there(&fixture), ["a 1", "b 1"], "what b has there would go");
    assert_eq!(fixture.problems.len(), 1, "{:?}", fixture.problems);
    fixture.put(own("b"));
    assert_eq!((there(&fixture), fixture.problems.len()), (vec!["a 2".to_owned(), "b 2".to_owned()], 0));
}

#[test]
fn a_successor_keeps_what_it_finds_where_a_destination_cannot_be_rendered() {
    let refs = json!([local("each"), {"kind": "ConfigMap", "namespace": "default", "name": "for-{{ .Cluster.metadata.name }}"}]);
    let found = |renderer: &mut Renderer| {
        let cause = Cause::Profile(ProfileId::cluster("p"));
        let subject = renderer.desired(&ClusterRef::management(), &ProfileId::cluster("p"));
        renderer.found(&subject, &Head { meta: Meta::of_cause(&cause), ..Head::default() });
    };
    let objects = vec![in_use("a"), in_use("b"), profile(refs), each("1")];
    let mut fixture = Fixture::with(objects, found);
    fixture.ready(&[]);
    assert!(!fixture.take_log().contains(&"-management".to_owned()), "an error never withdraws");
}

#[test]
fn what_fails_for_one_destination_names_it() {
    let mut broken = each("1");
    broken["data"]["a.yaml"] = json!("{{ if eq .Cluster.metadata.name \"b\" }}{{ fail \"no\" }}{{ end }}");
    let mut fixture = mk_fixture(json!([local("each")]), vec![each("1")]);
    fixture.put(broken);
    assert_eq!(there(&fixture), ["a 1", "b 1"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("for sveltos:default/b: ConfigMap default/each: data.a.yaml"), "{error}");
}

#[test]
fn what_two_destinations_want_differently_is_a_problem_and_the_first_has_it() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: \"{{ .Cluster.metadata.name }}\", mark: '1'}\n";
    let mut content = each("1");
    content["data"]["a.yaml"] = text.into();
    let fixture = mk_fixture(json!([local("each")]), vec![content]);
    assert_eq!(there(&fixture), ["a 1"]);
    let error = fixture.problems.values().next().unwrap();
    let parts = ["ConfigMap x", "sveltos:default/a", "sveltos:default/b"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn an_events_row_has_the_account_and_the_options_of_its_trigger() {
    let spec = json!({"policyRefs": [local("content")], "stopMatchingBehavior": "LeavePolicies", "tier": 5, "extraLabels": {"l": "v"}});
    let mut fixture = Fixture::new(vec![trigger(true, spec), content(true, "1")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["management x 1"]);
    let row =
        fixture.rows.iter().find(|(place, _)| place.starts_with("management/")).unwrap().1.as_ref().unwrap();
    assert!(row.leave && row.tier == 5 && row.extra_labels["l"] == "v");
    let profile =
        fixture.projected.values().flatten().find(|object| object["kind"] == "ClusterProfile").unwrap();
    assert_eq!(profile["spec"]["policyRefs"][0]["deploymentType"], "Local");
    fixture.row(report("x", true));
    assert!(fixture.wanted().is_empty());
}

#[test]
fn what_the_management_cluster_holds_and_nobody_wants_is_withdrawn() {
    let mut fixture = mk_fixture(json!([local("shared")]), vec![shared("1")]);
    fixture.take_log();
    let gone = ProfileId::cluster("gone");
    let subject = Subject::Status {
        shard: Shard::FIRST,
        cluster: ClusterRef::management(),
        origin: Shard::FIRST,
        profile: gone.clone(),
    };
    let meta = Meta::of_cause(&Cause::Profile(gone));
    let body = serde_json::to_vec(&Status::new(State::Held, Vec::new())).unwrap();
    let row = Row {
        subject,
        head: Head { meta, ..Head::default() },
        body: body.into(),
        sequence: Sequence::new(1),
    };
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
    assert_eq!(fixture.take_log(), ["-management"]);
}

#[test]
fn who_reads_what_it_deploys_itself_does_so_once_a_second() {
    let mut fixture = mk_fixture(json!([local("each")]), vec![each("0")]);
    let deployed = |mark: usize| {
        let mut object = each(&mark.to_string());
        object["metadata"]["annotations"]["projectsveltos.io/owner-name"] = "p".into();
        object
    };
    for mark in 1..=6 {
        fixture.put(deployed(mark));
    }
    assert_eq!(there(&fixture), ["a 5", "b 5"], "the sixth time waits");
    fixture.wait();
    assert_eq!(there(&fixture), ["a 6", "b 6"]);
    let error = fixture.problems.values().next().unwrap();
    assert!(error.contains("ConfigMap default/each") && error.contains("once a second"), "{error}");
}
