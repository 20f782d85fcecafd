//! From a cause to rows and projections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey, ProfileId, few};
use sluice_protocol::rows::{Cause, EventCause, UNRENDERED};
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{Body, Fault, JournalEntry, Line, Meta, Publish, Step, Subject};

use super::place::{unsupported, without_effect};
use super::{Effect, Renderer, STAGE};
use crate::knowledge::catalog::ContentKey;
use crate::knowledge::catalog::described;
use crate::knowledge::labels::is_made;
use crate::knowledge::reads::Reads;
use crate::rendering::generate::Generated;
use crate::rendering::projection::Projection;
use crate::rendering::rendered::Rendered;

use crate::rendering::row::NoRow;
use crate::rendering::row::{Rendition, RowBody, Taken};
use crate::row_ledger::Place;

/// Where something is wrong, by what it is; nowhere, where it is not known where that would be.
type Failures = BTreeMap<String, Vec<ClusterRef>>;

impl Renderer {
    /// Renders a cause, unless nothing that it is made of has changed since: then only what clusters hold besides
    /// is withdrawn.
    pub(super) fn render(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if self.is_rendered(cause) {
            let stale = self.ledger.set(cause, self.ledger.places(cause), step.now);
            return self.withdraw_places(stale, time, step);
        }
        let mut reads = self.knowledge.reads_of(cause);
        let made = self.make(cause, &mut reads);
        let is_unknown = reads.is_unknown();
        self.ask_for(&reads, step);
        let attended = self.renderings.read(cause, reads);
        self.attend(attended, step);
        if is_unknown {
            // It is rendered when that is known; what is there stays until then.
            self.ledger.keep(cause);
            return self.follow(step);
        }
        let basis = self.knowledge.basis(cause);
        let mut warnings = Vec::new();
        let result = made.and_then(|(mut rendered, rows)| {
            warnings = std::mem::take(&mut rendered.warnings);
            self.ledger.set_refused(cause, rendered.is_refused.then_some(&rendered.id));
            self.publish(cause, &rendered, rows, time, step)
        });
        self.renderings.set(cause, result.is_ok().then_some(basis));
        self.ledger.set_failing(cause, result.is_err());
        self.ledger.keep(cause);
        let circle = self.circle(cause).map(Fault::from);
        let others = warnings.into_iter().chain(self.ignored_fields(cause)).chain(circle);
        let faults = result.err().map(Fault::from).into_iter().chain(others);
        self.note(cause.problem(), Fault::all(faults), step);
        self.follow(step);
    }

    /// Everything that a cause leads to: first what its generators make, which the rest may refer to.
    pub(super) fn make(
        &mut self,
        cause: &Cause,
        reads: &mut Reads,
    ) -> Result<(Rendered, Vec<Rendition>), String> {
        let generated = self.rendering.generate(&self.knowledge, cause, reads)?;
        let made = generated.iter().filter_map(Generated::object).collect();
        if !reads.is_unknown() {
            self.put_generated(cause, made);
        }
        let mut rendered = self.rendering.render(&self.knowledge, cause, reads)?;
        rendered.projections.extend(generated.into_iter().map(|one| one.projection));
        let taken = self.taken(cause, &rendered)?;
        let rows = self.rendering.rows(&self.knowledge, cause, &mut rendered, &taken, reads)?;
        Ok((rendered, rows))
    }

    /// Who else of this shard makes a profile of this name on its destinations: it keeps it, and this cause waits.
    fn taken(&mut self, cause: &Cause, rendered: &Rendered) -> Result<Taken, String> {
        let management =
            rendered.is_for_management(self.knowledge.common(cause)?).then(ClusterRef::management);
        let clusters = self.knowledge.catalog.fleet.clusters();
        let destinations = rendered.parts.iter().flat_map(|part| &part.destinations);
        let destinations = destinations.filter(|id| clusters.contains_key(*id)).cloned().chain(management);
        let mut taken = Taken::new();
        for cluster in destinations {
            if let Some(user) = self.ledger.ask_for(&(cluster.clone(), rendered.id.clone()), cause) {
                let user = user.clone();
                taken.insert(cluster, user);
            }
        }
        Ok(taken)
    }

    /// What is said of a cause that leads to itself.
    fn circle(&self, cause: &Cause) -> Option<String> {
        // Of what a script chooses, all causes go round together.
        let whole = match cause {
            Cause::Event(event) => Cause::Event(EventCause { item: None, ..event.clone() }),
            Cause::Profile(_) => cause.clone(),
        };
        let circling = [cause, &whole].into_iter().find(|cause| self.agenda.is_circling(cause))?;
        if let Some(way) = self.circles.get(circling) {
            return Some(format!(
                "its event changes with what it deploys itself ({way}); it is rendered once a second; let its EventSource not select \
                 what is deployed because of it"
            ));
        }
        let made =
            |key: &&ContentKey| self.knowledge.catalog.content(key).is_some_and(|object| is_made(object));
        let made = |key: &&ContentKey| self.knowledge.catalog.generator_of(key).is_some() || made(key);
        let contents = self.renderings.content_read_by(cause).filter(made).map(described);
        let there = |key: &ObjectKey| {
            self.knowledge.catalog.resource(key).and_then(|known| known.object().map(is_made))
        };
        let resources = self.renderings.resources_read_by(cause).filter(|key| there(key) == Some(true));
        let names: Vec<_> = contents.chain(resources.map(ToString::to_string)).collect();
        Some(format!(
            "it reads what Sluice makes in the management cluster, and that changes with what it makes itself ({}); it is rendered once a \
             second; let nothing read its own output",
            names.join(", ")
        ))
    }

