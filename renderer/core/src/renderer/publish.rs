//! From a cause to rows and projections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey, ProfileId, few};
use sluice_protocol::rows::{Cause, UNRENDERED};
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{Body, Fault, JournalEntry, Line, Meta, Publish, Step, Subject};

use super::held_back::HeldBack;
use super::outgoing::STAGE;
use super::words::{unsupported, without_effect};
use super::{Effect, Renderer};
use crate::error::{Error, Result};
use crate::knowledge::reads::Reads;
use crate::rendering::generate::Generated;
use crate::rendering::projection::Projection;
use crate::rendering::rendered::Rendered;

use crate::planning::row_ledger::Place;
use crate::rendering::row::NoRow;
use crate::rendering::row::{DestinationRow, Rendition, RowBody};

/// Where something is wrong, by what it is; nowhere, where it is not known where that would be.
type Failures = BTreeMap<String, (Error, Vec<ClusterRef>)>;

/// What becomes of renditions.
#[derive(Default)]
struct Sorted {
    rows: Vec<DestinationRow>,
    /// Where there is a row, or will be.
    places: BTreeSet<Place>,
    /// Where a row says that the name is wanted.
    unrendered: Vec<ClusterRef>,
    failed: Failures,
}

impl Renderer {
    /// Withdraws what clusters hold besides of a cause of which nothing has changed.
    pub(super) fn withdraw_stale(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let mut places = self.planning.ledger.places(cause);
        if !self.emptied(cause, &places).is_empty() {
            return self.render(cause, time, step);
        }
        self.hold_up(cause, &mut places, time, step);
        let stale = self.planning.ledger.set(cause, places, step.now);
        self.withdraw_places(stale, time, step);
    }

    /// Renders a cause, and publishes what it leads to.
    pub(super) fn render(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let mut reads = self.knowledge.reads_of(cause);
        let made = self.make(cause, &mut reads);
        let is_unknown = reads.is_unknown();
        self.ask_rights(&reads, step);
        let changes = self.planning.renderings.read(cause, reads);
        self.watch_reads(changes, step);
        if is_unknown {
            // It is rendered when that is known; what is there stays until then.
            self.planning.ledger.keep(cause);
            return self.act_on_touched(step);
        }
        let basis = self.knowledge.basis(cause);
        let mut warnings = Vec::new();
        let result = made.and_then(|(mut rendered, rows)| {
            warnings = std::mem::take(&mut rendered.warnings);
            self.planning.ledger.set_refused(cause, rendered.is_refused.then_some(&rendered.id));
            self.publish(cause, &rendered, rows, time, step)
        });
        // As long as clusters wait, it is rendered whenever it is looked at.
        let is_final = result.is_ok() && !self.planning.rollouts.is_waiting(cause);
        self.planning.renderings.set(cause, is_final.then_some(basis));
        self.planning.ledger.set_failing(cause, result.is_err());
        self.planning.ledger.keep(cause);
        let in_loop = self.planning.loop_error(&self.knowledge, cause).map(Fault::new);
        let rollout = self.planning.rollouts.fault(cause);
        let others = warnings.into_iter().chain(self.ignored_fields(cause)).chain(in_loop).chain(rollout);
        let others = others.chain(self.transition_circle(cause));
        let faults = result.err().map(Fault::from).into_iter().chain(others);
        self.outgoing.note(cause.problem(), Fault::all(faults), step);
        self.act_on_touched(step);
    }

    /// Everything that a cause leads to: first what its generators make, which the rest may refer to.
    pub(super) fn make(&mut self, cause: &Cause, reads: &mut Reads) -> Result<(Rendered, Vec<Rendition>)> {
        let generated = self.rendering.generate(&self.knowledge, cause, reads)?;
        let made = generated.iter().filter_map(Generated::object).collect();
        if !reads.is_unknown() {
            self.put_generated(cause, made);
        }
        let mut rendered = self.rendering.render(&self.knowledge, cause, reads)?;
        rendered.projections.extend(generated.into_iter().map(|one| one.projection));
        let taken = self.planning.taken(&self.knowledge, cause, &rendered)?;
        let rows = self.rendering.rows(&self.knowledge, cause, &mut rendered, &taken, reads)?;
        Ok((rendered, rows))
    }

