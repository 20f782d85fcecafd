//! The renderer of one shard of `reports`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::{cluster_shard, hash_shard};
use sluice_protocol::{Core, Fault, Head, ProblemKey, ProblemSet, Row, Step, Subject, View};
use sluice_template::{Engine, Limits};

use self::farewell::Farewells;
use self::saying::Saying;
use crate::agenda::Agenda;
use crate::bindings::ClusterBindings;
use crate::knowledge::Knowledge;
use crate::messages::{Effect, ExternalInput};
use crate::rates::Rates;
use crate::rendering::Rendering;
use crate::rendering::explain::Explanation;
use crate::rendering::salt::Salt;
use crate::rendering::templates::Caches;
use crate::rendering::veil::Veil;
use crate::renderings::Renderings;
use crate::row_ledger::RowLedger;

mod attention;
mod choose;
mod cluster_sets;
mod farewell;
mod incoming;
mod management;
mod pace;
mod place;
mod publish;
mod refresh;
mod saying;
mod secrecy;

pub(crate) const STAGE: &str = "renderer";

/// What a renderer must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `reports`.
    pub shard: u16,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnation of its `reports` stream.
    pub input: u64,
    /// Incarnations of the `desired` streams, by shard.
    pub outputs: Vec<u64>,
    /// How long tombstones live, microseconds.
    pub tombstone_ttl: i64,
    /// What one render may use.
    pub limits: Limits,
    /// What random values of templates and charts begin with.
    pub salt: Salt,
    /// How long a cluster is not registered before everything goes that is known of it, microseconds.
    pub forget_after: i64,
    /// A number that another renderer hardly has: revisions of interest end with it, so that no two are alike.
    pub mark: u64,
}

/// So many marks there are.
const MARKS: u64 = 1024;

impl Config {
    /// The first revision from `least` on that another renderer hardly makes: when the bucket is lost, and clocks are behind,
    /// two may follow the same one, and whoever works with the first would take the second for it.
    pub(crate) fn revision(&self, least: u64) -> u64 {
        let (mark, rest) = (self.mark % MARKS, least % MARKS);
        least.saturating_add((mark + MARKS - rest) % MARKS)
    }
}

/// The renderer of one shard.
pub struct Renderer {
    pub(crate) config: Config,
    knowledge: Knowledge,
    rendering: Rendering,
    ledger: RowLedger,
    bindings: BTreeMap<ClusterRef, ClusterBindings>,
    renderings: Renderings,
    problems: ProblemSet,
    agenda: Agenda,
    rates: Rates,
    /// What the input of a cause that leads to itself comes from.
    circles: BTreeMap<Cause, String>,
    /// Events that have gone, until that has been acted upon, and the revision of interest that their tombstones are of.
    gone: BTreeMap<Cause, u64>,
    /// Matches whose tombstones came before the whole table had been read, and the revision of interest that each of these
    /// is of.
    gone_early: Vec<(ClusterRef, String, ObjectKey, u64)>,
    /// Clusters whose interest row is to be written once it knows the revision that must follow.
    unwritten: BTreeSet<ClusterRef>,
    farewells: Farewells,
    /// Causes that read something that has changed.
    touched: BTreeSet<Cause>,
    is_following: bool,
    progress: Progress,
    saying: Saying,
}

