//! Triggers and profiles of tenants.

use super::*;

fn of_tenant(mut object: Value) -> Value {
    object["metadata"]["labels"] = json!({"projectsveltos.io/serviceaccount-name": "deployer",
        "projectsveltos.io/serviceaccount-namespace": "team-a"});
    object
}

impl Fixture {
    fn answer(&mut self, name: &str, right: &Right) {
        let numbers = self.numbers(name);
        assert!(!numbers.is_empty(), "{:?}", self.asked);
        self.answer_to(numbers, right);
    }

    /// What is asked of the object of this name.
    fn numbers(&self, name: &str) -> BTreeMap<Question, u64> {
        let asked = self.asked.iter().filter(|(question, _)| question.object.name == name);
        asked.map(|(question, number)| (question.clone(), *number)).collect()
    }

    fn answer_to(&mut self, numbers: BTreeMap<Question, u64>, right: &Right) {
        for (question, number) in numbers {
            let answer = ExternalInput::Right(question, right.clone(), number);
            self.run(|renderer, step| renderer.external(answer, step));
        }
    }

    fn wrong(&self) -> String {
        self.problems.values().cloned().collect()
    }
}

#[test]
fn nothing_is_read_for_a_tenant_before_it_may() {
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, json!({}))), content(true, "1")]);
    fixture.ready(&["x"]);
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
    assert!(!fixture.renderer.is_decided());
    let asked: Vec<_> = fixture.asked.keys().map(ToString::to_string).collect();
    assert_eq!(asked, ["ServiceAccount team-a/deployer and ConfigMap default/content"]);
    fixture.answer("content", &Right::Granted);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(fixture.renderer.is_decided());
    let account = fixture.rows.values().next().unwrap().as_ref().unwrap().account.clone();
    assert_eq!(account.unwrap().to_string(), "team-a/deployer", "it is applied for it");
}

#[test]
fn a_right_that_is_revoked_is_a_problem_and_what_is_there_stays() {
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, json!({}))), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.answer("content", &Right::Granted);
    fixture.put(content(true, "2"));
    fixture.answer("content", &Right::Denied);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(
        fixture.wrong().contains(
            "spec.policyRefs[0]: ServiceAccount team-a/deployer may not get ConfigMap default/content in the management cluster"
        ),
        "{:?}",
        fixture.problems
    );
    fixture.answer("content", &Right::Unavailable("503".into()));
    assert!(fixture.wrong().contains("(503); it is tried again"), "{:?}", fixture.problems);
    fixture.answer("content", &Right::Granted);
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 2".to_owned()], 0));
    fixture.delete(of_tenant(trigger(true, json!({}))));
    assert!(fixture.asked.is_empty(), "nobody asks any more");
}

#[test]
fn whether_a_changed_object_may_be_read_is_asked_again_before_anything_is_rendered() {
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, json!({}))), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    fixture.answer("content", &Right::Granted);
    let before = fixture.numbers("content");
    fixture.row(report("z", false));
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1", "a z 1"], "an event is no reason to ask");
    assert_eq!(fixture.numbers("content"), before);
    fixture.put(content(true, "2"));
    let after = fixture.numbers("content");
    assert!(after.values().next() > before.values().next(), "{after:?}");
    assert!(fixture.problems.is_empty());
    // An answer that was on its way is one of before.
    fixture.answer_to(before, &Right::Denied);
    assert_eq!(
        (fixture.wanted(), fixture.problems.len()),
        (vec!["a x 1".into(), "a y 1".into(), "a z 1".into()], 0)
    );
    fixture.answer("content", &Right::Granted);
    assert_eq!(fixture.wanted(), ["a x 2", "a y 2", "a z 2"]);
    fixture.take_log();
    fixture.answer("content", &Right::Granted);
    assert!(fixture.take_log().is_empty() && fixture.problems.is_empty());
}

