//! The renderer of one shard of `reports`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Interest;
use sluice_protocol::rows::{Cause, EventCause, ReportMeta, StatusMeta};
use sluice_protocol::subject::{cluster_shard, hash_shard};
use sluice_protocol::{Body, Core, Happened, Head, Problem, Publish, Row, Step, Subject, View};
use sluice_template::Limits;

use crate::bindings::ClusterBindings;
use crate::completeness::Completeness;
use crate::content::Manifests;
use crate::event::EventRender;
use crate::made::{Made, Place};
use crate::project::{self, Projection};
use crate::render::{self, Reads, Rendered};
use crate::sets::{Match, Sets};
use crate::templates::Templates;
use crate::world::{Change, ContentKey, Touched, World};

pub(crate) const STAGE: &str = "renderer";

/// Changes of one set that follow each other within this time are rendered together.
const QUIET: i64 = 20_000;
/// But a change waits no longer than this.
const PATIENCE: i64 = 250_000;
/// EventReports are written at most this often.
const REPORT_PERIOD: i64 = 500_000;

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
pub enum Side {
    /// An object of the management cluster.
    Management(Change),
    /// The interest row of a cluster.
    Interest(ClusterRef, Interest),
    /// A row of `status`.
    Status(Arc<Row>),
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
    Happened(Happened),
}

