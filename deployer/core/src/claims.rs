//! Which profiles of a cluster have an object, and who waits for it.
//!
//! The lower tier has it, else who has it in its inventory, else who came first. Between two tenants, and between a tenant and
//! everybody else, a tier counts only for who may write the object: see [`Proof`]. Profiles that want the same content
//! from the same reference have it together, and it goes with the last of them. What a profile no longer wants it lets go: who
//! waits for that takes it over as it is, and only what nobody takes is deleted.

// D-1021: equal content is shared.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sluice_api::{ObjectKey, ProfileId};

use self::succession::Succession;
use self::want::is_refused;
pub(crate) use self::want::{Denied, Proof, Want};
use crate::request::OwningProfile;

mod succession;
mod want;

// D-1020: the lower tier has an object, else who has it already.
#[derive(Default)]
pub(crate) struct Claims {
    objects: HashMap<Arc<ObjectKey>, Claim>,
    succession: Succession,
    /// Profiles that are to restart: what they can have has changed.
    asked: BTreeSet<ProfileId>,
}

/// Nearly every object has one holder: lists that are as long as that.
#[derive(Default)]
struct Claim {
    holders: Holders,
    /// With what they want, where that is known.
    waiting: BTreeMap<ProfileId, Option<Want>>,
    /// The object was seen to be this one's, which waits: it comes before everybody to whom it does not give way.
    named: Option<Box<ProfileId>>,
}

/// By profile, sorted.
#[derive(Default)]
struct Holders(Vec<(ProfileId, Holder)>);

/// What is known of a profile that has an object.
#[derive(Clone, Default)]
struct Holder {
    /// What it wants, of which tier; `None` while only its inventory is known.
    wants: Option<Want>,
    /// Whether it no longer wants it, and has not let it go yet.
    leaving: bool,
    /// Whether it lets another one have it as it is, who need not wait until it is gone.
    hands_over: bool,
    /// Of a release: whether everything of it has been as it should be, once since this profile has it.
    settled: bool,
}

impl Holders {
    fn place(&self, profile: &ProfileId) -> Result<usize, usize> {
        self.0.binary_search_by(|(holder, _)| holder.cmp(profile))
    }

    /// The holder, as a new one when it is none yet.
    fn of(&mut self, profile: &ProfileId) -> &mut Holder {
        let place = self.place(profile).unwrap_or_else(|place| {
            self.0.reserve_exact(1);
            self.0.insert(place, (profile.clone(), Holder::default()));
            place
        });
        &mut self.0[place].1
    }

    fn get(&self, profile: &ProfileId) -> Option<&Holder> {
        let place = self.place(profile).ok()?;
        Some(&self.0[place].1)
    }

    fn get_mut(&mut self, profile: &ProfileId) -> Option<&mut Holder> {
        let place = self.place(profile).ok()?;
        Some(&mut self.0[place].1)
    }

    /// Whether it was one.
    fn remove(&mut self, profile: &ProfileId) -> bool {
        self.place(profile).is_ok_and(|place| {
            self.0.remove(place);
            true
        })
    }

    fn others(&self, profile: &ProfileId) -> impl Iterator<Item = &(ProfileId, Holder)> {
        self.0.iter().filter(move |(name, _)| name != profile)
    }
}

impl Claim {
    /// Who comes before this profile because the object is its, and has not had its turn yet.
    fn first(&mut self, profile: &ProfileId, want: &Want, succession: &Succession) -> Option<ProfileId> {
        let named = self.named.take().filter(|named| **named != *profile && self.holders.0.is_empty())?;
        let waits = self.waiting.get(&*named)?;
        let gives_way = |waits: &Want| succession.gives_way(self, (&*named, waits), (profile, want));
        if waits.as_ref().is_some_and(gives_way) {
            return None;
        }
        let first = (*named).clone();
        self.named = Some(named);
        Some(first)
    }

    /// Others that want it, whose inventories name it.
    fn had_before(&self, profile: &ProfileId) -> impl Iterator<Item = ProfileId> {
        let had = |want: &Option<Want>| want.as_ref().is_some_and(|want| want.listed && !want.unable);
        let others = self.waiting.iter().filter(move |(name, want)| *name != profile && had(want));
        others.map(|(name, _)| name.clone())
    }
}

