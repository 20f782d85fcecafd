#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluice_api::model::{Approval, Portion};
use sluice_api::{ClusterRef, Digest};
use sluice_protocol::Meta;
use sluice_protocol::rows::Status;

use super::*;

const CLUSTERS: usize = 4;

fn profile() -> ProfileId {
    ProfileId::cluster("p")
}

fn cause() -> Cause {
    Cause::Profile(profile())
}

fn cluster(index: usize) -> ClusterRef {
    ClusterRef::sveltos("n", format!("c{index}"))
}

fn place(index: usize) -> Place {
    (cluster(index), profile())
}

fn rollout(budget: Option<usize>) -> Rollout {
    Rollout {
        at_a_time: Portion::Count(1),
        failure_budget: budget.map(Portion::Count),
        soak: 0,
        deadline: 1_000,
        approval: Approval::NotNeeded,
        is_stopped: false,
        goes_back: true,
        undo: String::new(),
    }
}

/// Renderers of one profile, one after the other, and the deployers of its clusters.
struct World {
    rollouts: Rollouts,
    rollout: Rollout,
    /// What is written.
    called: String,
    /// Contents that work nowhere.
    bad: BTreeSet<String>,
    away: BTreeSet<usize>,
    /// The rows of the bus, and what each deployer has kept and deployed.
    bus: BTreeMap<usize, (Digest, Arc<Staged>)>,
    kept: BTreeMap<usize, BTreeMap<Digest, String>>,
    deployed: BTreeMap<usize, String>,
    said: BTreeMap<usize, (Digest, State)>,
}

impl World {
    fn new(rollout: Rollout) -> Self {
        Self {
            rollouts: Rollouts::default(),
            rollout,
            called: "A".into(),
            bad: BTreeSet::new(),
            away: BTreeSet::new(),
            bus: BTreeMap::new(),
            kept: BTreeMap::new(),
            deployed: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    /// All clusters have what is called A.
    fn deployed(rollout: Rollout) -> Self {
        let mut world = Self::new(rollout);
        world.settle();
        assert_eq!(world.contents(), "AAAA");
        world
    }

    fn digest(body: &str, staged: &Arc<Staged>) -> Digest {
        Digest::of(&[body.as_bytes(), Meta::Staged(staged.clone()).to_string().as_bytes()])
    }

    /// The renderer looks at its profile, as it does when anything changes.
    fn look(&mut self) {
        let all: Vec<usize> = (0..CLUSTERS).collect();
        let clusters: Vec<_> = all.iter().map(|index| (place(*index), self.away.contains(index))).collect();
        let places = self.bus.keys().map(|index| place(*index)).collect();
        let content = self.rollouts.content(&cause(), &self.called, &self.rollout, &places, &clusters);
        let candidate = |(place, is_away): &(Place, bool)| {
            let staged = self.rollouts.staged(place, &content);
            let row = Self::digest(&self.called, &staged);
            Candidate { cluster: place.0.clone(), row, is_away: *is_away, staged: Some(staged) }
        };
        let candidates: Vec<_> = clusters.iter().map(candidate).collect();
        let mut turn = self.rollouts.turn(&self.rollout, &profile(), &candidates, &self.called, 1);
        turn.progress.name(content.names());
        let go = candidates.iter().filter(|one| turn.go.contains(&one.cluster));
        let mut rows: Vec<_> =
            go.map(|one| ((one.cluster.clone(), profile()), one.row, one.staged.clone())).collect();
        if let Some(why) = content.why(&self.rollout, &turn.progress) {
            let back = clusters.iter().filter_map(|(place, _)| {
                let staged = self.rollouts.goes_back(place, &content, &why)?;
                Some((place.clone(), Self::digest("back", &staged), Some(staged)))
            });
            let back: Vec<_> = back.collect();
            if !back.is_empty() || content.is_gone_back_from() {
                rows = back;
                self.rollouts.give(&cause(), &self.rollout, rows.clone());
                turn = self.rollouts.turn_back(&profile(), &candidates, &content, &why);
            }
        }
        self.rollouts.give(&cause(), &self.rollout, rows.clone());
        (0..2).for_each(|_| self.rollouts.stored(1));
        self.rollouts.set(&cause(), Some(turn));
        for ((cluster, _), digest, staged) in rows {
            let index = all.iter().position(|index| super::tests::cluster(*index) == cluster).unwrap();
            self.bus.insert(index, (digest, staged.unwrap()));
        }
    }

    /// The deployer of a cluster does what its row says, as the real one does.
    fn deploy(&mut self, index: usize) {
        let Some((digest, staged)) = self.bus.get(&index).cloned() else { return };
        let kept = self.kept.entry(index).or_default();
        let state = if staged.back.is_some() {
            match kept.get(&staged.good.as_ref().unwrap().row) {
                Some(content) => {
                    self.deployed.insert(index, content.clone());
                    if self.bad.contains(content) { State::Failed } else { State::Provisioned }
                }
                None => State::Failed,
            }
        } else if self.bad.contains(&staged.called) {
            self.deployed.insert(index, staged.called.clone());
            State::Failed
        } else {
            self.deployed.insert(index, staged.called.clone());
            let good = staged.good.as_ref().map(|good| good.row);
            kept.retain(|row, _| Some(*row) == good);
            kept.insert(digest, staged.called.clone());
            State::Provisioned
        };
        self.said.insert(index, (digest, state));
        self.tell(index);
    }

    fn tell(&mut self, index: usize) {
        let Some((row, state)) = self.said.get(&index).copied() else { return };
        let status = Status { row: Some(row), ..Status::new(state, Vec::new()) };
        self.rollouts.hear(&place(index), Some(&status), 1);
    }

    /// Another renderer has the shard: it knows rows and statuses.
    fn crash(&mut self) {
        self.rollouts = Rollouts::default();
        for (index, (digest, staged)) in self.bus.clone() {
            self.rollouts.found(place(index), digest, Some(staged));
        }
        (0..CLUSTERS).for_each(|index| self.tell(index));
    }

    /// Everything happens until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..3 * CLUSTERS {
            self.look();
            let here: Vec<_> = (0..CLUSTERS).filter(|index| !self.away.contains(index)).collect();
            here.into_iter().for_each(|index| self.deploy(index));
        }
        self.look();
    }

