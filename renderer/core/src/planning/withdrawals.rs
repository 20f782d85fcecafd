//! How much of a fleet is withdrawn at once without anybody being asked.
//!
//! ```text
//! a trigger, profile, selector, label or EventSource changes ─► what would go is gathered ─► little of the fleet: it goes
//!                                                                                      └──► much: its rows stay, and it is said
//! somebody approves what is said ─► it goes        what was changed is put back ─► it is wanted again, and stays
//! ```
//!
//! What events take away is never held up: it is meant.

// D-0931: what withdraws much of a fleet at once waits until somebody says so.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::str::FromStr;

use sluice_api::{ClusterRef, Digest, few};
use sluice_protocol::rows::Cause;

use crate::planning::row_ledger::Place;

/// What goes within so long counts together, microseconds.
const MINUTE: i64 = 60_000_000;
/// What a changed EventSource takes away comes event by event; so long it is gathered, microseconds.
const GATHER: i64 = 1_000_000;

/// More add-ons than these, and than this part of all of a fleet, wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithdrawGuard {
    /// So few always go: of a small fleet a single profile is much.
    pub few: usize,
    /// So many of a hundred.
    pub percent: u8,
}

/// The text is no guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write off, or a percentage below 100, such as 25%")]
pub struct NoWithdrawGuard;

/// What would be withdrawn of a cause.
#[derive(Debug, Default)]
pub(crate) struct Doomed {
    places: BTreeSet<Place>,
    /// When what it follows from has happened.
    pub(crate) time: i64,
    /// Where else the same is withdrawn; `None` until the change is decided that it follows from.
    reach: Option<Reach>,
}

/// On how many clusters the same is so as on one of this shard: what a change does to the events of these clusters it does to those of
/// the others, too, which other shards have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Clusters that the change concerns.
    pub(crate) all: usize,
    /// Those of them whose events are this shard's.
    pub(crate) mine: usize,
}

/// What goes, and what waits.
#[derive(Debug, Default)]
pub(crate) struct Withdrawals {
    guard: Option<WithdrawGuard>,
    /// How many add-ons the fleet has, as far as that was told.
    fleet: usize,
    /// How many went, and when.
    recent: VecDeque<(i64, usize)>,
    /// What one change would withdraw is being gathered.
    gathers: bool,
    gathered: BTreeMap<Cause, Doomed>,
    /// When what was gathered is decided.
    due: Option<i64>,
    held: BTreeMap<Cause, Doomed>,
    /// What has been decided goes.
    passes: bool,
    /// Since when EventSources are as they are, where that was a moment ago, and which clusters that concerns.
    changed: BTreeMap<String, (i64, Reach)>,
    /// Clusters that were changed a moment ago: when, and whether their events are this shard's.
    clusters: VecDeque<(i64, bool)>,
    /// Of what waits.
    called: OnceCell<String>,
    is_new: bool,
}

// === impl WithdrawGuard ===

impl WithdrawGuard {
    /// Where nothing else is said.
    pub const USUAL: Self = Self { few: 20, percent: 25 };

    /// Reads `off`, or `25%`.
    ///
    /// # Errors
    /// That it is neither.
    pub fn read(text: &str) -> Result<Option<Self>, NoWithdrawGuard> {
        if text == "off" { Ok(None) } else { text.parse().map(Some) }
    }

    fn stops(self, count: usize, all: usize) -> bool {
        count > self.few && count.saturating_mul(100) > all.saturating_mul(usize::from(self.percent))
    }
}

impl FromStr for WithdrawGuard {
    type Err = NoWithdrawGuard;

    fn from_str(text: &str) -> Result<Self, NoWithdrawGuard> {
        let percent = text.strip_suffix('%').unwrap_or(text).trim().parse();
        let percent = percent.ok().filter(|percent| *percent < 100).ok_or(NoWithdrawGuard)?;
        Ok(Self { percent, ..Self::USUAL })
    }
}

// === impl Reach ===

impl Reach {
    /// Nowhere else.
    pub(crate) const HERE: Self = Self { all: 1, mine: 1 };

    /// These clusters, of which some are this shard's.
    pub(crate) fn of(clusters: impl Iterator<Item = bool>) -> Self {
        clusters.fold(Self { all: 0, mine: 0 }, |Self { all, mine }, is_mine| Self {
            all: all + 1,
            mine: mine + usize::from(is_mine),
        })
    }

    /// So many places of this shard are so many of all. Where none of the clusters is known to be this shard's, nothing can be said of
    /// others.
    fn extend(self, places: usize) -> usize {
        if self.mine == 0 { places } else { places.saturating_mul(self.all).div_ceil(self.mine) }
    }
}