#[test]
fn of_a_changed_object_that_is_read_by_an_identifier_it_is_asked_again() {
    let item = json!({"identifier": "thing", "optional": true, "resource":
        {"apiVersion": "example.com/v1", "kind": "Thing", "namespace": "default", "name": "thing"}});
    let spec = json!({"templateResourceRefs": [item]});
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, spec)), content(true, "1")]);
    fixture.ready(&["x"]);
    let thing = fixture.watched.first().unwrap().clone();
    let there = |size: u64| {
        Resource::There(Arc::new(
            json!({"kind": "Thing", "metadata": {"name": "thing"}, "spec": {"size": size}}),
        ))
    };
    let told = |size: u64| ExternalInput::Resource(thing.clone(), there(size));
    fixture.run(|renderer, step| renderer.external(told(1), step));
    fixture.answer("content", &Right::Granted);
    fixture.answer("thing", &Right::Granted);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    let before = (fixture.numbers("thing"), fixture.numbers("content"));
    fixture.run(|renderer, step| renderer.external(told(2), step));
    assert!(fixture.numbers("thing") != before.0 && fixture.numbers("content") == before.1);
    fixture.answer("thing", &Right::Denied);
    assert!(fixture.wrong().contains("may not get Thing default/thing"), "{}", fixture.wrong());
    assert_eq!(fixture.wanted(), ["a x 1"]);
}

#[test]
fn an_edited_trigger_or_profile_is_read_by_the_rights_of_then() {
    let profile = |mark: &str| {
        of_tenant(json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
            "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "b"}],
            "extraLabels": {"mark": mark}, "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}}))
    };
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, json!({}))), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.answer("content", &Right::Granted);
    // What the trigger was told does not count for a profile that comes later.
    fixture.put(profile("1"));
    assert!(!fixture.rows.keys().any(|place| place.starts_with("b/")), "{:?}", fixture.rows.keys());
    fixture.answer("content", &Right::Granted);
    let marks = |fixture: &Fixture| {
        let rows = fixture.rows.iter().filter(|(place, _)| place.starts_with("b/"));
        rows.flat_map(|(_, row)| row.iter().map(|row| row.extra_labels["mark"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(marks(&fixture), ["1"]);
    fixture.take_log();
    fixture.put(profile("2"));
    assert!(fixture.take_log().is_empty());
    fixture.answer("content", &Right::Denied);
    assert_eq!(marks(&fixture), ["1"]);
    assert_eq!(fixture.problems.len(), 2, "{:?}", fixture.problems);
    fixture.answer("content", &Right::Granted);
    assert_eq!((marks(&fixture), fixture.problems.len()), (vec!["2".to_owned()], 0));
    fixture.take_log();
    fixture.put(of_tenant(trigger(true, json!({"extraLabels": {"mark": "3"}}))));
    assert!(fixture.take_log().is_empty());
    fixture.answer("content", &Right::Granted);
    assert_eq!(fixture.take_log(), ["+a"], "the profile has not changed");
}

#[test]
fn a_tenant_does_not_learn_whether_what_it_may_not_read_is_there() {
    let mut fixture = Fixture::new(vec![of_tenant(trigger(true, json!({})))]);
    fixture.ready(&["x"]);
    fixture.answer("content", &Right::Denied);
    assert!(
        fixture.wrong().contains("may not get") && !fixture.wrong().contains("exist"),
        "{}",
        fixture.wrong()
    );
}

#[test]
fn every_way_to_read_asks() {
    let item = json!({"identifier": "thing", "optional": true, "resource":
        {"apiVersion": "example.com/v1", "kind": "Thing", "namespace": "default", "name": "thing"}});
    let generator = json!({"namespace": "default", "name": "base", "nameFormat": "made"});
    let made = json!({"kind": "ConfigMap", "namespace": "projectsveltos", "name": "made"});
    let reference = |name: &str| json!({"kind": "Secret", "namespace": "default", "name": name});
    let chart = json!({"repositoryURL": "https://charts.example.com/", "repositoryName": "example", "chartName": "example/web",
        "chartVersion": "1.0.0", "releaseName": "site", "releaseNamespace": "web", "valuesFrom": [reference("values")],
        "registryCredentialsConfig": {"credentials": {"namespace": "default", "name": "login"}}});
    let spec = json!({"templateResourceRefs": [item], "configMapGenerator": [generator], "policyRefs": [made],
        "patchesFrom": [reference("patches")], "helmCharts": [chart]});
    let secret = |name: &str, data: Value| {
        json!({"kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
            "metadata": {"namespace": "default", "name": name}, "stringData": data})
    };
    let mut fixture = Fixture::new(vec![
        of_tenant(trigger(true, spec)),
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "base"}, "data": {}}),
        secret("values", json!({})),
        secret("patches", json!({})),
        secret("login", json!({"username": "u", "password": "p"})),
    ]);
    fixture.ready(&["x"]);
    let thing = fixture.watched.first().unwrap().clone();
    fixture.run(|renderer, step| renderer.external(ExternalInput::Resource(thing, Resource::Absent), step));
    let mut granted = BTreeSet::new();
    while let Some(next) = fixture.asked.keys().find(|asked| !granted.contains(&asked.object.name)) {
        let name = next.object.name.clone();
        fixture.answer(&name, &Right::Granted);
        granted.insert(name);
    }
    let asked: BTreeSet<_> = fixture.asked.keys().map(|question| question.object.name.as_str()).collect();
    assert_eq!(
        asked,
        ["base", "login", "patches", "thing", "values"].into(),
        "and not for what it makes itself"
    );
}

