#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sluice_api::model::{Approval, Portion};

use super::*;

const OLD: u8 = 0;

fn profile() -> ProfileId {
    ProfileId::cluster("p")
}

fn cause() -> Cause {
    Cause::Profile(profile())
}

fn cluster(index: usize) -> ClusterRef {
    ClusterRef::sveltos("n", format!("c{index:02}"))
}

fn place(index: usize) -> Place {
    (cluster(index), profile())
}

fn row(version: u8) -> Digest {
    Digest::of(&[&[version]])
}

fn candidates(count: usize, version: u8, away: &[usize]) -> Vec<Candidate> {
    let one = |index| Candidate {
        cluster: cluster(index),
        row: row(version),
        is_away: away.contains(&index),
        staged: None,
    };
    (0..count).map(one).collect()
}

fn rollout(count: usize) -> Rollout {
    Rollout {
        at_a_time: Portion::Count(count),
        failure_budget: None,
        soak: 0,
        deadline: 1_000,
        approval: Approval::NotNeeded,
        is_stopped: false,
        goes_back: false,
        undo: String::new(),
    }
}

/// Clusters that all have the old row.
fn deployed(count: usize) -> Rollouts {
    let mut rollouts = Rollouts::default();
    for index in 0..count {
        rollouts.found(place(index), row(OLD), None);
        rollouts.said(index, OLD, State::Provisioned, 0);
    }
    rollouts
}

impl Rollouts {
    fn said(&mut self, index: usize, version: u8, state: State, now: i64) -> bool {
        let status = Status { row: Some(row(version)), ..Status::new(state, Vec::new()) };
        self.hear(&place(index), Some(&status), now)
    }

    /// Gives the rows to those who have their turn, which are stored at once; who was given something new.
    fn go(&mut self, rollout: &Rollout, candidates: &[Candidate], now: i64) -> Vec<String> {
        let new = self.send(rollout, candidates, now);
        if !new.is_empty() {
            self.stored(now);
        }
        new
    }

    /// The same; the rows are on their way.
    fn send(&mut self, rollout: &Rollout, candidates: &[Candidate], now: i64) -> Vec<String> {
        let turn = self.turn(rollout, &profile(), candidates, "called", now);
        let given = candidates.iter().filter(|candidate| turn.go.contains(&candidate.cluster));
        let rows: Vec<_> =
            given.map(|candidate| ((candidate.cluster.clone(), profile()), candidate.row, None)).collect();
        let is_new = |(place, row, _): &&NewRow| self.rows.get(place).is_none_or(|given| given.row != *row);
        let new: Vec<_> = rows.iter().filter(is_new).map(|((cluster, _), ..)| cluster.name.clone()).collect();
        assert_eq!(self.give(&cause(), rollout, rows), !new.is_empty());
        self.set(&cause(), Some(turn));
        new
    }

    fn text(&self) -> Option<String> {
        self.fault(&cause()).map(|fault| fault.severity.with(&fault.text))
    }
}

#[test]
fn so_many_get_it_at_a_time_and_the_next_when_one_has_it() {
    let (mut rollouts, all) = (deployed(5), candidates(5, 1, &[]));
    assert_eq!(rollouts.go(&rollout(2), &all, 1), ["c00", "c01"]);
    let text = "note: rollout: 0 of 5 clusters have it, 2 are being updated (sveltos:n/c00, sveltos:n/c01), 3 wait for their turn";
    assert_eq!(rollouts.text().unwrap(), text);
    let fault = rollouts.fault(&cause()).unwrap();
    let next = ["c02", "c03", "c04"].map(|name| ClusterRef::sveltos("n", name));
    assert_eq!((fault.left, fault.waiting), (5, next.to_vec()), "all, and those whose turn has not come");
    assert!(rollouts.go(&rollout(2), &all, 2).is_empty());
    assert!(rollouts.said(1, 1, State::Provisioning, 3) && rollouts.go(&rollout(2), &all, 3).is_empty());
    assert!(rollouts.said(1, 1, State::Provisioned, 4));
    assert!(!rollouts.said(1, 1, State::Provisioned, 5), "it is no news");
    assert_eq!(rollouts.go(&rollout(2), &all, 5), ["c02"]);
    assert_eq!(rollouts.fault(&cause()).map(|fault| fault.left), Some(4), "one has it");
    rollouts.said(2, 1, State::Provisioned, 6);
    rollouts.said(0, 1, State::Provisioned, 6);
    assert_eq!(rollouts.go(&rollout(2), &all, 6), ["c03", "c04"]);
    assert!(!rollouts.is_waiting(&cause()) && rollouts.text().is_none(), "everybody has got it");
}