// === impl Doomed ===

impl Doomed {
    /// How many places all shards would leave.
    fn everywhere(&self) -> usize {
        self.reach.unwrap_or(Reach::HERE).extend(self.places.len())
    }
}

// === impl Withdrawals ===

impl Withdrawals {
    pub(crate) fn set_guard(&mut self, guard: Option<WithdrawGuard>) {
        self.guard = guard;
    }

    /// Whether anything is held up.
    pub(crate) fn is_on(&self) -> bool {
        self.guard.is_some()
    }

    /// The fleet has so many add-ons.
    pub(crate) fn set_fleet(&mut self, count: usize) {
        self.fleet = count;
    }

    /// An EventSource is another one from now on.
    pub(crate) fn source_changed(&mut self, name: &str, reach: Reach, now: i64) {
        if self.guard.is_some() {
            self.changed.retain(|_, (since, _)| now - *since < MINUTE);
            self.changed.insert(name.to_owned(), (now, reach));
        }
    }

    /// A cluster of this shard, or of another one, is changed.
    pub(crate) fn cluster_changed(&mut self, is_mine: bool, now: i64) {
        while self.clusters.pop_front_if(|(at, _)| now - *at >= MINUTE).is_some() {}
        self.clusters.push_back((now, is_mine));
    }

    /// Whether an EventSource was changed a moment ago: what its events take away may be because of that.
    pub(crate) fn has_changed(&self, source: &str, now: i64) -> bool {
        self.changed.get(source).is_some_and(|(since, _)| now - since < MINUTE)
    }

    /// What is withdrawn from now on follows from one change, and is decided together.
    pub(crate) fn gather(&mut self) {
        self.gathers = self.guard.is_some();
    }

    /// Where else the same is withdrawn as of this cause, as far as that is known before all is gathered. A profile is one shard's on
    /// all clusters.
    fn reach_of(&self, cause: &Cause) -> Option<Reach> {
        match cause {
            Cause::Profile(_) => Some(Reach::HERE),
            Cause::Event(_) if self.gathers => None,
            Cause::Event(event) => self.changed.get(&event.source).map(|(_, reach)| *reach),
        }
    }

    /// Whether what a cause leaves must be looked at.
    pub(crate) fn minds(&self, cause: &Cause) -> bool {
        self.guard.is_some() && (self.gathers || self.awaits(cause))
    }

    /// Whether something of a cause waits.
    pub(crate) fn awaits(&self, cause: &Cause) -> bool {
        !self.passes && (self.held.contains_key(cause) || self.gathered.contains_key(cause))
    }

    /// A cause would leave these places, which are of a fleet of so many at most: whether it may. Else they stay as they are.
    pub(crate) fn lets_go(
        &mut self,
        cause: &Cause,
        places: BTreeSet<Place>,
        time: i64,
        (all, now): (usize, i64),
    ) -> bool {
        if places.is_empty() {
            self.forget(cause);
            return true;
        }
        if self.passes || self.guard.is_none_or(|guard| all.max(self.fleet) <= guard.few) {
            return true;
        }
        if let Some(held) = self.held.get_mut(cause) {
            if held.places != places {
                held.places = places;
                self.changes();
            }
            return false;
        }
        let reach = self.reach_of(cause);
        self.gathered.insert(cause.clone(), Doomed { places, time, reach });
        if !self.gathers {
            self.due.get_or_insert(now + GATHER);
        }
        false
    }

    /// Nothing of a cause waits any more.
    pub(crate) fn forget(&mut self, cause: &Cause) {
        self.gathered.remove(cause);
        if self.held.remove(cause).is_some() {
            self.changes();
        }
    }

    /// Something else waits.
    fn changes(&mut self) {
        (self.is_new, self.called) = (true, OnceCell::new());
    }

    /// When what was gathered is decided.
    pub(crate) fn due(&self) -> Option<i64> {
        self.due
    }

