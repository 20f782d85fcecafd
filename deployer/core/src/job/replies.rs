//! What a job makes of the answers to its calls.

use sluice_api::secrets::without_values;
use sluice_api::{Gvk, ObjectKey, object};

use super::{Ended, INVENTORY, Job, JobContext, Phase};
use crate::request::{Class, Failure, Live, Reply, Request};

/// What a deployed object says of the kind that it comes from.
const REFERENCE_KIND: &str = "projectsveltos.io/reference-kind";
/// Re-plans of one object because of conflicts, before it counts as failed.
const MAX_CONFLICTS: u32 = 8;

/// What is wrong with one object, or with the inventory.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) text: String,
    /// Whether the server's state is the reason, not the object.
    pub(super) transient: bool,
    /// Whether another profile has the object: nothing of this profile will take the place of what it has too much.
    pub(super) lost: bool,
    /// Whether it only follows from another one.
    pub(super) follows: bool,
    /// Whether a check says so, which says by itself when that changes.
    pub(super) by_check: bool,
    /// Whether somebody else changes what is put right: everything is there, and goes on.
    pub(super) is_fight: bool,
}

impl Fault {
    /// The object, or the server's state, is the reason.
    pub(super) fn new(text: String, transient: bool) -> Self {
        Self { text, transient, lost: false, follows: false, by_check: false, is_fight: false }
    }

    /// It follows from others.
    pub(super) fn following(text: String, transient: bool) -> Self {
        Self { follows: true, ..Self::new(text, transient) }
    }

    /// A check says so.
    pub(super) fn of_check(text: String) -> Self {
        Self { by_check: true, ..Self::new(text, false) }
    }

    /// Somebody else changes what is put right.
    pub(super) fn of_fight(text: String) -> Self {
        Self { is_fight: true, ..Self::new(text, false) }
    }

    /// Another profile has the object.
    pub(super) fn lost(text: String) -> Self {
        Self { lost: true, ..Self::new(text, false) }
    }
}

impl Job {
    /// Takes the answer to one of its calls.
    pub(crate) fn reply(&mut self, request: &Request, reply: Reply, context: &mut JobContext<'_>) -> Ended {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(lane) = self.lane_of(request) {
            self.run.lanes.answered(lane);
        }
        match request {
            _ if self.phase == Phase::Rehearsing => self.rehearsed(request, reply, context),
            Request::Delete { key, .. } if self.is_remade(key, &reply) => self.deleted(key, context),
            Request::Release { key, .. } => {
                if reply == Reply::Done && self.run.staying.contains(key) {
                    self.left_behind.push(key.clone());
                }
                self.object_reply(key, reply, context);
            }
            Request::Read(key) | Request::Delete { key, .. } => self.object_reply(key, reply, context),
            Request::Prove { object, .. } => self.proved(object, &reply),
            Request::Along { holder, .. } => self.note_along(holder, reply),
            Request::Keep { row, .. } => self.kept(*row, &reply, context.now),
            Request::ReadKept { row, .. } => self.kept_read(*row, reply),
            Request::DropKept(_) => self.dropped(&reply),
            Request::Apply { object, .. } => {
                if let Some(key) = ObjectKey::of(object) {
                    self.learn(&key, &reply, context);
                    if matches!(&reply, Reply::Applied(live) if !live.going) || reply == Reply::Done {
                        self.redeploy.applied(&key);
                    }
                    self.object_reply(&key, reply, context);
                }
            }
            _ => self.inventory_reply(reply, context),
        }
        self.advance(context)
    }

    fn object_reply(&mut self, key: &ObjectKey, reply: Reply, context: &mut JobContext<'_>) {
        match reply {
            Reply::Failed(failure) => self.failed(key, &failure, context),
            Reply::Read(live) => self.read(key, live, context),
            Reply::Applied(live) if live.going => self.going(key, context),
            Reply::Applied(live) => {
                self.note_fields(key, &live, context.now);
                self.note_applied(key, &live, context);
                context.live.insert(self.shared(key), Live { fields: None, ..live });
            }
            _ => drop(context.live.remove(key)),
        }
    }

    fn inventory_reply(&mut self, reply: Reply, context: &mut JobContext<'_>) {
        match reply {
            Reply::Failed(failure) => self.inventory_failed(&failure),
            Reply::Inventory(found) => {
                self.inventory_state.found(found);
                self.list(context.claims);
            }
            Reply::Written(version) => self.inventory_state.written(version),
            _ => self.inventory_state.deleted(),
        }
    }

    /// The inventory is read before anything else.
    fn inventory_failed(&mut self, failure: &Failure) {
        if self.inventory_state.failed(failure.class) {
            self.again = true;
            return;
        }
        let text = format!("the inventory cannot be read or written: {}", failure.message);
        let transient = failure.class.is_transient();
        self.run.errors.insert(INVENTORY.into(), Fault::new(text, transient));
    }

    fn read(&mut self, key: &ObjectKey, live: Option<Live>, context: &mut JobContext<'_>) {
        let Some(live) = live else {
            context.live.remove(key);
            self.run.absent.insert(key.clone());
            return self.next_after(key, context);
        };
        if live.going {
            return self.going(key, context);
        }
        if self.is_anothers(key, &live, context) {
            return;
        }
        context.live.insert(self.shared(key), live);
        self.next_after(key, context);
    }

    /// It has been deleted and is still there: who wants it waits until it can be made anew, and nobody deletes it twice.
    fn going(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        context.live.remove(key);
        self.run.absent.insert(key.clone());
        if self.run.objects.contains_key(key) {
            let text = format!(
                "{key} waits for the object of this name to go: it has been deleted and its metadata.finalizers hold it; \
                 if nobody removes them, do it by hand"
            );
            self.run.errors.insert(key.to_string(), Fault::new(text, true));
        }
    }

    /// Goes on with an object that has been looked at.
    pub(super) fn next_after(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        match self.phase {
            _ if self.again => {}
            Phase::Applying => self.next_for(key, context),
            Phase::Pruning { wave: Some(_) } if !self.run.absent.contains(key) => {
                self.next_prune(key, context)
            }
            _ => {}
        }
    }

    /// The kind of an object for what is said of it: what a Secret holds is one, whatever it is deployed as.
    pub(super) fn told_as(&self, key: &ObjectKey) -> Gvk {
        let object = self.run.objects.get(key).map(|one| &*one.object);
        match object.and_then(|object| object::annotation(object, REFERENCE_KIND)) {
            Some("Secret") => Gvk::new("", "v1", "Secret"),
            _ => key.gvk.clone(),
        }
    }

    fn failed(&mut self, key: &ObjectKey, failure: &Failure, context: &mut JobContext<'_>) {
        let live = context.live.remove(key);
        if failure.class == Class::Immutable && self.remakes(key, live, context) {
            return;
        }
        if failure.class == Class::Conflict && !self.again {
            let conflicts = self.run.conflicts.entry(key.clone()).or_default();
            *conflicts += 1;
            if *conflicts <= MAX_CONFLICTS {
                return self.call(Request::Read(key.clone()), context);
            }
        }
        if failure.class == Class::NoKind && self.defines(key) {
            self.run.too_early.insert(key.clone(), failure.message.clone());
            return;
        }
        let remedy = if failure.class == Class::Immutable { self.remedy(key) } else { "" };
        let message = without_values(&self.told_as(key), &failure.message);
        let text = format!("{key}: {message}{remedy}");
        self.run.errors.insert(key.to_string(), Fault::new(text, failure.class.is_transient()));
    }
}
