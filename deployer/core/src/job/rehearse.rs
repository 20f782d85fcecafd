//! A dry run: what would become of each object is tried on the server, and nothing is written.
//!
//! ```text
//! each object that is wanted, or owned ─► its metadata ─► as it was when it was tried last: nothing is asked
//!                                              └─► another profile's: Conflict
//!                                              └─► dry-run apply, or dry-run delete ─► Create, Update, No Action, Delete, Error
//! ```

// D-1058: what a dry run would change is tried on the server, and nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::secrets::without_values;
use sluice_api::{Digest, ObjectKey};
use sluice_protocol::rows::Desired;

use super::{Ended, Job, JobContext, Phase};
use crate::conflict::owned_by;
use crate::inventory::Inventory;
use crate::order::Lane;
use crate::prepare::Prepared;
use crate::releases;
use crate::report::{Action, ReportLine, ReportLines};
use crate::request::{Class, Failure, Live, Reply, Request, Version};

/// Pause before live objects are looked at again, microseconds.
const PERIOD: i64 = 60_000_000;
/// The same where the server could not answer.
const SOON: i64 = 5_000_000;
/// What is said of an object that would stay as it is.
const DEPLOYED: &str =
    "Object already deployed. And policy referenced by ClusterProfile has not changed since last deployment.";
/// What is said of such a release.
const INSTALLED: &str = "Already managing this helm release and specified version already installed";

/// What the last dry run has found out.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    /// For which row.
    row: Option<Digest>,
    lines: ReportLines,
    /// What each object was when it was tried.
    tried: BTreeMap<ObjectKey, Option<Version>>,
    /// What each is that is being tried: it counts once the server has said what comes of it.
    trying: BTreeMap<ObjectKey, Option<Version>>,
    /// Whether something could not be tried, as the server did not answer.
    is_spoiled: bool,
    /// Whether something has been found out that has not been told.
    is_news: bool,
}

impl Job {
    /// Tries everything that has not been tried as it is now.
    pub(super) fn rehearse(
        &mut self,
        desired: &Desired,
        prepared: Vec<Prepared>,
        context: &mut JobContext<'_>,
    ) -> Ended {
        self.phase = Phase::Rehearsing;
        self.run.objects = prepared.into_iter().map(|one| (one.key.clone(), one)).collect();
        let row = self.target.digest();
        let inventory = self.inventory().cloned();
        let owned = inventory.iter().flat_map(|known| &known.objects).map(|key| (**key).clone());
        let keys: BTreeSet<ObjectKey> = owned.chain(self.run.objects.keys().cloned()).collect();
        let rehearsal = self.rehearsal.get_or_insert_default();
        if rehearsal.row != row {
            **rehearsal = Rehearsal { row, is_news: true, ..Rehearsal::default() };
        }
        rehearsal.is_spoiled = false;
        rehearsal.lines.releases = of_releases(desired, inventory.as_ref());
        for key in keys {
            self.call(Request::Read(key), context);
        }
        self.advance(context)
    }

