//! The objects of managed clusters that the bus holds, and what each says of its health: objects of the kinds that
//! EventSources select, as agents have told of them.

mod found;

use std::collections::BTreeSet;

use futures::future::try_join_all;
use serde::Serialize;
use serde_json::{Value, json};
use sluice_api::cloud_event::is_event;
use sluice_api::{ClusterRef, Gvk, ObjectKey, kinds, object};
use sluice_bus::{Bus, BusError, ReadSpec, Stored, look_each};
use sluice_protocol::subject::own_rows::{ObjectsOf, of_objects};
use sluice_protocol::{Capabilities, Shard, Subject, Table};

pub use self::found::Resources;
use self::found::ShardObjects;
use crate::error::InspectError;
use crate::explain::instead;
use crate::inspector::{Inspector, LONG_PATIENCE, PATIENCE, in_time_of};

/// An object in a managed cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// `namespace/name` of the cluster.
    pub cluster: String,
    /// Group, version and kind, as `group/version/Kind`.
    pub gvk: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What its status says of its health.
    pub message: String,
    /// All of it, where that is asked for. Values of Secrets are not in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// Which of them are asked for.
#[derive(Clone, Debug, Default)]
pub struct ResourceFilter {
    /// Only kinds of this group; empty is the core group.
    pub group: Option<String>,
    /// Only this kind, as kubectl takes it.
    pub kind: Option<String>,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only clusters of this namespace.
    pub cluster_namespace: Option<String>,
    /// Only clusters of this name.
    pub cluster: Option<String>,
    /// Whether whole objects are wanted.
    pub full: bool,
}

/// Clusters that are asked for one by one; of more everything is read.
const ONE_BY_ONE: usize = 16;

// === impl Inspector ===

impl Inspector {
    /// The objects that agents have told of, in order of cluster, namespace, name and kind.
    ///
    /// # Errors
    /// When the bus is away, or no agent tells of the cluster that is asked for.
    pub async fn resources(&self, filter: &ResourceFilter) -> Result<Resources, InspectError> {
        let bus = self.bus()?;
        let told = self.told_of(PATIENCE).await?;
        let wanted: Vec<&ClusterRef> = told.iter().filter(|cluster| filter.is_on(cluster)).collect();
        if wanted.is_empty() && filter.names_clusters() {
            return Err(filter.no_cluster(&told));
        }
        let few = if filter.names_clusters() && wanted.len() <= ONE_BY_ONE { wanted } else { Vec::new() };
        let mut found = in_time_of(LONG_PATIENCE, "the bus", read(&bus, filter, &few)).await?;
        if found.is_empty()
            && let Some(kind) = &filter.kind
        {
            self.is_told_of(&bus, kind).await?;
        }
        Ok(found)
    }

    /// Of a kind that nobody tells of, it is said of which they do.
    async fn is_told_of(&self, bus: &Bus, kind: &str) -> Result<(), InspectError> {
        let kinds = in_time_of(LONG_PATIENCE, "the bus", kinds_of(bus)).await?;
        if kinds.iter().any(|known| kinds::is_called(known, kind)) {
            return Ok(());
        }
        let others = instead(kind, kinds.iter().map(|known| known.kind.as_str()));
        Err(InspectError::NotFound(format!("agents tell of no object of kind {kind}; {others}")))
    }
}

// === impl ResourceFilter ===

impl ResourceFilter {
    fn names_clusters(&self) -> bool {
        self.cluster.is_some() || self.cluster_namespace.is_some()
    }

    fn is_on(&self, cluster: &ClusterRef) -> bool {
        self.cluster.as_ref().is_none_or(|name| *name == cluster.name)
            && self.cluster_namespace.as_ref().is_none_or(|namespace| *namespace == cluster.namespace)
    }

    fn no_cluster(&self, told: &[ClusterRef]) -> InspectError {
        let [namespace, name] =
            [&self.cluster_namespace, &self.cluster].map(|part| part.as_deref().unwrap_or("*"));
        let wanted = format!("{namespace}/{name}");
        let others: Vec<String> = told.iter().map(ClusterRef::path).collect();
        let others = instead(&wanted, others.iter().map(String::as_str));
        InspectError::NotFound(format!("no agent tells of a cluster {wanted}; {others}"))
    }
}

