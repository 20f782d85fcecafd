#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::{Gvk, ProfileId};
use sluice_protocol::Body;
use sluice_protocol::interest::{Complete, Source};
use sluice_protocol::rows::{Desired, EventCause};
use sluice_protocol::subject::Table;

use super::*;

const INCARNATION: u64 = 7;

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

/// A renderer with one shard, and what it has said so far.
struct World {
    renderer: Renderer,
    now: i64,
    wake: Option<i64>,
    rows: BTreeMap<String, Option<Desired>>,
    log: Vec<String>,
    problems: BTreeMap<String, String>,
    projected: BTreeMap<String, Option<Value>>,
    interests: BTreeMap<ClusterRef, Interest>,
}

fn registration(name: &str, labels: Value) -> Value {
    json!({"kind": "SveltosCluster", "apiVersion": "lib.projectsveltos.io/v1beta1",
        "metadata": {"namespace": "default", "name": name, "labels": labels}, "spec": {}})
}

fn source() -> Value {
    json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [{"version": "v1", "kind": "Service"}]}})
}

fn trigger(one: bool, extra: Value) -> Value {
    let mut spec = json!({"sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s", "oneForEvent": one,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]});
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": spec})
}

fn content(one: bool, mark: &str) -> Value {
    let names = if one {
        "{{ .Resource.metadata.name }}"
    } else {
        "{{ range .Resources }}{{ .metadata.name }}{{ end }}"
    };
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{names}\", mark: \"{mark}\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"a.yaml": text}})
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: name.into() }
}