#[test]
fn what_is_said_of_another_row_counts_for_nothing() {
    let (mut rollouts, all) = (deployed(3), candidates(3, 1, &[]));
    assert_eq!(rollouts.go(&rollout(1), &all, 1), ["c00"]);
    rollouts.said(0, 2, State::Provisioned, 2);
    assert!(rollouts.go(&rollout(1), &all, 2).is_empty());
    assert_eq!(
        rollouts.go(&rollout(1), &candidates(3, 2, &[]), 3),
        ["c00", "c01"],
        "it had that one already"
    );
}

#[test]
fn a_successor_goes_on_with_those_who_have_it_already() {
    let mut rollouts = deployed(4);
    rollouts.found(place(2), row(1), None);
    assert!(rollouts.go(&rollout(1), &candidates(4, 1, &[]), 1).is_empty());
    rollouts.said(2, 1, State::Provisioned, 2);
    assert_eq!(rollouts.go(&rollout(1), &candidates(4, 1, &[]), 2), ["c00"]);
}

#[test]
fn a_cluster_whose_row_was_lost_has_what_its_deployer_says() {
    let mut rollouts = Rollouts::default();
    assert!((0..3).all(|index| rollouts.said(index, 1, State::Provisioned, 1)));
    assert_eq!(rollouts.go(&rollout(1), &candidates(4, 1, &[]), 2), ["c00", "c01", "c02", "c03"]);
}

#[test]
fn who_is_paused_or_away_is_passed_over_and_gets_it_when_it_is_back() {
    let mut rollouts = deployed(3);
    assert_eq!(rollouts.go(&rollout(1), &candidates(3, 1, &[0]), 1), ["c01"]);
    assert_eq!(
        rollouts.go(&rollout(1), &candidates(3, 1, &[0, 1]), 2),
        ["c02"],
        "it has gone away with it, and holds nobody up"
    );
    rollouts.said(2, 1, State::Provisioned, 3);
    assert!(rollouts.go(&rollout(1), &candidates(3, 1, &[0, 1]), 3).is_empty());
    let text = "note: rollout: 1 of 3 clusters have it, 2 are passed over, paused or away (sveltos:n/c00, sveltos:n/c01)";
    assert_eq!(rollouts.text().unwrap(), text);
    assert!(rollouts.go(&rollout(1), &candidates(3, 1, &[]), 4).is_empty(), "c01 is being updated");
    rollouts.said(1, 1, State::Provisioned, 5);
    assert_eq!(rollouts.go(&rollout(1), &candidates(3, 1, &[]), 5), ["c00"]);
}

#[test]
fn where_it_fails_nobody_else_gets_a_turn_unless_some_may_fail() {
    let (mut rollouts, all) = (deployed(6), candidates(6, 1, &[]));
    rollouts.go(&rollout(2), &all, 1);
    rollouts.said(0, 1, State::Failed, 2);
    rollouts.said(1, 1, State::Provisioned, 2);
    assert_eq!(rollouts.go(&rollout(2), &all, 2), ["c02"], "one turn is held");
    rollouts.said(2, 1, State::Failed, 3);
    assert!(rollouts.go(&rollout(2), &all, 3).is_empty());
    let text = rollouts.text().unwrap();
    assert!(
        text.starts_with("rollout: 1 of 6 clusters have it, 2 failed (") && text.contains("spec.maxUpdate"),
        "{text}"
    );
    let may_fail = |count| Rollout { failure_budget: Some(Portion::Count(count)), ..rollout(2) };
    assert!(rollouts.go(&may_fail(1), &all, 4).is_empty());
    assert!(rollouts.text().unwrap().contains("more than the 1 of sluice.dev/rollout-failure-budget"));
    assert_eq!(rollouts.go(&may_fail(2), &all, 5), ["c03", "c04"]);
    rollouts.said(0, 1, State::Provisioned, 6);
    assert_eq!(rollouts.go(&rollout(2), &all, 6), [""; 0]);
    assert!(rollouts.text().unwrap().starts_with("note: "), "it goes on when c03 or c04 has it");
}

