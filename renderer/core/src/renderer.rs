//! The renderer of one shard of `reports`.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::{cluster_shard, hash_shard};
use sluice_protocol::{Core, Head, Incarnation, Revision, Row, Sequence, Shard, Step, Subject, View};
use sluice_template::{Engine, Limits};

use self::outgoing::{Outgoing, Progress, Told};
use crate::knowledge::Knowledge;
use crate::messages::{Effect, ExternalInput};
use crate::planning::Planning;
use crate::planning::wanted::Wanted;
use crate::planning::withdrawals::WithdrawGuard;
use crate::rendering::Rendering;
use crate::rendering::explain::Explanation;
use crate::rendering::salt::Salt;
use crate::rendering::templates::Caches;
use crate::rendering::veil::Veil;

mod all_published;
mod cluster_sets;
mod departures;
mod dependents;
mod dry_runs;
mod held_back;
mod incoming;
mod management;
mod outgoing;
mod publish;
mod refresh;
mod rollbacks;
mod rollouts;
mod transitions;
mod withdrawals;
mod words;

/// What a renderer must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `reports`.
    pub shard: Shard,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnation of its `reports` stream.
    pub input: Incarnation,
    /// Incarnations of the `desired` streams, by shard.
    pub outputs: Vec<Incarnation>,
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

// D-0510: no two renderers make the same revision.
/// So many marks there are.
const MARKS: u64 = 1024;

impl Config {
    /// The first revision from `least` on that another renderer hardly makes: when the bucket is lost, and clocks are behind,
    /// two may follow the same one, and whoever works with the first would take the second for it.
    pub(crate) fn revision(&self, least: Revision) -> Revision {
        let (mark, rest) = (self.mark % MARKS, least.get() % MARKS);
        least.after_more((mark + MARKS - rest) % MARKS)
    }
}

/// The renderer of one shard.
pub struct Renderer {
    config: Config,
    knowledge: Knowledge,
    rendering: Rendering,
    planning: Planning,
    outgoing: Outgoing,
}

// === impl Renderer ===

impl Renderer {
    /// A renderer that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self::with_caches(config, &Caches::default())
    }

    /// The same, with caches that others use too.
    pub fn with_caches(config: Config, caches: &Caches) -> Self {
        Self {
            knowledge: Knowledge::new(config.shards, config.input),
            rendering: Rendering::new(&config.limits, &config.salt, caches),
            planning: Planning::default(),
            outgoing: Outgoing::new(),
            config,
        }
    }

    /// Lets this engine render what is written in Tera. Without one, such content is a problem.
    pub fn with_tera(mut self, engine: Arc<dyn Engine>) -> Self {
        self.rendering.set_tera(engine);
        self
    }

    /// What profiles depend on goes only where it selects clusters itself. Before anything else is told.
    pub fn without_dependents(mut self) -> Self {
        self.knowledge.catalog.without_dependents();
        self
    }

    /// What would withdraw so much of the fleet at once waits until somebody says so. Before anything else is told.
    pub fn guarded_by(mut self, guard: Option<WithdrawGuard>) -> Self {
        self.planning.withdrawals.set_guard(guard);
        self
    }

    /// What should go to few clusters at a time goes to all: nobody says what became of it. Before anything else is told.
    pub fn all_at_once(mut self) -> Self {
        self.planning.rollouts.turn_off();
        self
    }

    /// Tells it that the management cluster was restored from a backup, as the mark with this number says: rows of the time before are older
    /// than what it has now, whatever their versions. Before anything else is told.
    pub fn with_restored(mut self, restored: Revision) -> Self {
        self.knowledge.catalog.set_restored(restored);
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

    /// From now on it says what it wants to know of clusters: it knows which revision its interest rows must follow. The
    /// end of its input is the time for that; whoever has no input may say so before.
    pub fn ask(&mut self, step: &mut Step<Effect>) {
        self.outgoing.reach(Progress::Asking);
        for cluster in std::mem::take(&mut self.outgoing.unwritten) {
            self.rebind(&cluster, step);
        }
        // What was due before could not be said, and nothing else may come.
        self.report_departures(step);
    }

    /// Looks at one cause, because something that it is made of may have changed, at `time`:
    ///
    /// 1. nothing is concluded from events before the whole input has been read;
    /// 2. the script of its EventSource chooses, where it has one and that is due;
    /// 3. where it is not known whether the cause is wanted, what is there stays;
    /// 4. one that is not wanted is withdrawn;
    /// 5. a new one is deferred while its trigger may not act;
    /// 6. where nothing that it is made of has changed, only what clusters hold besides is withdrawn;
    /// 7. else it is rendered: what its generators make comes first, then the profile, then a row for each destination; what was
    ///    read is watched; rows are published and former ones withdrawn; what is wrong is said; who reads what it makes comes next;
    /// 8. it is looked at again when the first of its matches no longer counts.
    fn act(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if !self.outgoing.is_caught_up() && matches!(cause, Cause::Event(_)) {
            return;
        }
        self.set_now(step.now);
        if let Cause::Event(event) = cause {
            self.choose(&event.cluster, &event.source, step);
        }
        let wanted = self.planning.wanted(&self.knowledge, &self.rendering, cause);
        if wanted == Wanted::Yes && self.planning.withdrawals.awaits(cause) {
            // Rendering says whether it still leaves a place.
            self.planning.renderings.set(cause, None);
        }
        match wanted {
            Wanted::Unknown => return,
            Wanted::No => return self.withdraw(cause, time, step),
            Wanted::Yes if self.planning.ledger.is_new(cause) && self.is_deferred(cause, time, step) => {
                return;
            }
            Wanted::Yes if self.planning.is_rendered(&self.knowledge, cause) => {
                self.withdraw_stale(cause, time, step);
            }
            Wanted::Yes => self.render(cause, time, step),
        }
        let expiry = self.planning.expire(&self.knowledge, cause);
        expiry.into_iter().for_each(|at| step.wake_at(at));
    }

    /// The time at which causes are looked at.
    fn set_now(&mut self, now: i64) {
        self.rendering.templates.set_now(now);
        self.knowledge.now = now;
    }

    pub(super) fn is_mine(&self, cluster: &ClusterRef) -> bool {
        cluster_shard(cluster, self.config.shards) == self.config.shard
    }

    pub(super) fn owns_name(&self, name: &str) -> bool {
        hash_shard(&[name], self.config.shards) == self.config.shard
    }
}