impl Claims {
    /// Forgets everything but what rows say.
    pub(crate) fn clear(&mut self) {
        *self = Self { succession: std::mem::take(&mut self.succession), ..Self::default() };
    }

    /// By its newest row a profile takes over from these, and no others. Who has lost something because of that asks for it again.
    pub(crate) fn succeed(&mut self, profile: &ProfileId, from: &BTreeSet<ProfileId>) {
        self.asked.extend(self.succession.set(profile, from));
    }

    /// Whether a profile takes over from the one that an object names.
    pub(crate) fn takes_over_from(&self, profile: &ProfileId, owner: &OwningProfile) -> bool {
        self.succession.is_after_owner(profile, owner)
    }

    /// Whether one profile takes over from the other one.
    pub(crate) fn is_successor(&self, one: &ProfileId, other: &ProfileId) -> bool {
        self.succession.is_after(one, other)
    }

    /// Those that a profile takes over from.
    pub(crate) fn predecessors(&self, profile: &ProfileId) -> Vec<ProfileId> {
        self.succession.before_all(profile)
    }

    /// Profiles that are to restart.
    pub(crate) fn take_asked(&mut self) -> BTreeSet<ProfileId> {
        std::mem::take(&mut self.asked)
    }

    /// The inventory of a profile names the object.
    pub(crate) fn list(&mut self, key: &Arc<ObjectKey>, profile: &ProfileId) {
        let claim = self.objects.entry(key.clone()).or_default();
        claim.holders.of(profile);
    }

    /// A profile wants an object.
    ///
    /// # Errors
    /// Who has it; the profile waits.
    pub(crate) fn claim(
        &mut self,
        key: &Arc<ObjectKey>,
        profile: &ProfileId,
        mut want: Want,
    ) -> Result<(), Denied> {
        let claim = self.objects.entry(key.clone()).or_default();
        // With what a predecessor wants now they may come before others.
        self.asked.extend(self.succession.waiting(claim, profile));
        let rivals: Vec<_> = claim
            .holders
            .others(profile)
            .filter_map(|(name, holder)| Some((name.clone(), holder.wants.clone()?, holder.leaving)))
            .filter(|(_, wants, _)| wants.content != want.content)
            .collect();
        let known = claim.holders.get(profile).and_then(|holder| holder.wants.as_ref());
        if let Some(known) = known.filter(|known| known.account == want.account) {
            want.proof = if want.proof == Proof::Untried { known.proof } else { want.proof };
        }
        if let Some(name) = claim.first(profile, &want, &self.succession) {
            claim.waiting.insert(profile.clone(), Some(want));
            self.asked.insert(name.clone());
            return Err(Denied::by(name));
        }
        let give_way = |(name, wants, _): &(ProfileId, Want, bool), want: &Want| {
            self.succession.gives_way(claim, (name, wants), (profile, want))
        };
        if let Some((name, ..)) = rivals.iter().find(|rival| !give_way(rival, &want)) {
            let proved = Want { proof: Proof::Given, ..want.clone() };
            let provable = rivals.iter().all(|rival| give_way(rival, &proved));
            let denied = Denied { by: name.clone(), provable };
            if claim.holders.remove(profile) {
                self.asked.extend(claim.waiting.keys().cloned());
            }
            claim.waiting.insert(profile.clone(), Some(want));
            return Err(denied);
        }
        for (name, wants, is_leaving) in rivals {
            claim.holders.remove(&name);
            // What is there may say that it is that one's; and as long as a predecessor wants it, its rank counts.
            let is_before = !is_leaving && self.succession.is_after(profile, &name);
            if wants.proof == Proof::Refused || is_before {
                claim.waiting.insert(name.clone(), Some(wants));
            }
            self.asked.insert(name);
        }
        claim.waiting.remove(profile);
        let was_there = claim.holders.place(profile).is_ok();
        let holder = claim.holders.of(profile);
        let settled = holder.settled && holder.wants.is_some();
        let content = want.content;
        let before = std::mem::replace(holder, Holder { wants: Some(want), settled, ..Holder::default() });
        // Who waits may want the same, now, or come before it.
        if before.wants.map_or(was_there, |before| before.content != content) {
            self.asked.extend(claim.waiting.keys().cloned());
        }
        Ok(())
    }

