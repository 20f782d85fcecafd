//! Several makers of one profile, and profiles of one name that are not the same.

use sluice_api::TriggerId;
use sluice_protocol::Shard;
use sluice_protocol::rows::{EventCause, UNRENDERED};

use super::*;

/// With so many shards makers differ.
const SHARDS: u16 = 16;

/// A trigger's event in a cluster of this name; everything that it makes.
fn event(source: &str) -> Cause {
    let cluster = ClusterRef::sveltos("default", source);
    Cause::from(EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster,
        source: "s".into(),
        item: None,
    })
}

/// A profile in namespace `team`, or a ClusterProfile where it is empty.
fn made(namespace: &str, cause: &Cause, objects: Vec<Value>) -> Desired {
    Desired {
        owner_kind: if namespace.is_empty() { "ClusterProfile" } else { "Profile" }.into(),
        owner_namespace: namespace.into(),
        cause: cause.clone(),
        ..desired("front", 100, objects)
    }
}

impl Fixture {
    fn with_shards(shards: u16) -> Self {
        let mut fixture = Self::new();
        fixture.begin(shards);
        fixture
    }

    /// A new owner.
    fn begin(&mut self, shards: u16) {
        self.replace(shards);
        self.reach();
        self.read_all();
    }

    fn made(&mut self, id: &ProfileId, origin: Shard, time: i64, desired: Option<Desired>) {
        let body = desired.map(|desired| serde_json::to_vec(&desired).unwrap());
        self.written(id, origin, time, body);
    }

    /// A row of a version that this one does not know.
    fn unreadable(&mut self, id: &ProfileId, origin: Shard, time: i64) {
        self.written(id, origin, time, Some(b"{\"content\":[]}".to_vec()));
    }

    fn written(&mut self, id: &ProfileId, origin: Shard, time: i64, body: Option<Vec<u8>>) {
        let subject =
            Subject::Desired { shard: Shard::FIRST, cluster: cluster(), origin, profile: id.clone() };
        let head = Head { tombstone: body.is_none(), time, ..Head::default() };
        let body = body.unwrap_or_default();
        let row = Row { subject, head, body: body.into(), sequence: Sequence::new(1) };
        self.run(|deployer, step| deployer.row(&row, step));
    }

    fn status_of(&self, path: &str, origin: Shard) -> Option<&Status> {
        self.by_maker.get(&(path.to_owned(), origin))?.as_ref()
    }
}

#[test]
fn the_elder_of_two_makers_stays_and_the_other_is_told_and_follows_it() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    assert_ne!(of_a, of_b);
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1"), config_map("y", "1")])));
    // Its event is older, but the other has it already.
    fixture.made(&front, of_b, 4, Some(made("", &b, vec![config_map("x", "2")])));
    assert_eq!(fixture.names(), ["x", "y"]);
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
    let waiting = fixture.status_of("front", of_b).unwrap();
    assert_eq!(waiting.state, State::Failed);
    assert!(waiting.errors[0].contains("already made on sveltos:default/c by EventTrigger t"), "{waiting:?}");
    let told = fixture.problems.last().unwrap();
    assert_eq!(
        (&*told.cluster, &*told.object()),
        ("sveltos:default/b", "EventTrigger t, EventSource s, on sveltos:default/c")
    );
    fixture.take_calls();
    fixture.made(&front, of_a, 6, None);
    assert_eq!(
        fixture.take_calls(),
        ["inventory 2", "apply x", "delete y", "inventory 1"],
        "x is there all the time"
    );
    assert_eq!(fixture.status_of("front", of_a), None);
    assert_eq!(fixture.status_of("front", of_b).unwrap().state, State::Provisioned);
    assert!(fixture.problems.last().unwrap().error().is_none(), "it need not wait any more");
    fixture.made(&front, of_b, 7, None);
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn a_makers_tombstone_takes_nothing_from_another() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.made(&front, a.origin(SHARDS), 1, Some(made("", &a, vec![config_map("x", "1")])));
    fixture.made(&front, b.origin(SHARDS), 2, Some(made("", &b, vec![config_map("x", "2")])));
    fixture.take_calls();
    fixture.made(&front, b.origin(SHARDS), 3, None);
    assert!(fixture.take_calls().is_empty());
    assert_eq!((fixture.names(), fixture.status_of("front", b.origin(SHARDS))), (vec!["x"], None));
    assert!(fixture.problems.last().unwrap().error().is_none());
}