/// The kind as rows have it, where that is known: then nothing else is read.
pub(crate) fn written_kind(kind: &str) -> Option<&str> {
    let kind = kind.split('.').next()?;
    let known = kinds::meant(kind).map(|known| known.kind.as_str());
    known.or(kind.starts_with(char::is_uppercase).then_some(kind))
}

// === Rows ===

/// What is chosen. Of no cluster in particular, of all.
async fn read(bus: &Bus, filter: &ResourceFilter, clusters: &[&ClusterRef]) -> Result<Resources, BusError> {
    let which = ObjectsOf {
        group: filter.group.as_deref(),
        kind: filter.kind.as_deref().and_then(written_kind),
        namespace: filter.namespace.as_deref(),
    };
    // All shards at once: each of them is asked and answers, and nothing of one depends on another.
    let parts =
        try_join_all(Shard::all(bus.shards()).map(|shard| read_shard(bus, filter, &which, clusters, shard)));
    Ok(Resources::of(parts.await?))
}

async fn read_shard(
    bus: &Bus,
    filter: &ResourceFilter,
    which: &ObjectsOf<'_>,
    clusters: &[&ClusterRef],
    shard: Shard,
) -> Result<ShardObjects, BusError> {
    let filters = if clusters.is_empty() {
        vec![of_objects(None, which, shard)]
    } else {
        clusters.iter().map(|cluster| of_objects(Some(cluster), which, shard)).collect()
    };
    let mut found = ShardObjects::default();
    let each = |Stored { row, .. }: Stored| {
        let Subject::Change { cluster, object, .. } = row.subject else { return };
        if !row.head.tombstone
            && is_object(&object)
            && filter.is_on(&cluster)
            && filter.kind.as_ref().is_none_or(|kind| kinds::is_called(&object.gvk, kind))
            && let Ok(body) = serde_json::from_slice(&row.body)
        {
            let (message, body) = resource_body(body, filter.full);
            found.add(&cluster.path(), object, message, body);
        }
    };
    look_each(bus, &ReadSpec::some(Table::Changes.stream(shard), filters), each).await?;
    Ok(found)
}

/// CloudEvents, and what a cluster can do, are no objects.
fn is_object(key: &ObjectKey) -> bool {
    !is_event(key) && !Capabilities::is_key(key)
}

fn resource_body(body: Value, full: bool) -> (String, Option<Value>) {
    (health(&body), full.then(|| without_values(body)))
}

/// The kinds of which there is an object.
async fn kinds_of(bus: &Bus) -> Result<Vec<Gvk>, BusError> {
    let mut found = BTreeSet::new();
    for shard in Shard::all(bus.shards()) {
        let filters = vec![of_objects(None, &ObjectsOf::default(), shard)];
        let spec = ReadSpec { heads_only: true, ..ReadSpec::some(Table::Changes.stream(shard), filters) };
        let each = |Stored { row, .. }: Stored| {
            if let Subject::Change { object, .. } = row.subject
                && !row.head.tombstone
                && is_object(&object)
            {
                found.insert(object.gvk);
            }
        };
        look_each(bus, &spec, each).await?;
    }
    Ok(found.into_iter().collect())
}

// === Objects ===

/// Conditions that say how an object is, the first that it has counts.
const CONDITIONS: [&str; 5] = ["Ready", "Available", "Failed", "Complete", "Established"];

/// What its status says of its health: a condition, or its phase. Nothing where it has none.
fn health(object: &Value) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let condition = |of: &&str| conditions?.iter().find(|condition| condition["type"] == **of);
    let Some(condition) = CONDITIONS.iter().find_map(condition) else {
        return object::text(object, &["status", "phase"]).to_owned();
    };
    let text = |field: &str| object::text(condition, &[field]);
    let says = [text("message"), text("reason")].into_iter().find(|text| !text.is_empty());
    let verdict = format!("{}={}", text("type"), text("status"));
    says.map_or(verdict.clone(), |says| format!("{verdict}: {says}"))
}

/// The object as it is; of a Secret nothing that tells a value.
fn without_values(mut object: Value) -> Value {
    if object["kind"] != "Secret" {
        return object;
    }
    for field in ["data", "stringData"] {
        let values = object.get_mut(field).and_then(Value::as_object_mut);
        values
            .into_iter()
            .flat_map(|values| values.values_mut())
            .for_each(|value| *value = json!("(masked)"));
    }
    // What was applied last is kept there by kubectl, values included.
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    object
}

#[cfg(test)]
mod tests;
