//! What is known of a question, gathered once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use sluice_api::model::{Cluster, EventSource, LIB_GROUP, Trigger, management_kinds};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, object};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look, look_each, look_until, now_micros};
use sluice_protocol::rows::{Desired, Staged, Status};
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{About, ProblemRow, Shard, Subject, Table};

use super::{NAMED, Question, trigger};
use crate::problems::problems;

pub use self::event::OfEvent;

mod event;

/// The kind in which renderers write down which objects are events.
pub(super) const EVENT_REPORT: &str = "EventReport";

/// How long the bus, and the management cluster, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Clusters that are asked for one by one; of more those that do not count are read too.
const ONE_BY_ONE: usize = 16;

/// What is known.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The cluster that the question is about.
    pub cluster: ClusterRef,
    /// When the question was asked, microseconds since 1970.
    pub now: i64,
    /// Number of shards of every table; 1 where the bus is away.
    pub shards: u16,
    /// The objects of the management cluster that may count; or why they are not known.
    pub management: Result<Vec<Arc<Value>>, String>,
    /// The rows; or why they are not known.
    pub on_bus: Result<OnBus, String>,
}

/// Rows of the bus.
#[derive(Clone, Debug, Default)]
pub struct OnBus {
    /// Some of the objects of the kinds that the EventSource selects, in clusters whose events count; none where there is an event.
    pub objects: Vec<(ClusterRef, ObjectKey, Arc<Value>)>,
    /// What matchers say is an event of the EventSource, in clusters whose events count.
    pub reports: Vec<(ClusterRef, ObjectKey)>,
    /// What the cluster should hold.
    pub desired: Vec<Desired>,
    /// Profiles that go back to a former content on the cluster, which alone has it.
    pub back: Vec<(ProfileId, Arc<Staged>)>,
    /// What deployers say of it: of which profile, for which renderer shard.
    pub statuses: Vec<(ProfileId, Shard, Status)>,
    /// What cannot be done, of this cluster, or of all.
    pub problems: Vec<ProblemRow>,
    /// Of a question about an event: the object, and what matchers say of it.
    pub event: OfEvent,
}

/// Gathers what is known, as far as bus and management cluster answer.
pub async fn gather(
    bus: Result<&Bus, String>,
    management: Result<Client, String>,
    question: &Question,
) -> Facts {
    let cluster = question.cluster().clone();
    let listed = async {
        let client = management?;
        in_time("the management cluster", list(&client, &kinds(question, bus.is_ok()))).await
    };
    let management = listed.await;
    let shards = bus.as_ref().map_or(1, |bus| bus.shards());
    let on_bus = match bus {
        // Boxed, since it is large and what surrounds it would hold it more than once.
        Ok(bus) => {
            let known = management.as_ref().ok().map(Vec::as_slice);
            Box::pin(in_time("the bus", read(bus, question, known))).await
        }
        Err(error) => Err(error),
    };
    Facts { cluster, now: now_micros(), shards, management, on_bus }
}

async fn in_time<T, E: ToString>(who: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done.map_err(|error| format!("{who}: {}", error.to_string())),
        Err(_) => Err(format!("{who} does not answer")),
    }
}

// === Management cluster ===

/// The kinds that a question needs. Contents are not among them: renderers tell what is wrong with those.
fn kinds(question: &Question, with_bus: bool) -> Vec<Gvk> {
    let about: &[&str] = match question {
        Question::Trigger { .. } | Question::Event(_) => &["EventTrigger", "EventBasedAddOn", "EventSource"],
        Question::Profile { namespace, .. } if namespace.is_empty() => &["ClusterProfile"],
        Question::Profile { .. } => &["Profile"],
        Question::Object(_) => &[],
    };
    let is_needed = |kind: &str| {
        ["SveltosCluster", "Cluster", "ClusterSet", "Set"].contains(&kind) || about.contains(&kind)
    };
    let mut kinds: Vec<Gvk> = management_kinds().into_iter().filter(|gvk| is_needed(&gvk.kind)).collect();
    if matches!(question, Question::Event(_)) && !with_bus {
        // What renderers have written down of what the bus knows.
        kinds.push(Gvk::new(LIB_GROUP, "v1beta1", EVENT_REPORT));
    }
    kinds
}

