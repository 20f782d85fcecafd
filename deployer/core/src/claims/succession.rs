//! Who comes first where one profile takes over from another one.
//!
//! A successor comes before its predecessor, and takes the place of that one among all others: it has the better of both tiers, and the
//! object is taken for its as long as it is the predecessor's. So who comes first is the same from whichever side it is looked at, and
//! an object goes round in no circle.

// D-0930: a successor has the rank of its predecessor.

use std::collections::BTreeSet;

use sluice_api::ProfileId;
use sluice_api::model::Dependencies;

use super::{Claim, Proof, Want};
use crate::request::OwningProfile;

/// Which profiles of a cluster take over from which, by their newest rows.
#[derive(Default)]
pub(super) struct Succession {
    /// A successor "needs" those that it takes over from.
    index: Dependencies,
}

// === impl Succession ===

impl Succession {
    /// A profile takes over from these and no others. Those from which it did and does not any more.
    pub(super) fn set(&mut self, profile: &ProfileId, from: &BTreeSet<ProfileId>) -> BTreeSet<ProfileId> {
        self.index.set(profile, from).unwrap_or_default()
    }

    /// Whether one profile takes over from the other one, directly or not. Rows of different times may be a circle: then none does.
    pub(super) fn is_after(&self, one: &ProfileId, other: &ProfileId) -> bool {
        !self.index.is_empty() && self.index.way(one, other).is_some() && self.index.way(other, one).is_none()
    }

    /// Those that a profile takes over from, but for those in a circle with it.
    pub(super) fn before_all(&self, profile: &ProfileId) -> Vec<ProfileId> {
        self.index.of(profile).filter(|other| self.is_after(profile, other)).cloned().collect()
    }

    /// Whether a profile takes over from the one that an object names.
    pub(super) fn is_after_owner(&self, profile: &ProfileId, owner: &OwningProfile) -> bool {
        if self.index.is_empty() {
            return false;
        }
        let (mut ahead, mut seen) = (vec![profile], BTreeSet::new());
        while let Some(one) = ahead.pop() {
            for other in self.index.of(one).filter(|other| seen.insert(*other)) {
                if owner.is(other) {
                    return self.is_after(profile, other);
                }
                ahead.push(other);
            }
        }
        false
    }

    /// Whether one profile gives way to another that wants something else of the same object.
    pub(super) fn gives_way(
        &self,
        claim: &Claim,
        one: (&ProfileId, &Want),
        other: (&ProfileId, &Want),
    ) -> bool {
        self.rank(claim, other, one) < self.rank(claim, one, other)
    }

    /// Who comes first against a rival: the least.
    fn rank(
        &self,
        claim: &Claim,
        (profile, want): (&ProfileId, &Want),
        (other, rival): (&ProfileId, &Want),
    ) -> (bool, Proof, bool, i32, bool) {
        let proof = if want.account == rival.account { Proof::Given } else { want.proof };
        let (mut tier, mut listed) = (want.tier, want.listed);
        for (_, before) in self.before(claim, profile) {
            (tier, listed) = (tier.min(before.tier), listed || before.listed);
        }
        (want.unable, proof, !self.is_after(profile, other), tier, !listed)
    }

    /// Those that wait for the object, and take over from a profile.
    pub(super) fn waiting(&self, claim: &Claim, profile: &ProfileId) -> Vec<ProfileId> {
        claim.waiting.keys().filter(|name| self.is_after(name, profile)).cloned().collect()
    }

    /// Those that want the same object, and from whom a profile takes over.
    fn before<'a>(
        &'a self,
        claim: &'a Claim,
        profile: &'a ProfileId,
    ) -> impl Iterator<Item = (&'a ProfileId, &'a Want)> {
        let holders = claim.holders.0.iter().filter(|(_, holder)| !holder.leaving);
        let holders = holders.filter_map(|(name, holder)| Some((name, holder.wants.as_ref()?)));
        let waiting = claim.waiting.iter().filter_map(|(name, want)| Some((name, want.as_ref()?)));
        let all = holders.chain(waiting).filter(|_| !self.index.is_empty());
        all.filter(|(name, _)| self.is_after(profile, name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use sluice_api::{Digest, Gvk, ObjectKey};

    use super::super::Claims;
    use super::*;

    fn key() -> Arc<ObjectKey> {
        Arc::new(ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name: "a".into() })
    }

    fn id(number: usize) -> ProfileId {
        ProfileId::cluster(format!("p{number}"))
    }

    /// What a profile wants, and from whom it takes over.
    type Wish = (i32, bool, Vec<usize>);

    fn wish() -> impl Strategy<Value = Wish> {
        (0..3i32, any::<bool>(), proptest::collection::vec(0..5usize, 0..3))
    }

    proptest! {
        /// However they take over from each other, in circles too, an object comes to rest, and is nobody's from whom another one
        /// takes over.
        #[test]
        fn an_object_goes_round_in_no_circle(wishes in proptest::collection::vec(wish(), 5..6), order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle()) {
            let mut claims = Claims::default();
            for (number, (_, _, from)) in wishes.iter().enumerate() {
                claims.succeed(&id(number), &from.iter().map(|other| id(*other)).collect());
            }
            claims.take_asked();
            let claim = |claims: &mut Claims, number: usize| {
                let (tier, listed, _) = wishes[number];
                let content = Digest::of(&[&[u8::try_from(number).unwrap_or_default()]]);
                let want = Want { tier, content, listed, unable: false, account: None, proof: Proof::Given };
                claims.leave(&key(), &id(number));
                claims.claim(&key(), &id(number), want).is_ok()
            };
            for number in order {
                claim(&mut claims, number);
            }
            let mut steps = 0;
            loop {
                let asked = claims.take_asked();
                if asked.is_empty() {
                    break;
                }
                for number in (0..5).filter(|number| asked.contains(&id(*number))) {
                    claim(&mut claims, number);
                    steps += 1;
                    prop_assert!(steps < 500, "it comes to rest");
                }
            }
            let has: Vec<_> = (0..5).filter(|number| claims.objects[&key()].holders.get(&id(*number)).is_some()).collect();
            prop_assert_eq!(has.len(), 1);
            for other in 0..5 {
                prop_assert!(!claims.succession.is_after(&id(other), &id(has[0])), "{} is before {}", has[0], other);
            }
        }
    }
}
