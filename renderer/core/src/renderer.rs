//! The renderer of one shard of `reports`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Interest;
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::{cluster_shard, hash_shard};
use sluice_protocol::{Core, Head, JournalEntry, Problem, ProblemKey, ProblemSet, Row, Step, Subject, View};
use sluice_template::{Engine, Limits};

use crate::bindings::ClusterBindings;
use crate::catalog::{Catalog, Change, ContentKey};
use crate::completeness::Completeness;
use crate::content::Manifests;
use crate::project::Projection;
use crate::row_ledger::RowLedger;
use crate::sets::Sets;
use crate::templates::{Caches, Templates};

mod incoming;
mod management;
mod place;
mod publish;
mod refresh;

pub(crate) const STAGE: &str = "renderer";

/// Changes of one set that follow each other within this time are rendered together.
const QUIET: i64 = 20_000;
/// The same for each object of a set that is rendered as a whole: some times what its render takes.
const QUIET_EACH: i64 = 500;
/// But a change waits no longer than this.
const PATIENCE: i64 = 250_000;
/// An EventReport is written at most this often: it is the whole set, and people read it.
const REPORT_PERIOD: i64 = 2_000_000;

/// What a renderer must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `reports`.
    pub shard: u16,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnation of its `reports` stream.
    pub input: u64,
    /// How long tombstones live, microseconds.
    pub tombstone_ttl: i64,
    /// What one render may use.
    pub limits: Limits,
}

/// What a renderer learns besides `reports`.
#[derive(Clone, Debug)]
pub enum ExternalInput {
    /// An object of the management cluster.
    Management(Change),
    /// The interest row of a cluster.
    Interest(ClusterRef, Interest),
    /// A row of `status`.
    Status(Arc<Row>),
    /// Everything that was there of all three at the beginning has been told.
    Told,
}

/// What a renderer wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The interest row of a cluster should be this one.
    WriteInterest(ClusterRef, Interest),
    /// An object of the management cluster should be like this.
    Project(Projection),
    /// Everything that this cluster's events lead to has been projected: what else is there is a leftover.
    Projected(ClusterRef),
    /// Something is wrong, or no longer.
    Problem(Problem),
    /// Something happened.
    Journal(JournalEntry),
}

/// See the module's text.
pub struct Renderer {
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    pub(crate) sets: Sets,
    templates: Templates,
    manifests: Manifests,
    ledger: RowLedger,
    bindings: BTreeMap<ClusterRef, ClusterBindings>,
    completeness: Completeness,
    readers: HashMap<ContentKey, BTreeSet<Cause>>,
    projected: BTreeMap<Cause, Vec<ObjectKey>>,
    /// What each rendered cause was made of: while it is the same, rendering again gives the same.
    rendered_from: HashMap<Cause, Basis>,
    problems: ProblemSet,
    dirty: BTreeMap<Cause, Dirty>,
    rendered_at: BTreeMap<Cause, i64>,
    /// EventReports that are to be written, and when: each has its own time, so that they do not come all at once.
    reports_due: BTreeMap<(ClusterRef, String), i64>,
    gone_early: Vec<(ClusterRef, String, ObjectKey)>,
    told: bool,
    started: bool,
    caught_up: bool,
    sweep_at: i64,
}

/// Versions of the management cluster, and of the matches, that a cause is rendered from.
type Basis = (u64, u64);

/// A cause that is to be rendered later, together with what still comes.
#[derive(Clone, Copy)]
struct Dirty {
    first: i64,
    due: i64,
    /// The earliest change that has not been rendered.
    time: i64,
}

/// Whether a cause should lead to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Yes,
    No,
    /// Not enough is known: what is there stays as it is.
    Unknown,
}

impl Renderer {
    /// A renderer that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self::with_caches(config, &Caches::default())
    }

    /// The same, with caches that others use too.
    pub fn with_caches(config: Config, caches: &Caches) -> Self {
        Self {
            templates: Templates::new(config.limits.clone(), caches),
            completeness: Completeness::new(config.shards, config.input),
            config,
            catalog: Catalog::default(),
            sets: Sets::default(),
            manifests: caches.manifests.clone(),
            ledger: RowLedger::default(),
            bindings: BTreeMap::new(),
            readers: HashMap::new(),
            projected: BTreeMap::new(),
            rendered_from: HashMap::new(),
            problems: ProblemSet::new(STAGE),
            dirty: BTreeMap::new(),
            rendered_at: BTreeMap::new(),
            reports_due: BTreeMap::new(),
            gone_early: Vec::new(),
            told: false,
            started: false,
            caught_up: false,
            sweep_at: 0,
        }
    }

    /// Lets this engine render what is written in Tera. Without one, such content is a problem.
    pub fn with_tera(mut self, engine: Arc<dyn Engine>) -> Self {
        self.templates.set_tera(engine);
        self
    }

    pub(super) fn is_mine(&self, cluster: &ClusterRef) -> bool {
        cluster_shard(cluster, self.config.shards) == self.config.shard
    }

    pub(super) fn owns_name(&self, name: &str) -> bool {
        hash_shard(&[name], self.config.shards) == self.config.shard
    }

    pub(super) fn note(&mut self, key: ProblemKey, error: Option<String>, step: &mut Step<Effect>) {
        self.problems.note(key, error).into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
    }
}

