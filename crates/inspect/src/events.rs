//! How many events there are, of each EventSource on each cluster, and whether that is all of them.
//!
//! ```text
//! interest ─► which EventSources count where
//! reports ──► heads of matches ──► how many
//!         └─► completeness rows ─► whether each matcher has told all it knows of the EventSource as it is now
//! ```

use std::collections::BTreeMap;

use kube::Client;
use serde::Serialize;
use sluice_api::model::LIB_GROUP;
use sluice_api::wire::{EventReport, EventReportSpec};
use sluice_api::{ClusterKind, ClusterRef, Gvk};
use sluice_bus::{Bus, BusError, ReadSpec, interest_feed, interest_feed_of, look_each};
use sluice_protocol::interest::{Complete, Interest, Source};
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Incarnation, Row, Shard, Subject, Table};
use sluice_tasks::Tasks;

use crate::error::InspectError;
use crate::explain::instead;
use crate::inspector::{Inspector, LONG_PATIENCE, Listed, in_time, in_time_of};

/// The events of one EventSource on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Events {
    /// `namespace/name` of the cluster.
    pub cluster: String,
    /// Name of the EventSource.
    pub event_source: String,
    /// Objects and CloudEvents that match.
    pub objects: u64,
    /// Whether these are all: `yes`, `no`, or nothing where it is not known.
    pub complete: String,
    /// What is missing where they are not.
    pub message: String,
}

/// Which of them are asked for.
#[derive(Clone, Debug, Default)]
pub struct EventsFilter {
    /// Only this cluster.
    pub cluster: Option<ClusterRef>,
    /// Only this EventSource.
    pub event_source: Option<String>,
}

/// What the bus says: by cluster and EventSource.
#[derive(Debug, Default)]
struct Rows {
    interests: BTreeMap<ClusterRef, Interest>,
    matches: BTreeMap<(ClusterRef, String), u64>,
    complete: BTreeMap<ClusterRef, BTreeMap<Shard, Complete>>,
    shards: u16,
}

// === impl Inspector ===

impl Inspector {
    /// How many events there are. While the bus is away, what EventReports in the management cluster say.
    ///
    /// # Errors
    /// When both are away, or the cluster or EventSource that is asked for is not known.
    pub async fn events(&self, filter: &EventsFilter) -> Result<Listed<Events>, InspectError> {
        let read = async {
            let bus = self.bus()?;
            in_time_of(LONG_PATIENCE, "the bus", Box::pin(read(&bus, filter))).await
        };
        let error = match read.await {
            Ok(rows) => {
                let found = filter.choose(rows.events())?;
                if found.is_empty() {
                    self.is_known(filter.cluster.as_ref()).await?;
                }
                return Ok(Listed { found, missing: Vec::new() });
            }
            Err(error) => error,
        };
        let Ok(client) = self.management() else { return Err(error) };
        let reported = in_time("the management cluster", reported(&client)).await;
        let Ok(reported) = reported else { return Err(error) };
        let missing = format!(
            "whether these are all, and what came last ({error}): these are the EventReports in the management cluster"
        );
        Ok(Listed { found: filter.choose(reported)?, missing: vec![missing] })
    }
}

// === impl EventsFilter ===

impl EventsFilter {
    fn choose(&self, mut all: Vec<Events>) -> Result<Vec<Events>, InspectError> {
        if let Some(wanted) = &self.event_source
            && !all.iter().any(|events| events.event_source == *wanted)
        {
            let names = all.iter().map(|events| events.event_source.as_str());
            let place = self.cluster.as_ref().map(|cluster| format!(" on {}", cluster.path()));
            let says = format!(
                "no trigger uses an EventSource {wanted}{}; {}",
                place.unwrap_or_default(),
                instead(wanted, names)
            );
            return Err(InspectError::NotFound(says));
        }
        let path = self.cluster.as_ref().map(ClusterRef::path);
        all.retain(|events| {
            path.as_ref().is_none_or(|path| *path == events.cluster)
                && self.event_source.as_ref().is_none_or(|source| *source == events.event_source)
        });
        Ok(all)
    }
}

// === impl Rows ===

impl Rows {
    /// A row of a stream of this incarnation: a match, or that a matcher has told all it knows.
    fn add(&mut self, row: Row, incarnation: Incarnation) {
        match row.subject {
            Subject::Report { cluster, source, .. } if !row.head.tombstone => {
                *self.matches.entry((cluster, source)).or_default() += 1;
            }
            Subject::Complete { cluster, origin: Some(origin), .. } => {
                let said = row.head.meta.complete();
                if let Some(said) = said.filter(|said| said.incarnation == incarnation) {
                    self.complete.entry(cluster).or_default().insert(origin, said.clone());
                }
            }
            _ => {}
        }
    }