fn report(name: &str, gone: bool) -> Row {
    let subject =
        Subject::Report { shard: 0, cluster: cluster("a"), source: "s".into(), origin: 0, object: key(name) };
    let head = Head { tombstone: gone, time: 5, meta: r#"{"selectors":[0]}"#.into(), ..Head::default() };
    let body = if gone { Vec::new() } else { json!({"metadata": {"name": name}}).to_string().into_bytes() };
    Row { subject, head, body: body.into(), sequence: 1 }
}

fn complete(revision: u64) -> Row {
    let subject =
        Subject::Complete { table: Table::Reports, shard: 0, cluster: cluster("a"), origin: Some(0) };
    let meta = serde_json::to_string(&Complete::of_all(INCARNATION, revision)).unwrap();
    Row { subject, head: Head { meta, ..Head::default() }, body: [].into(), sequence: 2 }
}

fn cause(item: Option<&str>) -> Cause {
    Cause::Event(EventCause {
        trigger: "EventTrigger/t".into(),
        cluster: cluster("a"),
        source: "s".into(),
        item: item.map(key),
    })
}

impl World {
    /// Knows clusters `a` and `b`, the source, and `objects`; has started.
    fn new(objects: Vec<Value>) -> Self {
        Self::with(objects, |_| ())
    }

    fn with(objects: Vec<Value>, found: impl FnOnce(&mut Renderer)) -> Self {
        let config = Config {
            shard: 0,
            shards: 1,
            input: INCARNATION,
            tombstone_ttl: 1_000_000_000,
            limits: Limits::default(),
        };
        let mut world = Self {
            renderer: Renderer::new(config),
            now: 1_000_000,
            wake: None,
            rows: BTreeMap::new(),
            log: Vec::new(),
            problems: BTreeMap::new(),
            projected: BTreeMap::new(),
            interests: BTreeMap::new(),
        };
        found(&mut world.renderer);
        let clusters = [registration("a", json!({"env": "fv"})), registration("b", json!({"dep": "eng"}))];
        for object in clusters.into_iter().chain([source()]).chain(objects) {
            world.put(object);
        }
        world.run(|renderer, step| renderer.start(step));
        for (cluster, row) in world.interests.clone() {
            world.run(|renderer, step| renderer.side(Side::Interest(cluster, row), step));
        }
        world
    }

    fn put(&mut self, object: Value) {
        self.run(|renderer, step| renderer.side(Side::Management(Change::Upsert(Arc::new(object))), step));
    }

    fn delete(&mut self, object: Value) {
        self.run(|renderer, step| renderer.side(Side::Management(Change::Delete(Arc::new(object))), step));
    }

    /// A row; a completeness row is the last of the table when the table has been read before.
    fn row(&mut self, row: Row) {
        self.run(|renderer, step| {
            renderer.row(&row, step);
            if matches!(row.subject, Subject::Complete { .. }) && renderer.caught_up {
                renderer.caught_up(u64::MAX, step);
            }
        });
    }

    fn caught_up(&mut self) {
        self.run(|renderer, step| renderer.caught_up(u64::MAX, step));
    }

    /// The revision of cluster `a`'s interest row.
    fn revision(&self) -> u64 {
        self.interests[&cluster("a")].revision
    }

    /// Everything is known: rows of `names`, and completeness.
    fn ready(&mut self, names: &[&str]) {
        for name in names {
            self.row(report(name, false));
        }
        self.row(complete(self.revision()));
        self.caught_up();
    }

    fn wait(&mut self) {
        self.now = self.wake.take().unwrap_or(self.now + 1_000_000);
        self.run(|renderer, step| renderer.tick(step));
    }

    fn run(&mut self, f: impl FnOnce(&mut Renderer, &mut Step<Effect>)) {
        let mut step = Step::at(self.now);
        f(&mut self.renderer, &mut step);
        let (rows, effects, wake) = step.into_parts();
        self.wake = wake.or(self.wake);
        for row in rows {
            let Subject::Desired { cluster, profile, .. } = &row.subject else { panic!("{row:?}") };
            let key = format!("{}/{}", cluster.name, profile.path());
            let value = match &row.body {
                Body::Value(bytes) => Some(serde_json::from_slice::<Desired>(bytes).unwrap()),
                Body::Tombstone => None,
            };
            self.log.push(format!("{}{}", if value.is_some() { "+" } else { "-" }, cluster.name));
            self.rows.insert(key, value);
        }
        for effect in effects {
            match effect {
                Effect::WriteInterest(cluster, row) => drop(self.interests.insert(cluster, row)),
                Effect::Problem(problem) => match problem.error {
                    Some(error) => drop(self.problems.insert(problem.object, error)),
                    None => drop(self.problems.remove(&problem.object)),
                },
                Effect::Project(projection) => {
                    drop(self.projected.insert(projection.key.to_string(), projection.object))
                }
                Effect::Projected(_) | Effect::Happened(_) => {}
            }
        }
    }

    /// The `data` of everything that should be somewhere, as `cluster names mark`.
    fn wanted(&self) -> Vec<String> {
        let objects = self.rows.iter().flat_map(|(place, desired)| {
            let objects =
                desired.iter().flat_map(|desired| desired.policies.iter().flat_map(|policy| &policy.objects));
            objects.map(move |object| {
                let text = |field| sluice_api::object::text(object, &["data", field]).to_owned();
                format!("{} {} {}", place.split('/').next().unwrap(), text("names"), text("mark"))
            })
        });
        let mut all: Vec<_> = objects.collect();
        all.sort();
        all
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

#[test]
fn one_for_event_makes_one_profile_for_each_match() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x", "y"]);
    assert_eq!(world.wanted(), ["a x 1", "a y 1"]);
    world.row(report("x", true));
    assert_eq!(world.wanted(), ["a y 1"]);
}

#[test]
fn additions_flow_before_the_cluster_is_complete_but_not_one_for_all() {
    let mut each = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    each.row(report("x", false));
    assert!(each.wanted().is_empty(), "the shard has not been read");
    each.caught_up();
    assert_eq!(each.wanted(), ["a x 1"]);

    let mut all = World::new(vec![trigger(false, json!({})), content(false, "1")]);
    all.row(report("x", false));
    all.caught_up();
    assert!(all.wanted().is_empty());
    all.row(complete(all.revision()));
    assert_eq!(all.wanted(), ["a x 1"]);
}

#[test]
fn bursts_of_one_set_are_rendered_together_and_the_first_at_once() {
    let mut world = World::new(vec![trigger(false, json!({})), content(false, "1")]);
    world.ready(&[]);
    world.now += 1_000_000;
    for name in ["a", "b", "c"] {
        world.row(report(name, false));
    }
    assert_eq!((world.wanted(), world.take_log().len()), (vec!["a a 1".to_owned()], 1));
    world.wait();
    assert_eq!((world.wanted(), world.take_log().len()), (vec!["a abc 1".to_owned()], 1));
    for name in ["a", "b", "c"] {
        world.row(report(name, true));
        world.wait();
    }
    assert!(world.wanted().is_empty());
}

#[test]
fn changes_of_a_large_set_are_rendered_together_although_its_render_takes_longer_than_their_pause() {
    let mut world = World::new(vec![trigger(false, json!({})), content(false, "1")]);
    world.ready(&[]);
    (0..200).for_each(|number| world.row(report(&format!("n{number}"), false)));
    world.wait();
    world.take_log();
    for name in ["x", "y", "z"] {
        world.now += 60_000;
        world.row(report(name, false));
    }
    assert!(world.take_log().is_empty());
    world.wait();
    assert_eq!(world.take_log().len(), 1);
}

#[test]
fn destinations_follow_the_labels_of_clusters() {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}});
    let mut world = World::new(vec![trigger(true, to), content(true, "1")]);
    world.ready(&["x"]);
    assert_eq!(world.wanted(), ["b x 1"]);
    world.put(registration("a", json!({"env": "fv", "dep": "eng"})));
    assert_eq!(world.wanted(), ["a x 1", "b x 1"]);
    world.put(registration("b", json!({})));
    assert_eq!(world.wanted(), ["a x 1"]);
    world.put(registration("a", json!({"dep": "eng"})));
    assert!(world.wanted().is_empty(), "its events do not count any more");
}

