//! Applying in order: what has its turn, what waits for it, and what is said of that.

use std::collections::BTreeSet;

use sluice_api::ObjectKey;
use sluice_api::kinds::Kind;
use sluice_protocol::rows::{Desired, Policy};

use super::lanes::{Next, Snag};
use super::replies::Fault;
use super::{Job, JobContext, Phase};
use crate::order::{Lane, Persistence};
use crate::prepare::{DEFINITION, LeftOut, Prepared};
use crate::releases;
use crate::request::Request;

/// What is tried before a definition whose kind does not come is an error, microseconds.
const PATIENCE: i64 = 10_000_000;
/// It is tried so often, should nothing say that a kind is there: a server may serve a kind before it tells of it, or the other way round.
const LOOK: i64 = 250_000;

impl Job {
    /// A run begins: what cannot be deployed is told, and holds up what follows it.
    pub(super) fn line_up(&mut self, desired: &Desired, left_out: Vec<LeftOut>) {
        self.run.is_whole = left_out.is_empty();
        self.run.lanes.begin(Persistence::of(desired));
        for LeftOut { lane, reference, is_conflict, why } in left_out {
            self.run.lanes.snag(
                lane,
                reference,
                Snag { failed: !is_conflict, lost: is_conflict, transient: false },
            );
            self.run.errors.insert(why.clone(), Fault::new(why, false));
        }
        for (reference, policy) in desired
            .policies
            .iter()
            .enumerate()
            .filter(|(_, policy)| self.has_lost(policy))
            .collect::<Vec<_>>()
        {
            self.run.lanes.snag(Lane::of(policy), reference, Snag::lost());
        }
    }

    /// The lane that a call belongs to.
    pub(super) fn lane_of(&self, request: &Request) -> Option<Lane> {
        if self.phase != Phase::Applying {
            return None;
        }
        self.run.objects.get(&request.about()?).map(|one| one.turn.lane)
    }

    /// Every lane goes on as far as it can before something is answered.
    pub(super) fn go_on(&mut self, context: &mut JobContext<'_>) {
        for lane in Lane::ALL {
            while !self.again && !self.run.lanes.is_busy(lane) {
                self.try_gated(Some(lane), context);
                if self.run.lanes.is_busy(lane) || self.is_waiting_for_checks(lane) {
                    break;
                }
                if self.run.shut.contains(&lane) || self.look_at_definitions(lane, context) {
                    break;
                }
                let found = self.snag_of(self.run.lanes.current(lane));
                let Next::Turn(keys) = self.run.lanes.next(lane, found) else { break };
                for key in keys {
                    self.next_for(&key, context);
                }
            }
        }
    }

    fn snag_of(&self, keys: &[ObjectKey]) -> Snag {
        if self.run.errors.is_empty() {
            return Snag::default();
        }
        let faults = keys.iter().filter_map(|key| self.run.errors.get(&key.to_string()));
        let faults = faults.filter(|fault| !fault.is_fight);
        faults.fold(Snag::default(), |all, fault| all.and(fault.into()))
    }

    /// Whether the profile brings the definition of an object's kind.
    pub(super) fn defines(&self, key: &ObjectKey) -> bool {
        let defines =
            |one: &Prepared| Kind::of_definition(&one.object).is_some_and(|kind| kind.is_kind_of(&key.gvk));
        self.run.objects.values().filter(|one| one.key.gvk.kind == DEFINITION).any(defines)
    }

    /// Whether a lane waits for kinds that definitions make which had their turn last. Each is asked about once in a run.
    fn look_at_definitions(&mut self, lane: Lane, context: &mut JobContext<'_>) -> bool {
        if self.run.lanes.current(lane).iter().any(|key| self.run.too_early.contains_key(key)) {
            return true;
        }
        let waited_for = self.unserved(lane, context);
        for key in &waited_for {
            if self.run.looked_at.insert(key.clone()) {
                self.call(Request::Read(key.clone()), context);
            }
        }
        !waited_for.is_empty()
    }

    /// Definitions whose kinds are not served yet, where something comes after them.
    fn unserved(&self, lane: Lane, context: &JobContext<'_>) -> Vec<ObjectKey> {
        if !self.run.lanes.has_more(lane) {
            return Vec::new();
        }
        let is_unserved = |key: &&ObjectKey| {
            key.gvk.kind == DEFINITION
                && context.live.get(key).is_some_and(|live| live.unserved.is_some())
                && !self.run.errors.contains_key(&key.to_string())
        };
        self.run.lanes.current(lane).iter().filter(is_unserved).cloned().collect()
    }

    /// Whether it waits for kinds; after a while that is an error.
    pub(super) fn waits(&mut self, context: &mut JobContext<'_>) -> bool {
        let waited_for: Vec<_> =
            Lane::ALL.into_iter().flat_map(|lane| self.unserved(lane, context)).collect();
        if waited_for.is_empty() && self.run.too_early.is_empty() {
            self.waits_since = None;
            return false;
        }
        if context.now - *self.waits_since.get_or_insert(context.now) < PATIENCE {
            self.retry_at = Some(context.now + LOOK);
            return true;
        }
        for key in waited_for {
            let why = context.live.get(&key).and_then(|live| live.unserved.as_deref()).unwrap_or_default();
            let text = format!("{key}: its kind is not served: {why}; what follows waits for it");
            self.run.errors.insert(key.to_string(), Fault::new(text, false));
        }
        for (key, message) in std::mem::take(&mut self.run.too_early) {
            self.run.errors.insert(key.to_string(), Fault::new(format!("{key}: {message}"), false));
        }
        // Where it goes on in spite of that.
        self.go_on(context);
        self.in_flight > 0
    }

    /// Releases of which something waits for what went wrong before it.
    pub(super) fn waiting_releases(&self) -> BTreeSet<String> {
        if self.run.shut.contains(&Lane::Charts) {
            return self.run.releases.keys().cloned().collect();
        }
        let policies = self.target.decoded().map_or(&[][..], |desired| &desired.policies);
        let waiting = self.run.lanes.held_up().flat_map(|(waiting, _)| waiting);
        let waiting = waiting.filter_map(|reference| policies.get(reference));
        waiting.filter(|policy| Lane::of(policy) == Lane::Charts).map(releases::path).collect()
    }

    /// Says what waits for something that went wrong before it.
    pub(super) fn tell_held_up(&mut self) {
        let Some(desired) = self.target.decoded() else { return };
        let told: Vec<_> = self
            .run
            .lanes
            .held_up()
            .filter_map(|(waiting, snag)| Some((held_up(&desired.policies, &waiting, snag)?, snag)))
            .collect();
        for (text, snag) in told {
            self.run.errors.insert(text.clone(), Fault::following(text, snag.transient));
        }
    }
}

/// What is said of references that wait.
fn held_up(policies: &[Policy], waiting: &BTreeSet<usize>, snag: Snag) -> Option<String> {
    let policy = policies.get(*waiting.first()?)?;
    let others = match waiting.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let waiting = format!("{} {}/{}{others}", policy.kind, policy.namespace, policy.name);
    Some(match snag.failed {
        true => {
            format!("{waiting} waits for what failed before it: mend that, or set spec.continueOnError: true")
        }
        false => format!(
            "{waiting} waits for what another profile has of what comes before it: mend that, or set spec.continueOnConflict: true"
        ),
    })
}
