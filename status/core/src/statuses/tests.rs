#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_api::Gvk;
use sluice_protocol::rows::{EventCause, State, Status, spec_digest};
use sluice_protocol::{About, Body, Fault, Head, Meta, Publish, Sequence};

use super::*;

const T0: i64 = 1_700_000_000_000_000;

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

fn upsert(object: Value) -> Arc<Value> {
    Arc::new(object)
}

fn registered(name: &str, env: &str) -> Arc<Value> {
    upsert(json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": name, "labels": {"env": env}}, "spec": {}}))
}

fn trigger(more: Value) -> Value {
    let mut trigger = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "t"},
        "spec": {"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s"}});
    for (key, value) in more.as_object().unwrap() {
        trigger["spec"][key.as_str()] = value.clone();
    }
    trigger
}

fn profile() -> Value {
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}}})
}

fn event(source: &ClusterRef) -> Cause {
    let trigger = TriggerId::new("EventTrigger", "t");
    Cause::from(EventCause { trigger, cluster: source.clone(), source: "s".into(), item: None })
}

fn row(cluster: &ClusterRef, cause: &Cause, state: Option<State>, errors: &[&str]) -> Row {
    let profile = ProfileId::cluster("made");
    let subject =
        Subject::Status { shard: Shard::FIRST, cluster: cluster.clone(), origin: Shard::FIRST, profile };
    let errors = errors.iter().map(|error| (*error).to_owned()).collect();
    let body = state.map(|state| serde_json::to_vec(&Status::new(state, errors)).unwrap());
    let (body, tombstone) = body.map_or((Vec::new(), true), |body| (body, false));
    let publish = Publish::new(subject.clone(), Body::value(body.clone()), 1).meta(Meta::of_cause(cause));
    Row { subject, head: Head { tombstone, ..publish.head() }, body: body.into(), sequence: Sequence::NONE }
}

fn problem(cluster: &str, about: About, fault: impl Into<Fault>) -> ProblemRow {
    ProblemRow::new("renderer", cluster, about, fault, T0 - 60_000_000)
}

fn of_trigger() -> About {
    About::Trigger(TriggerId::new("EventTrigger", "t"))
}

fn event_of(service: &str) -> About {
    let item =
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: service.into() };
    About::Event(
        EventCause {
            trigger: TriggerId::new("EventTrigger", "t"),
            cluster: ClusterRef::sveltos("default", "a"),
            source: "s".into(),
            item: Some(item),
        }
        .into(),
    )
}

/// One shard that knows two selected clusters and another one.
fn statuses(objects: impl IntoIterator<Item = Value>) -> Statuses {
    let mut statuses = Statuses::new(Shard::FIRST, 1);
    for (name, env) in [("a", "fv"), ("b", "fv"), ("c", "prod")] {
        statuses.change(&registered(name, env), false, T0);
    }
    objects.into_iter().for_each(|object| statuses.change(&upsert(object), false, T0));
    statuses
}

/// The status that is written once nothing has come for a while.
fn written(statuses: &mut Statuses) -> Option<Value> {
    let at = statuses.next()?;
    statuses.take_due(at).statuses.into_iter().map(|(_, status)| status).next()
}