    /// What a user's profile says and nobody acts upon; of a trigger it is said once, not for each of its events.
    fn ignored_fields(&self, cause: &Cause) -> Vec<Fault> {
        let Cause::Profile(id) = cause else { return Vec::new() };
        let profile = self.knowledge.catalog.profiles.get(id).map(Arc::as_ref);
        let Some(Ok(profile)) = profile else { return Vec::new() };
        let (unsupported, note) =
            (unsupported(&profile.common.unsupported), without_effect(&profile.common.ignored));
        unsupported.map(Fault::new).into_iter().chain(note).collect()
    }

    // D-0903: a cause that fails keeps its rows and fails alone.
    /// Publishes one row for each destination and withdraws the others. Where something is wrong, the row stays as it is, or says
    /// that the name is wanted.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(super) fn publish(
        &mut self,
        cause: &Cause,
        rendered: &Rendered,
        renditions: Vec<Rendition>,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Result<()> {
        // Also the values of charts and the spec may hold what was read.
        let secret = self.planning.uses_secrets(&self.knowledge, cause);
        let hidden = secret && self.is_dry_run(cause);
        let Sorted { mut rows, mut places, unrendered, mut failed } =
            self.sorted(cause, &rendered.id, renditions, (secret, hidden))?;
        let HeldBack { places: held_back, metas } = self.hold_back(cause, rendered, &mut rows, time, step);
        for place in held_back {
            // What is there stays until it has its turn.
            if !self.planning.ledger.has(cause, &place) {
                places.remove(&place);
            }
        }
        if let Some(unsure) = &rendered.unsure {
            // What a cluster holds that is not registered stays without a row.
            let is_there = |(cluster, _): &Place| {
                cluster.is_management() || self.knowledge.catalog.fleet.clusters().contains_key(cluster)
            };
            places.extend(self.planning.ledger.everywhere(cause).into_iter().filter(is_there));
            failed.insert(unsure.clone(), (Error::Unsure(unsure.clone()), Vec::new()));
        }
        let emptied = self.emptied(cause, &places);
        places.extend(emptied.iter().cloned());
        self.hold_up(cause, &mut places, time, step);
        let stale = self.planning.ledger.set(cause, places, step.now);
        self.empty(cause, emptied, time, step)?;
        self.publish_rows(cause, &rendered.id, (rows, &metas), time, step);
        for cluster in unrendered {
            step.publish(self.row(cause, &cluster, &rendered.id, UNRENDERED.into(), time));
        }
        if failed.is_empty() {
            self.project(cause, &rendered.projections, step);
        }
        // After the rows: an object that goes from one profile to another is there all the time.
        self.withdraw_places(stale, time, step);
        if failed.is_empty() { Ok(()) } else { Err(failures(failed)) }
    }

    /// The renditions by what becomes of them.
    fn sorted(
        &self,
        cause: &Cause,
        profile: &ProfileId,
        renditions: Vec<Rendition>,
        (secret, hidden): (bool, bool),
    ) -> Result<Sorted> {
        let Sorted { mut rows, mut places, mut unrendered, mut failed } = Sorted::default();
        for (cluster, body) in renditions {
            let place = (cluster.clone(), profile.clone());
            match body {
                Ok(body) => {
                    places.insert(place);
                    let body = if hidden { body.hidden()? } else { body };
                    rows.push((cluster, RowBody { secret: secret || body.secret, ..body }));
                }
                Err(missing) => {
                    if self.planning.wants_name(&self.knowledge, cause, &place) {
                        unrendered.push(cluster.clone());
                        places.insert(place);
                    } else if self.planning.ledger.has(cause, &place) {
                        places.insert(place);
                    }
                    if let NoRow::Failed(error) = missing {
                        let (_, clusters) = failed.entry(error.to_string()).or_insert((error, Vec::new()));
                        clusters.push(cluster);
                    }
                }
            }
        }
        Ok(Sorted { rows, places, unrendered, failed })
    }