    /// Everything that one change withdraws has been gathered, of a fleet of so many: what goes. What is not there any more does not
    /// count. Which clusters the change concerns is asked where events are among it, and follows perhaps from which were changed within
    /// a minute: labels are taken off one after the other.
    pub(crate) fn decide(
        &mut self,
        is_there: impl Fn(&Place) -> bool,
        reach: impl FnOnce(&mut dyn Iterator<Item = bool>) -> Reach,
        all: impl FnOnce() -> usize,
        now: i64,
    ) -> BTreeMap<Cause, Doomed> {
        (self.gathers, self.due) = (false, None);
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.values_mut().for_each(|doomed| doomed.places.retain(&is_there));
        // Most changes withdraw nothing, and a fleet is large.
        let Some(guard) = self.guard.filter(|_| !gathered.is_empty()) else { return gathered };
        if gathered.values().any(|doomed| doomed.reach.is_none()) {
            let recent = self.clusters.iter().filter(|(at, _)| now - at < MINUTE);
            let reach = reach(&mut recent.map(|(_, is_mine)| *is_mine));
            gathered.values_mut().for_each(|doomed| doomed.reach = doomed.reach.or(Some(reach)));
        }
        self.recent.retain(|(at, _)| now - at < MINUTE);
        let count: usize = gathered.values().map(Doomed::everywhere).sum();
        let before: usize = self.recent.iter().map(|(_, count)| count).sum();
        if guard.stops(before + count, before + all().max(self.fleet)) {
            self.held.extend(gathered);
            self.changes();
            return BTreeMap::new();
        }
        self.recent.push_back((now, count));
        gathered
    }

    /// What was decided goes from now on, or (`false`) has gone.
    pub(crate) fn pass(&mut self, passes: bool) {
        self.passes = passes;
    }

    /// What waits is called so.
    pub(crate) fn called(&self) -> Option<&str> {
        (!self.held.is_empty()).then(|| self.called.get_or_init(|| self.name()).as_str())
    }

    fn name(&self) -> String {
        let one = |(cause, doomed): (&Cause, &Doomed)| {
            let places = doomed.places.iter().map(|(cluster, profile)| format!("{cluster} {profile}"));
            format!("{cause} {}", places.collect::<Vec<_>>().join(","))
        };
        let names: Vec<String> = self.held.iter().map(one).collect();
        let parts: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        Digest::of(&parts).short()
    }

    /// Somebody has approved all that waits: it goes.
    pub(crate) fn take_held(&mut self) -> BTreeMap<Cause, Doomed> {
        self.changes();
        std::mem::take(&mut self.held)
    }

