//! One profile on one cluster: what it should be, what it owns, and how far the work is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{Digest, ObjectKey, ProfileId, ServiceAccount};
use sluice_protocol::Shard;
use sluice_protocol::rows::{Desired, Policy, State};

use crate::claims::Claims;
use crate::inventory::Stored;
use crate::order::Wave;
use crate::prepare::{DEFINITION, TargetScope, prepare_some};
use crate::releases;
use crate::request::Request;

mod apply;
mod attempts;
mod checked;
mod claims;
mod context;
mod dependent;
mod drift;
mod handover;
mod inventory_state;
mod keeping;
mod lanes;
mod makers;
mod ordered;
mod proves;
mod prune;
mod prune_guard;
mod redeploy;
mod rehearse;
mod reload;
mod remake;
mod removal;
mod replies;
mod run;
mod said;
mod settle;
mod target;
mod transition;

use attempts::Attempts;
use checked::Checks;
pub(crate) use context::JobContext;
use dependent::Awaited;
use drift::Drift;
pub(crate) use drift::Shown as ShownObject;
use inventory_state::{InventoryState, Knowledge};
use keeping::{KEPT, Keeping};
pub(crate) use makers::{MakerRow, Makers};
use proves::Proves;
use redeploy::Redeploy;
use rehearse::Rehearsal;
use reload::Reloader;
use run::Run;
pub(crate) use target::{Goal, Target};

/// Under this name the inventory's own error is kept among those of the objects.
const INVENTORY: &str = "inventory";
/// What follows the object's name where its handing over is kept among the errors.
pub(crate) const HANDED_OVER: &str = " is handed over";

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) profile: ProfileId,
    /// Shard of the renderer whose row it follows.
    pub(crate) origin: Shard,
    pub(crate) target: Target,
    pub(crate) makers: Makers,
    pub(crate) inventory_state: InventoryState,
    keeping: Keeping,
    /// When the cause of the newest row happened, microseconds since 1970.
    pub(crate) time: i64,
    /// When this owner has changed something in the cluster for it, microseconds since 1970; 0 when it has not.
    pub(crate) applied_at: i64,
    /// Digest of the row that the last run has ended for.
    pub(crate) settled: Option<Digest>,
    phase: Phase,
    run: Run,
    redeploy: Redeploy,
    /// Whether it begins anew once the calls in flight are answered.
    again: bool,
    in_flight: usize,
    /// Objects that it has, or waits for.
    claimed: BTreeSet<Arc<ObjectKey>>,
    /// The tenant of the newest row that wanted something.
    tenant: Option<Arc<ServiceAccount>>,
    proves: Proves,
    /// Releases that it no longer wants, and since when.
    parting: BTreeMap<String, i64>,
    /// Releases that it has given back, as it could not have them as it wants them, and why.
    unable: BTreeMap<String, String>,
    /// What it has left behind because that says that it stays; told once.
    pub(crate) left_behind: Vec<ObjectKey>,
    /// Since when it waits for kinds that its definitions make.
    waits_since: Option<i64>,
    attempts: Attempts,
    /// Whom it waits for.
    awaited: Awaited,
    /// What was wanted last, while it waits to be removed.
    former: Option<Arc<Desired>>,
    /// What it lets be checked.
    checks: Checks,
    /// What of it others change.
    drift: Drift,
    /// What restarts its workloads.
    reloader: Reloader,
    /// What would become of it, where it is only tried. Boxed, since most are not.
    rehearsal: Option<Box<Rehearsal>>,
    /// The row that it is on the cluster as, when it is.
    provisioned: Option<Digest>,
    pub(crate) retry_at: Option<i64>,
    /// Whether it has something to delete, and has not begun to because renderers have not said that all their rows are there.
    pub(crate) defers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The inventory is being read, or the content that is gone back to.
    Checking,
    /// The server is asked whether a tenant may take over what others have.
    Proving,
    /// What would become of each object is being tried.
    Rehearsing,
    /// The inventory is being extended by what will be created, and what is there already is looked at.
    Reserving,
    /// Every object when it has its turn.
    Applying,
    /// What is left over is looked at, and goes: what was applied last goes first.
    Pruning {
        wave: Option<Wave>,
    },
    /// The content is being kept, and nothing may go yet.
    KeepingEarly,
    /// The content is being kept, or what was kept goes.
    Keeping,
    /// The inventory is being reduced to what is there, or deleted.
    Recording,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It did not: calls are in flight.
    NotYet,
    /// The cluster is as the row says, or as near to it as possible.
    Settled {
        /// What came of it.
        state: State,
        /// Whether anything was changed in the cluster.
        changed: bool,
    },
    /// The profile and everything it owned is gone.
    Removed,
}

