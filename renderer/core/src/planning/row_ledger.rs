//! What exists because of what: the rows this shard made, and what clusters still hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::rows::Cause;

/// A profile on a cluster.
pub(crate) type Place = (ClusterRef, ProfileId);

/// A place that several maps name: there are many, and most causes have one.
type Shared = Arc<Place>;

/// The rows of one renderer, by their causes.
#[derive(Default)]
pub(crate) struct RowLedger {
    rows: BTreeMap<Cause, BTreeSet<Shared>>,
    held: BTreeMap<Cause, BTreeSet<Shared>>,
    holders: HashMap<Shared, Cause>,
    users: HashMap<Shared, Cause>,
    /// Causes that would make a profile of a name which another one uses.
    waiting: BTreeMap<Place, BTreeSet<Cause>>,
    withdrawn: BTreeMap<Place, i64>,
    /// Places that hold something, and whose deployer knows of no row: a tombstone must be said once more.
    asking: BTreeSet<Place>,
    failing: BTreeSet<Cause>,
    /// Causes that are rendered and have no row: no cluster is selected, or what they read is not known yet.
    rowless: BTreeSet<Cause>,
    /// Events whose profile would have a name that is somebody else's.
    refused: BTreeMap<Cause, ProfileId>,
}

impl RowLedger {
    /// A row of a former owner of this shard.
    pub(crate) fn found(&mut self, place: Place, cause: Cause) {
        self.withdrawn.remove(&place);
        let (place, cause) = (self.shared(place), self.kept(cause));
        if let Some(other) = self.users.insert(place.clone(), cause.clone()).filter(|user| *user != cause)
            && let Some(places) = self.rows.get_mut(&other)
        {
            places.remove(&place);
            if places.is_empty() {
                self.rows.remove(&other);
            }
        }
        self.rows.entry(cause).or_default().insert(place);
    }

    /// A tombstone of this shard is in the table since `time`.
    pub(crate) fn found_withdrawn(&mut self, place: Place, time: i64) {
        self.withdrawn.insert(place, time);
    }

    /// A cluster holds something of this profile; `asks` when its deployer knows of no row about it.
    pub(crate) fn hold(&mut self, place: Place, cause: Cause, asks: bool) {
        if asks {
            self.asking.insert(place.clone());
        } else {
            self.asking.remove(&place);
        }
        let (place, cause) = (self.shared(place), self.kept(cause));
        self.holders.insert(place.clone(), cause.clone());
        self.held.entry(cause).or_default().insert(place);
    }

    /// The tombstone of this place must be said once more, where its cluster holds something; because of which cause it does.
    pub(crate) fn ask_again(&mut self, place: &Place) -> Option<Cause> {
        let holder = self.holders.get(place).cloned()?;
        self.asking.insert(place.clone());
        Some(holder)
    }

    /// A cluster holds nothing of this profile any more.
    pub(crate) fn release(&mut self, place: &Place) {
        self.withdrawn.remove(place);
        self.asking.remove(place);
        let Some(cause) = self.holders.remove(place) else { return };
        if let Some(places) = self.held.get_mut(&cause) {
            places.remove(place);
            if places.is_empty() {
                self.held.remove(&cause);
            }
        }
    }

    /// Whether no row is of `cause`.
    pub(crate) fn is_new(&self, cause: &Cause) -> bool {
        !self.rows.contains_key(cause)
    }

    /// Whether a row of `cause` is at this place.
    pub(crate) fn leads_to(&self, cause: &Cause, place: &Place) -> bool {
        self.rows.get(cause).is_some_and(|places| places.contains(place))
    }

    /// Whether a row of `cause` is at this place, or something that came of one.
    pub(crate) fn has(&self, cause: &Cause, place: &Place) -> bool {
        let own = self.users.get(place).is_none_or(|user| user == cause);
        own && (self.leads_to(cause, place) || self.holders.get(place) == Some(cause))
    }