/// See the module's text.
pub struct Renderer {
    pub(crate) config: Config,
    pub(crate) world: World,
    pub(crate) sets: Sets,
    templates: Templates,
    manifests: Manifests,
    made: Made,
    bindings: BTreeMap<ClusterRef, ClusterBindings>,
    completeness: Completeness,
    readers: HashMap<ContentKey, BTreeSet<Cause>>,
    projected: BTreeMap<Cause, Vec<ObjectKey>>,
    failing: BTreeSet<(String, String)>,
    dirty: BTreeMap<Cause, Dirty>,
    rendered_at: BTreeMap<Cause, i64>,
    reports_due: BTreeSet<(ClusterRef, String)>,
    reports_at: i64,
    gone_early: Vec<(ClusterRef, String, ObjectKey)>,
    started: bool,
    caught_up: bool,
    sweep_at: i64,
}

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
        Self {
            templates: Templates::new(config.limits.clone()),
            completeness: Completeness::new(config.shards, config.input),
            config,
            world: World::default(),
            sets: Sets::default(),
            manifests: Manifests::default(),
            made: Made::default(),
            bindings: BTreeMap::new(),
            readers: HashMap::new(),
            projected: BTreeMap::new(),
            failing: BTreeSet::new(),
            dirty: BTreeMap::new(),
            rendered_at: BTreeMap::new(),
            reports_due: BTreeSet::new(),
            reports_at: 0,
            gone_early: Vec::new(),
            started: false,
            caught_up: false,
            sweep_at: 0,
        }
    }

    fn is_mine(&self, cluster: &ClusterRef) -> bool {
        cluster_shard(cluster, self.config.shards) == self.config.shard
    }

    fn owns_name(&self, name: &str) -> bool {
        hash_shard(&[name], self.config.shards) == self.config.shard
    }

    // === what changes in the management cluster ===

    fn management(&mut self, change: &Change, step: &mut Step<Effect>) {
        let touched = self.world.apply(change);
        if !self.started {
            return;
        }
        match touched {
            Touched::Nothing => {}
            Touched::Source(_) | Touched::Trigger(_) => {
                if let Touched::Trigger(id) = &touched {
                    self.check_trigger(id, step);
                }
                let mine: Vec<_> = self.my_clusters();
                for cluster in mine {
                    self.rebind(&cluster, step);
                }
                if let Touched::Trigger(id) = &touched {
                    self.refresh_trigger(id, step);
                }
            }
            Touched::Cluster(cluster) => self.cluster_changed(&cluster, step),
            Touched::Profile(id) => self.refresh_profile(&id, step),
            Touched::Content(key) => {
                for cause in self.readers.get(&key).cloned().unwrap_or_default() {
                    self.refresh(&cause, step.now, step);
                }
            }
        }
    }

    fn my_clusters(&self) -> Vec<ClusterRef> {
        self.world.clusters.keys().filter(|cluster| self.is_mine(cluster)).cloned().collect()
    }

    fn cluster_changed(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if self.is_mine(cluster) {
            self.rebind(cluster, step);
            self.refresh_cluster(cluster, step);
        }
        let crosses = |id: &String| {
            let trigger = self.world.triggers.get(id).map(Arc::as_ref);
            matches!(trigger, Some(Ok(trigger)) if trigger.destination_selector.is_some())
        };
        let crossing: Vec<_> = self.world.triggers.keys().filter(|id| crosses(id)).cloned().collect();
        for id in crossing {
            self.refresh_trigger(&id, step);
        }
        let profiles: Vec<_> = self.world.profiles.keys().cloned().collect();
        for id in profiles {
            self.refresh_profile(&id, step);
        }
    }

    /// Works out anew who listens to what on a cluster, and what its interest row should say.
    fn rebind(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let before = self.bindings.get(cluster).cloned();
        let registered = self.world.clusters.get(cluster).cloned();
        let after = registered
            .as_ref()
            .map(|registered| ClusterBindings::of(registered, &self.world, &self.templates, before.as_ref()));
        let after = after.unwrap_or_default();
        self.check_bindings(cluster, &after, step);
        let known = self.completeness.interest(cluster);
        let unseen = registered.is_none() && known.is_none();
        let next = Interest::next(known, after.interest(&self.world), now_millis(step.now));
        if let Some(row) = next.filter(|_| !unseen) {
            step.effect(Effect::WriteInterest(cluster.clone(), row));
        }
        let ended: Vec<_> = before
            .iter()
            .flat_map(|b| &b.by_trigger)
            .filter(|(id, source)| after.by_trigger.get(*id) != Some(source))
            .collect();
        let ended: Vec<(String, String)> =
            ended.into_iter().filter_map(|(id, source)| Some((id.clone(), source.clone().ok()?))).collect();
        self.bindings.insert(cluster.clone(), after);
        for (trigger, source) in ended {
            self.refresh_binding(&trigger, cluster, &source, step);
            if self.bindings.get(cluster).is_none_or(|bindings| bindings.listeners(&source).is_empty()) {
                step.effect(Effect::Project(Projection {
                    key: project::report_key(cluster, &source),
                    object: None,
                }));
            }
        }
    }

    fn check_trigger(&mut self, id: &str, step: &mut Step<Effect>) {
        if !self.owns_name(id) {
            return;
        }
        let error = match self.world.triggers.get(id).map(Arc::as_ref) {
            Some(Err(error)) => Some(error.to_string()),
            Some(Ok(trigger)) => unsupported(&trigger.common.unsupported),
            None => None,
        };
        self.note(String::new(), id.replace('/', " "), error, step);
    }

    fn check_bindings(&mut self, cluster: &ClusterRef, bindings: &ClusterBindings, step: &mut Step<Effect>) {
        let gone: Vec<_> = self
            .bindings
            .get(cluster)
            .into_iter()
            .flat_map(|b| b.by_trigger.keys())
            .filter(|id| !bindings.by_trigger.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            self.note(cluster.to_string(), id.replace('/', " "), None, step);
        }
        for (id, source) in &bindings.by_trigger {
            let error = match source {
                Ok(source) if self.world.sources.contains_key(source) => None,
                Ok(source) => Some(format!(
                    "spec.eventSourceName: EventSource {source} does not exist; create it or correct the name"
                )),
                Err(error) => Some(error.clone()),
            };
            self.note(cluster.to_string(), id.replace('/', " "), error, step);
        }
    }

    // === what is rendered again ===

    fn refresh_trigger(&mut self, id: &str, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            let source =
                self.bindings.get(&cluster).and_then(|bindings| bindings.by_trigger.get(id)).cloned();
            if let Some(Ok(source)) = source {
                self.refresh_binding(id, &cluster, &source, step);
            }
        }
        let first = event_cause(id, &ClusterRef::sveltos("", ""), "", None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(event) if event.trigger == id);
        for cause in self.made.causes_from(&first, same) {
            self.refresh(&cause, step.now, step);
        }
    }

    fn refresh_cluster(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let bound =
            self.bindings.get(cluster).map(|bindings| bindings.by_trigger.clone()).unwrap_or_default();
        for (trigger, source) in bound {
            if let Ok(source) = source {
                self.refresh_binding(&trigger, cluster, &source, step);
            }
        }
    }

    /// Refreshes everything that one trigger makes of one EventSource of one cluster.
    fn refresh_binding(
        &mut self,
        trigger: &str,
        cluster: &ClusterRef,
        source: &str,
        step: &mut Step<Effect>,
    ) {
        let all = event_cause(trigger, cluster, source, None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(e) if e.trigger == trigger && e.cluster == *cluster && e.source == source);
        let mut causes = self.made.causes_from(&all, same);
        if self.is_one_for_event(trigger) {
            let items = self.sets.get(cluster, source).into_iter().flat_map(|set| set.keys().cloned());
            causes.extend(items.map(|item| event_cause(trigger, cluster, source, Some(item))));
        } else {
            causes.insert(all);
        }
        for cause in causes {
            self.refresh(&cause, step.now, step);
        }
    }

    fn is_one_for_event(&self, trigger: &str) -> bool {
        matches!(self.world.triggers.get(trigger).map(Arc::as_ref), Some(Ok(trigger)) if trigger.one_for_event)
    }

    fn refresh_profile(&mut self, id: &str, step: &mut Step<Effect>) {
        if self.owns_name(id) {
            self.refresh(&Cause::Profile(id.to_owned()), step.now, step);
        }
    }

    /// Renders a cause, withdraws it, or leaves it as it is.
    fn refresh(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if !self.caught_up && matches!(cause, Cause::Event(_)) {
            return;
        }
        self.templates.set_now(step.now);
        match self.wanted(cause) {
            Wanted::Unknown => {}
            Wanted::No => self.withdraw(cause, time, step),
            Wanted::Yes => self.render(cause, time, step),
        }
    }

    fn wanted(&self, cause: &Cause) -> Wanted {
        let event = match cause {
            Cause::Profile(id) => {
                return match self.world.profiles.get(id).map(Arc::as_ref) {
                    None => Wanted::No,
                    Some(_) => Wanted::Yes,
                };
            }
            Cause::Event(event) => event,
        };
        let trigger = match self.world.triggers.get(&event.trigger).map(Arc::as_ref) {
            None => return Wanted::No,
            Some(Err(_)) => return Wanted::Unknown,
            Some(Ok(trigger)) => trigger,
        };
        match self.bindings.get(&event.cluster).and_then(|bindings| bindings.by_trigger.get(&event.trigger)) {
            None => return Wanted::No,
            Some(Err(_)) => return Wanted::Unknown,
            Some(Ok(source)) if *source != event.source => return Wanted::No,
            Some(Ok(_)) if trigger.one_for_event != event.item.is_some() => return Wanted::No,
            Some(Ok(_)) => {}
        }
        let set = self.sets.get(&event.cluster, &event.source);
        let complete = || self.completeness.is_complete(&event.cluster, &event.source);
        match &event.item {
            Some(item) if set.is_some_and(|set| set.contains_key(item)) => Wanted::Yes,
            _ if !complete() => Wanted::Unknown,
            None if set.is_some_and(|set| !set.is_empty()) => Wanted::Yes,
            _ => Wanted::No,
        }
    }

    fn render(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let mut reads = Reads::new();
        let rendered = self.render_cause(cause, &mut reads);
        for key in reads {
            self.readers.entry(key).or_default().insert(cause.clone());
        }
        let result = rendered.and_then(|rendered| self.publish(cause, &rendered, time, step));
        let (cluster, object) = place_of(cause);
        self.note(cluster, object, result.err(), step);
    }

    fn render_cause(&self, cause: &Cause, reads: &mut Reads) -> Result<Rendered, String> {
        match cause {
            Cause::Profile(id) => match self.world.profiles.get(id).map(Arc::as_ref) {
                Some(Ok(profile)) => crate::profile::render(profile, &self.world, &self.templates, reads),
                Some(Err(error)) => Err(error.to_string()),
                None => Err(format!("{id} does not exist")),
            },
            Cause::Event(event) => {
                let trigger = self.world.triggers.get(&event.trigger).map(Arc::as_ref);
                let (Some(Ok(trigger)), Some(cluster)) = (trigger, self.world.clusters.get(&event.cluster))
                else {
                    return Err(format!("{} or {} does not exist", event.trigger, event.cluster));
                };
                let empty = BTreeMap::new();
                let set = self.sets.get(&event.cluster, &event.source).unwrap_or(&empty);
                EventRender {
                    world: &self.world,
                    templates: &self.templates,
                    trigger,
                    cluster,
                    cause: event,
                    set,
                }
                .render(reads)
            }
        }
    }

    /// Publishes one row for each destination and withdraws the others.
    fn publish(
        &mut self,
        cause: &Cause,
        rendered: &Rendered,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Result<(), String> {
        let rows = self.rows(cause, rendered)?;
        let (meta, view) = (cause.to_meta(), self.world.view().clone());
        let places: BTreeSet<Place> =
            rows.iter().map(|(cluster, _)| (cluster.clone(), rendered.name.clone())).collect();
        let stale = self.made.set(cause, places, step.now);
        self.withdraw_places(stale, time, step);
        for (cluster, body) in rows {
            let subject = self.desired(&cluster, &rendered.name);
            step.effect(Effect::Happened(Happened::new(
                STAGE,
                "rendered",
                &cluster,
                &rendered.name,
                step.now,
                time,
            )));
            step.publish(
                Publish::new(subject, Body::Value(body), time).meta(meta.clone()).view(view.clone()),
            );
        }
        self.project(cause, &rendered.projections, step);
        Ok(())
    }

    /// The body for each destination. Paused clusters keep what they have.
    fn rows(&mut self, cause: &Cause, rendered: &Rendered) -> Result<Vec<(ClusterRef, Arc<[u8]>)>, String> {
        let (owner, common) = match cause {
            Cause::Profile(id) => match self.world.profiles.get(id).map(Arc::as_ref) {
                Some(Ok(profile)) => {
                    ((profile.kind.clone(), profile.namespace.clone()), profile.common.clone())
                }
                _ => return Err(format!("{id} does not exist")),
            },
            Cause::Event(event) => match self.world.triggers.get(&event.trigger).map(Arc::as_ref) {
                Some(Ok(trigger)) => (("ClusterProfile".to_owned(), String::new()), trigger.common.clone()),
                _ => return Err(format!("{} does not exist", event.trigger)),
            },
        };
        let same = render::same_everywhere(&rendered.sources);
        let (mut rows, mut shared) = (Vec::new(), None::<Arc<[u8]>>);
        for id in &rendered.destinations {
            if let Some(other) = self.made.other_user(&(id.clone(), rendered.name.clone()), cause) {
                return Err(format!(
                    "the profile name {} is already used on {id} by {}; make spec.profileNameFormat differ",
                    rendered.name,
                    place_of(other).1
                ));
            }
            let Some(cluster) = self.world.clusters.get(id).cloned() else { continue };
            let body = match &shared {
                Some(body) if same => body.clone(),
                _ => {
                    let policies = render::policies(
                        &rendered.sources,
                        &cluster,
                        &rendered.name,
                        &self.templates,
                        &mut self.manifests,
                    )?;
                    let desired = render::desired(rendered, (&owner.0, &owner.1), &common, cause, policies);
                    serde_json::to_vec(&desired).map_err(|error| error.to_string())?.into()
                }
            };
            shared = Some(body.clone());
            rows.push((id.clone(), body));
        }
        Ok(rows)
    }

    fn desired(&self, cluster: &ClusterRef, profile: &str) -> Subject {
        Subject::Desired {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            origin: self.config.shard,
            profile: profile.to_owned(),
        }
    }

    fn withdraw(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let places = self.made.set(cause, BTreeSet::new(), step.now);
        self.withdraw_places(places, time, step);
        self.project(cause, &[], step);
        self.readers.values_mut().for_each(|causes| {
            causes.remove(cause);
        });
        self.rendered_at.remove(cause);
        let (cluster, object) = place_of(cause);
        self.note(cluster, object, None, step);
    }

    fn withdraw_places(&self, places: Vec<Place>, time: i64, step: &mut Step<Effect>) {
        for (cluster, profile) in places {
            let subject = self.desired(&cluster, &profile);
            step.publish(
                Publish::new(subject, Body::Tombstone, time).view(self.world.view().clone()).forced(),
            );
        }
    }

    fn project(&mut self, cause: &Cause, projections: &[Projection], step: &mut Step<Effect>) {
        let keys: Vec<ObjectKey> = projections.iter().map(|projection| projection.key.clone()).collect();
        let before = if keys.is_empty() {
            self.projected.remove(cause)
        } else {
            self.projected.insert(cause.clone(), keys.clone())
        };
        for key in before.into_iter().flatten().filter(|key| !keys.contains(key)) {
            step.effect(Effect::Project(Projection { key, object: None }));
        }
        for projection in projections {
            step.effect(Effect::Project(projection.clone()));
        }
    }

    // === what comes from the bus ===

    fn reported(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Report { cluster, source, object: key, .. } = &row.subject else { return };
        let time = row.head.time;
        if row.head.tombstone {
            self.sets.remove(cluster, source, key);
            if !self.caught_up {
                self.gone_early.push((cluster.clone(), source.clone(), key.clone()));
                return;
            }
        } else {
            let meta: ReportMeta =
                serde_json::from_str(&row.head.meta).unwrap_or(ReportMeta { selectors: vec![0] });
            let object = if row.body.is_empty() {
                None
            } else {
                serde_json::from_slice::<Value>(&row.body).ok().map(Arc::new)
            };
            self.sets.insert(cluster, source, key.clone(), Match { selectors: meta.selectors, object });
        }
        if self.caught_up {
            self.report_due(cluster, source, step);
            self.set_changed(cluster, source, key, row.head.tombstone, time, step);
        }
    }

    fn set_changed(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        key: &ObjectKey,
        gone: bool,
        time: i64,
        step: &mut Step<Effect>,
    ) {
        let listeners =
            self.bindings.get(cluster).map(|bindings| bindings.listeners(source)).unwrap_or_default();
        for trigger in listeners {
            if !self.is_one_for_event(&trigger) {
                self.soon(event_cause(&trigger, cluster, source, None), time, step);
                continue;
            }
            let cause = event_cause(&trigger, cluster, source, Some(key.clone()));
            // A tombstone is a proof by itself: no complete set is needed.
            if gone {
                self.withdraw(&cause, time, step);
            } else {
                self.refresh(&cause, time, step);
            }
        }
    }

    /// Renders at once when nothing came for a while, else together with what comes next.
    fn soon(&mut self, cause: Cause, time: i64, step: &mut Step<Effect>) {
        let now = step.now;
        if let Some(dirty) = self.dirty.get_mut(&cause) {
            dirty.due = (now + QUIET).min(dirty.first + PATIENCE);
            return step.wake_at(dirty.due);
        }
        if self.rendered_at.get(&cause).is_none_or(|at| now - at >= QUIET) {
            self.rendered_at.insert(cause.clone(), now);
            return self.refresh(&cause, time, step);
        }
        self.dirty.insert(cause, Dirty { first: now, due: now + QUIET, time });
        step.wake_at(now + QUIET);
    }

    fn report_due(&mut self, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        if self.reports_due.is_empty() {
            self.reports_at = step.now + REPORT_PERIOD;
            step.wake_at(self.reports_at);
        }
        self.reports_due.insert((cluster.clone(), source.to_owned()));
    }

    fn write_reports(&mut self, step: &mut Step<Effect>) {
        if step.now < self.reports_at {
            return step.wake_at(self.reports_at);
        }
        for (cluster, source) in std::mem::take(&mut self.reports_due) {
            let empty = BTreeMap::new();
            let set = self.sets.get(&cluster, &source).unwrap_or(&empty);
            step.effect(Effect::Project(project::event_report(&cluster, &source, set)));
        }
    }

    fn completed(&mut self, cluster: &ClusterRef, origin: u16, meta: &str, step: &mut Step<Effect>) {
        if self.completeness.completed(cluster, origin, meta) && self.caught_up {
            self.settle(cluster, step);
        }
    }

    /// Something became known of a cluster: looks at everything that waited for it.
    fn settle(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let Some(bindings) = self.bindings.get(cluster).cloned() else { return };
        let complete: Vec<_> = bindings
            .sources()
            .filter(|source| self.completeness.is_complete(cluster, source))
            .cloned()
            .collect();
        for source in &complete {
            for trigger in bindings.listeners(source) {
                self.refresh_binding(&trigger, cluster, source, step);
            }
            self.report_due(cluster, source, step);
        }
        if complete.len() == bindings.sources().count() {
            step.effect(Effect::Projected(cluster.clone()));
        }
    }

    fn status(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Status { cluster, profile, .. } = &row.subject else { return };
        let place = (cluster.clone(), profile.clone());
        if row.head.tombstone {
            return self.made.release(&place);
        }
        let Ok(meta) = serde_json::from_str::<StatusMeta>(&row.head.meta) else { return };
        if meta.origin == self.config.shard {
            let known = self.made.leads_to(&meta.cause, &place);
            self.made.hold(place, meta.cause.clone());
            // Held, but not what the cause leads to: the cause is gone, or its destinations have changed.
            if !known {
                self.refresh(&meta.cause, step.now, step);
            }
        }
    }

    fn note(&mut self, cluster: String, object: String, error: Option<String>, step: &mut Step<Effect>) {
        let key = (cluster, object);
        match error {
            Some(error) => {
                step.effect(Effect::Problem(Problem::open(STAGE, &key.0, &key.1, error)));
                self.failing.insert(key);
            }
            None if self.failing.remove(&key) => {
                step.effect(Effect::Problem(Problem::healed(STAGE, &key.0, &key.1)))
            }
            None => {}
        }
    }
}