/// How far it is on its way to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// Not everything that was there at the beginning has been told.
    Listening,
    /// It has.
    Told,
    /// It owns its shard, and what is its may be published.
    Started,
    /// It knows every revision of interest that a matcher said it has worked with.
    Asking,
    /// Its input has been read to its end: absence means something.
    CaughtUp,
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
            rendering: Rendering::new(&config.limits, &config.salt, caches),
            knowledge: Knowledge::new(config.shards, config.input),
            config,
            ledger: RowLedger::default(),
            bindings: BTreeMap::new(),
            renderings: Renderings::default(),
            problems: ProblemSet::new(STAGE),
            agenda: Agenda::default(),
            rates: Rates::default(),
            circles: BTreeMap::new(),
            gone: BTreeMap::new(),
            gone_early: Vec::new(),
            unwritten: BTreeSet::new(),
            farewells: Farewells::new(),
            touched: BTreeSet::new(),
            is_following: false,
            progress: Progress::Listening,
            saying: Saying::default(),
        }
    }

    /// Lets this engine render what is written in Tera. Without one, such content is a problem.
    pub fn with_tera(mut self, engine: Arc<dyn Engine>) -> Self {
        self.rendering.set_tera(engine);
        self
    }

    /// Lets this open the texts of Secrets, and cover what is made of them.
    pub fn with_veil(mut self, veil: Arc<dyn Veil>) -> Self {
        self.rendering.set_veil(veil);
        self
    }

    /// What this cause leads to; nothing when it cannot be rendered.
    pub fn explain(&mut self, cause: &Cause) -> Option<Explanation> {
        let mut reads = self.knowledge.reads_of(cause);
        let (rendered, _) = self.make(cause, &mut reads).ok()?;
        let origins = self.rendering.origins(&self.knowledge, cause, &rendered, &mut reads);
        let projected = rendered.projections.iter().map(|projection| projection.key.clone()).collect();
        Some(Explanation { profile: rendered.id, origins, projected })
    }

    fn reach(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    /// From now on it says what it wants to know of clusters: it knows which revision its interest rows must follow. The
    /// end of its input is the time for that; whoever has no input may say so before.
    pub fn ask(&mut self, step: &mut Step<Effect>) {
        self.reach(Progress::Asking);
        for cluster in std::mem::take(&mut self.unwritten) {
            self.rebind(&cluster, step);
        }
        // What was due before could not be said, and nothing else may come.
        self.say_farewell(step);
    }

    fn is_asking(&self) -> bool {
        self.progress >= Progress::Asking
    }

    fn is_started(&self) -> bool {
        self.progress >= Progress::Started
    }

    fn is_caught_up(&self) -> bool {
        self.progress == Progress::CaughtUp
    }

    pub(super) fn is_mine(&self, cluster: &ClusterRef) -> bool {
        cluster_shard(cluster, self.config.shards) == self.config.shard
    }

    pub(super) fn owns_name(&self, name: &str) -> bool {
        hash_shard(&[name], self.config.shards) == self.config.shard
    }

    pub(super) fn note(&mut self, key: ProblemKey, fault: Option<Fault>, step: &mut Step<Effect>) {
        self.problems.note(key, fault).into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
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
        self.knowledge.catalog.knowledge()
    }

    fn is_ready(&self) -> bool {
        self.progress >= Progress::Told
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        match input {
            ExternalInput::Told => self.reach(Progress::Told),
            ExternalInput::Management(change) => self.management(&change, step),
            ExternalInput::Interest(cluster, row) => {
                self.knowledge.completeness.set_interest(&cluster, row);
                if self.is_started() && self.is_mine(&cluster) {
                    self.rebind(&cluster, step);
                    if self.is_caught_up() {
                        self.refresh_complete(&cluster, step);
                    }
                }
            }
            ExternalInput::Status(row) => self.status(&row, step),
            ExternalInput::Resource(key, resource) => self.resource(key, resource, step),
            ExternalInput::Chart(request, state) => self.chart(request, state, step),
            ExternalInput::Right(question, right, asked) => self.right(&question, (right, asked), step),
            ExternalInput::Capabilities(cluster, known) => self.capabilities(cluster, known, step),
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.reach(Progress::Started);
        let unregistered = self.knowledge.completeness.clusters().filter(|cluster| self.is_mine(cluster));
        let clusters: BTreeSet<_> = unregistered.cloned().chain(self.my_clusters()).collect();
        for cluster in clusters {
            self.rebind(&cluster, step);
        }
        let triggers: Vec<_> = self.knowledge.catalog.triggers.keys().cloned().collect();
        triggers.iter().for_each(|id| self.check_trigger(id, step));
        let sources: Vec<_> = self.knowledge.catalog.sources.keys().cloned().collect();
        sources.iter().for_each(|name| self.check_source(name, step));
        self.write_sets(step);
        let profiles: Vec<_> = self.knowledge.catalog.profiles.keys().cloned().collect();
        profiles.iter().for_each(|id| self.refresh_profile(id, step));
        self.agenda.sweep_after(step.now, self.config.tombstone_ttl / 4);
        step.wake_at(self.agenda.next());
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        match &row.subject {
            Subject::Report { cluster, .. } => {
                let revision = row.head.view.version(&cluster.to_string());
                self.hear(cluster, revision, step);
                self.reported(row, revision, step);
            }
            Subject::Complete { cluster, origin: Some(origin), .. } => {
                if let Some(complete) = row.head.meta.complete() {
                    self.knowledge.completeness.announce(cluster, *origin, complete, row.sequence);
                    self.hear(cluster, complete.revision, step);
                } else if row.head.tombstone {
                    self.knowledge.completeness.withdraw(cluster, *origin);
                }
                if !self.knowledge.catalog.fleet.clusters().contains_key(cluster) {
                    self.mind_registration(cluster, step);
                }
            }
            _ => {}
        }
    }

    fn caught_up(&mut self, sequence: u64, step: &mut Step<Effect>) {
        let news = self.knowledge.completeness.caught_up(sequence);
        let first = !self.is_caught_up();
        self.reach(Progress::CaughtUp);
        if first {
            self.ask(step);
            self.first_look(step);
        } else {
            for cluster in news {
                self.refresh_complete(&cluster, step);
            }
        }
        self.say_all(step);
    }

    fn reconsider(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) -> bool {
        self.decide_anew(rows, step);
        true
    }

    fn awaits_end(&self) -> bool {
        self.knowledge.completeness.awaits_end()
    }

    fn tick(&mut self, step: &mut Step<Effect>) {
        let now = step.now;
        for (cause, time) in self.agenda.take_due(now) {
            self.act(&cause, time, step);
        }
        let calm = self.agenda.take_calm(now);
        calm.iter().for_each(|cause| drop(self.circles.remove(cause)));
        for cause in calm.into_iter().chain(self.agenda.take_expired(now)) {
            self.renderings.set(&cause, None);
            self.refresh(&cause, now, step);
        }
        self.write_reports(step);
        self.say_farewell(step);
        let sweeps = self.agenda.take_sweep(now, self.config.tombstone_ttl / 4);
        if sweeps {
            self.rates.sweep(now);
        }
        if sweeps && self.ledger.forget_withdrawn(now - self.config.tombstone_ttl / 2) && self.is_caught_up()
        {
            self.look_at_everything(step);
        }
        if self.is_caught_up() {
            self.say_all(step);
        }
        step.wake_at(self.agenda.next());
    }
}

#[cfg(test)]
mod tests;