impl Job {
    pub(crate) fn new(profile: &ProfileId, origin: Shard) -> Self {
        Self {
            profile: profile.clone(),
            origin,
            target: Target::Unknown,
            makers: Makers::default(),
            inventory_state: InventoryState::default(),
            keeping: Keeping::default(),
            time: 0,
            applied_at: 0,
            settled: None,
            phase: Phase::Idle,
            run: Run::default(),
            redeploy: Redeploy::default(),
            again: false,
            in_flight: 0,
            claimed: BTreeSet::new(),
            tenant: None,
            proves: Proves::default(),
            parting: BTreeMap::new(),
            unable: BTreeMap::new(),
            left_behind: Vec::new(),
            waits_since: None,
            attempts: Attempts::default(),
            awaited: Awaited::default(),
            former: None,
            checks: Checks::default(),
            drift: Drift::default(),
            reloader: Reloader::default(),
            rehearsal: None,
            provisioned: None,
            retry_at: None,
            defers: false,
        }
    }

    /// Takes what a list of the cluster's inventories says, unless it has changed it since the list was asked for.
    pub(crate) fn hold(&mut self, found: Option<Stored>, changed: bool, claims: &mut Claims) {
        if changed || self.phase != Phase::Idle {
            self.inventory_state.knowledge = Knowledge::Doubtful;
            return;
        }
        self.inventory_state.found(found);
        self.list(claims);
    }

    /// What was read of its inventory may have changed since; where nothing is under way, a list tells.
    pub(crate) fn doubt_inventory(&mut self) {
        if self.is_at_work() && self.inventory_state.knowledge == Knowledge::Read {
            self.inventory_state.knowledge = Knowledge::Doubtful;
        }
    }

    /// It has what its inventory names, until it is known what it wants.
    fn list(&mut self, claims: &mut Claims) {
        let listed = self.inventory_state.stored.iter().flat_map(|held| &held.inventory.objects);
        let releases = self.inventory_state.stored.iter().flat_map(|held| held.inventory.releases.keys());
        let stay = self.inventory_state.stored.iter().flat_map(|held| held.inventory.stay.iter().flatten());
        let brought = stay.filter(|key| key.gvk.kind == DEFINITION).map(releases::brought_key);
        let releases = releases.map(|path| self.release_key(path));
        let others = releases.chain(brought).map(Arc::new);
        for key in listed.cloned().chain(others).collect::<Vec<_>>() {
            claims.list(&key, &self.profile);
            self.claimed.insert(key);
        }
    }

    /// The key of an object as it is kept: once, however often it is named.
    fn shared(&self, key: &ObjectKey) -> Arc<ObjectKey> {
        let listed = self.inventory().and_then(|known| known.objects.get(key));
        listed.or_else(|| self.claimed.get(key)).cloned().unwrap_or_else(|| Arc::new(key.clone()))
    }

    /// Forgets everything but what is wanted: the cluster's server may be another one from now on. Tombstones were about
    /// the former one, or about a registration that has ended: of what is held, their makers say it once more. Who waited and
    /// went has no status here any more.
    pub(crate) fn forget(&mut self) {
        let target = std::mem::replace(&mut self.target, Target::Unknown);
        let mut makers = std::mem::take(&mut self.makers);
        let gone = makers.waiting.extract_if(.., |_, row| matches!(row.target, Target::Gone(_)));
        makers.left.extend(gone.map(|(origin, _)| origin));
        *self = Self {
            target: if matches!(target, Target::Gone(_)) { Target::Unknown } else { target },
            makers,
            // What was told goes when nothing is tried any more.
            rehearsal: self.rehearsal.take().map(|_| Box::default()),
            inventory_state: self.inventory_state.forget(),
            time: self.time,
            ..Self::new(&self.profile, self.origin)
        };
    }