#[test]
fn a_cluster_that_fails_after_it_was_done_holds_nothing_up_in_the_next_rollout() {
    let mut rollouts = deployed(2);
    rollouts.said(0, OLD, State::Failed, 1);
    rollouts.said(1, OLD, State::Failed, 1);
    assert_eq!(rollouts.go(&rollout(1), &candidates(2, 1, &[]), 2), ["c00"]);
}

#[test]
fn a_cluster_must_have_it_for_some_time() {
    let soaks = Rollout { soak: 100, ..rollout(1) };
    let (mut rollouts, all) = (deployed(3), candidates(3, 1, &[]));
    rollouts.go(&soaks, &all, 1);
    rollouts.said(0, 1, State::Provisioned, 10);
    assert!(rollouts.go(&soaks, &all, 50).is_empty());
    assert_eq!((rollouts.next(), rollouts.take_due(109)), (Some(110), Vec::new()));
    rollouts.said(0, 1, State::Failed, 60);
    rollouts.said(0, 1, State::Provisioned, 70);
    assert!(rollouts.go(&soaks, &all, 110).is_empty(), "it begins anew");
    assert_eq!(rollouts.take_due(170), [cause()]);
    assert_eq!(rollouts.go(&soaks, &all, 170), ["c01"]);
}

#[test]
fn where_some_may_fail_a_cluster_that_says_nothing_holds_nobody_up_for_ever() {
    let may_fail = Rollout { failure_budget: Some(Portion::Count(1)), ..rollout(1) };
    let (mut rollouts, all) = (deployed(4), candidates(4, 1, &[]));
    assert_eq!(rollouts.go(&may_fail, &all, 10), ["c00"]);
    assert!(rollouts.go(&may_fail, &all, 20).is_empty());
    assert!(rollouts.go(&rollout(1), &all, 5_000).is_empty(), "else it does");
    assert!(rollouts.go(&may_fail, &all, 1_009).is_empty());
    assert_eq!((rollouts.take_due(1_009), rollouts.take_due(1_010)), (vec![], vec![cause()]));
    assert_eq!(rollouts.go(&may_fail, &all, 1_010), ["c01"]);
    assert!(rollouts.text().unwrap().contains("1 failed (sveltos:n/c00)"));
    rollouts.said(0, 1, State::Provisioned, 1_030);
    rollouts.said(1, 1, State::Provisioned, 1_030);
    assert_eq!(rollouts.go(&may_fail, &all, 1_030), ["c02"]);
}

#[test]
fn a_cluster_that_says_nothing_has_time_from_when_its_row_is_stored() {
    let may_fail = Rollout { failure_budget: Some(Portion::Count(1)), ..rollout(1) };
    let (mut rollouts, all) = (deployed(3), candidates(3, 1, &[]));
    assert_eq!((rollouts.send(&may_fail, &all, 10), rollouts.next()), (vec!["c00".into()], None));
    assert!(
        rollouts.go(&may_fail, &all, 5_000).is_empty(),
        "the bus takes nothing, and nobody can know of it"
    );
    rollouts.stored(6_000);
    assert_eq!(rollouts.next(), Some(7_000));
    assert!(rollouts.go(&may_fail, &all, 6_999).is_empty());
    assert_eq!(rollouts.take_due(7_000), [cause()]);
    assert_eq!(rollouts.go(&may_fail, &all, 7_000), ["c01"]);
}

