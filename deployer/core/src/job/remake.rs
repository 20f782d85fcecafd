//! What the server does not let be changed as wanted, and what a chart has brought along already.

use sluice_api::{ObjectKey, kinds};

use super::{Job, JobContext, Phase};
use crate::prepare::Brought;
use crate::request::{Live, Reply, Request};

impl Job {
    // D-1026: an object that cannot be changed is deleted and made again only on request.
    /// Deletes an object that cannot be changed as wanted, where that is asked for: it is in the inventory already. Whether it
    /// does. Once in a run, and not before every renderer has said that all its rows are there: until then another profile may
    /// want what is there.
    pub(super) fn remakes(
        &mut self,
        key: &ObjectKey,
        live: Option<Live>,
        context: &mut JobContext<'_>,
    ) -> bool {
        let asked = self.is_made_anew(key);
        let Some(live) = live.filter(|live| !live.going) else { return false };
        let now = self.phase == Phase::Applying && context.all_said && !self.again;
        if !asked || !now || !self.run.remade.insert(key.clone()) {
            return false;
        }
        self.run.changed = true;
        let (key, against, account) = (key.clone(), live.version(), self.account());
        self.call(Request::Delete { key, against, account }, context);
        true
    }

    /// Whether it is asked for that an object is made anew where it cannot be changed as wanted.
    pub(super) fn is_made_anew(&self, key: &ObjectKey) -> bool {
        self.run.objects.get(key).is_some_and(|one| one.recreate) && !is_never(key)
    }

    /// Whether this is the answer that an object is gone which is to be made anew.
    pub(super) fn is_remade(&self, key: &ObjectKey, reply: &Reply) -> bool {
        *reply == Reply::Done && self.run.remade.contains(key) && self.phase == Phase::Applying
    }

    /// It is gone, or goes as soon as its finalizers are done: then the server says so when it is to be created.
    pub(super) fn deleted(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        context.live.remove(key);
        self.run.absent.insert(key.clone());
        self.next_after(key, context);
    }

    /// What to do about an object that cannot be changed as wanted.
    pub(super) fn remedy(&self, key: &ObjectKey) -> &'static str {
        if is_never(key) {
            return "; such an object is never deleted to be made anew: take the change back, or do it by hand";
        }
        if self.run.objects.get(key).is_some_and(|one| one.recreate) {
            return "; it is deleted and made anew when that is tried again";
        }
        "; only a new object can be so: annotate it with projectsveltos.io/forceRecreate, or set force: true of its policyRef, to \
         have it deleted and made anew; or take the change back"
    }

    /// Whether nothing is to be done for a definition that is there: of somebody else it stays as it is, and so does one that is not
    /// to be changed. One that had this profile as its owner, as in former versions, is nobody's from now on.
    pub(super) fn is_brought(
        &mut self,
        key: &ObjectKey,
        Brought { upgrade }: Brought,
        hash: &str,
        live: &Live,
        context: &mut JobContext<'_>,
    ) -> bool {
        let (own, has_owner) = (self.owns(live), live.owner.is_some());
        if own && !upgrade {
            self.run.changed = true;
            let (key, against, account) = (key.clone(), live.version(), self.account());
            self.call(Request::Release { key, against, account }, context);
            return true;
        }
        !upgrade || (has_owner && !own) || (!own && live.hash.as_deref() == Some(hash))
    }
}

/// Other objects, or data, would go with it.
fn is_never(key: &ObjectKey) -> bool {
    kinds::known(&key.gvk).is_some_and(|kind| kind.holds_others)
}
