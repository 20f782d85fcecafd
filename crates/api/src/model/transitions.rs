//! Profiles that take over from others: `spec.transitionFrom`.
//!
//! ```text
//! green: transitionFrom [blue]   ─►   what blue has is green's; where blue goes it stays until green is there
//! ```

// D-0928: a predecessor goes when its successors are there.

use std::collections::BTreeSet;

use super::dependencies::Dependencies;
use crate::profile::ProfileId;

/// Which profiles take over from which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    /// A successor "needs" those that it takes over from.
    index: Dependencies,
}

// === impl Transitions ===

impl Transitions {
    /// A profile takes over from these and no others. The profiles that may be in a circle now, or not be in one any more, besides itself.
    pub fn change(&mut self, id: &ProfileId, from: &BTreeSet<ProfileId>) -> BTreeSet<ProfileId> {
        let Some(dropped) = self.index.set(id, from) else { return BTreeSet::new() };
        let mut ahead: Vec<ProfileId> = dropped.into_iter().chain(from.iter().cloned()).collect();
        let mut concerned = BTreeSet::new();
        while let Some(other) = ahead.pop() {
            if other != *id && !concerned.contains(&other) {
                ahead.extend(self.index.of(&other).cloned());
                concerned.insert(other);
            }
        }
        concerned
    }

    /// The way from a profile over those that it takes over from back to itself; both ends are in it.
    pub fn circle(&self, id: &ProfileId) -> Option<Vec<ProfileId>> {
        self.index.way(id, id)
    }

    /// From whom a profile takes over. One in a circle does from nobody.
    pub fn predecessors(&self, id: &ProfileId) -> BTreeSet<ProfileId> {
        match self.circle(id) {
            Some(_) => BTreeSet::new(),
            None => self.index.of(id).cloned().collect(),
        }
    }

    /// Whether nobody takes over from anybody.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether anybody says that it takes over from a profile.
    pub fn has_successor(&self, id: &ProfileId) -> bool {
        self.index.dependents(id).next().is_some()
    }

    /// Who takes over from a profile, and who from these. Those in a circle do from nobody.
    pub fn successors(&self, id: &ProfileId) -> BTreeSet<ProfileId> {
        let (mut ahead, mut all) = (vec![id], BTreeSet::new());
        while let Some(one) = ahead.pop() {
            for successor in self.index.dependents(one) {
                if !all.contains(successor) && self.circle(successor).is_none() {
                    all.insert(successor.clone());
                    ahead.push(successor);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn id(name: &str) -> ProfileId {
        ProfileId::cluster(name)
    }

    fn ids(names: &[&str]) -> BTreeSet<ProfileId> {
        names.iter().map(|name| id(name)).collect()
    }

    #[test]
    fn who_takes_over_from_a_successor_takes_over_from_its_predecessors_too() {
        let mut all = Transitions::default();
        assert_eq!(all.change(&id("b"), &ids(&["a"])), ids(&["a"]));
        assert_eq!(all.change(&id("c"), &ids(&["b"])), ids(&["a", "b"]));
        assert_eq!(all.change(&id("c"), &ids(&["b"])), ids(&[]), "nothing is new");
        assert_eq!(all.successors(&id("a")), ids(&["b", "c"]));
        assert!(all.has_successor(&id("a")) && !all.has_successor(&id("c")));
        assert_eq!((all.predecessors(&id("c")), all.successors(&id("c"))), (ids(&["b"]), ids(&[])));
        assert_eq!(all.change(&id("b"), &ids(&[])), ids(&["a"]));
        assert_eq!(all.successors(&id("a")), ids(&[]));
    }

    #[test]
    fn nobody_in_a_circle_takes_anything_over() {
        let mut all = Transitions::default();
        all.change(&id("a"), &ids(&["b"]));
        all.change(&id("b"), &ids(&["c"]));
        assert_eq!(all.change(&id("c"), &ids(&["a"])), ids(&["a", "b"]));
        assert_eq!(all.circle(&id("b")).unwrap(), ["b", "c", "a", "b"].map(id));
        for name in ["a", "b", "c"] {
            assert_eq!((all.predecessors(&id(name)), all.successors(&id(name))), (ids(&[]), ids(&[])));
        }
        // Who takes over from one of them is in no circle.
        all.change(&id("d"), &ids(&["a"]));
        assert_eq!((all.circle(&id("d")), all.successors(&id("a"))), (None, ids(&["d"])));
        assert_eq!(all.change(&id("c"), &ids(&[])), ids(&["a", "b"]));
        assert_eq!(all.successors(&id("c")), ids(&["a", "b", "d"]));
        all.change(&id("e"), &ids(&["e"]));
        assert_eq!(all.circle(&id("e")).unwrap(), ["e", "e"].map(id));
    }
}
