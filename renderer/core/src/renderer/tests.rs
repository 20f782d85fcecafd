#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::{Gvk, ObjectKey, ProfileId, TriggerId};
use sluice_protocol::interest::{Complete, Interest, Source};
use sluice_protocol::rows::{Cause, Desired, EventCause, UNRENDERED};
use sluice_protocol::subject::Table;
use sluice_protocol::{Body, Class, Meta, Publish};

use super::*;
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::catalog::{Change, Resource};
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::rights::{Question, Right};

mod arrival;
mod capabilities;
mod charts;
mod choices;
mod cloud_events;
mod decided_again;
mod defects;
mod departures;
mod dependencies;
mod destinations;
mod dry_runs;
mod generators;
mod jobs;
mod limits;
mod local;
mod pace;
mod patches;
mod provider;
mod pulling;
mod random;
mod redeploy;
mod resources;
mod rollbacks;
mod rollouts;
mod secrecy;
mod secrets;
mod syntax;
mod transitions;
mod withdrawals;

const INCARNATION: Incarnation = Incarnation::new(7);
/// How long a cluster is not registered before everything of it goes.
const FORGET_AFTER: i64 = 60_000_000;

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

/// A renderer with one shard, and what it has said so far.
struct Fixture {
    renderer: Renderer,
    now: i64,
    wake: Option<i64>,
    rows: BTreeMap<String, Option<Desired>>,
    /// The newest row of each place, as it was published.
    published: BTreeMap<String, Publish>,
    /// What the newest tombstones say, where they do not count at once.
    departures: BTreeMap<String, String>,
    log: Vec<String>,
    problems: BTreeMap<String, String>,
    /// Of the problems.
    classes: BTreeMap<String, Class>,
    projected: BTreeMap<String, Option<Value>>,
    interests: BTreeMap<ClusterRef, Interest>,
    /// Completeness rows of `desired`.
    said: Vec<Publish>,
    /// Whether each row with content was secret, in the order in which they were published.
    secrecies: Vec<bool>,
    statuses: BTreeMap<String, Value>,
    watched: BTreeSet<ObjectKey>,
    fetched: BTreeSet<ChartRequest>,
    /// With the number of the newest question.
    asked: BTreeMap<Question, u64>,
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
    let subject = Subject::Report {
        shard: Shard::FIRST,
        cluster: cluster("a"),
        source: "s".into(),
        origin: Shard::FIRST,
        object: key(name),
    };
    let head =
        Head { tombstone: gone, time: 5, meta: Meta::parse(r#"{"selectors":[0]}"#), ..Head::default() };
    let body = if gone {
        Vec::new()
    } else {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name}})
            .to_string()
            .into_bytes()
    };
    Row { subject, head, body: body.into(), sequence: Sequence::new(1) }
}

fn complete(revision: Revision) -> Row {
    let subject = Subject::Complete {
        table: Table::Reports,
        shard: Shard::FIRST,
        cluster: cluster("a"),
        origin: Some(Shard::FIRST),
    };
    let meta = Meta::Complete(Complete::of_all(INCARNATION, revision));
    Row { subject, head: Head { meta, ..Head::default() }, body: [].into(), sequence: Sequence::new(2) }
}

fn cause(item: Option<&str>) -> Cause {
    Cause::from(EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: cluster("a"),
        source: "s".into(),
        item: item.map(key),
    })
}

impl Fixture {
    /// Knows clusters `a` and `b`, the source, and `objects`; has started.
    fn new(objects: Vec<Value>) -> Self {
        Self::with(objects, |_| ())
    }

    fn with(objects: Vec<Value>, found: impl FnOnce(&mut Renderer)) -> Self {
        Self::told(Self::begin(objects, |renderer| {
            let known = Arc::new(ClusterCapabilities::of(sluice_chart::Capabilities::default()));
            for name in ["a", "b"] {
                let said = ExternalInput::Capabilities(cluster(name), Some(known.clone()));
                renderer.external(said, &mut Step::at(0));
            }
            found(renderer);
        }))
    }

    /// The same, and nobody has said what the clusters can do.
    fn unknowing(objects: Vec<Value>) -> Self {
        Self::told(Self::begin(objects, |_| ()))
    }