    /// All has been tried. It is looked at again after a while: what is there may have changed.
    pub(super) fn end_rehearsal(&mut self, context: &mut JobContext<'_>) -> Ended {
        let is_spoiled = self.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.is_spoiled);
        let ended = self.settle(context);
        self.wake_at(context.now + if is_spoiled { SOON } else { PERIOD });
        ended
    }

    /// What a dry run has found out, where that is news.
    pub(crate) fn take_report(&mut self) -> Option<ReportLines> {
        let rehearsal = self.rehearsal.as_mut()?;
        std::mem::take(&mut rehearsal.is_news).then(|| rehearsal.lines.clone())
    }

    /// Nothing is tried any more; whether something was.
    pub(crate) fn ends_rehearsal(&mut self) -> bool {
        self.rehearsal.take().is_some()
    }

    /// Takes the answer to one of the calls of a dry run.
    pub(super) fn rehearsed(&mut self, request: &Request, reply: Reply, context: &mut JobContext<'_>) {
        let (Some(key), false) = (tried(request), self.again) else { return };
        let (action, message) = match reply {
            Reply::Read(live) => return self.looked_at(&key, live, context),
            Reply::Failed(failure) => self.could_not(&key, &failure),
            Reply::Rehearsed { exists: false, .. } => (Action::Create, String::new()),
            Reply::Rehearsed { difference: Some(difference), .. } => (Action::Update, difference),
            Reply::Rehearsed { difference: None, .. } => (Action::Nothing, DEPLOYED.to_owned()),
            _ => (Action::Delete, String::new()),
        };
        self.say(&key, (action, message), context);
    }

    /// An object is like this now.
    fn looked_at(&mut self, key: &ObjectKey, live: Option<Live>, context: &mut JobContext<'_>) {
        let version = live.as_ref().map(Live::version);
        match &live {
            Some(live) => context.live.insert(self.shared(key), live.clone()),
            None => drop(context.live.remove(key)),
        }
        let Some(rehearsal) = &mut self.rehearsal else { return };
        if rehearsal.tried.get(key) == Some(&version) {
            return;
        }
        rehearsal.trying.insert(key.clone(), version);
        let Some(one) = self.run.objects.get(key).cloned() else {
            return match live.filter(|live| self.owns(live) && !self.stays(key, live, context)) {
                Some(live) => {
                    let against = live.version();
                    self.call(Request::RehearseDelete { key: key.clone(), against }, context);
                }
                None => self.say_nothing(key),
            };
        };
        let (hidden, account) = match self.target.decoded() {
            Some(desired) => (desired.hidden, desired.account.clone()),
            None => return,
        };
        if let Some(owner) = live.as_ref().and_then(|live| self.other_owner(key, live, context)) {
            return self.say(key, (Action::Conflict, owned_by(key, owner)), context);
        }
        // A definition that a chart brings along is left as it is, unless the profile says otherwise.
        if live.is_some() && one.brought.is_some_and(|brought| !brought.upgrade) {
            return self.say(key, (Action::Nothing, DEPLOYED.to_owned()), context);
        }
        let (excluded, make_namespace) = (self.all_excluded_of(&one), one.make_namespace);
        self.call(
            Request::Rehearse { object: one.object, excluded, make_namespace, hidden, account },
            context,
        );
    }

    /// What is said of an object that could not be tried, or that the server refuses.
    fn could_not(&mut self, key: &ObjectKey, failure: &Failure) -> (Action, String) {
        let message = without_values(&self.told_as(key), &failure.message).into_owned();
        if failure.class == Class::Immutable && self.is_made_anew(key) {
            let text = format!("It would be deleted and made anew, since it cannot be changed: {message}");
            return (Action::Update, text);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            // It may do so for a reason that lies elsewhere: it is tried again.
            rehearsal.trying.remove(key);
            rehearsal.is_spoiled |= failure.class.is_transient();
        }
        (Action::Error, message)
    }

    fn say(&mut self, key: &ObjectKey, (action, message): (Action, String), context: &JobContext<'_>) {
        let wanted = self.run.objects.get(key).map(|one| one.turn.lane);
        let lane = wanted.or_else(|| context.live.get(key).map(Lane::of_live));
        let line = ReportLine::new(action, message, lane == Some(Lane::Charts));
        let Some(rehearsal) = &mut self.rehearsal else { return };
        rehearsal.is_news |= rehearsal.lines.objects.get(key) != Some(&line);
        rehearsal.lines.objects.insert(key.clone(), line);
        rehearsal.has_tried(key);
    }

    fn say_nothing(&mut self, key: &ObjectKey) {
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.is_news |= rehearsal.lines.objects.remove(key).is_some();
            rehearsal.has_tried(key);
        }
    }
}

impl Rehearsal {
    /// It is known what comes of an object as it was looked at.
    fn has_tried(&mut self, key: &ObjectKey) {
        match self.trying.remove(key) {
            Some(version) => drop(self.tried.insert(key.clone(), version)),
            None => drop(self.tried.remove(key)),
        }
    }
}

/// The object that a call of a dry run is about.
fn tried(request: &Request) -> Option<ObjectKey> {
    match request {
        Request::Read(key) | Request::RehearseDelete { key, .. } => Some(key.clone()),
        Request::Rehearse { object, .. } => ObjectKey::of(object),
        _ => None,
    }
}

/// What would become of each release.
fn of_releases(desired: &Desired, inventory: Option<&Inventory>) -> BTreeMap<String, (String, ReportLine)> {
    let mut lines = BTreeMap::new();
    for policy in releases::charts(desired) {
        let Some(wanted) = &policy.release else { continue };
        let path = releases::path(policy);
        let there = inventory.and_then(|inventory| inventory.releases.get(&path));
        let (action, message) = match there {
            None => (Action::Install, String::new()),
            Some(there) if there.version != wanted.version => (
                Action::Upgrade,
                format!("Current version: {:?}. Would move to version: {:?}", there.version, wanted.version),
            ),
            Some(there) if there.values != wanted.values => (
                Action::UpdateValues,
                "what would change because of that is in helmResourceReports".to_owned(),
            ),
            Some(_) => (Action::Nothing, INSTALLED.to_owned()),
        };
        lines.insert(path, (wanted.version.clone(), ReportLine::new(action, message, true)));
    }
    for (path, release) in inventory.into_iter().flat_map(|inventory| &inventory.releases) {
        let line = || (release.version.clone(), ReportLine::new(Action::Delete, "", true));
        lines.entry(path.clone()).or_insert_with(line);
    }
    lines
}
