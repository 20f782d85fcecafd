//! What changes hands: it stays as it is until its heir has it.
//!
//! ```text
//! no longer wanted, or lost ─► let go ─► the heir takes it over, object by object ─► settled ─► what is left of it is deleted
//!                                                  └─► cannot settle ─► who had it before gets it back
//! ```
//!
//! Two rows tell of a release that goes from one profile to another, and either may come first.

// D-1022: an object that a profile no longer wants changes hands in place.

use std::time::Duration;

use sluice_api::ProfileId;

use super::replies::Fault;
use super::{Ended, HANDED_OVER, Job, JobContext, Phase, Target};
use crate::budget::micros;
use crate::releases;
use crate::request::Live;

// D-1024: a release changes hands object by object.
/// For how long a release that nobody wants waits for an heir whose row has not come yet.
const PATIENCE: Duration = Duration::from_secs(2);
/// Runs in a row in which a release could not be settled, before who had it gets it back. What needs a kind that has only just been
/// defined fails a few times.
const ATTEMPTS: u32 = 4;

impl Job {
    /// Others can have what it no longer wants. Of what cannot be read nobody knows which objects it is about.
    pub(super) fn let_go(&mut self, context: &mut JobContext<'_>) {
        if !(self.run.is_whole || matches!(self.target, Target::Gone(_))) {
            return;
        }
        let Some(owned) = self.inventory() else { return };
        let objects = owned
            .objects
            .iter()
            .map(AsRef::as_ref)
            .filter(|key| !self.run.objects.contains_key(*key))
            .cloned();
        let releases = owned.releases.keys().filter(|path| !self.run.releases.contains_key(*path));
        for key in objects.chain(releases.map(|path| self.release_key(path))) {
            if context.claims.let_go(&key, &self.profile) {
                context.live.remove(&key);
            }
        }
    }

    /// Until when its releases that nobody wants wait for an heir; nothing when there are none, or they have waited long enough.
    pub(super) fn patience(&mut self, context: &JobContext<'_>) -> Option<i64> {
        let owned = self.inventory_state.stored.as_ref().map(|held| held.inventory.clone());
        let left = owned.iter().flat_map(|owned| owned.releases.keys());
        let left: Vec<_> = left.filter(|path| !self.run.releases.contains_key(*path)).collect();
        self.parting.retain(|path, _| left.contains(&path));
        let mut until = None;
        for path in left {
            let since = *self.parting.entry(path.clone()).or_insert(context.now);
            let at = since + micros(PATIENCE);
            if at > context.now && context.claims.heir(&self.release_key(path), &self.profile).is_none() {
                until = until.max(Some(at));
            }
        }
        until
    }

    /// Goes on at that time, or as soon as somebody takes something over.
    pub(super) fn wait_until(&mut self, at: i64, context: &mut JobContext<'_>) -> Ended {
        let ended = if matches!(self.target, Target::Gone(_)) {
            self.phase = Phase::Idle;
            Ended::NotYet
        } else {
            self.settle(context)
        };
        self.wake_at(at);
        ended
    }

    /// Somebody else wants the same object: it goes on in that name before this profile's inventory forgets it.
    pub(super) fn hand_over(
        &mut self,
        key: &sluice_api::ObjectKey,
        heir: &ProfileId,
        context: &mut JobContext<'_>,
    ) {
        let text = format!("{key} waits until {heir} has taken it over");
        // That it has lost the object is said beside it.
        self.run.errors.insert(format!("{key}{HANDED_OVER}"), Fault::new(text, true));
        context.live.remove(key);
        context.claims.hand_over(key, &self.profile, heir);
        self.claimed.insert(self.shared(key));
    }

    /// Whether another profile goes on with the release that an object is of, and has not everything of it yet: until then nothing
    /// of it is deleted.
    pub(super) fn waits_for_heir(&mut self, live: &Live, context: &JobContext<'_>) -> bool {
        let reference = live.owner.as_ref().map(|owner| owner.reference.as_str()).unwrap_or_default();
        let path = releases::path_of_error(reference).filter(|path| !self.run.releases.contains_key(*path));
        let Some(path) = path else { return false };
        let release = self.release_key(path);
        let unsettled = context.claims.unsettled_heir(&release, &self.profile);
        let Some(heir) = unsettled.or_else(|| self.unready_successor(&release, context)) else {
            return false;
        };
        let text =
            format!("release {path} waits until {heir} has taken it over: nothing of it is deleted before");
        self.run.errors.insert(format!("{}{HANDED_OVER}", releases::error_key(path)), Fault::new(text, true));
        true
    }

    /// Who has what is called so as its successor, and is not there as it should be yet. Its row may have come before the one that says
    /// that this profile goes after it.
    fn unready_successor<'c>(
        &self,
        key: &sluice_api::ObjectKey,
        context: &'c JobContext<'_>,
    ) -> Option<&'c ProfileId> {
        let heir = context.claims.heir(key, &self.profile)?;
        let is_missing = || !context.others.missing(&[heir.clone()].into(), self.tenant()).is_empty();
        (context.claims.is_successor(heir, &self.profile) && is_missing()).then_some(heir)
    }

    /// Whether something waits until another profile has taken it over.
    pub(crate) fn waits_to_hand_over(&self) -> bool {
        self.run.errors.keys().any(|about| about.ends_with(HANDED_OVER))
    }

    /// Everything that it wants has been applied, or was tried: releases without a mistake are its, and others go back to who had
    /// them, once it has been tried often enough.
    pub(super) fn settle_releases(&mut self, context: &mut JobContext<'_>) {
        if !self.run.is_whole {
            return;
        }
        let failed = |path: &str| {
            self.run.objects.iter().find_map(|(key, one)| {
                let fault = self.run.errors.get(&key.to_string())?;
                let owner = Live::of(&one.object).owner?;
                (releases::path_of_error(&owner.reference) == Some(path)).then_some(fault)
            })
        };
        let tried = self.attempts.failed + 1 >= ATTEMPTS;
        // What has not had its turn is not there.
        let waiting = self.waiting_releases();
        let mut given_back = Vec::new();
        for path in self.run.releases.keys().filter(|path| !waiting.contains(*path)) {
            let key = self.release_key(path);
            match failed(path) {
                None => context.claims.settle(&key, &self.profile),
                Some(fault) if fault.lost => {}
                Some(fault) if tried && !fault.transient => {
                    if context.claims.give_back(&key, &self.profile) {
                        given_back.push((path.clone(), fault.text.clone()));
                    }
                }
                Some(_) => {}
            }
        }
        self.unable.extend(given_back);
    }
}