    fn told(mut fixture: Self) -> Self {
        fixture.run(|renderer, step| renderer.ask(step));
        for (cluster, row) in fixture.interests.clone() {
            fixture.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster, row), step));
        }
        fixture
    }

    /// The same before it has read anything.
    fn begin(objects: Vec<Value>, found: impl FnOnce(&mut Renderer)) -> Self {
        let clusters = [registration("a", json!({"env": "fv"})), registration("b", json!({"dep": "eng"}))];
        Self::begin_with(clusters.into_iter().chain([source()]).chain(objects).collect(), found)
    }

    /// Knows these objects alone.
    fn begin_with(objects: Vec<Value>, found: impl FnOnce(&mut Renderer)) -> Self {
        let config = Config {
            shard: Shard::FIRST,
            shards: 1,
            input: INCARNATION,
            outputs: vec![Incarnation::new(9)],
            tombstone_ttl: 1_000_000_000,
            limits: Limits::default(),
            salt: Salt::default(),
            forget_after: FORGET_AFTER,
            mark: 1000,
        };
        let mut fixture = Self {
            renderer: Renderer::new(config),
            now: 1_000_000,
            wake: None,
            published: BTreeMap::new(),
            rows: BTreeMap::new(),
            departures: BTreeMap::new(),
            log: Vec::new(),
            problems: BTreeMap::new(),
            classes: BTreeMap::new(),
            projected: BTreeMap::new(),
            interests: BTreeMap::new(),
            said: Vec::new(),
            secrecies: Vec::new(),
            statuses: BTreeMap::new(),
            watched: BTreeSet::new(),
            fetched: BTreeSet::new(),
            asked: BTreeMap::new(),
        };
        found(&mut fixture.renderer);
        for object in objects {
            fixture.put(object);
        }
        fixture.run(|renderer, step| renderer.start(step));
        fixture
    }

    fn put(&mut self, object: Value) {
        self.run(|renderer, step| {
            renderer.external(ExternalInput::Management(Change::Upsert(Arc::new(object))), step)
        });
    }

    fn delete(&mut self, object: Value) {
        self.run(|renderer, step| {
            renderer.external(ExternalInput::Management(Change::Delete(Arc::new(object))), step)
        });
    }

    /// A row, of a matcher that knows the present interest unless it says otherwise; a completeness row is the last of the
    /// table when the table has been read before.
    fn row(&mut self, mut row: Row) {
        let place = cluster("a").to_string();
        if let (Revision::NONE, Some(interest)) =
            (row.head.view.version(&place), self.interests.get(&cluster("a")))
        {
            row.head.view.note(&place, interest.revision);
        }
        self.run(|renderer, step| {
            renderer.row(&row, step);
            if matches!(row.subject, Subject::Complete { .. }) && renderer.outgoing.is_caught_up() {
                renderer.caught_up(Sequence::END, step);
            }
        });
    }

    fn caught_up(&mut self) {
        self.run(|renderer, step| renderer.caught_up(Sequence::END, step));
    }

    /// The revision of cluster `a`'s interest row.
    fn revision(&self) -> Revision {
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
        for _ in 0..step.hears() {
            self.renderer.all_stored(&mut step);
        }
        let (rows, effects, wake) = step.into_parts();
        self.wake = wake.or(self.wake);
        for row in rows {
            if matches!(row.subject, Subject::AllDesired { .. } | Subject::Complete { .. }) {
                self.said.push(row);
                continue;
            }
            let Subject::Desired { cluster, profile, .. } = &row.subject else { panic!("{row:?}") };
            let key = format!("{}/{}", cluster.name, profile.path());
            let value = match &row.body {
                Body::Value(bytes) if **bytes == *UNRENDERED => {
                    self.log.push(format!("?{}", cluster.name));
                    continue;
                }
                Body::Value(bytes) if bytes.starts_with(br#"{"goBack""#) => {
                    self.log.push(format!("<{}", cluster.name));
                    self.published.insert(key, row);
                    continue;
                }
                Body::Value(bytes) => Some(serde_json::from_slice::<Desired>(bytes).unwrap()),
                Body::Tombstone => None,
            };
            self.log.push(format!("{}{}", if value.is_some() { "+" } else { "-" }, cluster.name));
            self.secrecies.extend(value.is_some().then_some(row.secret));
            self.departures.remove(&key);
            if let Some(departure) = row.meta.departure() {
                let mut names: Vec<_> = departure.after.iter().map(|id| id.name.as_str()).collect();
                names.extend(departure.unregistered.then_some("unregistered"));
                self.departures.insert(key.clone(), names.join(" "));
            }
            self.published.insert(key.clone(), row);
            self.rows.insert(key, value);
        }
        for effect in effects {
            match effect {
                Effect::WriteInterest(cluster, row) => drop(self.interests.insert(cluster, row)),
                Effect::Problem(problem) => match &problem.fault {
                    Some(fault) => {
                        self.classes.insert(problem.object(), fault.class);
                        self.problems.insert(problem.object(), fault.to_string());
                    }
                    None => drop(self.problems.remove(&problem.object())),
                },
                Effect::Project(projection) => {
                    drop(self.projected.insert(projection.key.to_string(), projection.object))
                }
                Effect::WriteStatus(key, status) => drop(self.statuses.insert(key.to_string(), status)),
                Effect::Watch(key) => drop(self.watched.insert(key)),
                Effect::Unwatch(key) => assert!(self.watched.remove(&key), "{key} was not watched"),
                Effect::Fetch(request) => drop(self.fetched.insert(request)),
                Effect::Unfetch(request) => {
                    assert!(self.fetched.remove(&request), "{request} was not fetched")
                }
                Effect::Ask(question, number) => drop(self.asked.insert(question, number)),
                Effect::Unask(question) => {
                    assert!(self.asked.remove(&question).is_some(), "{question} was not asked")
                }
                Effect::Projected(_) => {}
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

mod contents;
mod events;
mod shards;
mod shown;
mod tenants;

#[test]
fn one_for_event_makes_one_profile_for_each_match() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
    fixture.row(report("x", true));
    assert_eq!(fixture.wanted(), ["a y 1"]);
}

#[test]
fn additions_flow_before_the_cluster_is_complete_but_not_one_for_all() {
    let mut each = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    each.row(report("x", false));
    assert!(each.wanted().is_empty(), "the shard has not been read");
    each.caught_up();
    assert_eq!(each.wanted(), ["a x 1"]);

    let mut all = Fixture::new(vec![trigger(false, json!({})), content(false, "1")]);
    all.row(report("x", false));
    all.caught_up();
    assert!(all.wanted().is_empty());
    all.row(complete(all.revision()));
    assert_eq!(all.wanted(), ["a x 1"]);
}

#[test]
fn bursts_of_one_set_are_rendered_together_and_the_first_at_once() {
    let mut fixture = Fixture::new(vec![trigger(false, json!({})), content(false, "1")]);
    fixture.ready(&[]);
    fixture.now += 1_000_000;
    for name in ["a", "b", "c"] {
        fixture.row(report(name, false));
    }
    assert_eq!((fixture.wanted(), fixture.take_log().len()), (vec!["a a 1".to_owned()], 1));
    fixture.wait();
    assert_eq!((fixture.wanted(), fixture.take_log().len()), (vec!["a abc 1".to_owned()], 1));
    for name in ["a", "b", "c"] {
        fixture.row(report(name, true));
        fixture.wait();
    }
    assert!(fixture.wanted().is_empty());
}

#[test]
fn changes_of_a_large_set_are_rendered_together_although_its_render_takes_longer_than_their_pause() {
    let mut fixture = Fixture::new(vec![trigger(false, json!({})), content(false, "1")]);
    fixture.ready(&[]);
    (0..200).for_each(|number| fixture.row(report(&format!("n{number}"), false)));
    fixture.wait();
    fixture.take_log();
    for name in ["x", "y", "z"] {
        fixture.now += 60_000;
        fixture.row(report(name, false));
    }
    assert!(fixture.take_log().is_empty());
    fixture.wait();
    assert_eq!(fixture.take_log().len(), 1);
}

#[test]
fn destinations_follow_the_labels_of_clusters() {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}});
    let mut fixture = Fixture::new(vec![trigger(true, to), content(true, "1")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["b x 1"]);
    fixture.put(registration("a", json!({"env": "fv", "dep": "eng"})));
    assert_eq!(fixture.wanted(), ["a x 1", "b x 1"]);
    fixture.put(registration("b", json!({})));
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.put(registration("a", json!({"dep": "eng"})));
    assert!(fixture.wanted().is_empty(), "its events do not count any more");
}