#[test]
fn an_edited_template_renders_exactly_what_was_made_of_it() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    world.take_log();
    world.put(content(true, "2"));
    assert_eq!(world.wanted(), ["a x 2"]);
    let mut other = content(true, "3");
    other["metadata"]["name"] = json!("other");
    world.take_log();
    world.put(other);
    assert!(world.take_log().is_empty());
}

#[test]
fn a_heartbeat_of_a_cluster_renders_nothing() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    world.take_log();
    let mut beat = registration("a", json!({"env": "fv"}));
    beat["status"] = json!({"agentLastReportTime": "now"});
    world.put(beat);
    assert!(world.take_log().is_empty());
}

#[test]
fn a_deleted_trigger_withdraws_what_it_made_and_forgets_its_interest() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    world.delete(trigger(true, json!({})));
    assert!(world.wanted().is_empty() && world.interests[&cluster("a")].sources.is_empty());
    assert!(
        world.projected.iter().all(|(key, object)| object.is_none() || key.starts_with("EventReport")),
        "{:?}",
        world.projected.keys()
    );
}

#[test]
fn a_deleted_source_withdraws_what_it_led_to_also_after_a_takeover() {
    for one in [true, false] {
        let mut world = World::new(vec![trigger(one, json!({})), content(one, "1")]);
        world.ready(&["x"]);
        world.delete(source());
        assert!(world.wanted().is_empty(), "one for event: {one}");
    }
    let place = (cluster("a"), ProfileId::cluster("p"));
    let found = |renderer: &mut Renderer| renderer.made.found(place, cause(None));
    let mut world = World::with(vec![trigger(false, json!({})), content(false, "1")], found);
    world.delete(source());
    world.caught_up();
    assert_eq!(world.take_log(), ["-a"]);
}

/// The status row that says that a cluster holds a profile.
fn held_by(name: &str, profile: &str, cause: &Cause) -> Row {
    let subject =
        Subject::Status { shard: 0, cluster: cluster(name), origin: 0, profile: ProfileId::cluster(profile) };
    Row { subject, head: Head { meta: cause.to_meta(), ..Head::default() }, body: [].into(), sequence: 1 }
}

#[test]
fn what_is_held_is_not_judged_before_the_start() {
    let found = |renderer: &mut Renderer| {
        let row = held_by("a", "p", &Cause::Profile(ProfileId::cluster("p")));
        let mut step = Step::at(1);
        renderer.side(Side::Status(Arc::new(row)), &mut step);
        assert!(step.into_parts().0.is_empty(), "the profile may only not be known yet");
    };
    let mut world = World::with(vec![], found);
    world.caught_up();
    assert_eq!(world.take_log(), ["-a"], "nobody wants it");
}