// === impl Core for Renderer ===

impl Core for Renderer {
    type External = ExternalInput;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        if let Subject::Complete { cluster, .. } = subject
            && !head.tombstone
        {
            self.outgoing.told.insert(cluster.clone(), Told::Before);
        }
        let Subject::Desired { cluster, profile, .. } = subject else { return };
        let place = (cluster.clone(), profile.clone());
        if head.tombstone {
            self.planning.rollouts.remove(&place);
            match head.meta.departure() {
                Some(departure) => drop(self.planning.departing.insert(place.clone(), departure.clone())),
                None => drop(self.planning.departing.remove(&place)),
            }
            self.planning.ledger.found_withdrawn(place, head.time.max(1));
        } else if let Some(cause) = head.meta.cause().cloned() {
            self.planning.rollouts.found(place.clone(), head.digest, head.meta.staged().cloned());
            self.planning.ledger.found(place, cause);
        }
    }

    fn view(&self) -> View {
        self.knowledge.catalog.knowledge()
    }

    fn is_ready(&self) -> bool {
        self.outgoing.is_told()
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        match input {
            ExternalInput::Told => self.outgoing.reach(Progress::Told),
            ExternalInput::Management(change) => self.management(&change, step),
            ExternalInput::Interest(cluster, row) => {
                self.knowledge.completeness.set_interest(&cluster, row);
                if self.outgoing.is_started() && self.is_mine(&cluster) {
                    self.rebind(&cluster, step);
                    if self.outgoing.is_caught_up() {
                        self.refresh_complete(&cluster, step);
                    }
                }
            }
            ExternalInput::Status(row) => self.status(&row, step),
            ExternalInput::Resource(key, resource) => self.resource(key, resource, step),
            ExternalInput::Chart(request, state) => self.chart(request, state, step),
            ExternalInput::Right(question, right, asked) => self.right(&question, (right, asked), step),
            ExternalInput::Capabilities(cluster, known) => self.capabilities(cluster, known, step),
            ExternalInput::Fleet(count) => self.planning.withdrawals.set_fleet(count),
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.outgoing.reach(Progress::Started);
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
        self.planning.agenda.sweep_after(step.now, self.config.tombstone_ttl / 4);
        step.wake_at(self.planning.agenda.next());
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

    fn caught_up(&mut self, sequence: Sequence, step: &mut Step<Effect>) {
        let news = self.knowledge.completeness.caught_up(sequence);
        let first = !self.outgoing.is_caught_up();
        self.outgoing.reach(Progress::CaughtUp);
        if first {
            self.ask(step);
            self.first_look(step);
        } else {
            for cluster in news {
                self.refresh_complete(&cluster, step);
            }
        }
        self.report_all_published(step);
    }

    fn reconsider(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) -> bool {
        self.decide_again(rows, step);
        true
    }

    fn all_stored(&mut self, step: &mut Step<Effect>) {
        self.planning.rollouts.stored(step.steady);
        self.planning.rollouts.next().into_iter().for_each(|at| step.wake_at_steady(at));
    }

    fn awaits_end(&self) -> bool {
        self.knowledge.completeness.awaits_end()
    }

    fn tick(&mut self, step: &mut Step<Effect>) {
        let now = step.now;
        for (cause, time) in self.planning.agenda.take_due(now) {
            self.event_changed(&cause, time, step);
        }
        let calm = self.planning.agenda.take_calm(now);
        calm.iter().for_each(|cause| drop(self.planning.loops.remove(cause)));
        for cause in calm.into_iter().chain(self.planning.agenda.take_expired(now)) {
            self.planning.renderings.set(&cause, None);
            self.act(&cause, now, step);
        }
        for cause in self.planning.rollouts.take_due(step.steady) {
            self.act(&cause, now, step);
        }
        self.decide_due_withdrawals(step);
        self.write_reports(step);
        self.report_departures(step);
        let sweeps = self.planning.agenda.take_sweep(now, self.config.tombstone_ttl / 4);
        if sweeps {
            self.planning.rates.sweep(now);
            let ledger = &self.planning.ledger;
            self.planning.departing.retain(|place, _| ledger.is_held(place));
        }
        if sweeps
            && self.planning.ledger.forget_withdrawn(now - self.config.tombstone_ttl / 2)
            && self.outgoing.is_caught_up()
        {
            self.look_at_everything(step);
        }
        if self.outgoing.is_caught_up() {
            self.report_all_published(step);
        }
        step.wake_at(self.planning.agenda.next());
        self.planning.rollouts.next().into_iter().for_each(|at| step.wake_at_steady(at));
    }
}

#[cfg(test)]
mod tests;