#[test]
fn an_edited_template_renders_exactly_what_was_made_of_it() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.take_log();
    fixture.put(content(true, "2"));
    assert_eq!(fixture.wanted(), ["a x 2"]);
    let mut other = content(true, "3");
    other["metadata"]["name"] = json!("other");
    fixture.take_log();
    fixture.put(other);
    assert!(fixture.take_log().is_empty());
}

#[test]
fn a_heartbeat_of_a_cluster_renders_nothing() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.take_log();
    let mut beat = registration("a", json!({"env": "fv"}));
    beat["status"] = json!({"agentLastReportTime": "now"});
    fixture.put(beat);
    assert!(fixture.take_log().is_empty());
}

#[test]
fn a_deleted_trigger_withdraws_what_it_made_and_forgets_its_interest() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.delete(trigger(true, json!({})));
    assert!(fixture.wanted().is_empty() && fixture.interests[&cluster("a")].sources.is_empty());
    assert!(
        fixture.projected.iter().all(|(key, object)| object.is_none() || key.starts_with("EventReport")),
        "{:?}",
        fixture.projected.keys()
    );
}

#[test]
fn what_a_source_led_to_stays_when_it_is_gone_also_after_a_takeover_and_goes_with_its_trigger() {
    for one in [true, false] {
        let mut fixture = Fixture::new(vec![trigger(one, json!({})), content(one, "1")]);
        fixture.ready(&["x"]);
        let wanted = fixture.wanted();
        fixture.delete(source());
        fixture.row(report("x", true));
        assert_eq!((fixture.wanted(), fixture.problems.len()), (wanted, 1), "one for event: {one}");
        fixture.delete(trigger(one, json!({})));
        assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "{:?}", fixture.problems);
    }
    let place = (cluster("a"), ProfileId::cluster("p"));
    let found = |renderer: &mut Renderer| renderer.planning.ledger.found(place, cause(None));
    let mut fixture = Fixture::with(vec![trigger(false, json!({})), content(false, "1")], found);
    fixture.delete(source());
    fixture.caught_up();
    assert!(fixture.take_log().is_empty());
    fixture.delete(trigger(false, json!({})));
    assert_eq!(fixture.take_log(), ["-a"]);
}

