//! What tenants may read: a trigger or profile that names a ServiceAccount reads in the management cluster what that account may
//! `get`, and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use sluice_api::{ObjectKey, ProfileId, ServiceAccount, TriggerId};
use sluice_protocol::rows::Cause;

use crate::error::{Error, Result};

// D-0911: a tenant reads what its ServiceAccount may get.
/// Whether an account may `get` an object of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// Who wants to.
    pub account: ServiceAccount,
    /// What. The namespace of an object whose kind has none counts for nothing.
    pub object: ObjectKey,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// It may.
    Granted,
    /// It may not.
    Denied,
    /// Nobody could be asked, for this reason.
    Unavailable(String),
}

/// For whom a cause reads.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) account: ServiceAccount,
    /// What its generators make it may read.
    pub(crate) cause: Cause,
    /// Answers from before this version of the catalog do not count: the trigger or profile has changed since.
    pub(crate) since: u64,
}

/// What tenants may read, as far as it has been asked. What is asked counts from a version of the catalog on: an answer from before
/// the object changed, or the trigger or profile did, is none.
#[derive(Default)]
pub(crate) struct Rights {
    known: BTreeMap<Question, Known>,
    triggers: BTreeMap<TriggerId, u64>,
    profiles: BTreeMap<ProfileId, u64>,
}

/// One question.
#[derive(Default)]
struct Known {
    /// The version at which it was asked last.
    asked: Option<u64>,
    /// The newest answer, and the version at which that was asked for.
    answer: Option<(u64, Right)>,
    /// The version at which the object changed last.
    changed: u64,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccount {} and {}", self.account, self.object)
    }
}

impl Question {
    /// Whether the object may be read.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn verdict(&self, right: &Right) -> Result<()> {
        let Self { account, object } = self;
        match right {
            Right::Granted => Ok(()),
            Right::Denied => {
                Err(Error::Denied { account: account.clone(), object: Box::new(object.clone()) })
            }
            Right::Unavailable(why) => Err(Error::Unasked {
                account: account.clone(),
                object: Box::new(object.clone()),
                why: why.clone(),
            }),
        }
    }
}

// === impl Rights ===

impl Rights {
    /// The answer, when it was asked for at this version or later.
    pub(crate) fn answer(&self, question: &Question, since: u64) -> Option<&Right> {
        let known = self.known.get(question)?;
        let (asked, right) = known.answer.as_ref()?;
        (*asked >= since.max(known.changed)).then_some(right)
    }

    /// Whether it is to be asked now, at version `now`: nobody has since it counts.
    pub(crate) fn must_ask(&mut self, question: &Question, since: u64, now: u64) -> bool {
        let known = self.known.entry(question.clone()).or_default();
        let must = known.asked.is_none_or(|asked| asked < since.max(known.changed));
        if must {
            known.asked = Some(now);
        }
        must
    }

    /// Takes an answer that was asked for at this version; `None` when it says nothing new, else whether it says something else
    /// than the one before.
    pub(crate) fn put(&mut self, question: &Question, right: Right, asked: u64) -> Option<bool> {
        let known = self.known.get_mut(question)?;
        let former = known.answer.as_ref();
        if former.is_some_and(|(before, is)| *before > asked || (*before == asked && *is == right)) {
            return None;
        }
        let differs = former.is_none_or(|(_, former)| *former != right);
        known.answer = Some((asked, right));
        Some(differs)
    }

    /// The object has changed, at this version.
    pub(crate) fn object_changed(&mut self, question: &Question, now: u64) {
        if let Some(known) = self.known.get_mut(question) {
            known.changed = now;
        }
    }

    /// A trigger has changed at this version, or does not read for a tenant.
    pub(crate) fn trigger_changed(&mut self, id: &TriggerId, now: Option<u64>) {
        match now {
            Some(now) => drop(self.triggers.insert(id.clone(), now)),
            None => drop(self.triggers.remove(id)),
        }
    }

    /// A profile has changed at this version, or does not read for a tenant.
    pub(crate) fn profile_changed(&mut self, id: &ProfileId, now: Option<u64>) {
        match now {
            Some(now) => drop(self.profiles.insert(id.clone(), now)),
            None => drop(self.profiles.remove(id)),
        }
    }

    /// From which version on answers count for a cause.
    pub(crate) fn since(&self, cause: &Cause) -> u64 {
        let version = match cause {
            Cause::Event(event) => self.triggers.get(&event.trigger),
            Cause::Profile(id) => self.profiles.get(id),
        };
        version.copied().unwrap_or(0)
    }

    /// Nobody asks this any more.
    pub(crate) fn forget(&mut self, question: &Question) {
        self.known.remove(question);
    }
}