#[test]
fn profiles_are_read_for_their_tenant_too() {
    let profile = json!({"kind": "Profile", "metadata": {"namespace": "default", "name": "p"}, "spec": {
        "clusterRefs": [{"kind": "SveltosCluster", "namespace": "default", "name": "a"}],
        "policyRefs": [{"kind": "ConfigMap", "name": "content"}]}});
    let mut fixture = Fixture::new(vec![of_tenant(profile), content(false, "1")]);
    assert!(fixture.rows.is_empty());
    fixture.answer("content", &Right::Granted);
    assert_eq!(fixture.rows.len(), 1);
}

fn role_request(references: &[&str]) -> Value {
    let references: Vec<_> = references
        .iter()
        .map(|name| json!({"kind": "ConfigMap", "namespace": "default", "name": name}))
        .collect();
    json!({"kind": "RoleRequest", "metadata": {"name": "r"}, "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
        "serviceAccountName": "deployer", "serviceAccountNamespace": "team-a", "roleRefs": references}})
}

fn roles(kind: &str, name: &str) -> Value {
    let text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nrules: []\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "roles"}, "data": {"a.yaml": text}})
}

impl Fixture {
    /// What the only row deploys: kinds and names.
    fn granted(&self) -> Vec<String> {
        let rows: Vec<_> = self.rows.values().flatten().collect();
        let objects = rows.iter().flat_map(|row| &row.policies).flat_map(|policy| &policy.objects);
        objects.map(sluice_api::object::describe).collect()
    }
}

#[test]
fn a_role_request_is_one_more_profile_of_its_clusters() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "r"}, "spec": {"policyRefs": []}});
    let fixture = Fixture::new(vec![role_request(&["roles"]), roles("ClusterRole", "editor"), profile]);
    assert_eq!(
        fixture.granted(),
        [
            "ServiceAccount projectsveltos/team-a--deployer",
            "ClusterRole editor",
            "ClusterRoleBinding sveltos:team-a--deployer:editor"
        ]
    );
    assert!(fixture.problems.is_empty() && fixture.asked.is_empty(), "{:?}", fixture.problems);
    let row = fixture.rows.values().flatten().next().unwrap();
    assert_eq!(
        (row.owner_kind.as_str(), row.profile(), row.account.clone()),
        ("RoleRequest", ProfileId::role_request("r"), None)
    );
    assert_eq!(row.cause, Cause::Profile(ProfileId::role_request("r")));
}

#[test]
fn what_is_wrong_with_a_role_request_takes_no_right_away() {
    let mut fixture = Fixture::new(vec![role_request(&["roles"]), roles("ClusterRole", "editor")]);
    let before = fixture.granted();
    fixture.put(roles("Pod", "p"));
    assert_eq!(fixture.granted(), before);
    assert!(
        fixture.wrong().contains("spec.roleRefs: ConfigMap default/roles: Pod p is no Role"),
        "{}",
        fixture.wrong()
    );
    assert_eq!(fixture.problems.keys().map(String::as_str).collect::<Vec<_>>(), ["RoleRequest r"]);
    fixture.put(role_request(&["roles", "more"]));
    fixture.put(roles("ClusterRole", "editor"));
    assert_eq!(fixture.granted(), before);
    assert!(
        fixture.wrong().contains("spec.roleRefs[1]: ConfigMap default/more does not exist"),
        "{}",
        fixture.wrong()
    );
    fixture.put(role_request(&["roles"]));
    assert!(fixture.problems.is_empty());
    fixture.put(registration("a", json!({"env": "other"})));
    assert!(fixture.granted().is_empty(), "its clusters are those that it selects");
}