fn now_millis(now: i64) -> u64 {
    u64::try_from(now / 1000).unwrap_or(0)
}

fn event_cause(trigger: &str, cluster: &ClusterRef, source: &str, item: Option<ObjectKey>) -> Cause {
    Cause::Event(EventCause {
        trigger: trigger.to_owned(),
        cluster: cluster.clone(),
        source: source.to_owned(),
        item,
    })
}

/// Where a problem of this cause is shown.
fn place_of(cause: &Cause) -> (String, String) {
    match cause {
        Cause::Profile(id) => (String::new(), id.clone()),
        Cause::Event(event) => {
            let trigger = event.trigger.replace('/', " ");
            let item = event.item.as_ref().map(|item| format!(", {item}")).unwrap_or_default();
            (event.cluster.to_string(), format!("{trigger}, EventSource {}{item}", event.source))
        }
    }
}

fn unsupported(fields: &[sluice_api::FieldError]) -> Option<String> {
    let texts: Vec<_> = fields.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

// === impl Core for Renderer ===

impl Core for Renderer {
    type Side = Side;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        let Subject::Desired { cluster, profile, .. } = subject else { return };
        let place = (cluster.clone(), profile.clone());
        if head.tombstone {
            self.made.found_withdrawn(place, head.time.max(1));
        } else if let Ok(cause) = serde_json::from_str::<Cause>(&head.meta) {
            self.made.found(place, cause);
        }
    }

    fn view(&self) -> View {
        self.world.view().clone()
    }

    fn side(&mut self, side: Side, step: &mut Step<Effect>) {
        match side {
            Side::Management(change) => self.management(&change, step),
            Side::Interest(cluster, row) => {
                self.completeness.set_interest(&cluster, row);
                if self.started && self.is_mine(&cluster) {
                    self.rebind(&cluster, step);
                    if self.caught_up {
                        self.settle(&cluster, step);
                    }
                }
            }
            Side::Status(row) => self.status(&row, step),
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.started = true;
        let unregistered = self.completeness.clusters().filter(|cluster| self.is_mine(cluster));
        let clusters: BTreeSet<_> = unregistered.cloned().chain(self.my_clusters()).collect();
        for cluster in clusters {
            self.rebind(&cluster, step);
        }
        let triggers: Vec<_> = self.world.triggers.keys().cloned().collect();
        triggers.iter().for_each(|id| self.check_trigger(id, step));
        let profiles: Vec<_> = self.world.profiles.keys().cloned().collect();
        profiles.iter().for_each(|id| self.refresh_profile(id, step));
        self.sweep_at = step.now + self.config.tombstone_ttl / 4;
        step.wake_at(self.sweep_at);
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        match &row.subject {
            Subject::Report { .. } => self.reported(row, step),
            Subject::Complete { cluster, origin: Some(origin), .. } => {
                self.completed(&cluster.clone(), *origin, &row.head.meta, step);
            }
            _ => {}
        }
    }

    fn caught_up(&mut self, step: &mut Step<Effect>) {
        self.caught_up = true;
        for (cluster, source, key) in std::mem::take(&mut self.gone_early) {
            let back = self.sets.get(&cluster, &source).is_some_and(|set| set.contains_key(&key));
            if !back {
                self.set_changed(&cluster, &source, &key, true, 0, step);
            }
        }
        for cluster in self.my_clusters() {
            self.refresh_cluster(&cluster, step);
            self.settle(&cluster, step);
        }
        for cause in self.made.causes() {
            if self.wanted(&cause) == Wanted::No {
                self.withdraw(&cause, 0, step);
            }
        }
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
            if self.made.forget_withdrawn(now - self.config.tombstone_ttl / 2) && self.caught_up {
                self.caught_up(step);
            }
        }
        step.wake_at(self.sweep_at);
    }
}

#[cfg(test)]
mod tests;
