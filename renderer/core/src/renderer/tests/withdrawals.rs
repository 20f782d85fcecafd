//! What would withdraw much of a fleet at once.

use std::fmt::Write as _;

use sluice_protocol::rows::{State, Status};

use super::*;
use crate::planning::withdrawals::WithdrawGuard;

fn profile(name: &str, key: &str) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": {
        "clusterSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

fn plain() -> Value {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: own, mark: \"1\"}\n";
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}})
}

fn clusters(label: &str, count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(move |number| registration(&format!("{label}-{number}"), json!({label: "yes"})))
}

/// 40 clusters have `p` and 60 others `q`, if these objects say so.
fn fleet(objects: Vec<Value>) -> Vec<Value> {
    clusters("in", 40).chain(clusters("other", 60)).chain([plain()]).chain(objects).collect()
}

fn guarded(objects: Vec<Value>, found: impl FnOnce(&mut Renderer)) -> Fixture {
    let fixture = Fixture::begin(objects, |renderer| {
        let made = std::mem::replace(renderer, Renderer::new(renderer.config.clone()));
        *renderer = made.guarded_by(Some(WithdrawGuard::USUAL));
        found(renderer);
    });
    Fixture::told(fixture)
}

fn mk_fixture() -> Fixture {
    let mut fixture = guarded(fleet(vec![profile("p", "in"), profile("q", "other")]), |_| ());
    fixture.ready(&[]);
    assert_eq!(fixture.counts(), (40, 60));
    fixture
}

/// 40 events of one cluster led to something there, and 60 clusters have `q`.
fn of_events() -> Fixture {
    let objects = vec![trigger(true, json!({})), content(true, "1"), profile("q", "other")];
    let mut fixture = guarded(fleet(objects), |_| ());
    fixture.ready(&[]);
    fixture.events(40, false);
    fixture
}

fn narrow_source() -> Value {
    let mut other = source();
    other["spec"]["resourceSelectors"][0]["labelFilters"] =
        json!([{"key": "a", "operation": "Equal", "value": "b"}]);
    other
}

fn approvals(called: &str, at: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "projectsveltos", "name": "sluice-approvals"}, "data": {called: at}})
}

impl Fixture {
    /// How many clusters have `p` and `q`.
    fn counts(&self) -> (usize, usize) {
        let of = |name: &str| {
            let rows = self.rows.iter().filter(|(place, row)| place.ends_with(name) && row.is_some());
            rows.count()
        };
        (of("/p"), of("/q"))
    }

    fn held_up(&self) -> Option<&str> {
        self.problems.get("withdrawals of shard 00").map(String::as_str)
    }

    /// What waits is called so.
    fn called(&self) -> String {
        let text = self.held_up().unwrap();
        let (_, called) = text.split_once("`sluice approve ").unwrap();
        called.split_once('`').unwrap().0.to_owned()
    }

    /// So many events of cluster `a`, or (`gone`) their end.
    fn events(&mut self, count: usize, gone: bool) {
        (0..count).for_each(|number| self.row(report(&format!("n{number}"), gone)));
    }
}

#[test]
fn a_deleted_profile_that_much_of_a_fleet_has_stays_until_somebody_approves() {
    let mut fixture = mk_fixture();
    fixture.delete(profile("p", "in"));
    assert_eq!(fixture.counts(), (40, 60));
    let text = fixture.held_up().unwrap();
    assert!(text.starts_with("40 of 100 add-ons would be withdrawn at once, from 40 clusters"), "{text}");
    assert!(text.contains("(ClusterProfile p)"), "{text}");
    let called = fixture.called();
    // Of another time, and of something else.
    fixture.put(approvals(&called, "2001-01-01T00:00:00Z"));
    fixture.put(approvals("else", "1970-01-01T00:00:01Z"));
    assert_eq!(fixture.counts(), (40, 60));
    fixture.put(approvals(&called, "1970-01-01T00:00:01Z"));
    assert_eq!((fixture.counts(), fixture.held_up()), ((0, 60), None));
}

#[test]
fn what_is_put_back_is_as_it_was() {
    let mut fixture = mk_fixture();
    fixture.delete(profile("p", "in"));
    fixture.put(profile("p", "in"));
    assert_eq!((fixture.counts(), fixture.held_up()), ((40, 60), None));
    fixture.put(registration("in-7", json!({})));
    assert_eq!((fixture.counts(), fixture.held_up()), ((39, 60), None), "little goes at once");
}