#[test]
fn what_was_an_event_of_a_source_that_was_away_is_judged_once_all_is_known_again() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    fixture.delete(source());
    fixture.row(report("x", true));
    fixture.row(report("y", true));
    fixture.put(source());
    for (cluster, row) in fixture.interests.clone() {
        fixture.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster, row), step));
    }
    fixture.row(report("x", false));
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"], "who has not told all proves nothing");
    fixture.row(complete(fixture.revision()));
    assert_eq!((fixture.wanted(), fixture.problems.len()), (vec!["a x 1".to_owned()], 0));
}

#[test]
fn a_trigger_that_names_a_source_that_is_not_there_withdraws_nothing_until_it_is_mended() {
    for one in [true, false] {
        let named = |name: &str| trigger(one, json!({"eventSourceName": name}));
        let mut fixture = Fixture::new(vec![named("s"), content(one, "1")]);
        fixture.ready(&["x"]);
        let wanted = fixture.wanted();
        fixture.put(named("typo"));
        let error = fixture.problems.values().next().unwrap();
        assert!(
            error.contains(
                "EventSource typo does not exist; create it or correct the name; nothing is withdrawn"
            ),
            "{error}"
        );
        assert_eq!(fixture.wanted(), wanted, "one for event: {one}");
        let mut other = source();
        other["metadata"]["name"] = "typo".into();
        fixture.put(other);
        assert!(fixture.wanted().is_empty() && fixture.problems.is_empty(), "it listens to that one now");
    }
}