async fn list(client: &Client, kinds: &[Gvk]) -> Result<Vec<Arc<Value>>, kube::Error> {
    let mut found = Vec::new();
    for gvk in kinds {
        let objects = sluice_kube::list(client, gvk, None).await?;
        found.extend(objects.into_iter().flatten().map(Arc::new));
    }
    Ok(found)
}

/// The events that the trigger of a question acts upon: of one EventSource, in some clusters.
struct Events {
    source: EventSource,
    clusters: BTreeSet<ClusterRef>,
}

/// One for each EventSource that it listens to somewhere.
fn events_of(objects: &[Arc<Value>], question: &Question) -> Vec<Events> {
    let Question::Trigger { name, cluster } = question else { return Vec::new() };
    let is = |object: &&Arc<Value>, kinds: &[&str], name: &str| {
        kinds.contains(&object::text(object, &["kind"])) && object::name(object) == name
    };
    let trigger = objects.iter().find(|object| is(object, &["EventTrigger", "EventBasedAddOn"], name));
    let Some(trigger) = trigger.and_then(|object| Trigger::read(object).ok()) else { return Vec::new() };
    let mut named: BTreeMap<String, BTreeSet<ClusterRef>> = BTreeMap::new();
    for (cluster, name) in trigger::counting(objects, &trigger, cluster) {
        if let Ok(name) = name {
            named.entry(name).or_default().insert(cluster);
        }
    }
    let events = |(name, clusters): (String, BTreeSet<ClusterRef>)| {
        let source = objects.iter().find(|object| is(object, &["EventSource"], &name))?;
        Some(Events { source: EventSource::read(source).ok()?, clusters })
    };
    named.into_iter().filter_map(events).collect()
}

/// The clusters that are registered in the management cluster.
pub(super) fn clusters(objects: &[Arc<Value>]) -> impl Iterator<Item = Cluster> {
    let is_cluster =
        |object: &&Arc<Value>| ["SveltosCluster", "Cluster"].contains(&object::text(object, &["kind"]));
    objects.iter().filter(is_cluster).filter_map(Cluster::read).filter(Cluster::is_registered)
}

impl Facts {
    /// What is not known, and why.
    pub(super) fn missing(&self) -> Vec<String> {
        let part = |of: &str, error: Option<&String>| error.map(|error| format!("{of}: {error}"));
        let management = part("what the management cluster holds", self.management.as_ref().err());
        management.into_iter().chain(part("what the bus holds", self.on_bus.as_ref().err())).collect()
    }

    /// The objects of these kinds in the management cluster.
    pub(super) fn of_kind<'f>(&'f self, kinds: &'f [&'f str]) -> impl Iterator<Item = &'f Arc<Value>> {
        let objects = self.management.iter().flatten();
        objects.filter(|object| kinds.contains(&object::text(object, &["kind"])))
    }

    /// Why nothing goes to the cluster for the first time.
    pub(super) fn unready(&self) -> Option<&str> {
        let problems = &self.on_bus.as_ref().ok()?.problems;
        let of_cluster = |problem: &&ProblemRow| {
            problem.about == Some(About::Readiness) && problem.cluster == self.cluster.to_string()
        };
        problems.iter().find(of_cluster).map(|problem| problem.error.as_str())
    }

    /// The clusters that are registered.
    pub(super) fn clusters(&self) -> impl Iterator<Item = Cluster> {
        clusters(self.management.as_deref().unwrap_or_default())
    }
}

// === Bus ===

async fn read(bus: &Bus, question: &Question, management: Option<&[Arc<Value>]>) -> Result<OnBus, BusError> {
    let (cluster, mut found) = (question.cluster(), OnBus::default());
    let sources = management.map_or_else(Vec::new, |objects| events_of(objects, question));
    match question {
        Question::Event(target) => found.event = event::read(bus, target, management).await?,
        _ => read_deployed(bus, cluster, &mut found).await?,
    }
    for events in &sources {
        read_reports(bus, events, &mut found).await?;
    }
    let selecting = sources.iter().filter(|events| !events.source.selectors.is_empty());
    for events in selecting.filter(|_| found.reports.is_empty()).collect::<Vec<_>>() {
        read_objects(bus, events, &mut found).await?;
    }
    let open = problems(bus).await;
    let is_near = |problem: &ProblemRow| problem.cluster.is_empty() || problem.cluster == cluster.to_string();
    // Of a trigger also those on the clusters that its events come from count.
    found.problems = open.into_iter().filter(|problem| !sources.is_empty() || is_near(problem)).collect();
    Ok(found)
}

