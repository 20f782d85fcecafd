//! How far a run has come in each lane.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ObjectKey;

use super::replies::Fault;
use crate::order::{Lane, Persistence, Turn, Wave};

/// What is wrong with a part of a lane, as far as it holds up what follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Snag {
    /// Something could not be applied.
    pub(super) failed: bool,
    /// Another profile has something.
    pub(super) lost: bool,
    /// Whether the server's state is the only reason.
    pub(super) transient: bool,
}

/// Objects in their order, lane by lane.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    persistence: Persistence,
    lanes: BTreeMap<Lane, Course>,
}

/// One lane.
#[derive(Debug, Default)]
struct Course {
    /// What has not had its turn yet.
    ahead: BTreeMap<(usize, Wave), Vec<ObjectKey>>,
    /// What has it now.
    current: Option<(Turn, Vec<ObjectKey>)>,
    /// References that have a snag whatever becomes of their objects.
    snags: BTreeMap<usize, Snag>,
    /// What was wrong with the present reference so far.
    snag: Snag,
    /// Calls that are not answered.
    in_flight: usize,
    /// Why nothing that is ahead is done.
    held_up: Option<Snag>,
}

/// What is to be done next in a lane.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// These have their turn.
    Turn(Vec<ObjectKey>),
    /// Calls are in flight.
    Wait,
    /// Nothing.
    End,
}

// === impl Snag ===

impl From<&Fault> for Snag {
    fn from(fault: &Fault) -> Self {
        Self { failed: !fault.lost, lost: fault.lost, transient: fault.transient }
    }
}

impl Snag {
    /// Another profile has it.
    pub(super) fn lost() -> Self {
        Self { failed: false, lost: true, transient: false }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        let is_none = |snag: Self| !snag.failed && !snag.lost;
        Self {
            failed: self.failed || other.failed,
            lost: self.lost || other.lost,
            transient: (self.transient || is_none(self)) && (other.transient || is_none(other)),
        }
    }
}

// === impl Lanes ===

impl Lanes {
    /// Nothing has had its turn.
    pub(super) fn begin(&mut self, persistence: Persistence) {
        *self = Self { persistence, lanes: BTreeMap::new() };
    }

    /// One more object.
    pub(super) fn add(&mut self, turn: Turn, key: ObjectKey) {
        let course = self.lanes.entry(turn.lane).or_default();
        course.ahead.entry((turn.reference, turn.wave)).or_default().push(key);
    }

    /// A reference has a snag before anything of it is applied.
    pub(super) fn snag(&mut self, lane: Lane, reference: usize, snag: Snag) {
        let known = self.lanes.entry(lane).or_default().snags.entry(reference).or_default();
        *known = known.and(snag);
    }

    /// What had its turn last in a lane.
    pub(super) fn current(&self, lane: Lane) -> &[ObjectKey] {
        let current = self.lanes.get(&lane).and_then(|course| course.current.as_ref());
        current.map_or(&[], |(_, keys)| keys)
    }

    /// Whether something of a lane has not had its turn, and may have it.
    pub(super) fn has_more(&self, lane: Lane) -> bool {
        self.lanes.get(&lane).is_some_and(|course| !course.ahead.is_empty() && course.held_up.is_none())
    }

    /// A call about an object of this lane begins.
    pub(super) fn called(&mut self, lane: Lane) {
        self.lanes.entry(lane).or_default().in_flight += 1;
    }

    /// It is answered.
    pub(super) fn answered(&mut self, lane: Lane) {
        let course = self.lanes.entry(lane).or_default();
        course.in_flight = course.in_flight.saturating_sub(1);
    }

    /// Whether calls of this lane are in flight.
    pub(super) fn is_busy(&self, lane: Lane) -> bool {
        self.lanes.get(&lane).is_some_and(|course| course.in_flight > 0)
    }

    /// What has its turn next, when what had it last has this snag.
    pub(super) fn next(&mut self, lane: Lane, found: Snag) -> Next {
        let persistence = self.persistence;
        let Some(course) = self.lanes.get_mut(&lane) else { return Next::End };
        if course.in_flight > 0 {
            return Next::Wait;
        }
        if course.held_up.is_some() {
            return Next::End;
        }
        course.snag = course.snag.and(found);
        let Some(((reference, wave), _)) = course.ahead.first_key_value() else { return Next::End };
        let (reference, wave) = (*reference, *wave);
        let before = course.current.as_ref().map(|(turn, _)| turn.reference);
        let passed = course.snags.iter().filter(|(of, _)| **of < reference);
        let passed = passed.fold(Snag::default(), |all, (_, snag)| all.and(*snag));
        let is_other = before.is_some_and(|before| before != reference);
        // Inside of a reference other profiles hold up nothing: what they have is nothing that it brings.
        let lost = passed.lost || (is_other && course.snag.lost);
        let failed = passed.failed || course.snag.failed;
        if (failed && !persistence.on_error) || (lost && !persistence.on_conflict) {
            course.held_up = Some(course.snag.and(passed));
            return Next::End;
        }
        let Some((_, keys)) = course.ahead.pop_first() else { return Next::End };
        course.current = Some((Turn { lane, reference, wave }, keys.clone()));
        Next::Turn(keys)
    }