/// The status row that says that a cluster holds a profile.
fn held_by(name: &str, profile: &str, cause: &Cause) -> Row {
    let subject = Subject::Status {
        shard: Shard::FIRST,
        cluster: cluster(name),
        origin: Shard::FIRST,
        profile: ProfileId::cluster(profile),
    };
    Row {
        subject,
        head: Head { meta: Meta::of_cause(cause), ..Head::default() },
        body: [].into(),
        sequence: Sequence::new(1),
    }
}

#[test]
fn what_is_held_is_not_judged_before_the_start() {
    let found = |renderer: &mut Renderer| {
        let row = held_by("a", "p", &Cause::Profile(ProfileId::cluster("p")));
        let mut step = Step::at(1);
        renderer.external(ExternalInput::Status(Arc::new(row)), &mut step);
        assert!(step.into_parts().0.is_empty(), "the profile may only not be known yet");
    };
    let mut fixture = Fixture::with(vec![], found);
    fixture.caught_up();
    assert_eq!(fixture.take_log(), ["-a"], "nobody wants it");
}

#[test]
fn nothing_is_rendered_twice_from_the_same() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.take_log();
    let mut newer = fixture.interests[&cluster("a")].clone();
    newer.revision = newer.revision.next();
    fixture
        .run(|renderer, step| renderer.external(ExternalInput::Interest(cluster("a"), newer.clone()), step));
    fixture.row(complete(newer.revision));
    assert!(fixture.take_log().is_empty(), "a newer proof of the same");
    fixture.row(report("x", false));
    assert_eq!(fixture.take_log(), ["+a"], "the event came again");
}

#[test]
fn a_failing_template_keeps_what_is_there_and_delays_nobody() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    let mut broken = content(true, "2");
    broken["data"]["a.yaml"] = json!("{{ .Resource.nope }}");
    fixture.put(broken);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    let error = &fixture.problems["EventTrigger t, EventSource s, Service default/x"];
    assert!(
        error
            .contains("spec.policyRefs[0]: ConfigMap default/content: data.a.yaml: template: default-a-t:1:")
            && error.contains("nope"),
        "{error}"
    );
    fixture.put(content(true, "3"));
    assert_eq!(fixture.wanted(), ["a x 3"]);
    assert!(fixture.problems.is_empty());
}

#[test]
fn a_broken_trigger_keeps_what_it_made_and_says_which_field() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.put(trigger(true, json!({"sourceClusterSelector": {"matchLabel": {}}})));
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(fixture.problems["EventTrigger t"].contains("spec.sourceClusterSelector: unknown field"));
    fixture.put(trigger(true, json!({})));
    assert!(fixture.problems.is_empty());
}

#[test]
fn a_problem_goes_with_the_trigger_that_has_it() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({}))]);
    fixture.ready(&["x"]);
    assert!(
        fixture.problems.values().any(|error| error.contains("ConfigMap default/content does not exist"))
    );
    fixture.delete(trigger(true, json!({})));
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
}

#[test]
fn what_cannot_be_read_concludes_nothing() {
    for one in [true, false] {
        let mut fixture = Fixture::new(vec![trigger(one, json!({})), content(one, "1")]);
        fixture.ready(&["x", "y"]);
        fixture.take_log();
        let row = report("x", false);
        fixture.row(Row { body: b"{".as_slice().into(), ..row });
        assert!(fixture.take_log().is_empty(), "one for event: {one}");
        assert!(fixture.problems.values().any(|error| error.contains("cannot be read")));
        fixture.row(report("x", false));
        assert!(fixture.problems.is_empty());
    }
}

#[test]
fn missing_things_are_named_and_waited_for() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({"eventSourceName": "nope"}))]);
    assert!(fixture.problems["EventTrigger t"].contains("EventSource nope does not exist"));
    fixture.put(trigger(true, json!({})));
    fixture.ready(&["x"]);
    assert!(
        fixture.problems.values().any(|error| error.contains("ConfigMap default/content does not exist"))
    );
    fixture.put(content(true, "1"));
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(fixture.problems.is_empty());
}