    /// Whether it has begun and not ended.
    pub(crate) fn is_at_work(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Begins, or restarts once the calls in flight are answered.
    pub(crate) fn begin(&mut self, context: &mut JobContext<'_>) -> Ended {
        if self.in_flight > 0 {
            self.again = true;
            return Ended::NotYet;
        }
        (self.again, self.retry_at) = (false, None);
        // Its errors are those that it has given up with.
        if self.has_given_up() {
            return Ended::Settled { state: State::Failed, changed: false };
        }
        if self.phase != Phase::Proving {
            self.proves.begin();
        }
        self.run.begin(context.late.may_come(context.now));
        if self.reads_first(context) {
            return Ended::NotYet;
        }
        let desired = self.target.decode();
        self.line_up_checks(context);
        self.line_up_drift(desired.as_deref());
        self.line_up_reloads(desired.as_deref(), context);
        let Some(desired) = desired else { return self.begin_removal(context) };
        self.act_for(desired.account.as_ref());
        self.compare_asked(&desired);
        let complete = desired.one_time && self.inventory().is_some_and(|known| known.complete);
        let complete = complete && !self.redeploy.is_asked();
        let untouchable = desired.dry_run || complete;
        if !complete {
            self.leave_claims(context);
        }
        if !untouchable {
            self.claim_releases(&desired, context);
        }
        let lost = |policy: &Policy| !untouchable && self.has_lost(policy);
        let place = TargetScope::of(&desired, context.is_management);
        let (prepared, left_out) = prepare_some(&desired, place, |policy| !lost(policy));
        self.line_up(&desired, left_out);
        if desired.dry_run {
            return self.rehearse(&desired, prepared, context);
        }
        self.claim_all(&desired, prepared.into_iter().filter(|_| !untouchable), context);
        if let Some(calls) = self.questions() {
            self.phase = Phase::Proving;
            calls.into_iter().for_each(|request| self.call(request, context));
            return Ended::NotYet;
        }
        if let Some(ended) = self.wait_for_others(untouchable, context) {
            return ended;
        }
        let nothing = self.run.objects.is_empty() && self.run.releases.is_empty();
        if untouchable || (nothing && self.inventory().is_none() && !self.keeps()) {
            return self.settle(context);
        }
        self.reserve(&desired, context)
    }

    /// For which tenant objects are written. When its row has gone nobody is named any more: its rights may have gone before, and
    /// what it left is the deployer's to take away.
    fn account(&self) -> Option<ServiceAccount> {
        self.target.decoded()?.account.clone()
    }

    /// It is looked at again at this time, or before.
    fn wake_at(&mut self, at: i64) {
        self.retry_at = Some(self.retry_at.map_or(at, |retry| retry.min(at)));
    }

    fn call(&mut self, request: Request, context: &mut JobContext<'_>) {
        self.in_flight += 1;
        if let Some(lane) = self.lane_of(&request) {
            self.run.lanes.called(lane);
        }
        context.calls.push(request);
    }

    /// Settles once what the guard asks is answered.
    fn settle_answered(&mut self, context: &mut JobContext<'_>) -> Ended {
        if self.in_flight > 0 { Ended::NotYet } else { self.settle(context) }
    }

    /// Goes on to the next phase when this one has nothing left in flight.
    fn advance(&mut self, context: &mut JobContext<'_>) -> Ended {
        match self.phase {
            Phase::Applying => self.go_on(context),
            Phase::Pruning { .. } => self.try_gated(None, context),
            _ => {}
        }
        if self.in_flight > 0 {
            return Ended::NotYet;
        }
        if self.again {
            return self.begin(context);
        }
        if self.phase == Phase::Applying && !self.run.errors.contains_key(INVENTORY) {
            if self.waits(context) || !self.run.gated.is_empty() {
                return Ended::NotYet;
            }
            self.tell_held_up();
        }
        if !self.run.gated.is_empty() {
            return Ended::NotYet;
        }
        let failed = self.run.errors.values().any(|fault| !fault.lost && !fault.is_fight);
        match self.phase {
            Phase::Idle => self.settle(context),
            // Without an inventory nothing may be created or deleted.
            _ if self.run.errors.contains_key(INVENTORY) => self.settle(context),
            Phase::Rehearsing => self.end_rehearsal(context),
            Phase::Checking if self.run.errors.contains_key(KEPT) => self.settle(context),
            Phase::Checking | Phase::Proving => self.begin(context),
            Phase::Reserving => self.apply(context),
            // D-1009: nothing is pruned while its replacement fails.
            // What replaces it must be there before the old goes.
            Phase::Applying if failed => {
                self.settle_releases(context);
                self.let_go(context);
                self.settle(context)
            }
            Phase::Applying => {
                self.settle_releases(context);
                if context.all_said { self.prune(context) } else { self.keep_early(context) }
            }
            Phase::KeepingEarly if self.run.errors.contains_key(KEPT) => self.settle(context),
            Phase::KeepingEarly if context.all_said => self.prune(context),
            Phase::KeepingEarly => self.defer(context),
            Phase::Pruning { wave } => match self.next_wave(wave) {
                Some(_) if wave.is_none() && self.is_guarded(context) => self.settle_answered(context),
                // What is in it may still be there.
                Some(wave) if failed && wave <= Wave::Definitions => self.settle(context),
                Some(wave) => self.prune_wave(wave, context),
                None if failed => self.settle(context),
                None => self.keep(context),
            },
            Phase::Keeping => self.keep(context),
            Phase::Recording if matches!(self.target, Target::Gone(_)) => Ended::Removed,
            Phase::Recording => self.settle(context),
        }
    }
}