fn infos(status: &Value) -> Vec<(&str, &str)> {
    let infos = status["clusterInfo"].as_array().unwrap();
    infos.iter().map(|i| (i["cluster"]["name"].as_str().unwrap(), i["status"].as_str().unwrap())).collect()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn what_is_told_to_a_shard_is_what_counts_for_one_of_its_objects() {
    const SHARDS: u16 = 5;
    let counts = |tell: &dyn Fn(&mut Statuses)| -> Vec<Shard> {
        let counts = |shard: &Shard| {
            let mut statuses = Statuses::new(*shard, SHARDS);
            tell(&mut statuses);
            !statuses.objects.is_empty()
        };
        Shard::all(SHARDS).filter(counts).collect()
    };
    let told = |names: &[Option<NameHash>]| -> Vec<Shard> {
        let is_told = |shard: &Shard| names.iter().flatten().any(|name| name.shard(SHARDS) == *shard);
        Shard::all(SHARDS).filter(is_told).collect()
    };
    for cause in [event(&cluster("a")), Cause::Profile(ProfileId::cluster("p"))] {
        let row = row(&cluster("b"), &cause, Some(State::Provisioned), &[]);
        let names = concerned_by_row(&row);
        assert_eq!(told(&names), counts(&|statuses| statuses.row(&row, T0)));
        assert_eq!(names.iter().flatten().count(), if matches!(cause, Cause::Event(_)) { 2 } else { 1 });
    }
    for about in [of_trigger(), event_of("x"), About::Cluster] {
        let row = problem("sveltos:default/a", about, "broken");
        assert_eq!(
            told(&[concerned_by_problem(&row)]),
            counts(&|statuses| statuses.problem(row.clone(), T0))
        );
    }
    let made = made(Some("{}"));
    assert_eq!(told(&[Some(made.place)]), counts(&|statuses| statuses.made(&made, T0)));
}

#[test]
fn a_trigger_says_where_it_applies_and_what_became_of_it_there() {
    let (a, b) = (cluster("a"), cluster("b"));
    let mut statuses =
        statuses([trigger(json!({"destinationClusterSelector": {"matchLabels": {"env": "prod"}}}))]);
    statuses.row(&row(&cluster("c"), &event(&a), Some(State::Provisioned), &[]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["matchingClusters"]), ["a", "b"]);
    assert_eq!(names(&status["destinationMatchingClusterRefs"]), ["c"]);
    assert_eq!(infos(&status), [("a", "Provisioned"), ("b", "Provisioned")]);
    assert!(!status["clusterInfo"][0]["hash"].as_str().unwrap().is_empty());
    let ready = &status["conditions"][0];
    assert_eq!((ready["status"].as_str(), ready["reason"].as_str()), (Some("True"), Some("Provisioned")));
    statuses.row(&row(&cluster("c"), &event(&b), Some(State::Failed), &["it is refused"]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(infos(&status), [("a", "Provisioned"), ("b", "Failed")]);
    assert_eq!(status["clusterInfo"][1]["failureMessage"], "on sveltos:default/c: it is refused");
    let ready = &status["conditions"][0];
    assert_eq!((ready["status"].as_str(), ready["reason"].as_str()), (Some("False"), Some("Failed")));
    assert_eq!(
        ready["message"],
        "sveltos:default/b: on sveltos:default/c: it is refused\neverything is in place for 1 of 2 clusters; 1 failed"
    );
}

#[test]
fn what_is_only_to_be_known_is_nothing_against_an_object() {
    let mut statuses = statuses([profile()]);
    let ready =
        |statuses: &mut Statuses| written(statuses).map(|status| status["conditions"][0]["status"].clone());
    assert_eq!(ready(&mut statuses), Some(json!("False")), "its clusters are not done yet");
    let cause = Cause::Profile(ProfileId::cluster("p"));
    for name in ["a", "b"] {
        let place = cluster(name);
        let subject = Subject::Status {
            shard: Shard::FIRST,
            cluster: place.clone(),
            origin: Shard::FIRST,
            profile: ProfileId::cluster("p"),
        };
        let done = row(&place, &cause, Some(State::Provisioned), &[]);
        statuses.row(&Row { subject, ..done }, T0);
    }
    assert_eq!(ready(&mut statuses), Some(json!("True")));
    statuses.problem(
        problem(
            "",
            About::Profile(ProfileId::cluster("p")),
            "spec.dependsOn: is not awaited; note: spec.expirationSeconds: has no effect",
        ),
        T0,
    );
    assert_eq!(ready(&mut statuses), Some(json!("False")));
    statuses.problem(
        problem(
            "",
            About::Profile(ProfileId::cluster("p")),
            Fault::note("spec.expirationSeconds: has no effect"),
        ),
        T0,
    );
    assert_eq!(ready(&mut statuses), Some(json!("True")));
}

#[test]
fn what_waits_and_what_still_goes_is_said() {
    let (a, c) = (cluster("a"), cluster("c"));
    let mut statuses = statuses([trigger(json!({}))]);
    statuses.row(&row(&a, &event(&a), Some(State::Provisioning), &[]), T0);
    statuses.row(&row(&c, &event(&c), Some(State::Provisioned), &[]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(infos(&status), [("a", "Provisioning"), ("b", "Provisioned"), ("c", "Removing")]);
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert_eq!(
        message,
        "everything is in place for 1 of 2 clusters; 1 waits (sveltos:default/a), it is withdrawn from 1 (sveltos:default/c)"
    );
    statuses.row(&row(&a, &event(&a), Some(State::Held), &[]), T0);
    statuses.row(&row(&c, &event(&c), None, &[]), T0);
    assert_eq!(infos(&written(&mut statuses).unwrap()), [("a", "Provisioning"), ("b", "Provisioned")]);
}

#[test]
fn a_profile_says_which_clusters_have_its_present_form() {
    let cause = Cause::Profile(ProfileId::cluster("p"));
    let mut statuses = statuses([profile()]);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatingClusters"]["clusters"]), ["a", "b"]);
    assert_eq!(status.get("updatedClusters"), None);
    statuses.row(&row(&cluster("a"), &cause, Some(State::Provisioned), &[]), T0);
    statuses.row(&row(&cluster("b"), &cause, Some(State::Failed), &["no", "never"]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatedClusters"]["clusters"]), ["a"]);
    assert_eq!(status["updatedClusters"]["hash"], hash(profile().get("spec")));
    assert_eq!(status.get("updatingClusters"), None);
    assert_eq!(status["failedClusters"][0]["clusterRef"]["name"], "b");
    assert_eq!(status["failedClusters"][0]["failureMessage"], "never\nno");
    statuses.row(&row(&cluster("b"), &cause, Some(State::Provisioned), &[]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatedClusters"]["clusters"]), ["a", "b"]);
    assert_eq!(status["conditions"][0]["status"], "True");
    assert_eq!(status["conditions"][0]["message"], "2 of 2 clusters have it");
}

#[test]
fn what_became_of_a_former_spec_is_not_said_of_the_present_one() {
    let cause = Cause::Profile(ProfileId::cluster("p"));
    let about = |spec: &Value, state: State, errors: &[&str]| {
        let mut row = row(&cluster("a"), &cause, Some(state), errors);
        let mut status: Status = serde_json::from_slice(&row.body).unwrap();
        status.spec = spec_digest(spec);
        row.body = serde_json::to_vec(&status).unwrap().into();
        row
    };
    let mut edited = profile();
    edited["spec"]["tier"] = json!(50);
    let mut statuses = statuses([profile()]);
    statuses.row(&row(&cluster("b"), &cause, Some(State::Provisioned), &[]), T0);
    statuses.row(&about(&profile()["spec"], State::Provisioned, &[]), T0);
    assert_eq!(names(&written(&mut statuses).unwrap()["updatedClusters"]["clusters"]), ["a", "b"]);
    statuses.change(&upsert(edited.clone()), false, T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatingClusters"]["clusters"]), ["a"]);
    assert_eq!(status["conditions"][0]["status"], "False", "a former deployer does not say it: b counts");
    statuses.row(&about(&profile()["spec"], State::Failed, &["the former content"]), T0);
    let status = written(&mut statuses).unwrap_or(status);
    assert_eq!(names(&status["updatingClusters"]["clusters"]), ["a"], "it is still not about this one");
    assert_eq!(status.get("failedClusters"), None);
    statuses.row(&about(&edited["spec"], State::Provisioned, &[]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatedClusters"]["clusters"]), ["a", "b"]);
    assert_eq!(status["conditions"][0]["status"], "True");
}

#[test]
fn a_role_request_says_what_became_of_it_as_triggers_do() {
    let request = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "RoleRequest", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "serviceAccountName": "a", "serviceAccountNamespace": "b"}});
    let mut statuses = statuses([request, profile()]);
    let cause = Cause::Profile(ProfileId::role_request("p"));
    statuses.row(&row(&cluster("a"), &cause, Some(State::Provisioned), &[]), T0);
    statuses.problem(problem("", About::Profile(ProfileId::role_request("p")), "no such role"), T0);
    let at = statuses.next().unwrap();
    let written: BTreeMap<_, _> =
        statuses.take_due(at).statuses.into_iter().map(|(key, status)| (key.gvk.kind, status)).collect();
    let status = &written["RoleRequest"];
    assert_eq!(names(&status["matchingClusters"]), ["a", "b"]);
    assert_eq!(infos(status), [("a", "Provisioned"), ("b", "Provisioning")]);
    assert_eq!(
        status["conditions"][0]["message"],
        "no such role\n1 of 2 clusters have it; 1 waits (sveltos:default/b)"
    );
    let profile = &written["ClusterProfile"];
    assert_eq!(names(&profile["updatingClusters"]["clusters"]), ["a", "b"], "it is another one");
}

#[test]
fn a_dry_run_is_not_called_done() {
    let cause = Cause::Profile(ProfileId::cluster("p"));
    let mut dry = profile();
    dry["spec"]["syncMode"] = "DryRun".into();
    let mut statuses = statuses([dry]);
    for name in ["a", "b"] {
        statuses.row(&row(&cluster(name), &cause, Some(State::DryRun), &[]), T0);
    }
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatingClusters"]["clusters"]), ["a", "b"]);
    assert_eq!(status["conditions"][0]["reason"], "DryRun");
}

#[test]
fn a_suspended_trigger_says_so() {
    let mut suspended = trigger(json!({}));
    suspended["metadata"]["annotations"] = json!({"sluice.dev/suspend": "true"});
    let status = written(&mut statuses([suspended])).unwrap();
    let ready = &status["conditions"][0];
    assert_eq!((ready["status"].as_str(), ready["reason"].as_str()), (Some("Unknown"), Some("Suspended")));
    assert!(ready["message"].as_str().unwrap().contains("sluice.dev/suspend"), "{ready}");
}

#[test]
fn what_is_wrong_comes_first_and_goes_when_it_is_mended() {
    let mut statuses = statuses([trigger(json!({}))]);
    let rows = [
        problem("sveltos:default/a", event_of("x"), "it fails"),
        problem("sveltos:default/a", event_of("y"), "it fails too"),
        problem("", of_trigger(), "EventTrigger t: spec.helmCharts: not yet"),
    ];
    rows.iter().for_each(|row| statuses.problem(row.clone(), T0));
    let status = written(&mut statuses).unwrap();
    assert_eq!(infos(&status), [("a", "Failed"), ("b", "Provisioned")]);
    assert_eq!(
        status["clusterInfo"][0]["failureMessage"],
        "EventSource s, Service default/x: it fails\nEventSource s, Service default/y: it fails too"
    );
    let ready = &status["conditions"][0];
    assert_eq!(
        (&ready["reason"], &ready["lastTransitionTime"]),
        (&json!("Problem"), &json!("2023-11-14T22:12:20Z"))
    );
    let message = ready["message"].as_str().unwrap();
    assert!(
        message.ends_with("spec.helmCharts: not yet") && !message.contains("EventTrigger t"),
        "{message}"
    );
    for mut row in rows {
        row.error.clear();
        statuses.problem(row, T0);
    }
    let status = written(&mut statuses).unwrap();
    assert_eq!(infos(&status), [("a", "Provisioned"), ("b", "Provisioned")]);
    assert_eq!(status["conditions"][0]["status"], "True");
}

#[test]
fn a_trigger_that_cannot_be_read_is_where_it_was() {
    let a = cluster("a");
    let mut statuses = statuses([trigger(json!({"sourceClusterSelector": {"matchLabels": 5}}))]);
    statuses.row(&row(&a, &event(&a), Some(State::Provisioned), &[]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!((names(&status["matchingClusters"]), infos(&status)), (vec!["a"], vec![("a", "Provisioned")]));
}

#[test]
fn an_object_is_written_at_most_every_two_seconds_and_only_when_it_says_something_new() {
    let a = cluster("a");
    let mut statuses = statuses([trigger(json!({}))]);
    let first = T0 + QUIET;
    assert_eq!(statuses.next(), Some(first));
    assert!(statuses.take_due(first - 1).statuses.is_empty());
    let status = statuses.take_due(first).statuses.remove(0).1;
    for step in 1..=20 {
        let state = if step % 2 == 0 { State::Provisioned } else { State::Failed };
        statuses.row(&row(&a, &event(&a), Some(state), &[]), first + step * 100_000);
        assert_eq!(statuses.next(), Some(first + PERIOD), "it waits, whatever comes");
    }
    let mut there = trigger(json!({}));
    there["status"] = status;
    statuses.change(&upsert(there), false, first + PERIOD);
    assert!(statuses.take_due(first + PERIOD).statuses.is_empty(), "the last word is what it says already");
    assert_eq!(statuses.next(), None);
}

#[test]
fn a_new_owner_writes_nothing_that_is_there_and_keeps_since_when_it_is_so() {
    let mut first = statuses([trigger(json!({}))]);
    let status = written(&mut first).unwrap();
    let mut there = trigger(json!({}));
    there["status"] = status.clone();
    there["status"]["conditions"].as_array_mut().unwrap().push(json!({"type": "Synced", "status": "True"}));
    let mut second = Statuses::new(Shard::FIRST, 1);
    for name in ["a", "b"] {
        second.change(&registered(name, "fv"), false, T0 + 1_000_000_000);
    }
    second.change(&upsert(there), false, T0 + 1_000_000_000);
    assert_eq!(written(&mut second), None);
    second.change(&registered("d", "fv"), false, T0 + 2_000_000_000);
    let grown = written(&mut second).unwrap();
    assert_eq!(names(&grown["matchingClusters"]), ["a", "b", "d"]);
    let since = |status: &Value| status["conditions"][0]["lastTransitionTime"].clone();
    assert_eq!(since(&grown), since(&status));
}

#[test]
fn long_lists_are_cut_and_say_so_and_what_failed_is_among_them() {
    let mut statuses = statuses([trigger(json!({}))]);
    for number in 0..600 {
        statuses.change(&registered(&format!("x{number:03}"), "fv"), false, T0);
    }
    let last = cluster("x599");
    statuses.row(&row(&last, &event(&last), Some(State::Failed), &[&"long ".repeat(2_000)]), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!(status["matchingClusters"].as_array().unwrap().len(), 500);
    let infos = infos(&status);
    assert_eq!((infos.len(), infos[499]), (500, ("x599", "Failed")));
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("lists of clusters end after 500") && message.len() < 5_000, "{message}");
    assert!(status.to_string().len() < 500_000);
}

#[test]
fn clusters_that_come_together_are_one_look_at_what_users_wrote_and_none_at_what_was_made() {
    let mut statuses = statuses([trigger(json!({}))]);
    statuses.made(&made(Some("{}")), T0);
    drop(statuses.take_due(T0 + QUIET));
    let (is_trigger, begin) = (|key: &ObjectKey| key.gvk.kind == "EventTrigger", T0 + PERIOD);
    for number in 0..100 {
        statuses.change(&registered(&format!("x{number:02}"), "fv"), false, begin + number);
        assert!(!statuses.due.iter().any(|(_, key)| is_trigger(key) || key.gvk.kind == "ClusterProfile"));
    }
    assert_eq!(statuses.next(), Some(begin + QUIET));
    let writes = statuses.take_due(begin + QUIET);
    let triggers: Vec<_> = writes.statuses.iter().filter(|(key, _)| is_trigger(key)).collect();
    let [(_, status)] = &triggers[..] else { panic!("{triggers:?}") };
    assert_eq!(status["matchingClusters"].as_array().unwrap().len(), 102);
    assert!(!statuses.due.iter().any(|(_, key)| key.gvk.kind == "ClusterProfile"));
}

#[test]
fn an_object_is_the_business_of_one_shard_and_one_that_nobody_wrote_of_none() {
    let owners = |name: &str| {
        let mut object = trigger(json!({}));
        object["metadata"]["name"] = name.into();
        Shard::all(8)
            .filter(|shard| {
                let mut statuses = Statuses::new(*shard, 8);
                statuses.change(&upsert(object.clone()), false, T0);
                written(&mut statuses).is_some()
            })
            .count()
    };
    assert!(["a", "b", "c", "d"].iter().all(|name| owners(name) == 1));
    let a = cluster("a");
    let mut statuses = statuses([]);
    statuses.row(&row(&a, &event(&a), Some(State::Provisioned), &[]), T0);
    statuses.problem(problem("", of_trigger(), "no"), T0);
    assert_eq!(written(&mut statuses), None);
    statuses.change(&upsert(trigger(json!({}))), false, T0);
    assert_eq!(written(&mut statuses).unwrap()["conditions"][0]["message"], "no");
    let gone = upsert(trigger(json!({})));
    statuses.change(&gone, true, T0);
    assert_eq!(written(&mut statuses), None);
}

fn made(status: Option<&str>) -> GeneratedProfile {
    let place = name_hash(&user_object("ClusterProfile", "", "made"));
    GeneratedProfile { name: "made".into(), hash: "h".into(), status: status.map(Into::into), place }
}

#[test]
fn a_profile_that_was_made_of_an_event_says_what_became_of_it_as_one_of_a_user_does() {
    let (a, b) = (cluster("a"), cluster("b"));
    let mut statuses = statuses([]);
    statuses.row(&row(&a, &event(&a), Some(State::Provisioned), &[]), T0);
    assert_eq!(written(&mut statuses), None, "it is not there yet");
    statuses.made(&made(Some("{}")), T0 + PERIOD);
    let status = written(&mut statuses).unwrap();
    assert_eq!(
        (names(&status["matchingClusters"]), status["updatedClusters"]["hash"].as_str()),
        (vec!["a"], Some("h"))
    );
    assert_eq!(status["conditions"][0]["status"], "True");
    statuses.made(&made(Some(&status.to_string())), T0 + 2 * PERIOD);
    assert_eq!(written(&mut statuses), None, "it says so");
    statuses.row(&row(&b, &event(&a), Some(State::Failed), &["no"]), T0 + 3 * PERIOD);
    let status = written(&mut statuses).unwrap();
    assert_eq!(names(&status["updatedClusters"]["clusters"]), ["a"]);
    let failed = &status["failedClusters"][0];
    assert_eq!(
        (failed["clusterRef"]["name"].as_str(), failed["failureMessage"].as_str()),
        (Some("b"), Some("no"))
    );
    statuses.made(&made(None), T0 + 4 * PERIOD);
    assert_eq!(written(&mut statuses), None);
}

#[test]
fn a_profile_that_was_made_is_written_at_most_every_two_seconds() {
    let a = cluster("a");
    let mut statuses = statuses([]);
    statuses.made(&made(Some("{}")), T0);
    statuses.row(&row(&a, &event(&a), Some(State::Provisioned), &[]), T0);
    let profiles = |statuses: &mut Statuses, at: i64| {
        statuses.take_due(at).statuses.iter().filter(|(key, _)| key.gvk.kind == "ClusterProfile").count()
    };
    assert_eq!(profiles(&mut statuses, T0 + QUIET), 1);
    for step in 1..=11 {
        let state = if step % 2 == 0 { State::Provisioned } else { State::Failed };
        statuses.row(&row(&a, &event(&a), Some(state), &[]), T0 + QUIET + step * 100_000);
    }
    assert_eq!(profiles(&mut statuses, T0 + QUIET + PERIOD - 1), 0);
    assert_eq!(profiles(&mut statuses, T0 + QUIET + PERIOD), 1);
}

#[test]
fn a_users_profile_says_nothing_of_what_an_event_has_made_under_its_name() {
    let a = cluster("a");
    let mut own = profile();
    own["metadata"]["name"] = "made".into();
    let mut statuses = statuses([own]);
    statuses.row(&row(&a, &event(&a), Some(State::Failed), &["of the event"]), T0);
    let status = written(&mut statuses).unwrap();
    assert!(!status.to_string().contains("of the event"), "{status}");
    assert_eq!(names(&status["updatingClusters"]["clusters"]), ["a", "b"]);
}

#[test]
fn a_cluster_says_once_which_version_it_has_and_that_it_is_ready_and_what_is_wrong_with_it() {
    let mut statuses = statuses([]);
    assert!(statuses.take_due(T0 + PERIOD).statuses.is_empty(), "nobody has heard of them");
    statuses.capabilities(&cluster("a"), Some("v1.33.4"), T0 + PERIOD);
    let status = written(&mut statuses).unwrap();
    let well = json!({"type": "Ready", "status": "True", "reason": "NoProblem", "message": "its API server is reached",
        "lastTransitionTime": status["conditions"][0]["lastTransitionTime"]});
    let well =
        json!({"ready": true, "version": "v1.33.4", "connectionStatus": "Healthy", "conditions": [well]});
    assert_eq!(status, well);
    statuses.capabilities(&cluster("a"), Some("v1.33.4"), T0 + 2 * PERIOD);
    assert_eq!(statuses.next(), None, "it is no news");
    let said = |status: &Value| {
        let mut object = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
            "metadata": {"namespace": "default", "name": "a", "labels": {"env": "fv"}}, "spec": {}});
        object["status"] = status.clone();
        upsert(object)
    };
    statuses.change(&said(&status), false, T0 + 3 * PERIOD);
    assert_eq!(written(&mut statuses), None, "it is there");
    let down = |error: &str| problem("sveltos:default/a", About::Cluster, error);
    statuses.problem(down("it does not answer"), T0 + 4 * PERIOD);
    let status = written(&mut statuses).unwrap();
    let fields = ["ready", "version", "connectionStatus"].map(|field| status[field].clone());
    assert_eq!(fields, [Value::Null, json!("v1.33.4"), json!("Down")], "what is down is not ready");
    statuses.change(&said(&status), false, T0 + 5 * PERIOD);
    statuses.problem(down(""), T0 + 5 * PERIOD);
    let again = written(&mut statuses).unwrap();
    assert_eq!((&again["ready"], &again["connectionStatus"]), (&well["ready"], &well["connectionStatus"]));
    assert_eq!(again.get("failureMessage"), None);
    statuses.capabilities(&cluster("a"), Some("v1.34.0"), T0 + 6 * PERIOD);
    assert_eq!(written(&mut statuses).unwrap()["version"], "v1.34.0");
}

#[test]
fn a_cluster_that_a_user_calls_down_stays_so() {
    let mut statuses = statuses([]);
    statuses.take_due(T0 + PERIOD);
    let mut object = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"namespace": "default", "name": "a"}, "spec": {}});
    object["status"] = json!({"connectionStatus": "Down"});
    statuses.change(&upsert(object), false, T0);
    statuses.capabilities(&cluster("a"), Some("v1.33.4"), T0 + PERIOD);
    assert_eq!(written(&mut statuses).unwrap(), json!({"ready": true, "version": "v1.33.4"}));
}

#[test]
fn a_source_says_what_is_wrong_and_whether_all_is_well() {
    let source = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "s"}, "spec": {}});
    let mut statuses = statuses([source]);
    let ready = |status: Value| status["conditions"][0]["status"].clone();
    assert_eq!(written(&mut statuses).map(ready), Some(json!("True")));
    statuses.problem(problem("", About::Source("s".into()), "no such operation"), T0);
    assert_eq!(written(&mut statuses).unwrap()["agentFailureMessage"], "no such operation");
    statuses.problem(problem("", About::Source("s".into()), ""), T0);
    let status = written(&mut statuses).unwrap();
    assert_eq!((status.get("agentFailureMessage"), ready(status.clone())), (None, json!("True")));
    assert_eq!(
        maker(&Cause::Profile(ProfileId::new("team", "p"))).gvk,
        Gvk::new("config.projectsveltos.io", "v1beta1", "Profile")
    );
}

#[test]
fn a_cluster_says_when_its_window_opens_and_closes_and_says_it_anew_when_it_does() {
    const OPENS: i64 = 20 * 3_600_000_000;
    const CLOSES: i64 = 22 * 3_600_000_000;
    let mut windowed = Value::clone(&registered("a", "fv"));
    windowed["spec"] = json!({"activeWindow": {"from": "0 20 * * *", "to": "0 22 * * *"}});
    let mut statuses = Statuses::new(Shard::FIRST, 1);
    statuses.change(&upsert(windowed.clone()), false, 0);
    statuses.change(&registered("b", "fv"), false, 0);
    let said = |statuses: &mut Statuses, now: i64| -> Vec<Value> {
        statuses.take_due(now).statuses.into_iter().map(|(_, status)| status).collect()
    };
    let [status] = &said(&mut statuses, QUIET)[..] else { panic!("of b there is nothing to say") };
    assert_eq!(
        (&status["nextUnpause"], &status["nextPause"]),
        (&json!("1970-01-01T20:00:00Z"), &json!("1970-01-01T22:00:00Z"))
    );
    windowed["status"] = status.clone();
    statuses.change(&upsert(windowed), false, QUIET);
    assert!(said(&mut statuses, PERIOD + QUIET).is_empty());
    assert_eq!(statuses.next(), Some(OPENS));
    assert!(said(&mut statuses, OPENS).is_empty());
    let [status] = &said(&mut statuses, OPENS + QUIET)[..] else { panic!() };
    assert_eq!(status["nextUnpause"], "1970-01-02T20:00:00Z");
    assert_eq!(statuses.next(), Some(CLOSES));
}

#[test]
fn a_cluster_gets_its_labels_beside_its_status() {
    let mut statuses = Statuses::new(Shard::FIRST, 1);
    statuses.change(&registered("a", "fv"), false, T0);
    statuses.capabilities(&cluster("a"), Some("v1.33.0+k3s1"), T0);
    let writes = statuses.take_due(T0 + QUIET);
    let [(key, status)] = &writes.statuses[..] else { panic!("{writes:?}") };
    assert_eq!((&*key.name, &status["version"]), ("a", &json!("v1.33.0+k3s1")));
    let labels = &writes.labels[key];
    assert_eq!(labels["projectsveltos.io/k8s-version"], "v1.33.0");
    let mut labelled = Value::clone(&registered("a", "fv"));
    labelled["status"] = status.clone();
    statuses.change(&upsert(labelled.clone()), false, T0 + PERIOD);
    assert!(statuses.take_due(T0 + PERIOD + QUIET).statuses.is_empty(), "they are on their way");
    statuses.capabilities(&cluster("a"), Some("v1.34.0"), T0 + 2 * PERIOD);
    let writes = statuses.take_due(T0 + 2 * PERIOD + QUIET);
    assert_eq!(writes.labels.values().next().unwrap()["projectsveltos.io/k8s-version"], "v1.34.0");
}

mod standing;