/// What the cluster should hold, and what deployers say of it.
async fn read_deployed(bus: &Bus, cluster: &ClusterRef, found: &mut OnBus) -> Result<(), BusError> {
    let shard = cluster_shard(cluster, bus.shards());
    let filter = own_rows::of_cluster(Table::Desired, cluster, shard);
    for stored in look(bus, &ReadSpec::some(Table::Desired.stream(shard), vec![filter])).await? {
        found.desired.extend(Desired::of_row(&stored.row));
        let back = stored.row.head.meta.staged().filter(|staged| staged.back.is_some());
        if let (Subject::Desired { profile, .. }, Some(back)) = (&stored.row.subject, back) {
            found.back.push((profile.clone(), back.clone()));
        }
    }
    let filter = own_rows::of_cluster(Table::Status, cluster, shard);
    for stored in look(bus, &ReadSpec::some(Table::Status.stream(Shard::FIRST), vec![filter])).await? {
        let Subject::Status { origin, profile, .. } = &stored.row.subject else { continue };
        let status = Status::of_row(&stored.row).ok();
        found.statuses.extend(status.map(|status| (profile.clone(), *origin, status)));
    }
    Ok(())
}

/// What matchers say.
async fn read_reports(bus: &Bus, events: &Events, found: &mut OnBus) -> Result<(), BusError> {
    for shard in Shard::all(bus.shards()) {
        let filters = events.filters(|cluster| match cluster {
            Some(cluster) => vec![own_rows::of_source(cluster, &events.source.name, shard)],
            None => vec![own_rows::of_source_anywhere(&events.source.name, shard)],
        });
        let spec = ReadSpec { heads_only: true, ..ReadSpec::some(Table::Reports.stream(shard), filters) };
        let each = |Stored { row, .. }: Stored| {
            if let Subject::Report { cluster, object, .. } = row.subject
                && !row.head.tombstone
                && events.clusters.contains(&cluster)
            {
                found.reports.push((cluster, object));
            }
        };
        look_each(bus, &spec, each).await?;
    }
    Ok(())
}

/// What agents say, as far as it is looked at.
async fn read_objects(bus: &Bus, events: &Events, found: &mut OnBus) -> Result<(), BusError> {
    // Several selectors may be of one kind, and a consumer refuses filters that overlap.
    let kinds: BTreeSet<&Gvk> = events.source.selectors.iter().map(|selector| &selector.gvk).collect();
    let viewer = events.source.tenant.as_ref().map_or("", |account| &account.name);
    for shard in Shard::all(bus.shards()) {
        let filters = events.filters(|cluster| {
            kinds.iter().map(|gvk| own_rows::of_kind(cluster, viewer, gvk, shard)).collect()
        });
        let each = |Stored { row, .. }: Stored| {
            if let Subject::Change { cluster, object, .. } = row.subject
                && !row.head.tombstone
                && events.clusters.contains(&cluster)
                && let Ok(body) = serde_json::from_slice::<Value>(&row.body)
            {
                found.objects.push((cluster, object, Arc::new(body)));
            }
            if found.objects.len() < NAMED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        look_until(bus, &ReadSpec::some(Table::Changes.stream(shard), filters), each).await?;
        if found.objects.len() >= NAMED {
            break;
        }
    }
    Ok(())
}

impl Events {
    /// The filters of each cluster, or those of all.
    fn filters(&self, of: impl Fn(Option<&ClusterRef>) -> Vec<String>) -> Vec<String> {
        if self.clusters.len() > ONE_BY_ONE {
            return of(None);
        }
        self.clusters.iter().flat_map(|cluster| of(Some(cluster))).collect()
    }
}

#[cfg(test)]
mod tests;