#[test]
fn nothing_is_rendered_twice_from_the_same() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    world.take_log();
    let mut newer = world.interests[&cluster("a")].clone();
    newer.revision += 1;
    world.run(|renderer, step| renderer.side(Side::Interest(cluster("a"), newer.clone()), step));
    world.row(complete(newer.revision));
    assert!(world.take_log().is_empty(), "a newer proof of the same");
    world.row(report("x", false));
    assert_eq!(world.take_log(), ["+a"], "the event came again");
}

#[test]
fn a_failing_template_keeps_what_is_there_and_delays_nobody() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    let mut broken = content(true, "2");
    broken["data"]["a.yaml"] = json!("{{ .Resource.nope }}");
    world.put(broken);
    assert_eq!(world.wanted(), ["a x 1"]);
    let error = &world.problems["EventTrigger t, EventSource s, Service default/x"];
    assert!(
        error
            .contains("spec.policyRefs[0]: ConfigMap default/content: data.a.yaml: template: default-a-t:1:")
            && error.contains("nope"),
        "{error}"
    );
    world.put(content(true, "3"));
    assert_eq!(world.wanted(), ["a x 3"]);
    assert!(world.problems.is_empty());
}

#[test]
fn a_broken_trigger_keeps_what_it_made_and_says_which_field() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    world.put(trigger(true, json!({"sourceClusterSelector": {"matchLabel": {}}})));
    assert_eq!(world.wanted(), ["a x 1"]);
    assert!(world.problems["EventTrigger t"].contains("spec.sourceClusterSelector: unknown field"));
    world.put(trigger(true, json!({})));
    assert!(world.problems.is_empty());
}

#[test]
fn a_problem_goes_with_the_trigger_that_has_it() {
    let mut world = World::new(vec![trigger(true, json!({}))]);
    world.ready(&["x"]);
    assert!(world.problems.values().any(|error| error.contains("ConfigMap default/content does not exist")));
    world.delete(trigger(true, json!({})));
    assert!(world.problems.is_empty(), "{:?}", world.problems);
}

#[test]
fn what_cannot_be_read_concludes_nothing() {
    for one in [true, false] {
        let mut world = World::new(vec![trigger(one, json!({})), content(one, "1")]);
        world.ready(&["x", "y"]);
        world.take_log();
        let row = report("x", false);
        world.row(Row { body: b"{".as_slice().into(), ..row });
        assert!(world.take_log().is_empty(), "one for event: {one}");
        assert!(world.problems.values().any(|error| error.contains("cannot be read")));
        world.row(report("x", false));
        assert!(world.problems.is_empty());
    }
}

#[test]
fn missing_things_are_named_and_waited_for() {
    let mut world = World::new(vec![trigger(true, json!({"eventSourceName": "nope"}))]);
    assert!(world.problems["EventTrigger t"].contains("EventSource nope does not exist"));
    world.put(trigger(true, json!({})));
    world.ready(&["x"]);
    assert!(world.problems.values().any(|error| error.contains("ConfigMap default/content does not exist")));
    world.put(content(true, "1"));
    assert_eq!(world.wanted(), ["a x 1"]);
    assert!(world.problems.is_empty());
}

#[test]
fn what_a_former_owner_made_goes_only_when_the_set_is_complete() {
    let found = |renderer: &mut Renderer| {
        for (name, item) in [("gone", "gone"), ("there", "x")] {
            let subject = renderer.desired(&cluster("a"), &ProfileId::cluster(name));
            renderer.found(&subject, &Head { meta: cause(Some(item)).to_meta(), ..Head::default() });
        }
    };
    let objects = vec![trigger(true, json!({"profileNameFormat": "there"})), content(true, "1")];
    let mut world = World::with(objects, found);
    world.row(report("x", false));
    world.caught_up();
    assert_eq!(world.take_log(), ["+a"]);
    world.row(complete(world.revision()));
    assert_eq!(world.rows["a/gone"], None);
    assert!(world.rows["a/there"].is_some());
}