#[test]
fn a_selector_that_loses_much_waits_and_gains_at_once() {
    let mut fixture = mk_fixture();
    fixture.put(profile("q", "in"));
    assert_eq!(fixture.counts(), (40, 100));
    assert!(fixture.held_up().unwrap().starts_with("60 of 140 add-ons"), "{:?}", fixture.held_up());
    // Also when it is looked at for another reason.
    fixture.put(registration("in-99", json!({"in": "yes"})));
    assert_eq!(fixture.counts(), (41, 101));
    // What it gained meanwhile is much as well.
    fixture.put(profile("q", "other"));
    assert_eq!(fixture.counts(), (41, 101));
    assert!(fixture.held_up().unwrap().starts_with("41 of 142 add-ons"), "{:?}", fixture.held_up());
    fixture.put(approvals(&fixture.called(), "1970-01-01T00:00:01Z"));
    assert_eq!((fixture.counts(), fixture.held_up()), ((41, 60), None));
}

#[test]
fn what_goes_one_by_one_within_a_minute_counts_together() {
    let mut fixture = mk_fixture();
    for number in 0..40 {
        fixture.put(registration(&format!("in-{number}"), json!({})));
    }
    assert_eq!(fixture.counts(), (15, 60), "a quarter has gone");
    let called = fixture.called();
    fixture.put(approvals(&called, "1970-01-01T00:00:01Z"));
    assert_eq!((fixture.counts(), fixture.held_up()), ((0, 60), None));
}

#[test]
fn what_events_take_away_goes_and_what_their_trigger_takes_away_waits() {
    let mut fixture = of_events();
    assert_eq!(fixture.wanted().len(), 100);
    fixture.events(10, true);
    assert_eq!((fixture.wanted().len(), fixture.held_up()), (90, None));
    fixture.delete(trigger(true, json!({})));
    fixture.hear_interests();
    assert_eq!(fixture.wanted().len(), 90);
    let text = fixture.held_up().unwrap();
    assert!(text.starts_with("30 of 90 add-ons would be withdrawn at once, from 1 clusters"), "{text}");
    fixture.put(trigger(true, json!({})));
    assert_eq!((fixture.wanted().len(), fixture.held_up()), (90, None));
    fixture.hear_interests();
    fixture.events(40, true);
    fixture.row(complete(fixture.revision()));
    assert_eq!((fixture.wanted().len(), fixture.held_up()), (60, None), "all of its events have gone");
}

#[test]
fn what_a_changed_source_takes_away_event_by_event_waits() {
    let mut fixture = of_events();
    fixture.put(narrow_source());
    fixture.hear_interests();
    fixture.events(40, true);
    fixture.row(complete(fixture.revision()));
    assert_eq!((fixture.wanted().len(), fixture.held_up()), (100, None), "it is gathered");
    fixture.now += 1_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(fixture.wanted().len(), 100);
    assert!(fixture.held_up().unwrap().starts_with("40 of 100"), "{:?}", fixture.held_up());
    fixture.put(source());
    fixture.hear_interests();
    fixture.events(40, false);
    fixture.now += 1;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!((fixture.wanted().len(), fixture.held_up()), (100, None));
}

#[test]
fn what_events_of_a_new_source_take_away_goes_at_once() {
    let objects = vec![trigger(true, json!({})), content(true, "1"), profile("q", "other")];
    let mut fixture = guarded(fleet(objects), |_| ());
    fixture.ready(&[]);
    fixture.put(narrow_source());
    fixture.hear_interests();
    fixture.events(40, false);
    assert_eq!(fixture.wanted().len(), 100);
    fixture.row(complete(fixture.revision()));
    fixture.events(40, true);
    let before = (fixture.wanted().len(), fixture.held_up().map(str::to_owned));
    fixture.now += 1_000_000;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!((before, fixture.wanted().len(), fixture.held_up()), ((60, None), 60, None));
}