    /// Whose row is at this place.
    pub(crate) fn maker_at(&self, place: &Place) -> Option<&Cause> {
        self.users.get(place)
    }

    /// The events whose causes have rows of a profile of this name, or would have if the name were not somebody else's.
    pub(crate) fn makers_of(&self, profile: &ProfileId) -> BTreeSet<Cause> {
        let refused = self.refused.iter().filter(|(_, name)| *name == profile).map(|(cause, _)| cause);
        let makers = self
            .users
            .iter()
            .filter(|(place, cause)| place.1 == *profile && matches!(cause, Cause::Event(_)));
        makers.map(|(_, cause)| cause).chain(refused).cloned().collect()
    }

    /// `cause` would make a profile whose name is somebody else's, or, without one, does not.
    pub(crate) fn set_refused(&mut self, cause: &Cause, name: Option<&ProfileId>) {
        match name {
            Some(name) => drop(self.refused.insert(cause.clone(), name.clone())),
            None => drop(self.refused.remove(cause)),
        }
    }

    /// Where the rows of `cause` are.
    pub(crate) fn places(&self, cause: &Cause) -> BTreeSet<Place> {
        self.rows.get(cause).into_iter().flatten().map(|place| Place::clone(place)).collect()
    }

    /// Where rows of `cause` are, or something that came of one and is not being withdrawn.
    pub(crate) fn everywhere(&self, cause: &Cause) -> BTreeSet<Place> {
        let held = self.held.get(cause).into_iter().flatten();
        let held = held.filter(|place| self.has(cause, place) && !self.is_said_withdrawn(place));
        let all = self.rows.get(cause).into_iter().flatten().chain(held);
        all.map(|place| Place::clone(place)).collect()
    }

    // D-0919: a profile name that another cause uses is waited for.
    /// Who uses this name on this cluster, when it is not `cause`, which waits for it from now on.
    pub(crate) fn ask_for(&mut self, place: &Place, cause: &Cause) -> Option<&Cause> {
        let user = self.users.get(place).filter(|user| *user != cause)?;
        self.waiting.entry(place.clone()).or_default().insert(cause.clone());
        Some(user)
    }

    /// Who uses this name on this cluster.
    pub(crate) fn user(&self, place: &Place) -> Option<&Cause> {
        self.users.get(place)
    }

    /// Whether a cluster holds something of this profile, as far as its deployer has said.
    pub(crate) fn is_held(&self, place: &Place) -> bool {
        self.holders.contains_key(place)
    }

    /// Places of which a tombstone says that nothing is wanted there, and that hold something.
    pub(crate) fn being_withdrawn(&self) -> impl Iterator<Item = &Place> {
        self.withdrawn.keys().filter(|place| self.is_held(place) && !self.is_used(place))
    }

    /// How many places have a row, or something that came of one and is not being withdrawn.
    pub(crate) fn count(&self) -> usize {
        let only_held =
            self.holders.keys().filter(|place| !self.users.contains_key(*place) && !self.is_withdrawn(place));
        self.users.len() + only_held.count()
    }

    /// Whether a tombstone says that nothing is wanted at this place.
    pub(crate) fn is_withdrawn(&self, place: &Place) -> bool {
        self.withdrawn.contains_key(place)
    }

    /// No more than so many do, without counting.
    pub(crate) fn count_at_most(&self) -> usize {
        self.users.len() + self.holders.len()
    }

    /// Whether a cause uses this name on this cluster.
    pub(crate) fn is_used(&self, place: &Place) -> bool {
        self.users.contains_key(place)
    }

    /// Who waits for this name on this cluster; each is told once.
    pub(crate) fn take_waiting(&mut self, place: &Place) -> BTreeSet<Cause> {
        self.waiting.remove(place).unwrap_or_default()
    }