    /// A profile wants a release. No object says whose that is: one that another inventory names is that profile's until it is
    /// known what it wants.
    ///
    /// # Errors
    /// Who has it; the profile waits.
    pub(crate) fn claim_release(
        &mut self,
        key: &Arc<ObjectKey>,
        profile: &ProfileId,
        want: Want,
    ) -> Result<(), Denied> {
        let claim = self.objects.entry(key.clone()).or_default();
        let is_unknown = |holder: &Holder| holder.wants.is_none() && !holder.leaving;
        let unknown = claim.holders.others(profile).find(|(name, holder)| {
            is_unknown(holder) && !want.listed && !self.succession.is_after(profile, name)
        });
        let able = claim.waiting.iter().find(|(name, other)| {
            want.unable && *name != profile && other.as_ref().is_some_and(|other| !other.unable)
        });
        let first = unknown.map(|(name, _)| name).or(able.map(|(name, _)| name)).cloned();
        let Some(first) = first else { return self.claim(key, profile, want) };
        claim.holders.remove(profile);
        claim.waiting.insert(profile.clone(), Some(want));
        Err(Denied::by(first))
    }

    /// A tenant has written what it has, or may not. Who waits comes before one that may not, and who lets it go has no heir in it.
    /// Whether it still has it.
    pub(crate) fn prove(&mut self, key: &ObjectKey, profile: &ProfileId, proof: Proof) -> bool {
        let Some(claim) = self.objects.get_mut(key) else { return false };
        let Some(wants) = claim.holders.get_mut(profile).and_then(|holder| holder.wants.as_mut()) else {
            return false;
        };
        // Two that refuse each other's heirs would ask each other for ever: it is said once, and who waits looks again by itself.
        if std::mem::replace(&mut wants.proof, proof) != proof && proof == Proof::Refused {
            let leaving = claim.holders.others(profile).filter(|(_, holder)| holder.leaving);
            self.asked.extend(leaving.map(|(name, _)| name.clone()));
            self.asked.extend(claim.waiting.keys().cloned());
        }
        true
    }

    /// Everything of a release is as its profile wants it: who had it before may take away what is left.
    pub(crate) fn settle(&mut self, key: &ObjectKey, profile: &ProfileId) {
        let Some(claim) = self.objects.get_mut(key) else { return };
        let Some(holder) = claim.holders.get_mut(profile).filter(|holder| !holder.settled) else { return };
        holder.settled = true;
        let leaving = claim.holders.others(profile).filter(|(_, holder)| holder.leaving);
        self.asked.extend(leaving.map(|(name, _)| name.clone()));
        self.asked.extend(claim.had_before(profile));
    }

    /// A profile cannot have a release as it wants it, and never could: who had it before gets it back. Whether anybody does.
    pub(crate) fn give_back(&mut self, key: &ObjectKey, profile: &ProfileId) -> bool {
        let Some(claim) = self.objects.get_mut(key) else { return false };
        let had_before: Vec<_> = claim.had_before(profile).collect();
        let Some(want) = claim.holders.get_mut(profile).filter(|holder| !holder.settled) else {
            return false;
        };
        let Some(want) = want.wants.clone().filter(|_| !had_before.is_empty()) else { return false };
        claim.holders.remove(profile);
        claim.waiting.insert(profile.clone(), Some(Want { unable: true, ..want }));
        self.asked.extend(had_before);
        self.asked.insert(profile.clone());
        true
    }

    /// The profile that goes on with a release, or is about to, as long as it has not settled.
    pub(crate) fn unsettled_heir(&self, key: &ObjectKey, profile: &ProfileId) -> Option<&ProfileId> {
        let claim = self.objects.get(key)?;
        match claim.holders.others(profile).find(|(_, holder)| !holder.leaving) {
            Some((name, holder)) => (!holder.settled).then_some(name),
            None => claim.waiting.keys().find(|name| *name != profile),
        }
    }

    /// A profile no longer wants what it has, or waits for.
    pub(crate) fn leave(&mut self, key: &ObjectKey, profile: &ProfileId) {
        let Some(claim) = self.objects.get_mut(key) else { return };
        claim.waiting.remove(profile);
        if let Some(holder) = claim.holders.get_mut(profile) {
            holder.leaving = true;
        }
        self.tidy(key);
    }