#[test]
fn after_the_first_clusters_somebody_must_approve_what_it_is() {
    let approved = |name: &str| Rollout { approval: Approval::Of(name.into()), ..rollout(2) };
    let (mut rollouts, all) = (deployed(5), candidates(5, 1, &[]));
    assert_eq!(rollouts.go(&approved("required"), &all, 1), ["c00", "c01"]);
    assert!(!rollouts.text().unwrap().contains("approve"), "the first are not done");
    rollouts.said(0, 1, State::Provisioned, 2);
    assert!(rollouts.go(&approved("required"), &all, 2).is_empty(), "those are the first");
    rollouts.said(1, 1, State::Provisioned, 3);
    assert!(rollouts.go(&approved("former"), &all, 3).is_empty());
    let text = rollouts.text().unwrap();
    assert!(text.ends_with("to go on, set sluice.dev/rollout-approve: \"called\""), "{text}");
    assert_eq!(rollouts.go(&approved("called"), &all, 4), ["c02", "c03"]);
}

#[test]
fn what_is_stopped_goes_to_nobody_else() {
    let stopped = Rollout { is_stopped: true, ..rollout(2) };
    let (mut rollouts, all) = (deployed(3), candidates(3, 1, &[]));
    rollouts.go(&rollout(1), &all, 1);
    rollouts.said(0, 1, State::Provisioned, 2);
    assert!(rollouts.go(&stopped, &all, 2).is_empty());
    assert!(rollouts.text().unwrap().contains("take the annotation sluice.dev/rollout-stop off"));
    assert_eq!(rollouts.go(&rollout(1), &all, 3), ["c01"]);
}

#[test]
fn a_percentage_of_few_is_one_at_least() {
    let percent = Rollout { at_a_time: Portion::Percent(1), ..rollout(1) };
    assert_eq!(deployed(3).go(&percent, &candidates(3, 1, &[]), 1), ["c00"]);
}

/// One thing that happens in a rollout.
#[derive(Clone, Debug)]
enum Event {
    /// A deployer says what became of the row that a cluster has.
    Says(usize, bool),
    Edit,
    Away(usize),
    /// Another renderer goes on.
    Takeover,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..7_usize, prop::bool::weighted(0.8)).prop_map(|(index, well)| Event::Says(index, well)),
        1 => Just(Event::Edit),
        1 => (0..7_usize).prop_map(Event::Away),
        1 => Just(Event::Takeover),
    ]
}

proptest! {
    /// Never have more clusters the newest row without being done than there are turns, and when all is well at last everybody
    /// gets it.
    #[test]
    fn no_more_than_so_many_are_on_their_way(limit in 1..4_usize, events in prop::collection::vec(event(), 0..60)) {
        let (mut rollouts, mut version, mut away) = (deployed(7), 1, Vec::new());
        let limited = rollout(limit);
        let on_their_way = |rollouts: &Rollouts, version, away: &[usize]| {
            let is = |index: &usize| {
                let said = rollouts.said.get(&place(*index));
                let done = said.is_some_and(|said| said.row == row(version) && said.state == State::Provisioned);
                rollouts.rows[&place(*index)].row == row(version) && !done && !away.contains(index)
            };
            (0..7).filter(is).count()
        };
        for event in events {
            let mut back = None;
            match event {
                Event::Says(index, well) => {
                    let version = (0..=version).find(|v| rollouts.rows[&place(index)].row == row(*v)).unwrap();
                    rollouts.said(index, version, if well { State::Provisioned } else { State::Failed }, 1);
                }
                Event::Edit => version += 1,
                Event::Away(index) if away.contains(&index) => {
                    away.retain(|one| *one != index);
                    back = Some(index);
                }
                Event::Away(index) => away.push(index),
                Event::Takeover => {
                    let former = std::mem::take(&mut rollouts);
                    (rollouts.rows, rollouts.said) = (former.rows, former.said);
                }
            }
            let before = on_their_way(&rollouts, version, &away);
            let given = rollouts.go(&limited, &candidates(7, version, &away), 1);
            let after = on_their_way(&rollouts, version, &away);
            // Who comes back may have it already.
            prop_assert!(after <= limit || after <= before && given.is_empty(), "{} {:?}", after, back);
        }
        for _ in 0..20 {
            for index in 0..7 {
                if rollouts.rows[&place(index)].row == row(version) {
                    rollouts.said(index, version, State::Provisioned, 1);
                }
            }
            rollouts.go(&limited, &candidates(7, version, &[]), 1);
        }
        prop_assert!((0..7).all(|index| rollouts.rows[&place(index)].row == row(version)));
        prop_assert!(!rollouts.is_waiting(&cause()));
    }
}