#[test]
fn what_a_former_owner_made_goes_only_when_the_set_is_complete() {
    let found = |renderer: &mut Renderer| {
        for (name, item) in [("gone", "gone"), ("there", "x")] {
            let subject = renderer.desired(&cluster("a"), &ProfileId::cluster(name));
            renderer.found(&subject, &Head { meta: Meta::of_cause(&cause(Some(item))), ..Head::default() });
        }
    };
    let objects = vec![trigger(true, json!({"profileNameFormat": "there"})), content(true, "1")];
    let mut fixture = Fixture::with(objects, found);
    fixture.row(report("x", false));
    fixture.caught_up();
    assert_eq!(fixture.take_log(), ["+a"]);
    fixture.row(complete(fixture.revision()));
    assert_eq!(fixture.rows["a/gone"], None);
    assert!(fixture.rows["a/there"].is_some());
}

#[test]
fn completeness_of_another_incarnation_or_an_older_interest_proves_nothing() {
    let found = |renderer: &mut Renderer| {
        let subject = renderer.desired(&cluster("a"), &ProfileId::cluster("gone"));
        renderer.found(&subject, &Head { meta: Meta::of_cause(&cause(Some("gone"))), ..Head::default() });
    };
    let mut fixture = Fixture::with(vec![trigger(true, json!({})), content(true, "1")], found);
    fixture.caught_up();
    let mut other = complete(fixture.revision());
    other.head.meta = Meta::Complete(Complete::of_all(INCARNATION.next(), fixture.revision()));
    fixture.row(other);
    fixture.row(complete(Revision::new(fixture.revision().get() - 1)));
    assert!(fixture.take_log().is_empty());
}

#[test]
fn what_a_cluster_holds_and_nobody_wants_is_withdrawn() {
    let mut fixture = Fixture::new(vec![]);
    fixture.caught_up();
    let row = held_by("b", "old", &cause(None));
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
    assert_eq!(fixture.take_log(), ["-b"], "its trigger does not exist");
}

#[test]
fn profiles_of_users_go_the_same_way() {
    let profile = |labels: Value| {
        json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector": {"matchLabels": labels},
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
    };
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: some, mark: \"{{ x }}\"}\n"}});
    let mut fixture = Fixture::new(vec![profile(json!({"env": "fv"})), plain]);
    assert_eq!(fixture.wanted(), ["a some {{ x }}"], "plain content is no template");
    fixture.put(profile(json!({"dep": "eng"})));
    assert_eq!(fixture.wanted(), ["b some {{ x }}"]);
    fixture.put(profile(json!({})));
    assert!(fixture.wanted().is_empty(), "an empty selector selects nothing");
}

#[test]
fn a_lost_destination_is_withdrawn_again_as_long_as_it_holds_something() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"clusterSelector":
        {"matchLabels": {"env": "fv"}}, "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}});
    let plain = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}});
    let mut fixture = Fixture::new(vec![profile, plain]);
    fixture.caught_up();
    fixture.put(registration("b", json!({"env": "fv"})));
    let row = held_by("b", "p", &Cause::Profile(ProfileId::cluster("p")));
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
    fixture.put(registration("b", json!({"env": "no"})));
    assert!(fixture.take_log().contains(&"-b".to_owned()));
    fixture.now += 2_000_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(fixture.take_log(), ["-b"], "the first tombstone may have expired unread");
}