    /// A profile has let an object go: who waits may have it.
    pub(crate) fn release(&mut self, key: &ObjectKey, profile: &ProfileId) {
        let Some(claim) = self.objects.get_mut(key) else { return };
        claim.waiting.remove(profile);
        if claim.holders.remove(profile) {
            self.asked.extend(claim.waiting.keys().cloned());
        }
        self.tidy(key);
    }

    /// The object says that it belongs to another profile: that one may have it, and this one waits.
    pub(crate) fn yield_to(&mut self, key: &ObjectKey, profile: &ProfileId, owner: &OwningProfile) {
        let claim = self.objects.entry(Arc::new(key.clone())).or_default();
        claim.holders.remove(profile);
        claim.named = claim.waiting.keys().find(|other| owner.is(other)).cloned().map(Box::new);
        self.asked.extend(claim.named.as_deref().cloned());
        claim.waiting.insert(profile.clone(), None);
    }

    /// Another profile that has the object and keeps it, or that waits for it.
    pub(crate) fn heir(&self, key: &ObjectKey, profile: &ProfileId) -> Option<&ProfileId> {
        let claim = self.objects.get(key)?;
        let mut heirs = claim.holders.others(profile).filter(|(_, holder)| !holder.leaving);
        let heir = heirs.find(|(_, holder)| !is_refused(holder.wants.as_ref())).map(|(name, _)| name);
        let mut waiting = claim.waiting.iter().filter(|(name, _)| *name != profile);
        heir.or_else(|| waiting.find(|(_, want)| !is_refused(want.as_ref())).map(|(name, _)| name))
    }

    /// Whether the owner that an object names is a tenant that may not write it (any more).
    pub(crate) fn may_not(&self, key: &ObjectKey, owner: &OwningProfile) -> bool {
        let Some(claim) = self.objects.get(key) else { return false };
        let holders = claim.holders.0.iter().map(|(name, holder)| (name, holder.wants.as_ref()));
        let mut all = holders.chain(claim.waiting.iter().map(|(name, want)| (name, want.as_ref())));
        all.any(|(name, want)| owner.is(name) && is_refused(want))
    }

    /// Whether the owner that an object names has it together with this profile.
    pub(crate) fn shares(&self, key: &ObjectKey, profile: &ProfileId, owner: &OwningProfile) -> bool {
        let Some(claim) = self.objects.get(key) else { return false };
        let mut holders = claim.holders.others(profile).filter(|(_, holder)| !holder.leaving);
        holders.any(|(name, _)| owner.is(name))
    }

    /// A profile lets another one have an object, which is to look at it. The object may say that it belongs to one that has lost
    /// it before, and does not want it any more.
    pub(crate) fn hand_over(&mut self, key: &ObjectKey, profile: &ProfileId, heir: &ProfileId) {
        let claim = self.objects.entry(Arc::new(key.clone())).or_default();
        match claim.holders.get_mut(profile) {
            Some(holder) => holder.hands_over = true,
            None if claim.waiting.contains_key(profile) => {}
            None => {
                *claim.holders.of(profile) = Holder { leaving: true, hands_over: true, ..Holder::default() };
            }
        }
        self.ask(heir);
    }

    /// A profile no longer wants what it has: as long as it is there others can have it as it is. Whether anybody waits for it.
    pub(crate) fn let_go(&mut self, key: &ObjectKey, profile: &ProfileId) -> bool {
        let Some(claim) = self.objects.get_mut(key) else { return false };
        let Some(holder) = claim.holders.get_mut(profile).filter(|holder| holder.leaving) else {
            return false;
        };
        let is_new = holder.wants.is_some() || !holder.hands_over;
        *holder = Holder { leaving: true, hands_over: true, ..Holder::default() };
        if is_new {
            self.asked.extend(claim.waiting.keys().cloned());
        }
        !claim.waiting.is_empty()
    }

    /// Whether the owner that an object names lets another one have it.
    pub(crate) fn is_handed_over(&self, key: &ObjectKey, owner: &OwningProfile) -> bool {
        let holders = self.objects.get(key).into_iter().flat_map(|claim| &claim.holders.0);
        holders.into_iter().any(|(name, holder)| holder.hands_over && owner.is(name))
    }

    /// A profile is to look again at what it has.
    pub(crate) fn ask(&mut self, profile: &ProfileId) {
        self.asked.insert(profile.clone());
    }