#[test]
fn what_another_maker_needs_counts_as_soon_as_it_has_the_name() {
    let (front, a, b, own) =
        (ProfileId::cluster("front"), event("a"), event("b"), ProfileId::cluster("base"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    let of_base = Cause::Profile(own.clone()).origin(SHARDS);
    let mut fixture = Fixture::with_shards(SHARDS);
    let needing = |cause: &Cause, needs: &[&str]| {
        let mut row = made("", cause, vec![config_map("x", "1")]);
        row.spec.insert("dependsOn".into(), json!(needs));
        row
    };
    fixture.made(&own, of_base, 1, Some(desired("base", 100, vec![config_map("base", "1")])));
    fixture.made(&front, of_a, 2, Some(needing(&a, &["base"])));
    fixture.made(&front, of_b, 3, Some(needing(&b, &[])));
    fixture.made(&own, of_base, 4, None);
    assert_eq!(fixture.names(), ["base", "x"], "it is needed");
    fixture.made(&front, of_a, 5, None);
    assert_eq!(fixture.status_of("front", of_b).unwrap().state, State::Provisioned);
    assert_eq!(fixture.names(), ["x"], "who has the name now needs nothing");
    // And the other way round: it waits, and what is there stays.
    fixture.made(&front, of_a, 6, Some(needing(&a, &["base"])));
    fixture.made(&front, of_b, 7, None);
    assert_eq!(
        (fixture.names(), fixture.status_of("front", of_a).map(|status| status.state)),
        (vec!["x"], Some(State::Failed))
    );
    fixture.made(&own, of_base, 8, Some(desired("base", 100, vec![config_map("base", "1")])));
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
}

#[test]
fn a_maker_that_went_while_the_cluster_was_not_registered_has_no_status_any_more() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    let mut fixture = Fixture::with_shards(SHARDS);
    for (time, cause) in [(5, &a), (6, &b)] {
        fixture.made(&front, cause.origin(SHARDS), time, Some(made("", cause, vec![config_map("x", "1")])));
    }
    assert!(fixture.status_of("front", of_b).is_some());
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    fixture.made(&front, of_a, 7, None);
    fixture.made(&front, of_b, 7, None);
    fixture.reach();
    // It is told what is held, and wants it again.
    fixture.made(&front, of_a, 8, Some(made("", &a, vec![config_map("x", "1")])));
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
    assert_eq!(fixture.status_of("front", of_b), None);
}

#[test]
fn what_a_maker_wants_that_cannot_be_read_is_not_deleted() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1")])));
    fixture.unreadable(&front, of_b, 6);
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
    assert!(fixture.problems.last().unwrap().error().unwrap().contains("cannot be read"));
    fixture.take_calls();
    fixture.made(&front, of_a, 7, None);
    assert!(fixture.take_calls().is_empty(), "what it wants may be the same");
    assert_eq!(fixture.status_of("front", of_a), None);
    let status = fixture.status_of("front", of_b).unwrap();
    assert_eq!(status.state, State::Failed);
    assert!(status.errors[0].contains("cannot be read"), "{status:?}");
    // A new owner that cannot read it either.
    fixture.begin(SHARDS);
    fixture.unreadable(&front, of_b, 6);
    fixture.made(&front, of_a, 7, None);
    assert_eq!(fixture.names(), ["x"]);
    fixture.made(&front, of_b, 8, Some(made("", &b, vec![config_map("y", "1")])));
    assert_eq!(fixture.names(), ["y"]);
    assert_eq!(fixture.status_of("front", of_b).unwrap().state, State::Provisioned);
    assert!(fixture.problems.last().unwrap().error().is_none());
}

/// Its maker says what is wrong; here it only counts.
#[test]
fn what_a_maker_without_content_yet_may_want_is_not_deleted() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.written(&front, of_b, 4, Some(UNRENDERED.into()));
    assert!(fixture.problems.is_empty() && fixture.by_maker.is_empty(), "nothing is held of it");
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1"), config_map("y", "1")])));
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
    fixture.take_calls();
    fixture.made(&front, of_a, 7, None);
    assert!(fixture.take_calls().is_empty(), "what it wants may be the same");
    let status = fixture.status_of("front", of_b).unwrap();
    assert_eq!(status.state, State::Failed);
    assert!(status.errors[0].contains("ClusterProfile front has nothing to deploy yet"), "{status:?}");
    fixture.made(&front, of_b, 8, Some(made("", &b, vec![config_map("x", "2")])));
    assert_eq!(fixture.names(), ["x"]);
    assert!(fixture.problems.last().unwrap().error().is_none());
    fixture.written(&front, of_b, 9, Some(UNRENDERED.into()));
    fixture.made(&front, of_b, 10, None);
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn the_last_readable_form_of_a_row_stays_and_its_problem_too() {
    let (front, a) = (ProfileId::cluster("front"), event("a"));
    let of_a = a.origin(SHARDS);
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.unreadable(&front, of_a, 4);
    let says =
        |fixture: &Fixture| fixture.problems.last().unwrap().error().map(str::to_owned).unwrap_or_default();
    assert!(says(&fixture).contains("cannot be read"), "nothing is held of it, and it is told");
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1")])));
    assert_eq!(says(&fixture), "");
    fixture.unreadable(&front, of_a, 6);
    assert_eq!((fixture.names(), says(&fixture).contains("cannot be read")), (vec!["x"], true));
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Failed);
    fixture.made(&front, of_a, 7, None);
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
    assert_eq!(says(&fixture), "");
}

