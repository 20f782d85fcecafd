//! Whether a tenant may write what another profile has: the server is asked before anybody loses anything.
//!
//! ```text
//! claimed ─► another profile has it, which would give way ─► dry-run apply as the tenant ─► allowed: claimed once more, and had
//!                                                                      └─► refused: the other one keeps it
//! ```

// D-1028: objects of a tenant are written as the tenant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::secrets::without_values;
use sluice_api::{ObjectKey, ServiceAccount};

use super::{Job, JobContext};
use crate::claims::Proof;
use crate::releases;
use crate::request::{Class, Reply, Request};

/// What is known of a tenant's rights to what others have.
#[derive(Debug, Default)]
pub(super) struct Proves {
    /// What it may write, and what it may not, by the last answers.
    given: BTreeSet<ObjectKey>,
    refused: BTreeSet<ObjectKey>,
    /// What was asked in this run in vain, and why it may not.
    asked: BTreeMap<ObjectKey, String>,
    /// What is to be asked.
    wanted: BTreeMap<ObjectKey, Arc<Value>>,
}

impl Proves {
    /// Another run begins: rights may have changed.
    pub(super) fn begin(&mut self) {
        self.asked.clear();
        self.wanted.clear();
    }

    /// It is to be asked, unless it was.
    pub(super) fn want(&mut self, key: ObjectKey, object: Arc<Value>) {
        if !self.asked.contains_key(&key) {
            self.wanted.insert(key, object);
        }
    }

    /// What is said of an object that it may not take over.
    pub(super) fn refusal(&self, key: &ObjectKey) -> Option<String> {
        let why = self.asked.get(key)?;
        Some(format!(" It cannot take the place of that profile: {why}"))
    }

    fn answer(&mut self, key: &ObjectKey, may: bool) {
        let (now, before) = match may {
            true => (&mut self.given, &mut self.refused),
            false => (&mut self.refused, &mut self.given),
        };
        before.remove(key);
        now.insert(key.clone());
    }
}

impl Job {
    /// For whom it acts from now on. What one tenant may says nothing of another.
    pub(super) fn act_for(&mut self, account: Option<&ServiceAccount>) {
        if self.tenant.as_deref() != account {
            self.tenant = account.cloned().map(Arc::new);
            self.proves = Proves::default();
        }
    }

    /// Under which name it claims a release.
    pub(super) fn release_key(&self, path: &str) -> ObjectKey {
        releases::key(path, self.tenant.as_deref())
    }

    /// Whether it may write an object, as far as it was asked.
    pub(super) fn proof(&self, key: &ObjectKey) -> Proof {
        match &self.tenant {
            Some(_) if self.proves.refused.contains(key) => Proof::Refused,
            Some(_) if !self.proves.given.contains(key) => Proof::Untried,
            _ => Proof::Given,
        }
    }

    /// What the server is to be asked before anything else.
    pub(super) fn questions(&mut self) -> Option<Vec<Request>> {
        let account = self.tenant.as_deref()?;
        let wanted = std::mem::take(&mut self.proves.wanted).into_values();
        let calls = wanted.map(|object| Request::Prove { object, account: account.clone() });
        Some(calls.collect()).filter(|calls: &Vec<_>| !calls.is_empty())
    }

    /// The server has said whether it could be written.
    pub(super) fn proved(&mut self, object: &Value, reply: &Reply) {
        let Some(key) = ObjectKey::of(object) else { return };
        let failure = if let Reply::Failed(failure) = reply { Some(failure) } else { None };
        match failure {
            None => self.proves.answer(&key, true),
            Some(failure) if failure.class == Class::Forbidden => self.proves.answer(&key, false),
            Some(_) => {}
        }
        if let Some(failure) = failure {
            let message = without_values(&key.gvk, &failure.message).into_owned();
            self.proves.asked.insert(key, message);
        }
    }

    /// It has been written, or could not be: what that says of the tenant's rights.
    pub(super) fn learn(&mut self, key: &ObjectKey, reply: &Reply, context: &mut JobContext<'_>) {
        let proof = match reply {
            Reply::Applied(_) => Proof::Given,
            Reply::Failed(failure) if failure.class == Class::Forbidden => Proof::Refused,
            _ => return,
        };
        if self.tenant.is_none() {
            return;
        }
        let has = context.claims.prove(key, &self.profile, proof);
        match proof {
            // What it has is told from its claim.
            Proof::Given if has => drop(self.proves.refused.remove(key)),
            _ => self.proves.answer(key, proof == Proof::Given),
        }
    }
}