    fn tidy(&mut self, key: &ObjectKey) {
        if self.objects.get(key).is_some_and(|claim| claim.holders.0.is_empty() && claim.waiting.is_empty()) {
            self.objects.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sluice_api::{Digest, Gvk};

    use super::*;

    fn key() -> Arc<ObjectKey> {
        Arc::new(ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name: "a".into() })
    }

    fn want(tier: i32, content: &str, listed: bool) -> Want {
        let content = Digest::of(&[content.as_bytes()]);
        Want { tier, content, listed, unable: false, account: None, proof: Proof::Given }
    }

    fn denied(by: &str) -> Result<(), Denied> {
        Err(Denied::by(id(by)))
    }

    fn id(name: &str) -> ProfileId {
        ProfileId::cluster(name)
    }

    fn asked(claims: &mut Claims) -> Vec<String> {
        claims.take_asked().into_iter().map(|id| id.name).collect()
    }

    #[test]
    fn who_has_lost_an_object_and_goes_hands_over_what_still_says_that_it_is_its() {
        let mut claims = Claims::default();
        for profile in ["p", "q"] {
            assert_eq!(claims.claim(&key(), &id(profile), want(100, "1", true)), Ok(()));
        }
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "2", true)), denied("q"));
        let owner = OwningProfile {
            kind: "ClusterProfile".into(),
            name: "p".into(),
            tier: 100,
            reference: "ConfigMap n/c".into(),
            reference_tier: 100,
        };
        claims.hand_over(&key(), &id("p"), &id("q"));
        assert!(!claims.is_handed_over(&key(), &owner), "it wants it and waits");
        claims.leave(&key(), &id("p"));
        claims.take_asked();
        claims.hand_over(&key(), &id("p"), &id("q"));
        assert!(claims.is_handed_over(&key(), &owner) && asked(&mut claims) == ["q"]);
        assert_eq!(claims.heir(&key(), &id("q")), None, "it is nobody's heir");
        claims.release(&key(), &id("p"));
        assert!(!claims.is_handed_over(&key(), &owner));
    }

    #[test]
    fn the_first_of_equals_has_it_and_who_waits_is_asked_when_it_goes() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", false)), Ok(()));
        assert_eq!(claims.claim(&key(), &id("q"), want(100, "2", false)), denied("p"));
        claims.leave(&key(), &id("p"));
        assert!(asked(&mut claims).is_empty(), "it is still there");
        claims.release(&key(), &id("p"));
        assert_eq!(asked(&mut claims), ["q"]);
    }

    #[test]
    fn a_lower_tier_takes_it_and_who_loses_it_is_told() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", true)), Ok(()));
        assert_eq!(claims.claim(&key(), &id("q"), want(50, "2", false)), Ok(()));
        assert_eq!(asked(&mut claims), ["p"]);
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", true)), denied("q"));
        claims.release(&key(), &id("q"));
        assert_eq!(asked(&mut claims), ["p"]);
    }

    #[test]
    fn an_inventory_decides_between_equals() {
        let mut claims = Claims::default();
        claims.list(&key(), &id("q"));
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", false)), Ok(()));
        assert_eq!(claims.claim(&key(), &id("q"), want(100, "2", true)), Ok(()));
        assert_eq!(asked(&mut claims), ["p"]);
    }

    #[test]
    fn the_same_content_is_shared() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", false)), Ok(()));
        assert_eq!(claims.claim(&key(), &id("q"), want(50, "1", false)), Ok(()));
        assert_eq!(claims.heir(&key(), &id("p")), Some(&id("q")));
        claims.leave(&key(), &id("q"));
        assert_eq!(claims.heir(&key(), &id("p")), None);
    }

    #[test]
    fn what_is_let_go_goes_to_who_waits_as_it_is() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim(&key(), &id("p"), want(100, "1", true)), Ok(()));
        assert_eq!(claims.claim(&key(), &id("q"), want(100, "2", false)), denied("p"));
        claims.leave(&key(), &id("p"));
        assert!(claims.let_go(&key(), &id("p")));
        assert_eq!(
            (asked(&mut claims), claims.heir(&key(), &id("p"))),
            (vec!["q".to_owned()], Some(&id("q")))
        );
        assert!(claims.let_go(&key(), &id("p")) && asked(&mut claims).is_empty(), "who waits is asked once");
        assert_eq!(claims.claim(&key(), &id("q"), want(100, "2", false)), Ok(()));
        let owner =
            OwningProfile { kind: "ClusterProfile".into(), name: "p".into(), ..OwningProfile::default() };
        assert!(claims.is_handed_over(&key(), &owner));
    }

    #[test]
    fn a_release_goes_on_until_its_heir_has_settled_and_back_when_that_one_cannot() {
        let mut claims = Claims::default();
        assert_eq!(claims.claim_release(&key(), &id("p"), want(100, "p", true)), Ok(()));
        assert_eq!(claims.claim_release(&key(), &id("q"), want(50, "q", false)), Ok(()));
        assert_eq!(asked(&mut claims), ["p"]);
        assert_eq!(claims.claim_release(&key(), &id("p"), want(100, "p", true)), denied("q"));
        assert_eq!(claims.unsettled_heir(&key(), &id("p")), Some(&id("q")));
        assert!(claims.give_back(&key(), &id("q")));
        assert_eq!(asked(&mut claims), ["p", "q"]);
        let unable = Want { unable: true, ..want(50, "q", true) };
        assert_eq!(claims.claim_release(&key(), &id("q"), unable), denied("p"), "whoever asks first");
        assert_eq!(claims.claim_release(&key(), &id("p"), want(100, "p", true)), Ok(()));
        assert!(!claims.give_back(&key(), &id("p")), "the other one could not");
        claims.settle(&key(), &id("p"));
        assert_eq!(claims.unsettled_heir(&key(), &id("q")), None);
    }

    #[test]
    fn a_release_that_an_inventory_names_waits_for_what_its_profile_wants() {
        let mut claims = Claims::default();
        claims.list(&key(), &id("p"));
        assert_eq!(claims.claim_release(&key(), &id("q"), want(50, "q", false)), denied("p"));
        assert_eq!(claims.claim_release(&key(), &id("p"), want(100, "p", true)), Ok(()));
        assert_eq!(asked(&mut claims), ["q"], "which may come before it");
        assert_eq!(claims.claim_release(&key(), &id("q"), want(50, "q", false)), Ok(()));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Claim { tier: i32, content: u8, listed: bool },
        Leave,
        Give,
        Release,
    }

    fn op() -> impl Strategy<Value = Op> {
        let claim = |(tier, content, listed)| Op::Claim { tier, content, listed };
        prop_oneof![2 => (0..3i32, 0..3u8, any::<bool>()).prop_map(claim), 1 => Just(Op::Leave), 1 => Just(Op::Give), 1 => Just(Op::Release)]
    }

    proptest! {
        #[test]
        fn holders_agree_and_nobody_waits_in_vain(ops in proptest::collection::vec((0..3usize, op()), 0..60)) {
            let ids = ["p", "q", "r"].map(id);
            let (mut claims, mut asked) = (Claims::default(), BTreeSet::new());
            claims.list(&key(), &ids[0]);
            for (profile, op) in ops {
                let profile = &ids[profile];
                match op {
                    Op::Claim { tier, content, listed } => {
                        asked.remove(profile);
                        let claimed = claims.claim(&key(), profile, want(tier, &content.to_string(), listed));
                        let claim = &claims.objects[&key()];
                        prop_assert_eq!(claimed.is_ok(), claim.holders.place(profile).is_ok());
                        prop_assert_eq!(claimed.is_err(), claim.waiting.contains_key(profile));
                    }
                    Op::Leave => claims.leave(&key(), profile),
                    Op::Give => drop(claims.let_go(&key(), profile)),
                    Op::Release => claims.release(&key(), profile),
                }
                asked.extend(claims.take_asked());
                let Some(claim) = claims.objects.get(&key()) else { continue };
                let wants = claim.holders.0.iter().filter_map(|(_, holder)| Some(holder.wants.as_ref()?.content));
                prop_assert!(wants.collect::<BTreeSet<_>>().len() <= 1, "who has it wants the same");
                let free = claim.holders.0.is_empty();
                let waits = claim.waiting.keys().all(|profile| asked.contains(profile));
                prop_assert!(!free || waits, "who waits for what nobody has is told");
            }
        }
    }
}