// === impl Core for Renderer ===

impl Core for Renderer {
    type External = ExternalInput;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        let Subject::Desired { cluster, profile, .. } = subject else { return };
        let place = (cluster.clone(), profile.clone());
        if head.tombstone {
            self.ledger.found_withdrawn(place, head.time.max(1));
        } else if let Some(cause) = head.meta.cause().cloned() {
            self.ledger.found(place, cause);
        }
    }

    fn view(&self) -> View {
        self.catalog.knowledge()
    }

    fn is_ready(&self) -> bool {
        self.told
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        match input {
            ExternalInput::Told => self.told = true,
            ExternalInput::Management(change) => self.management(&change, step),
            ExternalInput::Interest(cluster, row) => {
                self.completeness.set_interest(&cluster, row);
                if self.started && self.is_mine(&cluster) {
                    self.rebind(&cluster, step);
                    if self.caught_up {
                        self.refresh_complete(&cluster, step);
                    }
                }
            }
            ExternalInput::Status(row) => self.status(&row, step),
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.started = true;
        let unregistered = self.completeness.clusters().filter(|cluster| self.is_mine(cluster));
        let clusters: BTreeSet<_> = unregistered.cloned().chain(self.my_clusters()).collect();
        for cluster in clusters {
            self.rebind(&cluster, step);
        }
        let triggers: Vec<_> = self.catalog.triggers.keys().cloned().collect();
        triggers.iter().for_each(|id| self.check_trigger(id, step));
        let profiles: Vec<_> = self.catalog.profiles.keys().cloned().collect();
        profiles.iter().for_each(|id| self.refresh_profile(id, step));
        self.sweep_at = step.now + self.config.tombstone_ttl / 4;
        step.wake_at(self.sweep_at);
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        match &row.subject {
            Subject::Report { cluster, .. } => {
                self.hear(cluster, row.head.view.version(&cluster.to_string()), step);
                self.reported(row, step);
            }
            Subject::Complete { cluster, origin: Some(origin), .. } => {
                if let Some(complete) = row.head.meta.complete() {
                    self.completeness.announce(cluster, *origin, complete, row.sequence);
                    self.hear(cluster, complete.revision, step);
                }
            }
            _ => {}
        }
    }

    fn caught_up(&mut self, sequence: u64, step: &mut Step<Effect>) {
        let news = self.completeness.caught_up(sequence);
        if !std::mem::replace(&mut self.caught_up, true) {
            return self.first_look(step);
        }
        for cluster in news {
            self.refresh_complete(&cluster, step);
        }
    }

    fn is_decided(&self) -> bool {
        let complete = |cluster: &ClusterRef, source: &String| self.completeness.is_complete(cluster, source);
        self.caught_up
            && self.dirty.is_empty()
            && self
                .bindings
                .iter()
                .all(|(cluster, bound)| bound.sources().all(|source| complete(cluster, source)))
    }

    fn awaits_end(&self) -> bool {
        self.completeness.awaits_end()
    }

    fn tick(&mut self, step: &mut Step<Effect>) {
        let now = step.now;
        let due: Vec<_> = self
            .dirty
            .iter()
            .filter(|(_, dirty)| dirty.due <= now)
            .map(|(cause, dirty)| (cause.clone(), dirty.time))
            .collect();
        for (cause, time) in due {
            self.dirty.remove(&cause);
            self.rendered_at.insert(cause.clone(), now);
            self.refresh(&cause, time, step);
        }
        self.dirty.values().for_each(|dirty| step.wake_at(dirty.due));
        self.write_reports(step);
        if now >= self.sweep_at {
            self.sweep_at = now + self.config.tombstone_ttl / 4;
            if self.ledger.forget_withdrawn(now - self.config.tombstone_ttl / 2) && self.caught_up {
                self.look_at_everything(step);
            }
        }
        step.wake_at(self.sweep_at);
    }
}

#[cfg(test)]
mod tests;