    fn write(&mut self, called: &str) {
        self.called = called.to_owned();
        self.look();
    }

    fn contents(&self) -> String {
        (0..CLUSTERS).map(|index| self.deployed.get(&index).map_or("-", |content| content)).collect()
    }

    fn text(&self) -> String {
        self.rollouts.fault(&cause()).map(|fault| fault.severity.with(&fault.text)).unwrap_or_default()
    }
}

#[test]
fn what_fails_goes_back_and_stays_there_until_something_else_is_written() {
    for crashes in [false, true] {
        let mut world = World::deployed(rollout(Some(0)));
        world.bad.insert("B".into());
        world.write("B");
        assert!(
            world.text().ends_with("; it is called B, and goes back to A if it fails"),
            "{}",
            world.text()
        );
        world.deploy(0);
        assert_eq!(world.contents(), "BAAA");
        world.look();
        if crashes {
            world.crash();
            world.look();
        }
        let text = "rollout: it goes back from B to A, since it failed on 1 (sveltos:n/c0), more than the 0 of sluice.dev/rollout-failure-budget: 3 of 4 clusters have that, 1 go back (sveltos:n/c0); to go on, write another content";
        assert_eq!(world.text(), text);
        world.settle();
        assert_eq!(world.contents(), "AAAA");
        assert!(
            world.text().contains("it went back from B to A") && world.text().contains("4 of 4"),
            "{}",
            world.text()
        );
        if crashes {
            world.crash();
            world.settle();
        }
        assert_eq!(world.contents(), "AAAA");
        world.write("C");
        world.settle();
        assert_eq!((world.contents().as_str(), world.text().as_str()), ("CCCC", ""));
        world.bad.insert("D".into());
        world.write("D");
        world.settle();
        assert_eq!(world.contents(), "CCCC", "what was good last");
    }
}

#[test]
fn without_a_budget_it_goes_back_when_those_where_it_failed_hold_all_turns() {
    let mut world = World::deployed(rollout(None));
    world.bad.insert("B".into());
    world.write("B");
    world.settle();
    assert_eq!(world.contents(), "AAAA");
    assert!(world.text().contains("as many as spec.maxUpdate allows at a time"), "{}", world.text());
}

#[test]
fn a_content_that_was_never_everywhere_is_not_gone_back_to() {
    let mut world = World::deployed(rollout(Some(0)));
    world.write("B");
    world.deploy(0);
    world.look();
    assert_eq!(world.contents(), "BAAA", "the second has got it");
    world.bad.insert("C".into());
    world.write("C");
    world.settle();
    assert_eq!(world.contents(), "AAAA");
}

#[test]
fn the_first_content_has_nothing_to_go_back_to() {
    let mut world = World::new(rollout(Some(0)));
    world.bad.insert("A".into());
    world.settle();
    assert_eq!(world.contents(), "A---");
    assert!(
        world.text().ends_with("; it is called A, and no cluster has anything to go back to"),
        "{}",
        world.text()
    );
    world.rollout.undo = "A".into();
    world.settle();
    assert_eq!(world.contents(), "A---");
    assert!(
        world.text().contains("since sluice.dev/rollout-undo says so: write another content"),
        "{}",
        world.text()
    );
}

#[test]
fn what_is_everywhere_can_be_undone_and_only_what_is_named() {
    let mut world = World::deployed(rollout(None));
    world.write("B");
    world.settle();
    world.rollout.undo = "A".into();
    world.settle();
    assert_eq!(world.contents(), "BBBB");
    world.rollout.undo = "B".into();
    world.settle();
    assert_eq!(world.contents(), "AAAA");
    let text = "note: rollout: it went back from B to A, since sluice.dev/rollout-undo says so: 4 of 4 clusters have that; to go on, write another content";
    assert_eq!(world.text(), text);
    world.write("C");
    world.settle();
    assert_eq!(world.contents(), "CCCC");
}

