//! Everything outside the replicas.

use std::collections::BTreeMap;

use rand::Rng as _;
use rand::rngs::SmallRng;
use serde_json::Value;
use sluice_api::{ClusterRef, MANAGEMENT, ProfileId};
use sluice_deployer_core::Live;
use sluice_renderer_core::Caches;

use crate::api_server::ApiServer;
use crate::checks::History;
use crate::circle::Circle;
use crate::coverage::{Coverage, Fault};
use crate::departure::Departure;
use crate::fight::Fight;
use crate::management::{CLUSTERS, Management};
use crate::membership::Air;
use crate::refusals::Lasting;
use crate::rollbacks::Rollbacks;
use crate::store::Store;
use crate::timed_pause::TimedPause;
use crate::unreached::Unreached;

/// One step of the schedule, microseconds.
pub(crate) const STEP: i64 = 10_000;

/// What clocks that are right show at the beginning of a schedule, in microseconds since 1970: none shows a time before that.
pub(crate) const BEGIN: i64 = 1_000_000_000_000_000;

/// How long tombstones live in a schedule: short, so that they expire unread, or so long that nothing that is done once in
/// their life happens: what ends well then does not owe it to that.
pub(crate) const TOMBSTONE_TTLS: [i64; 2] = [150 * STEP, 20_000 * STEP];

/// How long a call to an API server may be under way.
pub(crate) const CALL_TIMEOUT: i64 = 30 * STEP;

/// What replicas act upon, what they are told, and what is checked. Time is in microseconds.
pub(crate) struct World {
    pub(crate) random: SmallRng,
    pub(crate) now: i64,
    pub(crate) store: Store,
    pub(crate) management: Management,
    pub(crate) clusters: BTreeMap<&'static str, ApiServer>,
    pub(crate) history: History,
    /// What becomes of the profile that goes back.
    pub(crate) rollbacks: Rollbacks,
    /// What one of them refuses when all other faults have ended.
    pub(crate) lasting: Option<Lasting>,
    /// The cluster that is deregistered for ever.
    pub(crate) departure: Option<Departure>,
    /// The profiles that depend on each other for a while.
    pub(crate) circle: Option<Circle>,
    /// Who changes again and again what is put right.
    pub(crate) fight: Option<Fight>,
    /// The pause that ends by itself.
    pub(crate) timed_pause: Option<TimedPause>,
    /// The cluster that deployers reach no more.
    pub(crate) unreached: Option<Unreached>,
    /// How long tombstones live.
    pub(crate) tombstone_ttl: i64,
    /// Where replicas say that they live.
    pub(crate) air: Air,
    /// Which replicas of each role are at work: they are two for a while when one does not know of the other.
    pub(crate) at_work: Vec<[bool; 2]>,
    pub(crate) coverage: Coverage,
    /// What renderers compile.
    pub(crate) caches: Caches,
    /// Whether messages are delayed, lost, repeated and reordered.
    pub(crate) rough: bool,
    /// Whether every step is told on standard error.
    pub(crate) trace: bool,
    /// The first thing that must not have happened.
    pub(crate) violation: Option<String>,
}

impl World {
    /// A fault happened.
    pub(crate) fn happened(&mut self, fault: Fault, what: impl FnOnce() -> String) {
        self.coverage.note(fault);
        self.tell(|| format!("{fault:?} {}", what()));
    }