    fn publish_rows(
        &self,
        cause: &Cause,
        profile: &ProfileId,
        (rows, metas): (Vec<DestinationRow>, &BTreeMap<ClusterRef, Meta>),
        time: i64,
        step: &mut Step<Effect>,
    ) {
        let name = profile.path();
        for (cluster, body) in rows {
            let mut line = JournalEntry::new(STAGE, "rendered", &cluster, &name, step.now, time);
            if let Cause::Event(event) = cause {
                line = line.because_of(&event.cluster, time);
            }
            let row = self.row(cause, &cluster, profile, body.bytes, time).secret(body.secret);
            let row = match metas.get(&cluster) {
                Some(meta) => row.meta(meta.clone()),
                None => row,
            };
            step.publish(row.line(Line::Change(line)));
        }
    }

    pub(super) fn row(
        &self,
        cause: &Cause,
        cluster: &ClusterRef,
        profile: &ProfileId,
        body: Arc<[u8]>,
        time: i64,
    ) -> Publish {
        let row = Publish::new(self.desired(cluster, profile), Body::Value(body), time);
        row.meta(Meta::of_cause(cause)).view(self.knowledge.catalog.view().clone())
    }

    pub(super) fn desired(&self, cluster: &ClusterRef, profile: &ProfileId) -> Subject {
        Subject::Desired {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            origin: self.config.shard,
            profile: profile.clone(),
        }
    }

    pub(super) fn withdraw(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if self.empty_in_place(cause, time, step) || self.holds_up(cause, time, step) {
            return;
        }
        let places = self.planning.ledger.set(cause, BTreeSet::new(), step.now);
        self.project(cause, &[], step);
        self.withdraw_places(places, time, step);
        let changes = self.planning.renderings.forget(cause);
        self.watch_reads(changes, step);
        self.put_generated(cause, Vec::new());
        self.planning.agenda.forget(cause);
        self.planning.gone.remove(cause);
        self.planning.rollouts.forget(cause);
        self.planning.ledger.forget(cause);
        self.outgoing.note(cause.problem(), None, step);
        self.act_on_touched(step);
    }

    /// Withdraws the rows at these places. Where another cause waits for the name, its row takes the place of this one.
    pub(super) fn withdraw_places(&mut self, places: Vec<Place>, time: i64, step: &mut Step<Effect>) {
        for place in places {
            for waiting in self.planning.ledger.take_waiting(&place) {
                self.act(&waiting, time, step);
            }
            if self.planning.ledger.is_used(&place) {
                continue;
            }
            self.planning.rollouts.remove(&place);
            self.publish_withdrawal(place, time, step);
        }
    }

    pub(super) fn project(&mut self, cause: &Cause, projections: &[Projection], step: &mut Step<Effect>) {
        let keys: Vec<ObjectKey> = projections.iter().map(|projection| projection.key.clone()).collect();
        for key in self.planning.renderings.project(cause, keys) {
            step.effect(Effect::Project(Projection { key, object: None }));
        }
        for projection in projections {
            step.effect(Effect::Project(projection.clone()));
        }
    }
}

/// Everything that is wrong; with the places, unless there is only one.
fn failures(failed: Failures) -> Error {
    let single = failed.values().map(|(_, clusters)| clusters.len()).sum::<usize>() == 1;
    let one = |(error, clusters): (Error, Vec<ClusterRef>)| {
        if single || clusters.is_empty() {
            return error;
        }
        Error::On { source: Box::new(error), clusters: few(", ", clusters.iter()) }
    };
    Error::Several(failed.into_values().map(one).collect())
}