#[test]
fn completeness_of_another_incarnation_or_an_older_interest_proves_nothing() {
    let found = |renderer: &mut Renderer| {
        let subject = renderer.desired(&cluster("a"), &ProfileId::cluster("gone"));
        renderer.found(&subject, &Head { meta: cause(Some("gone")).to_meta(), ..Head::default() });
    };
    let mut world = World::with(vec![trigger(true, json!({})), content(true, "1")], found);
    world.caught_up();
    let mut other = complete(world.revision());
    other.head.meta = serde_json::to_string(&Complete::of_all(INCARNATION + 1, world.revision())).unwrap();
    world.row(other);
    world.row(complete(world.revision() - 1));
    assert!(world.take_log().is_empty());
}

#[test]
fn what_a_cluster_holds_and_nobody_wants_is_withdrawn() {
    let mut world = World::new(vec![]);
    world.caught_up();
    let row = held_by("b", "old", &cause(None));
    world.run(|renderer, step| renderer.side(Side::Status(Arc::new(row)), step));
    assert_eq!(world.take_log(), ["-b"], "its trigger does not exist");
}

#[test]
fn profiles_of_users_go_the_same_way() {
    let profile = |labels: Value| {
        json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector": {"matchLabels": labels},
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
    };
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: some, mark: \"{{ x }}\"}\n"}});
    let mut world = World::new(vec![profile(json!({"env": "fv"})), plain]);
    assert_eq!(world.wanted(), ["a some {{ x }}"], "plain content is no template");
    world.put(profile(json!({"dep": "eng"})));
    assert_eq!(world.wanted(), ["b some {{ x }}"]);
    world.put(profile(json!({})));
    assert!(world.wanted().is_empty(), "an empty selector selects nothing");
}

#[test]
fn a_lost_destination_is_withdrawn_again_as_long_as_it_holds_something() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector":
        {"matchLabels": {"env": "fv"}}, "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}});
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}});
    let mut world = World::new(vec![profile, plain]);
    world.caught_up();
    world.put(registration("b", json!({"env": "fv"})));
    let row = held_by("b", "p", &Cause::Profile(ProfileId::cluster("p")));
    world.run(|renderer, step| renderer.side(Side::Status(Arc::new(row)), step));
    world.put(registration("b", json!({"env": "no"})));
    assert!(world.take_log().contains(&"-b".to_owned()));
    world.now += 2_000_000_000;
    world.run(|renderer, step| renderer.tick(step));
    assert_eq!(world.take_log(), ["-b"], "the first tombstone may have expired unread");
}

#[test]
fn two_causes_with_one_profile_name_do_not_overwrite_each_other() {
    let mut world = World::new(vec![trigger(true, json!({"profileNameFormat": "same"})), content(true, "1")]);
    world.ready(&["x", "y"]);
    assert_eq!(world.wanted(), ["a x 1"]);
    assert!(world.problems.values().any(|error| error.contains("already made by")));
}