#[test]
fn two_causes_with_one_profile_name_do_not_overwrite_each_other() {
    let mut fixture =
        Fixture::new(vec![trigger(true, json!({"profileNameFormat": "same"})), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    assert!(fixture.problems.values().any(|error| error.contains("already made by")));
}

#[test]
fn interest_rows_list_what_triggers_listen_to() {
    let fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    let names = |name: &str| {
        fixture.interests[&cluster(name)].sources.iter().map(|s: &Source| s.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((names("a"), names("b")), (vec!["s".to_owned()], vec![]));
}

#[test]
fn an_interest_row_that_is_lost_with_its_bucket_is_written_again() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    let before = fixture.interests.remove(&cluster("a")).unwrap();
    fixture.now += 1_000_000;
    fixture.take_log();
    fixture.run(|renderer, step| {
        renderer.external(ExternalInput::Interest(cluster("a"), Interest::default()), step)
    });
    let after = &fixture.interests[&cluster("a")];
    assert!(after.revision > before.revision);
    assert_eq!(after.sources[0].manifest, before.sources[0].manifest);
    assert!(fixture.take_log().is_empty(), "nothing is withdrawn for it");
}

#[test]
fn an_interest_row_that_is_older_than_what_others_work_with_is_written_anew() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    // The bucket was lost, and who wrote the row again had a clock that is behind.
    let newest = fixture.revision().after_more(100);
    let mut row = report("x", false);
    row.head.view.note(&cluster("a").to_string(), newest);
    fixture.row(row.clone());
    let after = fixture.revision();
    assert!(after > newest);
    let written = fixture.interests[&cluster("a")].clone();
    assert_eq!(written.sources[0].changed, after, "nobody knows what the newer one asked for");
    fixture.row(complete(newest));
    assert!(!fixture.renderer.knowledge.completeness.is_complete(&cluster("a"), "s"), "it is of another row");
    fixture.row(row);
    fixture.put(trigger(true, json!({})));
    assert_eq!(fixture.revision(), after, "it is on its way");
    fixture.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster("a"), written), step));
    fixture.row(complete(after));
    assert!(fixture.renderer.knowledge.completeness.is_complete(&cluster("a"), "s"));
    fixture.now = 1;
    fixture.run(|renderer, step| {
        renderer.external(ExternalInput::Interest(cluster("a"), Interest::default()), step)
    });
    assert!(fixture.revision() > after, "lost, and the clock was set back");
}

#[test]
fn a_new_renderer_reads_what_others_work_with_before_it_writes_an_interest_row_anew() {
    // Lost with its bucket; the new renderer has a clock that would make the very same revision again.
    let lost = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]).revision();
    let mut fixture = Fixture::begin(vec![trigger(true, json!({})), content(true, "1")], |_| ());
    assert!(fixture.interests.is_empty());
    fixture.row(complete(lost));
    fixture.run(|renderer, step| renderer.ask(step));
    assert!(fixture.revision() > lost);
}

#[test]
fn a_tombstone_of_a_former_form_of_the_source_waits_for_the_whole_set() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x", "y"]);
    let former = fixture.revision();
    fixture.now += 1_000_000;
    let mut wider = source();
    wider["spec"]["resourceSelectors"][0]["namespace"] = json!("default");
    fixture.put(wider);
    let written = fixture.interests[&cluster("a")].clone();
    assert!(written.revision > former);
    fixture.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster("a"), written), step));
    let mut gone = report("x", true);
    gone.head.view.note(&cluster("a").to_string(), former);
    fixture.row(gone);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"], "it may match the source as it is now");
    fixture.row(report("y", true));
    assert_eq!(fixture.wanted(), ["a x 1"], "this one's matcher knows it");
    fixture.row(complete(fixture.revision()));
    assert!(fixture.wanted().is_empty());
}

#[test]
fn a_new_renderer_does_not_believe_a_tombstone_of_a_former_form_of_the_source() {
    let cause = cause(Some("x"));
    let mut first = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    first.ready(&["x"]);
    let (former, interests) = (first.revision(), first.interests.clone());
    let name = first.rows.keys().next().unwrap().trim_start_matches("a/").to_owned();
    let mut fixture = Fixture::begin(vec![trigger(true, json!({})), content(true, "1")], |renderer| {
        renderer.planning.ledger.found((cluster("a"), ProfileId::cluster(&name)), cause);
    });
    let mut present = interests[&cluster("a")].clone();
    present.revision = former.after_more(100);
    present.sources[0].changed = former.after_more(100);
    fixture.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster("a"), present), step));
    let mut gone = report("x", true);
    gone.head.view.note(&cluster("a").to_string(), former);
    fixture.row(gone);
    fixture.caught_up();
    assert!(fixture.take_log().is_empty(), "the object may be there, and its matcher on its way");
    fixture.row(complete(former.after_more(100)));
    assert_eq!(fixture.take_log(), ["-a"]);
}

#[test]
fn two_renderers_that_follow_one_revision_make_different_ones() {
    let config = |mark| Config {
        shard: Shard::FIRST,
        shards: 1,
        input: INCARNATION,
        outputs: Vec::new(),
        tombstone_ttl: 1,
        limits: Limits::default(),
        salt: Salt::default(),
        forget_after: FORGET_AFTER,
        mark,
    };
    for mark in [0, 1, 1023, 1024, u64::MAX] {
        for least in [0, 1, 500, 1023, 1024, 1_700_000_000_000, u64::MAX] {
            let revision = config(mark).revision(Revision::new(least)).get();
            assert!(revision >= least && revision - least < MARKS);
            assert!(revision % MARKS == mark % MARKS || revision == u64::MAX);
        }
    }
}