#[test]
fn a_successor_holds_up_the_same() {
    let before = mk_fixture();
    let heads: Vec<(Subject, Head)> = (0..40)
        .map(|number| {
            let profile = ProfileId::cluster("p");
            let cluster = cluster(&format!("in-{number}"));
            let subject = Subject::Desired { shard: Shard::FIRST, cluster, origin: Shard::FIRST, profile };
            let meta = Meta::of_cause(&Cause::Profile(ProfileId::cluster("p")));
            (subject.clone(), Publish::new(subject, Body::value([]), 1).meta(meta).head())
        })
        .collect();
    let mut fixture = guarded(fleet(vec![profile("q", "other")]), |renderer| {
        heads.iter().for_each(|(subject, head)| renderer.found(subject, head));
    });
    fixture.ready(&[]);
    assert_eq!(fixture.take_log().iter().filter(|line| line.starts_with('-')).count(), 0);
    let called = fixture.called();
    let mut before = before;
    before.delete(profile("p", "in"));
    assert_eq!(called, before.called(), "an approval outlives the renderer");
    fixture.put(approvals(&called, "1970-01-01T00:00:01Z"));
    assert_eq!(fixture.take_log().iter().filter(|line| line.starts_with('-')).count(), 40);
}

/// A deployer holds something of a profile on this cluster, of which it knows no row.
fn asking(name: &str) -> ExternalInput {
    holding(name, "p", &Cause::Profile(ProfileId::cluster("p")))
}

fn holding(name: &str, profile: &str, cause: &Cause) -> ExternalInput {
    let profile = ProfileId::cluster(profile);
    let subject =
        Subject::Status { shard: Shard::FIRST, cluster: cluster(name), origin: Shard::FIRST, profile };
    let body = serde_json::to_vec(&Status::new(State::Held, Vec::new())).unwrap();
    let row = Row {
        subject,
        head: Head { meta: Meta::of_cause(cause), ..Head::default() },
        body: body.into(),
        sequence: Sequence::new(1),
    };
    ExternalInput::Status(Arc::new(row))
}

#[test]
fn what_was_decided_is_said_again_to_who_asks_and_what_nobody_decided_waits() {
    let mut fixture = mk_fixture();
    fixture.delete(profile("p", "in"));
    fixture.put(approvals(&fixture.called(), "1970-01-01T00:00:01Z"));
    fixture.take_log();
    (0..40).for_each(|number| {
        fixture.run(|renderer, step| renderer.external(asking(&format!("in-{number}")), step));
    });
    assert_eq!((fixture.take_log().len(), fixture.held_up()), (40, None), "its deployers are others by now");
    // Of these there is neither row nor tombstone: both were lost.
    let mut fixture = guarded(fleet(vec![profile("q", "other")]), |renderer| {
        (0..40).for_each(|number| renderer.external(asking(&format!("in-{number}")), &mut Step::at(0)));
    });
    fixture.ready(&[]);
    let text = fixture.held_up().unwrap();
    assert!(text.starts_with("40 of 100 add-ons would be withdrawn at once"), "{text}");
}

#[test]
fn of_clusters_that_are_deregistered_nothing_waits() {
    let mut fixture = mk_fixture();
    for number in 0..60 {
        fixture.delete(registration(&format!("other-{number}"), json!({"other": "yes"})));
    }
    assert_eq!((fixture.counts(), fixture.held_up()), ((40, 0), None));
}

/// Events of cluster `a` led to something on 40 others.
fn of_a_hub() -> Vec<Value> {
    let to =
        json!({"destinationClusterSelector": {"matchExpressions": [{"key": "in", "operator": "Exists"}]}});
    fleet(vec![trigger(true, to), content(true, "1"), profile("q", "other")])
}

#[test]
fn what_a_deregistered_cluster_takes_away_elsewhere_waits_and_what_is_found_of_one_later_goes() {
    let hub = registration("a", json!({"env": "fv"}));
    let mut fixture = guarded(of_a_hub(), |_| ());
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted().len(), 100);
    fixture.delete(hub.clone());
    let text = fixture.held_up().unwrap();
    assert!(text.starts_with("40 of 100 add-ons would be withdrawn at once, from 40 clusters"), "{text}");
    assert!(text.contains("EventTrigger t of sveltos:default/a, which is not registered any more"), "{text}");
    let place = fixture.rows.keys().find(|place| place.starts_with("in-0/")).unwrap();
    let profile = place.strip_prefix("in-0/").unwrap().to_owned();
    let holds = |name: &str| holding(name, &profile, &cause(Some("x")));
    fixture.run(|renderer, step| renderer.external(holds("in-0"), step));
    assert_eq!(fixture.wanted().len(), 100, "it waits");
    // Nobody knew of this when the cluster was deregistered.
    let mut fixture = guarded(of_a_hub(), |_| ());
    fixture.ready(&[]);
    fixture.delete(hub);
    fixture.take_log();
    for number in 0..40 {
        fixture.run(|renderer, step| renderer.external(holds(&format!("in-{number}")), step));
    }
    assert_eq!((fixture.take_log().len(), fixture.held_up()), (40, None));
}

