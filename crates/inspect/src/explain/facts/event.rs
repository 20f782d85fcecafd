//! What the bus holds of an object that may be an event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::{is_event, item_of, source_and_subject};
use sluice_api::model::EventSource;
use sluice_api::{ClusterRef, ObjectKey, kinds, object};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look, look_each};
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::subject::own_rows::{self, ObjectsOf};
use sluice_protocol::subject::{change_shard, cluster_shard};
use sluice_protocol::{Capabilities, Meta, Shard, Subject, Table};

use super::NAMED;
use crate::events::interests;
use crate::resources::written_kind;
use crate::trace::Target;

/// A match as matchers report it: the object, the selectors that select it, and all of it.
pub(crate) type Matched = (ObjectKey, Vec<u16>, Value);

/// Rows about an object of one cluster.
#[derive(Clone, Debug, Default)]
pub struct OfEvent {
    /// The EventSources that somebody listens to on the cluster; nothing where no renderer has said it.
    pub interest: Option<Interest>,
    /// What each shard of the agent has told all of.
    pub told: Vec<Complete>,
    /// The objects that are called so, as the agent has told of them.
    pub objects: Vec<(ObjectKey, Arc<Value>)>,
    /// Who sees them: the agent for itself, which is empty, or as a tenant.
    pub sights: BTreeSet<(ObjectKey, String)>,
    /// The others of the kind.
    pub others: Vec<ObjectKey>,
    /// What matchers say is an event, each with the EventSource.
    pub reports: BTreeSet<(String, ObjectKey)>,
    /// What each matcher has told all of.
    pub matched: Vec<Complete>,
    /// All matches of those EventSources that choose among them.
    pub sets: BTreeMap<String, Vec<Matched>>,
}

/// Reads them. EventSources are those of the management cluster, or where that is away those that the bus tells of.
pub(super) async fn read(
    bus: &Bus,
    target: &Target,
    management: Option<&[Arc<Value>]>,
) -> Result<OfEvent, BusError> {
    let cluster = &target.cluster;
    let interest = interests(bus, Some(cluster)).await.remove(cluster);
    let mut found = OfEvent { interest, ..OfEvent::default() };
    let mut called = Vec::new();
    for shard in Shard::all(bus.shards()) {
        read_names(bus, target, shard, &mut called, &mut found).await?;
    }
    called.sort();
    called.dedup();
    for key in called.into_iter().take(NAMED) {
        read_object(bus, cluster, &key, &mut found).await?;
    }
    let choosing: Vec<String> = found
        .reports
        .iter()
        .filter(|(source, _)| found.manifest(source, management).is_some_and(chooses))
        .map(|(source, _)| source.clone())
        .collect();
    if !choosing.is_empty() {
        read_matched(bus, cluster, &mut found).await?;
    }
    for source in choosing {
        let set = read_set(bus, cluster, &source).await?;
        found.sets.insert(source, set);
    }
    Ok(found)
}

fn chooses(manifest: &Value) -> bool {
    EventSource::read(manifest).is_ok_and(|source| source.aggregate.is_some())
}

/// The names of the objects of the kind in one shard, and whether the agent has told all that it knows there.
async fn read_names(
    bus: &Bus,
    target: &Target,
    shard: Shard,
    called: &mut Vec<ObjectKey>,
    found: &mut OfEvent,
) -> Result<(), BusError> {
    let stream = Table::Changes.stream(shard);
    let incarnation = bus.incarnation(&stream);
    let of_kind = ObjectsOf { kind: written_kind(&target.kind), ..ObjectsOf::default() };
    let cluster = target.cluster.clone();
    let complete = Subject::Complete { table: Table::Changes, shard, cluster, origin: None };
    let filters = vec![own_rows::of_objects(Some(&target.cluster), &of_kind, shard), complete.to_string()];
    let spec = ReadSpec { heads_only: true, ..ReadSpec::some(stream, filters) };
    look_each(bus, &spec, |Stored { row, .. }: Stored| match row.subject {
        _ if row.head.tombstone => {}
        Subject::Complete { .. } => {
            let said = row.head.meta.complete().filter(|said| said.incarnation == incarnation);
            found.told.extend(said.cloned());
        }
        Subject::Change { viewer, object, .. } if !Capabilities::is_key(&object) => {
            if target.calls(&object) {
                found.sights.insert((object.clone(), viewer));
                called.push(object);
            } else if kinds::is_called(&object.gvk, &target.kind) {
                found.others.push(object);
            }
        }
        _ => {}
    })
    .await
}