    fn events(&self) -> Vec<Events> {
        let of_cluster = |(cluster, interest): (&ClusterRef, &Interest)| -> Vec<Events> {
            interest.sources.iter().map(|source| self.of_source(cluster, source)).collect()
        };
        let mut found: Vec<Events> = self.interests.iter().flat_map(of_cluster).collect();
        found.sort();
        found
    }

    fn of_source(&self, cluster: &ClusterRef, source: &Source) -> Events {
        let matches = self.matches.get(&(cluster.clone(), source.name.clone()));
        let said = self.complete.get(cluster).into_iter().flat_map(BTreeMap::values);
        let message = lacks(said, self.shards, source);
        Events {
            cluster: cluster.path(),
            event_source: source.name.clone(),
            objects: matches.copied().unwrap_or(0),
            complete: if message.is_empty() { "yes" } else { "no" }.to_owned(),
            message,
        }
    }
}

/// What is missing to the whole set of a source, by what matchers have told; nothing where nothing is. Renderers ask the same.
pub(crate) fn lacks<'c>(said: impl Iterator<Item = &'c Complete>, shards: u16, source: &Source) -> String {
    let said: Vec<&Complete> = said.filter(|complete| complete.revision >= source.changed).collect();
    let silent = usize::from(shards).saturating_sub(said.len());
    if silent > 0 {
        return format!(
            "{silent} of {shards} shards of matchers have not told all of it: the cluster has not been listed, or a matcher \
             is behind"
        );
    }
    if said.iter().any(|complete| !complete.covers(&source.name)) {
        return "a kind that it selects cannot be listed, or the EventSource cannot be read; see `sluice problems`"
            .to_owned();
    }
    if said.iter().any(|complete| !complete.covers_events(&source.name)) {
        return "CloudEvents have not all been read".to_owned();
    }
    String::new()
}

// === Bus ===

async fn read(bus: &Bus, filter: &EventsFilter) -> Result<Rows, BusError> {
    let interests = interests(bus, filter.cluster.as_ref()).await;
    let mut rows = Rows { shards: bus.shards(), interests, ..Rows::default() };
    for shard in Shard::all(bus.shards()) {
        let cluster = filter.cluster.as_ref();
        if cluster.is_some_and(|cluster| cluster_shard(cluster, bus.shards()) != shard) {
            continue;
        }
        let stream = Table::Reports.stream(shard);
        let incarnation = bus.incarnation(&stream);
        let filters = match (cluster, &filter.event_source) {
            (None, None) => Vec::new(),
            (Some(cluster), None) => vec![own_rows::of_cluster(Table::Reports, cluster, shard)],
            (Some(cluster), Some(source)) => {
                vec![own_rows::of_source(cluster, source, shard), own_rows::complete(Some(cluster), shard)]
            }
            (None, Some(source)) => {
                vec![own_rows::of_source_anywhere(source, shard), own_rows::complete(None, shard)]
            }
        };
        let spec = ReadSpec { heads_only: true, ..ReadSpec::some(stream, filters) };
        look_each(bus, &spec, |stored| rows.add(stored.row, incarnation)).await?;
    }
    Ok(rows)
}

/// Which EventSources count where. Ends what it has begun also when nobody waits for it any more.
pub(crate) async fn interests(bus: &Bus, cluster: Option<&ClusterRef>) -> BTreeMap<ClusterRef, Interest> {
    let tasks = Tasks::default();
    let _ends = tasks.stop().clone().drop_guard();
    let feed = match cluster {
        Some(cluster) => interest_feed_of(bus, cluster, tasks.stop().clone()),
        None => interest_feed(bus, tasks.stop().clone()),
    };
    feed.synced().await;
    feed.values().into_iter().collect()
}

// === Management cluster ===

/// What renderers have written down of it.
async fn reported(client: &Client) -> Result<Vec<Events>, String> {
    let gvk = Gvk::new(LIB_GROUP, "v1beta1", "EventReport");
    let listed = sluice_kube::list(client, &gvk, None).await;
    let listed = listed.map_err(|error| format!("listing EventReports: {error}"))?;
    let read = |object| serde_json::from_value::<EventReport>(object).ok();
    let mut found: Vec<Events> = listed.into_iter().flatten().filter_map(read).map(of_report).collect();
    found.sort();
    Ok(found)
}

fn of_report(report: EventReport) -> Events {
    let cluster = cluster_of(&report.spec);
    let spec = report.spec;
    let objects = spec.matching_resources.len() + spec.cloud_events.len();
    Events {
        cluster: cluster.path(),
        event_source: spec.event_source_name,
        objects: objects as u64,
        ..Events::default()
    }
}

/// The cluster whose events a report names.
pub(crate) fn cluster_of(spec: &EventReportSpec) -> ClusterRef {
    let kind =
        if spec.cluster_type == ClusterKind::Capi.title() { ClusterKind::Capi } else { ClusterKind::Sveltos };
    ClusterRef { kind, namespace: spec.cluster_namespace.clone(), name: spec.cluster_name.clone() }
}

#[cfg(test)]
mod tests;