#[test]
fn it_says_that_all_its_rows_are_there_once_it_knows_what_they_are() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.row(report("x", false));
    fixture.caught_up();
    fixture.wait();
    assert!(fixture.said.is_empty(), "there may be more events");
    fixture.row(complete(fixture.revision()));
    fixture.now += 1_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    let [said] = &fixture.said[..] else { panic!("{:?}", fixture.said) };
    assert_eq!(said.subject, Subject::AllDesired { shard: Shard::FIRST, origin: Shard::FIRST });
    assert!(
        said.barrier
            && said.meta.complete().is_some_and(|complete| complete.incarnation == Incarnation::new(9))
    );
    fixture.wait();
    assert_eq!(fixture.said.len(), 1, "it says so once");
}

#[test]
fn a_cluster_that_is_away_does_not_keep_it_from_saying_so_for_ever() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.caught_up();
    fixture.now += 59_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert!(fixture.said.is_empty());
    fixture.now += 1_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(fixture.said.len(), 1);
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
    let mut fixture = Fixture::new(vec![named("one", "first"), text("first"), text("second")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a first m"]);
    fixture.put(named("two", "second"));
    assert_eq!(fixture.wanted(), ["a first m"], "who has it keeps it");
    assert!(fixture.problems.values().any(|error| error.contains("already made by EventTrigger one")));
    fixture.take_log();
    fixture.delete(named("one", "first"));
    assert_eq!(
        (fixture.wanted(), fixture.take_log()),
        (vec!["a second m".to_owned()], vec!["+a".to_owned()])
    );
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    fixture.delete(named("two", "second"));
    assert_eq!(fixture.take_log(), ["-a"]);
}

#[test]
fn a_paused_profile_keeps_what_it_has_and_fields_that_do_nothing_are_told() {
    let profile = |annotations: Value, name: &str| {
        json!({"kind": "ClusterProfile", "metadata": {"name": "p", "annotations": annotations}, "spec": {
            "clusterSelector": {"matchLabels": {"env": "fv"}}, "kustomizationRefs": [{"name": "x"}],
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}]}})
    };
    let text = |name: &str| {
        json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": name},
            "data": {"a": format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: {name}, mark: m}}\n")}})
    };
    let mut fixture = Fixture::new(vec![profile(json!({}), "one"), text("one"), text("two")]);
    fixture.caught_up();
    assert_eq!(fixture.wanted(), ["a one m"]);
    assert!(fixture.problems["ClusterProfile p"].contains("spec.kustomizationRefs"));
    fixture.put(profile(json!({"profile.projectsveltos.io/paused": "true"}), "two"));
    fixture.put(registration("b", json!({"env": "fv"})));
    assert_eq!(fixture.wanted(), ["a one m"]);
    fixture.put(profile(json!({}), "two"));
    assert_eq!(fixture.wanted(), ["a two m", "b two m"]);
    fixture.put(profile(json!({"profile.projectsveltos.io/paused": "true"}), "two"));
    fixture.delete(profile(json!({}), "two"));
    assert!(fixture.wanted().is_empty(), "a deleted one goes also while it is paused");
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
    let mut fixture = Fixture::new(vec![profile, own("for-a", "one")]);
    fixture.caught_up();
    fixture.put(registration("b", json!({"env": "fv"})));
    assert_eq!(fixture.wanted(), ["a one m"], "what is missing for b does not stop a");
    assert!(fixture.problems["ClusterProfile p"].contains("ConfigMap default/for-b does not exist"));
    fixture.put(own("for-b", "two"));
    assert_eq!(fixture.wanted(), ["a one m", "b two m"]);
    assert!(fixture.problems.is_empty());
    fixture.delete(own("for-a", "one"));
    assert_eq!(fixture.wanted(), ["a one m", "b two m"], "what is there stays while its source is missing");
}