    /// References of which something waits for what went wrong before it, and that.
    pub(super) fn held_up(&self) -> impl Iterator<Item = (BTreeSet<usize>, Snag)> {
        self.lanes.values().filter_map(|course| {
            let waiting = course.ahead.keys().map(|(reference, _)| *reference).collect();
            Some((waiting, course.held_up?))
        })
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

    use super::*;

    const FAILED: Snag = Snag { failed: true, lost: false, transient: false };

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name: name.into() }
    }

    fn turn(lane: Lane, reference: usize, wave: Wave) -> Turn {
        Turn { lane, reference, wave }
    }

    /// Two references with two waves each, and a chart.
    fn lanes(persistence: Persistence) -> Lanes {
        let mut lanes = Lanes::default();
        lanes.begin(persistence);
        for (reference, wave, name) in [
            (1, Wave::Workloads, "d"),
            (0, Wave::Namespaces, "a"),
            (0, Wave::Others, "b"),
            (1, Wave::Configuration, "c"),
        ] {
            lanes.add(turn(Lane::Policies, reference, wave), key(name));
        }
        lanes.add(turn(Lane::Charts, 2, Wave::Others), key("e"));
        lanes
    }

    /// What has its turn in the lane of policies, one after another, when these have a snag.
    fn course(lanes: &mut Lanes, snags: &[(&str, Snag)]) -> Vec<String> {
        let (mut had, mut found) = (Vec::new(), Snag::default());
        while let Next::Turn(keys) = lanes.next(Lane::Policies, found) {
            had.extend(keys.iter().map(|key| key.name.clone()));
            let of = |name: &str| snags.iter().find(|(other, _)| *other == name);
            found = keys
                .iter()
                .filter_map(|key| of(&key.name))
                .fold(Snag::default(), |all, (_, snag)| all.and(*snag));
        }
        had
    }

    #[test]
    fn references_come_in_their_order_and_kinds_in_waves() {
        assert_eq!(course(&mut lanes(Persistence::default()), &[]), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_lane_waits_for_its_own_calls_and_for_no_other_lane() {
        let mut lanes = lanes(Persistence::default());
        assert_eq!(lanes.next(Lane::Policies, Snag::default()), Next::Turn(vec![key("a")]));
        lanes.called(Lane::Policies);
        assert_eq!(lanes.next(Lane::Policies, Snag::default()), Next::Wait);
        assert_eq!(lanes.next(Lane::Charts, Snag::default()), Next::Turn(vec![key("e")]));
        lanes.answered(Lane::Policies);
        assert_eq!(lanes.next(Lane::Policies, Snag::default()), Next::Turn(vec![key("b")]));
    }

    #[test]
    fn what_fails_holds_up_what_follows_unless_that_is_wanted() {
        let mut held = lanes(Persistence::default());
        assert_eq!(course(&mut held, &[("a", FAILED)]), ["a"]);
        let waiting: Vec<_> = held.held_up().collect();
        assert_eq!(waiting, [(BTreeSet::from([0, 1]), FAILED)]);
        let mut going = lanes(Persistence { on_error: true, on_conflict: false });
        assert_eq!(course(&mut going, &[("a", FAILED)]), ["a", "b", "c", "d"]);
        assert_eq!(going.held_up().count(), 0);
    }

    #[test]
    fn what_another_profile_has_holds_up_the_references_that_follow() {
        assert_eq!(course(&mut lanes(Persistence::default()), &[("a", Snag::lost())]), ["a", "b"]);
        let persistence = Persistence { on_error: false, on_conflict: true };
        assert_eq!(course(&mut lanes(persistence), &[("a", Snag::lost())]), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_reference_of_which_nothing_can_be_applied_holds_up_what_follows_too() {
        for snag in [FAILED, Snag::lost()] {
            let mut lanes = lanes(Persistence::default());
            lanes.snag(Lane::Policies, 0, snag);
            assert_eq!(course(&mut lanes, &[]), ["a", "b"]);
            assert_eq!(lanes.held_up().next().map(|(waiting, _)| waiting), Some(BTreeSet::from([1])));
        }
    }

    #[test]
    fn only_where_every_reason_is_the_servers_it_is_the_servers() {
        let (transient, none) = (Snag { transient: true, ..FAILED }, Snag::default());
        assert!(none.and(transient).transient && transient.and(none).transient);
        assert!(!transient.and(FAILED).transient && !FAILED.and(transient).transient);
    }
}