    /// `cause` leads to exactly these rows from now on; returns the places to withdraw.
    pub(crate) fn set(&mut self, cause: &Cause, places: BTreeSet<Place>, now: i64) -> Vec<Place> {
        let before = self.rows.remove(cause).unwrap_or_default();
        let places: BTreeSet<Shared> = places.into_iter().map(|place| self.shared(place)).collect();
        for place in &places {
            self.withdrawn.remove(&**place);
            self.users.insert(place.clone(), cause.clone());
        }
        let mut stale: Vec<Place> = before.difference(&places).map(|place| Place::clone(place)).collect();
        let held = self.held.get(cause).into_iter().flatten();
        let only_held = held.filter(|place| !places.contains(*place) && !before.contains(*place));
        let only_held = only_held.filter(|place| !self.is_said_withdrawn(place));
        stale.extend(only_held.map(|place| Place::clone(place)));
        // Another cause may have taken the name over; its row must not be withdrawn.
        stale.retain(|place| self.users.get(place).is_none_or(|user| user == cause));
        for place in &stale {
            self.users.remove(place);
            self.asking.remove(place);
            self.withdrawn.insert(place.clone(), now);
        }
        if !places.is_empty() {
            self.rows.insert(cause.clone(), places);
        }
        stale
    }

    /// The place as it is kept already, so that there is one of it.
    fn shared(&self, place: Place) -> Shared {
        let kept = self.users.get_key_value(&place).or_else(|| self.holders.get_key_value(&place));
        kept.map(|(kept, _)| kept.clone()).unwrap_or_else(|| Arc::new(place))
    }

    /// The same for a cause.
    fn kept(&self, cause: Cause) -> Cause {
        let rows = self.rows.get_key_value(&cause).map(|(kept, _)| kept);
        rows.or_else(|| self.held.get_key_value(&cause).map(|(kept, _)| kept)).cloned().unwrap_or(cause)
    }

    /// Whether a tombstone says that nothing is wanted at this place, and its deployer does not ask for it once more.
    fn is_said_withdrawn(&self, place: &Place) -> bool {
        self.is_withdrawn(place) && !self.asking.contains(place)
    }

    /// `cause` has been rendered, with rows or without: until it is forgotten it is one of [`RowLedger::causes`].
    pub(crate) fn keep(&mut self, cause: &Cause) {
        if self.is_new(cause) {
            self.rowless.insert(cause.clone());
        } else {
            self.rowless.remove(cause);
        }
    }

    /// Nothing is left of `cause` but what clusters hold.
    pub(crate) fn forget(&mut self, cause: &Cause) {
        self.rowless.remove(cause);
        self.failing.remove(cause);
        self.refused.remove(cause);
    }

    /// Whether `cause` cannot be rendered at present.
    pub(crate) fn set_failing(&mut self, cause: &Cause, failing: bool) {
        if failing {
            self.failing.insert(cause.clone());
        } else {
            self.failing.remove(cause);
        }
    }

    /// Whether `cause` could not be rendered the last time.
    pub(crate) fn is_failing(&self, cause: &Cause) -> bool {
        self.failing.contains(cause)
    }

    /// Whether something is there, or wanted, because of events of this source.
    pub(crate) fn is_made_of(&self, source: &str) -> bool {
        let is_of = |cause: &Cause| matches!(cause, Cause::Event(event) if event.source == source);
        self.rows.keys().chain(self.held.keys()).any(is_of)
    }

    /// Every cause with a row, something held, or a problem, and every other one that is rendered.
    pub(crate) fn causes(&self) -> BTreeSet<Cause> {
        let others = self.failing.iter().chain(&self.rowless);
        self.rows.keys().chain(self.held.keys()).chain(others).cloned().collect()
    }

    /// The same from `first` on, as long as `same` holds; all of it is sorted by cause.
    pub(crate) fn causes_from(&self, first: &Cause, same: impl Fn(&Cause) -> bool) -> BTreeSet<Cause> {
        let from = |map: &BTreeMap<Cause, BTreeSet<Shared>>| -> Vec<Cause> {
            map.range(first..).map(|(cause, _)| cause).take_while(|cause| same(cause)).cloned().collect()
        };
        let others = |set: &BTreeSet<Cause>| -> Vec<Cause> {
            set.range(first..).take_while(|cause| same(cause)).cloned().collect()
        };
        let mut causes: BTreeSet<Cause> = from(&self.rows).into_iter().chain(from(&self.held)).collect();
        causes.extend([&self.failing, &self.rowless].into_iter().flat_map(others));
        causes
    }