#[test]
fn interest_rows_list_what_triggers_listen_to() {
    let world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    let names = |name: &str| {
        world.interests[&cluster(name)].sources.iter().map(|s: &Source| s.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((names("a"), names("b")), (vec!["s".to_owned()], vec![]));
}

#[test]
fn an_interest_row_that_is_lost_with_its_bucket_is_written_again() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    let before = world.interests.remove(&cluster("a")).unwrap();
    world.now += 1_000_000;
    world.take_log();
    world.run(|renderer, step| renderer.side(Side::Interest(cluster("a"), Interest::default()), step));
    let after = &world.interests[&cluster("a")];
    assert!(after.revision > before.revision);
    assert_eq!(after.sources[0].manifest, before.sources[0].manifest);
    assert!(world.take_log().is_empty(), "nothing is withdrawn for it");
}

#[test]
fn an_interest_row_that_is_older_than_what_others_work_with_is_written_anew() {
    let mut world = World::new(vec![trigger(true, json!({})), content(true, "1")]);
    world.ready(&["x"]);
    // The bucket was lost, and who wrote the row again had a clock that is behind.
    let newest = world.revision() + 100;
    let mut row = report("x", false);
    row.head.view.note(&cluster("a").to_string(), newest);
    world.row(row.clone());
    assert_eq!(world.revision(), newest + 1);
    let written = world.interests[&cluster("a")].clone();
    assert_eq!(written.sources[0].changed, newest + 1, "nobody knows what the newer one asked for");
    world.row(complete(newest));
    assert!(!world.renderer.completeness.is_complete(&cluster("a"), "s"), "it is of another row");
    world.row(row);
    world.put(trigger(true, json!({})));
    assert_eq!(world.revision(), newest + 1, "it is on its way");
    world.run(|renderer, step| renderer.side(Side::Interest(cluster("a"), written), step));
    world.row(complete(newest + 1));
    assert!(world.renderer.completeness.is_complete(&cluster("a"), "s"));
    world.now = 1;
    world.run(|renderer, step| renderer.side(Side::Interest(cluster("a"), Interest::default()), step));
    assert_eq!(world.revision(), newest + 2, "lost, and the clock was set back");
}

#[test]
fn a_name_that_another_cause_uses_is_waited_for_and_taken_over_without_a_gap() {
    let named = |name: &str, text: &str| {
        json!({"kind": "EventTrigger", "metadata": {"name": name}, "spec": {
            "sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "s",
            "profileNameFormat": "front",
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": text}]}})
    };
    let text = |name: &str| {
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
            "data": {"a": format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: {name}, mark: m}}\n")}})
    };
    let mut world = World::new(vec![named("one", "first"), text("first"), text("second")]);
    world.ready(&["x"]);
    assert_eq!(world.wanted(), ["a first m"]);
    world.put(named("two", "second"));
    assert_eq!(world.wanted(), ["a first m"], "who has it keeps it");
    assert!(world.problems.values().any(|error| error.contains("already made by EventTrigger one")));
    world.take_log();
    world.delete(named("one", "first"));
    assert_eq!((world.wanted(), world.take_log()), (vec!["a second m".to_owned()], vec!["+a".to_owned()]));
    assert!(world.problems.is_empty(), "{:?}", world.problems);
    world.delete(named("two", "second"));
    assert_eq!(world.take_log(), ["-a"]);
}

#[test]
fn a_paused_profile_keeps_what_it_has_and_fields_that_do_nothing_are_told() {
    let profile = |annotations: Value, name: &str| {
        json!({"kind": "ClusterProfile", "metadata": {"name": "p", "annotations": annotations}, "spec": {
            "clusterSelector": {"matchLabels": {"env": "fv"}}, "helmCharts": [{"chartName": "x"}],
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}})
    };
    let text = |name: &str| {
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
            "data": {"a": format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: {name}, mark: m}}\n")}})
    };
    let mut world = World::new(vec![profile(json!({}), "one"), text("one"), text("two")]);
    world.caught_up();
    assert_eq!(world.wanted(), ["a one m"]);
    assert!(world.problems["ClusterProfile p"].contains("spec.helmCharts"));
    world.put(profile(json!({"profile.projectsveltos.io/paused": "true"}), "two"));
    world.put(registration("b", json!({"env": "fv"})));
    assert_eq!(world.wanted(), ["a one m"]);
    world.put(profile(json!({}), "two"));
    assert_eq!(world.wanted(), ["a two m", "b two m"]);
    world.put(profile(json!({"profile.projectsveltos.io/paused": "true"}), "two"));
    world.delete(profile(json!({}), "two"));
    assert!(world.wanted().is_empty(), "a deleted one goes also while it is paused");
}

#[test]
fn references_of_a_users_profile_are_looked_up_for_each_cluster() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector":
        {"matchLabels": {"env": "fv"}}, "policyRefs": [{"kind": "ConfigMap", "namespace": "default",
        "name": "for-{{ .Cluster.metadata.name }}"}]}});
    let own = |name: &str, text: &str| {
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
            "data": {"a": format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: {text}, mark: m}}\n")}})
    };
    let mut world = World::new(vec![profile, own("for-a", "one")]);
    world.caught_up();
    world.put(registration("b", json!({"env": "fv"})));
    assert_eq!(world.wanted(), ["a one m"], "what is missing for b does not stop a");
    assert!(world.problems["ClusterProfile p"].contains("ConfigMap default/for-b does not exist"));
    world.put(own("for-b", "two"));
    assert_eq!(world.wanted(), ["a one m", "b two m"]);
    assert!(world.problems.is_empty());
    world.delete(own("for-a", "one"));
    assert_eq!(world.wanted(), ["a one m", "b two m"], "what is there stays while its source is missing");
}