#[test]
fn what_an_unreadable_row_replaced_before_the_end_of_the_table_is_not_deployed() {
    let (front, a) = (ProfileId::cluster("front"), event("a"));
    let of_a = a.origin(SHARDS);
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "2")])));
    fixture.take_calls();
    // A copy that lags shows an older row, and then what has replaced it, which is of a newer version.
    fixture.replace(SHARDS);
    fixture.reach();
    fixture.made(&front, of_a, 4, Some(made("", &a, vec![config_map("x", "1")])));
    fixture.unreadable(&front, of_a, 6);
    fixture.read_all();
    assert!(fixture.take_calls().is_empty(), "what is there may be newer");
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2");
    fixture.made(&front, of_a, 7, Some(made("", &a, vec![config_map("x", "3")])));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "3");
}

#[test]
fn a_new_owner_knows_the_elder_by_its_inventory() {
    let (front, a, b) = (ProfileId::cluster("front"), event("a"), event("b"));
    let (of_a, of_b) = (a.origin(SHARDS), b.origin(SHARDS));
    let mut fixture = Fixture::with_shards(SHARDS);
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1")])));
    fixture.take_calls();
    fixture.begin(SHARDS);
    fixture.made(&front, of_b, 1, Some(made("", &b, vec![config_map("x", "2")])));
    assert!(fixture.take_calls().is_empty(), "the row of the elder, or its tombstone, is still to come");
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Held);
    fixture.made(&front, of_a, 5, Some(made("", &a, vec![config_map("x", "1")])));
    assert!(fixture.take_calls().is_empty());
    assert_eq!(fixture.status_of("front", of_a).unwrap().state, State::Provisioned);
    fixture.begin(SHARDS);
    fixture.made(&front, of_b, 1, Some(made("", &b, vec![config_map("x", "2")])));
    fixture.made(&front, of_a, 6, None);
    assert!(!fixture.take_calls().contains(&"delete x".to_owned()));
    assert_eq!(fixture.status_of("front", of_b).unwrap().state, State::Provisioned);
}

#[test]
fn another_number_of_shards_is_not_another_maker() {
    let (front, a) = (ProfileId::cluster("front"), event("a"));
    let (before, after) = (a.origin(3), a.origin(SHARDS));
    assert_ne!(before, after);
    let mut fixture = Fixture::with_shards(3);
    fixture.made(&front, before, 1, Some(made("", &a, vec![config_map("x", "1")])));
    fixture.take_calls();
    fixture.begin(SHARDS);
    assert_eq!(fixture.status_of("front", after).unwrap().state, State::Held);
    // A shard of this number knows nothing of the cause, and says so.
    fixture.made(&front, before, 2, None);
    fixture.made(&front, after, 1, Some(made("", &a, vec![config_map("x", "1")])));
    assert!(fixture.take_calls().is_empty() && fixture.names() == ["x"]);
}

#[test]
fn a_profile_and_a_cluster_profile_of_one_name_are_two() {
    let (wide, own) = (ProfileId::cluster("front"), ProfileId::new("team", "front"));
    let (of_wide, of_own) = (Cause::Profile(wide.clone()), Cause::Profile(own.clone()));
    let mut fixture = Fixture::with_shards(1);
    fixture.made(&wide, Shard::FIRST, 1, Some(made("", &of_wide, vec![config_map("x", "1")])));
    fixture.made(&own, Shard::FIRST, 1, Some(made("team", &of_own, vec![config_map("y", "1")])));
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["x", "y"], 2));
    fixture.made(&own, Shard::FIRST, 2, None);
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["x"], 1));
    // A row that says that it is about another profile is not acted upon.
    fixture.made(&own, Shard::FIRST, 3, Some(made("", &of_wide, vec![config_map("z", "1")])));
    assert_eq!(fixture.names(), ["x"]);
    assert!(fixture.problems.last().unwrap().error().unwrap().contains("it is about ClusterProfile front"));
}