    /// Forgets tombstones older than `before`: they may have expired without having been read.
    pub(crate) fn forget_withdrawn(&mut self, before: i64) -> bool {
        let count = self.withdrawn.len();
        self.withdrawn.retain(|_, time| *time >= before);
        self.withdrawn.len() != count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(profile: &str) -> Place {
        (ClusterRef::sveltos("a", "b"), ProfileId::cluster(profile))
    }

    fn cause(name: &str) -> Cause {
        Cause::Profile(ProfileId::cluster(name))
    }

    #[test]
    fn what_is_no_longer_wanted_is_withdrawn_once() {
        let mut ledger = RowLedger::default();
        assert!(ledger.set(&cause("c"), [place("x"), place("y")].into(), 1).is_empty());
        assert_eq!(ledger.set(&cause("c"), [place("x")].into(), 2), [place("y")]);
        assert!(ledger.set(&cause("c"), [place("x")].into(), 3).is_empty());
        assert_eq!(ledger.set(&cause("c"), BTreeSet::new(), 4), [place("x")]);
    }

    #[test]
    fn what_a_cluster_holds_is_withdrawn_until_it_is_released() {
        let mut ledger = RowLedger::default();
        ledger.hold(place("x"), cause("c"), false);
        assert_eq!(ledger.set(&cause("c"), BTreeSet::new(), 1), [place("x")]);
        assert!(ledger.set(&cause("c"), BTreeSet::new(), 2).is_empty(), "the tombstone is on its way");
        assert!(ledger.forget_withdrawn(10));
        assert_eq!(ledger.set(&cause("c"), BTreeSet::new(), 11), [place("x")], "it may have expired unread");
        ledger.hold(place("x"), cause("c"), true);
        assert_eq!(ledger.set(&cause("c"), BTreeSet::new(), 11), [place("x")], "it was not heard");
        ledger.release(&place("x"));
        assert!(ledger.set(&cause("c"), BTreeSet::new(), 12).is_empty() && ledger.causes().is_empty());
    }

    #[test]
    fn what_a_cluster_holds_of_a_name_that_another_cause_uses_is_not_its_own() {
        let mut ledger = RowLedger::default();
        ledger.set(&cause("d"), [place("x")].into(), 1);
        ledger.hold(place("x"), cause("c"), true);
        assert!(!ledger.has(&cause("c"), &place("x")) && ledger.has(&cause("d"), &place("x")));
    }

    #[test]
    fn what_is_rendered_without_rows_is_known_until_it_is_forgotten() {
        let (mut ledger, c) = (RowLedger::default(), cause("c"));
        let known =
            |ledger: &RowLedger| (ledger.causes(), ledger.causes_from(&cause("b"), |cause| *cause == c));
        ledger.keep(&c);
        assert_eq!(known(&ledger), ([c.clone()].into(), [c.clone()].into()));
        ledger.set(&c, [place("x")].into(), 1);
        ledger.keep(&c);
        ledger.set(&c, BTreeSet::new(), 2);
        assert!(ledger.causes().is_empty(), "it had a row, and is not counted twice");
        ledger.keep(&c);
        ledger.set_failing(&c, true);
        ledger.forget(&c);
        assert_eq!(known(&ledger), (BTreeSet::new(), BTreeSet::new()));
    }

    #[test]
    fn who_waits_for_a_name_is_told_once_when_it_is_free() {
        let mut ledger = RowLedger::default();
        ledger.set(&cause("c"), [place("x")].into(), 1);
        assert_eq!(ledger.ask_for(&place("x"), &cause("c")), None, "it is its own");
        for name in ["e", "d", "e"] {
            assert_eq!(ledger.ask_for(&place("x"), &cause(name)), Some(&cause("c")));
        }
        assert!(ledger.is_used(&place("x")));
        ledger.set(&cause("c"), BTreeSet::new(), 2);
        assert!(!ledger.is_used(&place("x")));
        assert_eq!(ledger.take_waiting(&place("x")), [cause("d"), cause("e")].into());
        assert!(ledger.take_waiting(&place("x")).is_empty());
    }

    #[test]
    fn a_cause_is_known_as_long_as_it_has_a_row_something_held_or_a_problem() {
        let mut ledger = RowLedger::default();
        ledger.set(&cause("a"), [place("x")].into(), 1);
        ledger.hold(place("y"), cause("b"), false);
        ledger.set_failing(&cause("c"), true);
        assert_eq!(ledger.causes(), ["a", "b", "c"].map(cause).into());
        let from = ledger.causes_from(&cause("b"), |cause| *cause != super::tests::cause("c"));
        assert_eq!(from, [cause("b")].into());
        ledger.set(&cause("a"), BTreeSet::new(), 2);
        ledger.release(&place("y"));
        ledger.set_failing(&cause("c"), false);
        assert!(ledger.causes().is_empty());
    }

    /// One thing that happens to a ledger: to which cause, at which places.
    #[derive(Clone, Debug)]
    enum Event {
        Set(usize, BTreeSet<usize>),
        Hold(usize, usize, bool),
        Release(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        let places = proptest::collection::btree_set(0..3_usize, 0..3);
        prop_oneof![
            3 => (0..3_usize, places).prop_map(|(cause, places)| Event::Set(cause, places)),
            2 => (0..3_usize, 0..3_usize, any::<bool>()).prop_map(|(cause, place, asks)| Event::Hold(cause, place, asks)),
            1 => (0..3_usize).prop_map(Event::Release),
        ]
    }

    proptest! {
        /// What the table holds after every tombstone that is asked for has been written: exactly what somebody uses. And
        /// what is withdrawn is never another cause's.
        #[test]
        fn the_table_holds_what_is_used(events in proptest::collection::vec(event(), 0..40)) {
            let (causes, places) = (["a", "b", "c"].map(cause), ["x", "y", "z"].map(place));
            let mut ledger = RowLedger::default();
            let mut table = BTreeMap::<Place, Cause>::new();
            for (now, event) in (1..).zip(events) {
                match event {
                    Event::Set(which, wanted) => {
                        let own = |place: &Place| table.get(place).is_none_or(|user| *user == causes[which]);
                        let wanted: BTreeSet<_> =
                            wanted.into_iter().map(|index| places[index].clone()).filter(own).collect();
                        let stale = ledger.set(&causes[which], wanted.clone(), now);
                        for place in wanted {
                            table.insert(place, causes[which].clone());
                        }
                        for place in stale {
                            let user = table.remove(&place);
                            prop_assert!(user.is_none_or(|user| user == causes[which]), "{:?} was another's", place);
                        }
                    }
                    Event::Hold(which, at, asks) => ledger.hold(places[at].clone(), causes[which].clone(), asks),
                    Event::Release(at) => ledger.release(&places[at]),
                }
                for place in &places {
                    let user = table.get(place);
                    prop_assert_eq!(ledger.is_used(place), user.is_some());
                    for cause in &causes {
                        prop_assert_eq!(ledger.leads_to(cause, place), user == Some(cause));
                    }
                }
            }
        }
    }

    #[test]
    fn a_name_that_moved_to_another_cause_is_not_withdrawn() {
        let mut ledger = RowLedger::default();
        ledger.set(&cause("c"), [place("x")].into(), 1);
        ledger.set(&cause("d"), [place("x")].into(), 2);
        assert!(ledger.set(&cause("c"), BTreeSet::new(), 3).is_empty());
    }
}