    /// What a user's profile says and nobody acts upon; of a trigger it is said once, not for each of its events.
    fn ignored_fields(&self, cause: &Cause) -> Vec<Fault> {
        let Cause::Profile(id) = cause else { return Vec::new() };
        let profile = self.knowledge.catalog.profiles.get(id).map(Arc::as_ref);
        let Some(Ok(profile)) = profile else { return Vec::new() };
        let (lacks, note) =
            (unsupported(&profile.common.unsupported), without_effect(&profile.common.ignored));
        lacks.map(Fault::from).into_iter().chain(note).collect()
    }

    /// Whether a cause has been rendered, and nothing that it is made of has changed since.
    pub(super) fn is_rendered(&self, cause: &Cause) -> bool {
        self.renderings.is_of(cause, self.knowledge.basis(cause))
    }

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
    ) -> Result<(), String> {
        // Also the values of charts and the spec may hold what was read.
        let secret = self.uses_secrets(cause);
        let (mut rows, mut places) = (Vec::new(), BTreeSet::<Place>::new());
        let mut unrendered = Vec::new();
        let mut failed = Failures::new();
        for (cluster, body) in renditions {
            let place = (cluster.clone(), rendered.id.clone());
            match body {
                Ok(body) => {
                    places.insert(place);
                    rows.push((cluster, RowBody { secret: secret || body.secret, ..body }));
                }
                Err(lack) => {
                    if self.wants_name(cause, &place) {
                        unrendered.push(cluster.clone());
                        places.insert(place);
                    } else if self.ledger.has(cause, &place) {
                        places.insert(place);
                    }
                    if let NoRow::Failed(error) = lack {
                        failed.entry(error).or_default().push(cluster);
                    }
                }
            }
        }
        if let Some(unsure) = &rendered.unsure {
            // What a cluster holds that is not registered stays without a row.
            let is_there = |(cluster, _): &Place| {
                cluster.is_management() || self.knowledge.catalog.fleet.clusters().contains_key(cluster)
            };
            places.extend(self.ledger.everywhere(cause).into_iter().filter(is_there));
            failed.insert(unsure.clone(), Vec::new());
        }
        let stale = self.ledger.set(cause, places, step.now);
        self.publish_rows(cause, &rendered.id, rows, time, step);
        for cluster in unrendered {
            step.publish(self.row(cause, &cluster, &rendered.id, UNRENDERED.into(), time));
        }
        if failed.is_empty() {
            self.project(cause, &rendered.projections, step);
        }
        // After the rows: an object that goes from one profile to another is there all the time.
        self.withdraw_places(stale, time, step);
        if failed.is_empty() { Ok(()) } else { Err(told(&failed)) }
    }

    fn publish_rows(
        &self,
        cause: &Cause,
        profile: &ProfileId,
        rows: Vec<(ClusterRef, RowBody)>,
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
            step.publish(row.line(Line::Change(line)));
        }
    }

    fn row(
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

    /// Whether a row without content must say that `cause` wants this name: it has no row there, nobody else of this shard
    /// uses the name, and makers of other shards may.
    fn wants_name(&self, cause: &Cause, place: &Place) -> bool {
        self.knowledge.names_may_be_shared(cause) && !self.ledger.is_used(place)
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
        let places = self.ledger.set(cause, BTreeSet::new(), step.now);
        self.project(cause, &[], step);
        self.withdraw_places(places, time, step);
        let attended = self.renderings.forget(cause);
        self.attend(attended, step);
        self.put_generated(cause, Vec::new());
        self.agenda.forget(cause);
        self.gone.remove(cause);
        self.ledger.forget(cause);
        self.note(cause.problem(), None, step);
        self.follow(step);
    }

    /// Withdraws the rows at these places. Where another cause waits for the name, its row takes the place of this one.
    pub(super) fn withdraw_places(&mut self, places: Vec<Place>, time: i64, step: &mut Step<Effect>) {
        for place in places {
            for waiting in self.ledger.take_waiting(&place) {
                self.refresh(&waiting, time, step);
            }
            if self.ledger.is_used(&place) {
                continue;
            }
            let (cluster, profile) = place;
            let subject = self.desired(&cluster, &profile);
            step.publish(
                Publish::new(subject, Body::Tombstone, time)
                    .view(self.knowledge.catalog.view().clone())
                    .forced(),
            );
        }
    }

    pub(super) fn project(&mut self, cause: &Cause, projections: &[Projection], step: &mut Step<Effect>) {
        let keys: Vec<ObjectKey> = projections.iter().map(|projection| projection.key.clone()).collect();
        for key in self.renderings.project(cause, keys) {
            step.effect(Effect::Project(Projection { key, object: None }));
        }
        for projection in projections {
            step.effect(Effect::Project(projection.clone()));
        }
    }
}

/// Everything that is wrong; with the places, unless there is only one.
fn told(failed: &Failures) -> String {
    let single = failed.values().map(Vec::len).sum::<usize>() == 1;
    let line = |(error, clusters): (&String, &Vec<ClusterRef>)| {
        if single || clusters.is_empty() {
            return error.clone();
        }
        format!("{error} (on {})", few(", ", clusters.iter()))
    };
    failed.iter().map(line).collect::<Vec<_>>().join("; ")
}