#[test]
fn a_cluster_that_has_kept_nothing_keeps_what_it_has() {
    let mut world = World::deployed(rollout(None));
    world.write("B");
    world.settle();
    world.kept.remove(&2);
    world.rollout.undo = "B".into();
    world.settle();
    assert_eq!(world.contents(), "AABA");
    assert!(
        world.text().starts_with("rollout: it goes back")
            && world.text().contains("1 cannot go back (sveltos:n/c2)"),
        "{}",
        world.text()
    );
}

#[test]
fn who_is_away_goes_back_when_it_is_there_and_who_was_away_before_stays() {
    let mut world = World::deployed(rollout(Some(1)));
    world.away.insert(3);
    world.write("B");
    world.settle();
    world.away = [0].into();
    world.rollout.undo = "B".into();
    world.settle();
    assert_eq!(world.contents(), "BAAA");
    assert!(world.text().contains("1 are passed over, paused or away (sveltos:n/c0)"), "{}", world.text());
    world.away.clear();
    world.settle();
    assert_eq!(world.contents(), "AAAA");
}

#[test]
fn a_cluster_that_has_failed_before_does_not_keep_a_content_from_being_good() {
    for (budget, contents) in [(1, "BBBB"), (0, "AAAA")] {
        let mut world = World::deployed(rollout(Some(budget)));
        world.write("B");
        world.settle();
        let (row, _) = world.said[&3];
        world.said.insert(3, (row, State::Failed));
        world.tell(3);
        world.bad.insert("C".into());
        world.write("C");
        world.settle();
        assert_eq!(world.contents(), contents, "as many as may fail");
    }
}

#[test]
fn what_was_gone_back_from_is_tried_anew_once_something_else_was_written() {
    let mut world = World::deployed(rollout(None));
    world.bad.insert("B".into());
    world.write("B");
    world.settle();
    world.write("C");
    world.bad.clear();
    world.write("B");
    world.settle();
    assert_eq!(world.contents(), "BBBB");
}

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    Deploy(usize),
    Look,
    /// Something is written that works nowhere, or works.
    Write(bool),
    /// A former content is written.
    Former(usize),
    Undo(bool),
    Crash,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..CLUSTERS).prop_map(Event::Deploy),
        6 => Just(Event::Look),
        2 => prop::bool::weighted(0.5).prop_map(Event::Write),
        1 => (0..4_usize).prop_map(Event::Former),
        1 => any::<bool>().prop_map(Event::Undo),
        2 => Just(Event::Crash),
    ]
}

proptest! {
    /// Nobody is left without a row, a crash changes nothing of what is decided, what is gone back to is kept, and in the end all
    /// clusters have what is written, or what they have gone back to.
    #[test]
    fn all_end_at_what_is_written_or_at_what_was_good(
        budget in prop::option::of(0..2_usize),
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut world = World::deployed(rollout(budget));
        let mut written = vec!["A".to_owned()];
        for (number, event) in events.into_iter().enumerate() {
            let had_rows: BTreeSet<usize> = world.bus.keys().copied().collect();
            match event {
                Event::Deploy(index) => world.deploy(index),
                Event::Look => world.look(),
                Event::Write(works) => {
                    let called = format!("{number};");
                    if !works {
                        world.bad.insert(called.clone());
                    }
                    written.push(called.clone());
                    world.write(&called);
                }
                Event::Former(back) => {
                    let called = written[written.len().saturating_sub(1 + back)].clone();
                    world.write(&called);
                }
                Event::Undo(undo) => {
                    world.rollout.undo = if undo { world.called.clone() } else { String::new() };
                    world.look();
                }
                Event::Crash => {
                    world.look();
                    let before = world.bus.clone();
                    world.crash();
                    world.look();
                    prop_assert_eq!(&before, &world.bus, "a successor goes on where its predecessor was");
                }
            }
            prop_assert!(had_rows.iter().all(|index| world.bus.contains_key(index)));
            for (index, (_, staged)) in &world.bus {
                let good = staged.good.as_ref().filter(|_| staged.back.is_some());
                let kept = good.is_none_or(|good| world.kept[index].get(&good.row) == Some(&good.called));
                prop_assert!(kept, "what {} goes back to is not kept", index);
            }
        }
        world.rollout.undo.clear();
        world.settle();
        for (index, (_, staged)) in &world.bus {
            prop_assert_eq!(Some(world.deployed[index].as_str()), staged.content());
            prop_assert!(!world.bad.contains(&world.deployed[index]), "{}", world.deployed[index]);
        }
        if !world.bus.values().any(|(_, staged)| staged.back.is_some()) {
            prop_assert!(world.deployed.values().all(|content| *content == world.called));
        }
        // Something that works ends it in any case.
        world.write("last");
        world.settle();
        prop_assert_eq!(world.contents(), "last".repeat(CLUSTERS));
        prop_assert_eq!(world.text(), "");
    }
}