#[test]
fn without_a_guard_all_goes() {
    let mut fixture = Fixture::new(fleet(vec![profile("p", "in"), profile("q", "other")]));
    fixture.ready(&[]);
    fixture.delete(profile("p", "in"));
    let mut said = String::new();
    fixture.problems.keys().for_each(|about| write!(said, "{about} ").unwrap());
    assert_eq!((fixture.counts(), said.as_str()), ((0, 60), ""));
}

// === Several shards ===

/// The shard of four that has the events of cluster `a`; it led to ten add-ons there, of a hundred in the fleet. The trigger selects 40
/// other clusters, too.
fn of_four_shards() -> Fixture {
    let selected = (0..40).map(|number| registration(&format!("more-{number}"), json!({"env": "fv"})));
    let objects = selected.chain([registration("a", json!({"env": "fv"})), source(), content(true, "1")]);
    let mut fixture =
        Fixture::told(Fixture::begin_with(objects.chain([trigger(true, json!({}))]).collect(), |renderer| {
            let shard = sluice_protocol::subject::cluster_shard(&cluster("a"), 4);
            let outputs = vec![Incarnation::new(9); 4];
            let config = Config { shard, shards: 4, outputs, ..renderer.config.clone() };
            *renderer = Renderer::new(config).guarded_by(Some(WithdrawGuard::USUAL));
            let known = Arc::new(ClusterCapabilities::of(sluice_chart::Capabilities::default()));
            let said = ExternalInput::Capabilities(cluster("a"), Some(known));
            renderer.external(said, &mut Step::at(0));
        }));
    fixture.run(|renderer, step| renderer.external(ExternalInput::Fleet(100), step));
    fixture.ready(&[]);
    fixture.events(10, false);
    assert_eq!(fixture.made(), 10);
    fixture
}

impl Fixture {
    /// How many rows there are.
    fn made(&self) -> usize {
        self.rows.values().filter(|row| row.is_some()).count()
    }

    /// What waits, of any shard.
    fn waits(&self) -> Option<&str> {
        let mut problems =
            self.problems.iter().filter(|(about, _)| about.starts_with("withdrawals of shard"));
        problems.next().map(|(_, text)| text.as_str())
    }
}

#[test]
fn what_other_shards_would_withdraw_counts() {
    let mut fixture = of_four_shards();
    fixture.delete(trigger(true, json!({})));
    assert_eq!(fixture.made(), 10, "a quarter of the clusters are this shard's: some forty of a hundred go");
    let text = fixture.waits().unwrap();
    assert!(
        text.starts_with("10 of 100 add-ons would be withdrawn at once, from 1 clusters (about "),
        "{text}"
    );
    // One cluster is this shard's alone.
    let mut fixture = of_four_shards();
    fixture.put(registration("a", json!({})));
    assert_eq!((fixture.made(), fixture.waits()), (0, None));
    // Of one cluster after the other the same is done.
    let mut fixture = of_four_shards();
    for number in 0..40 {
        fixture.put(registration(&format!("more-{number}"), json!({})));
    }
    fixture.put(registration("a", json!({})));
    assert_eq!(fixture.made(), 10, "{:?}", fixture.waits());
}

#[test]
fn of_a_trigger_that_could_not_be_read_all_clusters_count() {
    let mut fixture = of_four_shards();
    let mut broken = trigger(true, json!({}));
    broken["spec"]["eventSourceName"] = json!(1);
    fixture.put(broken);
    assert_eq!(fixture.made(), 10, "what it made stays");
    let mut elsewhere = trigger(true, json!({}));
    elsewhere["spec"]["sourceClusterSelector"] = json!({"matchLabels": {"env": "other"}});
    fixture.put(elsewhere);
    assert_eq!(fixture.made(), 10);
    let text = fixture.waits().unwrap();
    assert!(text.contains(" by all shards of the renderers)"), "{text}");
}