    /// Whether something else waits than when this was asked last.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// What waits, as people are told, of a fleet of so many, in which these clusters are registered.
    pub(crate) fn text(
        &self,
        all: impl FnOnce() -> usize,
        is_registered: impl Fn(&ClusterRef) -> bool,
    ) -> Option<String> {
        let (guard, called) = (self.guard?, self.called()?);
        let count: usize = self.held.values().map(|doomed| doomed.places.len()).sum();
        let clusters: BTreeSet<_> =
            self.held.values().flat_map(|doomed| &doomed.places).map(|(cluster, _)| cluster).collect();
        let of = |cause: &Cause| match cause {
            Cause::Profile(id) => id.to_string(),
            Cause::Event(event) if is_registered(&event.cluster) => event.trigger.described(),
            Cause::Event(event) => {
                format!(
                    "{} of {}, which is not registered any more",
                    event.trigger.described(),
                    event.cluster
                )
            }
        };
        let causes: BTreeSet<String> = self.held.keys().map(of).collect();
        let everywhere: usize = self.held.values().map(Doomed::everywhere).sum();
        let of_all = if everywhere > count {
            format!(" (about {everywhere} by all shards of the renderers)")
        } else {
            String::new()
        };
        Some(format!(
            "{count} of {} add-ons would be withdrawn at once, from {} clusters{of_all}, because something has changed ({}); nothing of that \
             goes before somebody says so: put back what was changed, or run `sluice approve {called}` (--withdraw-guard {}%)",
            all().max(self.fleet),
            clusters.len(),
            few(", ", causes.iter()),
            guard.percent,
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::ProfileId;

    use super::*;

    fn cause(name: &str) -> Cause {
        Cause::Profile(ProfileId::cluster(name))
    }

    fn places(name: &str, count: usize) -> BTreeSet<Place> {
        let place =
            |number: usize| (ClusterRef::sveltos("n", format!("c{number}")), ProfileId::cluster(name));
        (0..count).map(place).collect()
    }

    fn guarded() -> Withdrawals {
        let mut withdrawals = Withdrawals::default();
        withdrawals.set_guard(Some(WithdrawGuard::USUAL));
        withdrawals
    }

    /// Causes with so many places each go by one change: whether they may.
    fn change(withdrawals: &mut Withdrawals, counts: &[(&str, usize)], all: usize, now: i64) -> bool {
        withdrawals.gather();
        for (name, count) in counts {
            assert!(!withdrawals.lets_go(&cause(name), places(name, *count), 1, (all, now)));
        }
        withdrawals.decide(|_| true, |_| Reach::HERE, || all, now).len() == counts.len()
    }

    #[test]
    fn a_guard_is_off_or_a_percentage() {
        assert_eq!(WithdrawGuard::read("off"), Ok(None));
        for text in ["25%", "25", "25 %"] {
            assert_eq!(WithdrawGuard::read(text), Ok(Some(WithdrawGuard::USUAL)), "{text}");
        }
        for wrong in ["", "%", "100%", "-1", "25,5", "on"] {
            assert_eq!(WithdrawGuard::read(wrong), Err(NoWithdrawGuard), "{wrong}");
        }
    }

    #[test]
    fn what_one_change_withdraws_is_decided_together() {
        let mut withdrawals = guarded();
        assert!(change(&mut withdrawals, &[("a", 20), ("b", 5)], 100, 0), "as much as may go");
        assert_eq!(withdrawals.called(), None);
        let mut withdrawals = guarded();
        assert!(!change(&mut withdrawals, &[("a", 20), ("b", 6)], 100, 0), "nothing of both goes");
        assert!(withdrawals.awaits(&cause("a")) && withdrawals.awaits(&cause("b")));
        let text = withdrawals.text(|| 100, |_| true).unwrap();
        assert!(text.starts_with("26 of 100 add-ons would be withdrawn at once, from 20 clusters"), "{text}");
        assert!(text.contains("ClusterProfile a, ClusterProfile b"), "{text}");
        assert!(text.contains(&format!("`sluice approve {}`", withdrawals.called().unwrap())), "{text}");
    }

    #[test]
    fn what_goes_within_a_minute_counts_together() {
        let mut withdrawals = guarded();
        assert!(change(&mut withdrawals, &[("a", 20)], 100, 0));
        assert!(!change(&mut withdrawals, &[("b", 10)], 80, MINUTE - 1), "30 of 100");
        let mut withdrawals = guarded();
        assert!(change(&mut withdrawals, &[("a", 20)], 100, 0));
        assert!(change(&mut withdrawals, &[("b", 10)], 80, MINUTE));
    }

    #[test]
    fn few_add_ons_always_go_and_the_fleet_is_what_all_have() {
        let mut withdrawals = guarded();
        withdrawals.gather();
        assert!(withdrawals.lets_go(&cause("a"), places("a", 20), 1, (20, 0)), "all of a small fleet");
        assert!(change(&mut withdrawals, &[("a", 20)], 30, 0));
        let mut withdrawals = guarded();
        withdrawals.set_fleet(1_000);
        assert!(
            change(&mut withdrawals, &[("a", 100)], 100, 0),
            "all of this renderer, and little of the fleet"
        );
        let mut withdrawals = Withdrawals::default();
        withdrawals.gather();
        assert!(withdrawals.lets_go(&cause("a"), places("a", 200), 1, (200, 0)), "without a guard");
    }

    #[test]
    fn what_is_wanted_again_waits_no_more() {
        let mut withdrawals = guarded();
        assert!(!change(&mut withdrawals, &[("a", 40), ("b", 40)], 100, 0));
        let both = withdrawals.called().map(str::to_owned);
        assert!(withdrawals.take_news() && !withdrawals.take_news());
        assert!(withdrawals.lets_go(&cause("a"), BTreeSet::new(), 1, (100, 0)));
        assert!(!withdrawals.awaits(&cause("a")) && withdrawals.awaits(&cause("b")));
        assert!(withdrawals.take_news() && withdrawals.called() != both.as_deref());
        assert!(!withdrawals.lets_go(&cause("b"), places("b", 40), 1, (100, 0)), "it still waits");
        assert!(!withdrawals.take_news());
        assert_eq!(withdrawals.take_held().len(), 1);
        assert_eq!((withdrawals.called(), withdrawals.text(|| 100, |_| true)), (None, None));
    }

    #[test]
    fn what_comes_event_by_event_is_gathered_for_a_moment() {
        let mut withdrawals = guarded();
        withdrawals.source_changed("s", Reach::HERE, 5);
        assert!(withdrawals.has_changed("s", 6) && !withdrawals.has_changed("t", 6));
        assert!(!withdrawals.has_changed("s", 5 + MINUTE));
        assert!(!withdrawals.lets_go(&cause("a"), places("a", 1), 1, (100, 6)));
        assert_eq!(withdrawals.due(), Some(6 + GATHER));
        assert!(!withdrawals.lets_go(&cause("b"), places("b", 1), 1, (100, 9)));
        assert_eq!(
            (withdrawals.due(), withdrawals.decide(|_| true, |_| Reach::HERE, || 100, 6 + GATHER).len()),
            (Some(6 + GATHER), 2)
        );
        assert_eq!(withdrawals.due(), None);
    }
}