/// What the agent says of an object, and what matchers do.
async fn read_object(
    bus: &Bus,
    cluster: &ClusterRef,
    key: &ObjectKey,
    found: &mut OfEvent,
) -> Result<(), BusError> {
    let origin = change_shard(cluster, key, bus.shards());
    let filter = own_rows::sights_of(cluster, key, origin);
    let spec = ReadSpec::some(Table::Changes.stream(origin), vec![filter]);
    // One that cannot be read is a problem that the matcher tells.
    let body = |stored: &Stored| {
        let is_there = !stored.row.head.tombstone;
        is_there.then(|| serde_json::from_slice::<Value>(&stored.row.body).ok()).flatten()
    };
    // All see the same object; who saw it last knows it best.
    let mut sights = look(bus, &spec).await?;
    sights.sort_by_key(|stored| stored.row.sequence);
    let newest = sights.iter().rev().find_map(body);
    found.objects.extend(newest.map(|body| (key.clone(), Arc::new(body))));
    let shard = cluster_shard(cluster, bus.shards());
    let filter = own_rows::of_object(cluster, key, origin, shard);
    let spec = ReadSpec { heads_only: true, ..ReadSpec::some(Table::Reports.stream(shard), vec![filter]) };
    for Stored { row, .. } in look(bus, &spec).await? {
        if let Subject::Report { source, object, .. } = row.subject
            && !row.head.tombstone
        {
            found.reports.insert((source, object));
        }
    }
    Ok(())
}

/// What matchers have told all of.
async fn read_matched(bus: &Bus, cluster: &ClusterRef, found: &mut OfEvent) -> Result<(), BusError> {
    let shard = cluster_shard(cluster, bus.shards());
    let stream = Table::Reports.stream(shard);
    let incarnation = bus.incarnation(&stream);
    let filters = vec![own_rows::complete(Some(cluster), shard)];
    for Stored { row, .. } in
        look(bus, &ReadSpec { heads_only: true, ..ReadSpec::some(stream, filters) }).await?
    {
        let said =
            row.head.meta.complete().filter(|said| !row.head.tombstone && said.incarnation == incarnation);
        found.matched.extend(said.cloned());
    }
    Ok(())
}

/// All matches of an EventSource on a cluster.
async fn read_set(bus: &Bus, cluster: &ClusterRef, source: &str) -> Result<Vec<Matched>, BusError> {
    let shard = cluster_shard(cluster, bus.shards());
    let filter = own_rows::of_source(cluster, source, shard);
    let mut set = Vec::new();
    for Stored { row, .. } in look(bus, &ReadSpec::some(Table::Reports.stream(shard), vec![filter])).await? {
        if let (Subject::Report { object, .. }, Meta::Report(meta)) = (row.subject, row.head.meta)
            && !row.head.tombstone
            && let Ok(body) = serde_json::from_slice(&row.body)
        {
            set.push((object, meta.selectors, body));
        }
    }
    Ok(set)
}

// === impl OfEvent ===

impl OfEvent {
    /// The manifest of an EventSource, from the management cluster where that answers.
    fn manifest<'a>(&'a self, name: &str, management: Option<&'a [Arc<Value>]>) -> Option<&'a Value> {
        match management {
            Some(objects) => {
                let is_it = |other: &&Arc<Value>| {
                    object::text(other, &["kind"]) == "EventSource" && object::name(other) == name
                };
                objects.iter().find(is_it).map(AsRef::as_ref)
            }
            None => self.interest.as_ref()?.source(name).map(|source| source.manifest.as_ref()),
        }
    }
}

// === impl Target ===

impl Target {
    /// Whether an object of a cluster is called so. A CloudEvent is called by its subject, and lives where it is from.
    pub(crate) fn calls(&self, key: &ObjectKey) -> bool {
        let is_named = key.name == self.name
            || is_event(key) && source_and_subject(&item_of(key)).is_some_and(|(_, it)| it == self.name);
        let is_there =
            self.namespace.is_empty() || key.namespace.is_empty() || key.namespace == self.namespace;
        is_named && is_there && kinds::is_called(&key.gvk, &self.kind)
    }
}