/// A trigger of this name whose generator makes a ConfigMap of this name, and content for it to be made of.
fn makes(name: &str, format: &str) -> Value {
    let mut trigger = trigger(
        true,
        json!({"configMapGenerator": [
        {"namespace": "default", "name": "template", "nameFormat": format}], "policyRefs": []}),
    );
    trigger["metadata"]["name"] = name.into();
    trigger
}

fn template() -> Value {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: x, mark: \"1\"}\n";
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "template"}, "data": {"a.yaml": text}})
}

fn deploys(name: &str) -> Value {
    let spec = json!({"clusterSelector": {"matchLabels": {"dep": "eng"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "projectsveltos", "name": name}]});
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec})
}

#[test]
fn what_a_tenants_generator_makes_is_read_by_that_tenant_only() {
    let tenants = of_tenant(makes("tenants", "made"));
    let mut fixture = Fixture::new(vec![tenants, template()]);
    fixture.ready(&["x"]);
    fixture.answer("template", &Right::Granted);
    assert!(fixture.projected.keys().any(|key| key.contains("made")), "{:?}", fixture.projected.keys());
    // The platform's profile comes to refer to the name, and so does another one of the tenant.
    fixture.put(deploys("made"));
    assert!(fixture.wanted().is_empty(), "{:?}", fixture.wanted());
    assert!(
        fixture.wrong().contains(
            "ConfigMap projectsveltos/made is made by a generator of ServiceAccount team-a/deployer, and read by what is of that account only"
        ),
        "{:?}",
        fixture.problems
    );
    let mut own = of_tenant(deploys("made"));
    own["metadata"]["name"] = "q".into();
    fixture.put(own);
    fixture.answer("made", &Right::Granted);
    assert_eq!(fixture.wanted(), ["b x 1"]);
}

#[test]
fn a_tenants_generator_takes_no_name_that_anothers_reference_waits_for() {
    let mut fixture = Fixture::new(vec![deploys("made"), template()]);
    fixture.ready(&["x"]);
    fixture.put(of_tenant(makes("tenants", "made")));
    fixture.answer("template", &Right::Granted);
    assert!(fixture.projected.keys().all(|key| !key.contains("made")), "{:?}", fixture.projected.keys());
    assert!(
        fixture.wrong().contains(
            "spec.configMapGenerator[0]: nameFormat: ClusterProfile p refers to ConfigMap projectsveltos/made, and is not of \
             ServiceAccount team-a/deployer"
        ),
        "{:?}",
        fixture.problems
    );
    // The platform's own generator makes it.
    fixture.put(makes("platform", "made"));
    assert_eq!(fixture.wanted(), ["b x 1"], "{:?}", fixture.problems);
}

// === EventSources ===

#[test]
fn a_cluster_is_told_whose_a_source_is_only_where_everybody_there_knows_what_that_means() {
    let mut source = of_tenant(source());
    source["metadata"]["labels"]["team"] = "a".into();
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1"), source]);
    let told = |fixture: &Fixture| {
        let row = &fixture.interests[&cluster("a")];
        row.sources[0].manifest["metadata"].get("labels").cloned()
    };
    let labels = json!({"projectsveltos.io/serviceaccount-name": "deployer",
        "projectsveltos.io/serviceaccount-namespace": "team-a"});
    assert_eq!(told(&fixture), Some(labels.clone()), "nobody is there yet");
    let say = |fixture: &mut Fixture, tenants: bool| {
        let mut row = complete(fixture.revision());
        row.head.meta =
            Meta::Complete(Complete { tenants, ..Complete::of_all(INCARNATION, fixture.revision()) });
        fixture.row(row);
        fixture.caught_up();
    };
    let before = fixture.revision();
    say(&mut fixture, false);
    assert_eq!(told(&fixture), None, "an agent or a matcher of a former version");
    assert!(fixture.revision() > before);
    say(&mut fixture, true);
    assert_eq!(told(&fixture), Some(labels));
}