    /// Tells what happens, when asked to.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>6} {}", self.now / STEP, what());
        }
    }

    /// Whether something unpleasant of this probability happens to a message, in a schedule that has such things.
    pub(crate) fn mishap(&mut self, fault: Fault, probability: f64) -> bool {
        let happens = self.rough && self.random.random_bool(probability);
        self.coverage.many(fault, u64::from(happens));
        happens
    }

    /// From now on one of the servers refuses something for ever.
    pub(crate) fn begin_lasting(&mut self) {
        let Some(lasting) = self.lasting else { return };
        if let Some(server) = self.clusters.get_mut(lasting.cluster) {
            server.refusals.begin(lasting.refused(), i64::MAX);
        }
        self.happened(Fault::Lasting, || format!("{lasting:?}"));
    }

    /// A cluster is deregistered for ever, when it is time.
    pub(crate) fn depart(&mut self) {
        if let Some(Departure { cluster, .. }) = self.departure.filter(|departure| departure.at == self.now) {
            // It may have been registered a moment ago, and others left out because of it.
            self.note_reasons();
            self.management.depart(cluster, self.now);
            self.note_reasons();
            self.happened(Fault::Departed, || CLUSTERS[cluster].to_owned());
        }
    }

    /// The cluster that has been deregistered for ever.
    pub(crate) fn departed(&self) -> Option<&'static str> {
        let departure = self.departure.filter(|departure| departure.at <= self.now)?;
        Some(CLUSTERS[departure.cluster])
    }

    /// Those that have not been deregistered for ever, and can be reached.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&'static str, &ApiServer)> {
        let departed = self.departed();
        let is_there = move |name: &str| Some(name) != departed && !self.is_unreached(name);
        let there = self.clusters.iter().filter(move |(name, _)| is_there(name));
        there.map(|(name, server)| (*name, server))
    }

    /// Whether a cluster refuses objects of this name for ever.
    pub(crate) fn is_refused(&self, cluster: &str, name: &str) -> bool {
        self.lasting.is_some_and(|lasting| lasting.is_about(cluster, name))
    }

    /// Whether what a profile has there stays although nobody wants it: until all that it should have is there, nothing of it
    /// is deleted; and as long as something is held up there of one that needs it, it is needed.
    pub(crate) fn stays(&self, cluster: &str, object: &Value) -> bool {
        let Some(owner) = Live::of(object).owner else { return false };
        if self.is_needed(cluster, |profile| owner.is(profile)) {
            return true;
        }
        let held = self.clusters.get(cluster).into_iter().flat_map(|server| &server.inventories);
        let mut held = held.filter(|(profile, _)| owner.is(profile));
        held.any(|(_, stored)| stored.inventory.objects.iter().any(|key| self.is_refused(cluster, &key.name)))
    }

    /// Whether a profile that is held up on a cluster which refuses something for ever needs this one.
    pub(crate) fn is_needed(&self, cluster: &str, is_it: impl Fn(&ProfileId) -> bool) -> bool {
        let held = self.clusters.get(cluster).into_iter().flat_map(|server| server.inventories.values());
        self.is_refusing(cluster) && held.flat_map(|stored| &stored.inventory.depends_on).any(is_it)
    }

    /// Whether a cluster refuses something for ever.
    pub(crate) fn is_refusing(&self, cluster: &str) -> bool {
        self.lasting.is_some_and(|lasting| lasting.cluster == cluster)
    }

    /// Whether a cluster is registered, and pulls.
    pub(crate) fn pulls(&self, name: &str) -> bool {
        self.management.pulling() == Some(name) && self.management.is_registered(name)
    }

    /// A stream has lost what it had acknowledged: until that has been noticed nobody can know better.
    pub(crate) fn note_loss(&mut self) {
        self.history.lose();
    }

    /// The management cluster gives reasons to withdraw things, from now on and as long as it is like this.
    pub(crate) fn note_reasons(&mut self) {
        self.management.reasons.iter().for_each(|reason| self.history.reason(*reason));
        for cluster in CLUSTERS {
            let is_for = self.management.registration(cluster).is_some_and(|labels| labels.env == "fv");
            self.history.next(cluster, is_for);
            if self.management.paused_since(cluster, self.now).is_some()
                || !self.management.is_registered(cluster)
            {
                self.history.rollouts.away(cluster_ref(cluster), self.now);
            }
        }
        if self.management.rival {
            self.history.rival_at = self.now;
        }
    }
}

/// The identity of a simulated cluster.
pub(crate) fn cluster_ref(name: &str) -> ClusterRef {
    if name == MANAGEMENT {
        return ClusterRef::management();
    }
    ClusterRef::sveltos("default", name)
}
