//! The status of a trigger or a profile as JSON.

use serde_json::{Map, Value, json};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::ProblemRow;

use crate::condition::{LONGEST, clipped, has_conditions, reference};
use crate::object::KnownObject;
use crate::rollout::{CLUSTERS, OnCluster, Phase, Rollout, Shape};
use crate::standing;

/// Bytes that all messages of one status may have together.
const MESSAGES: usize = 256 * 1024;

/// The fields that are written here.
const FIELDS: [&str; 7] = [
    "matchingClusters",
    "destinationMatchingClusterRefs",
    "clusterInfo",
    "updatingClusters",
    "updatedClusters",
    "failedClusters",
    "conditions",
];

/// What the object should say.
pub(crate) fn of(rollout: &Rollout, known: &KnownObject, problems: &[&ProblemRow], now: i64) -> Value {
    let mut status = Map::new();
    let mut put = |field: &str, list: Vec<Value>| {
        if !list.is_empty() {
            status.insert(field.to_owned(), list.into());
        }
    };
    let failing = rollout.at.values().filter(|at| at.phase == Phase::Failed).count();
    let longest = (MESSAGES / failing.clamp(1, CLUSTERS)).min(LONGEST);
    let message = |at: &OnCluster| {
        let lines: Vec<_> = at.errors.iter().map(String::as_str).collect();
        clipped(&lines.join("\n"), longest)
    };
    put("matchingClusters", references(rollout.matching.iter()));
    match rollout.shape {
        Shape::Trigger | Shape::RoleRequest => {
            put("destinationMatchingClusterRefs", references(rollout.destinations.iter()));
            let info = worst(rollout).into_iter().map(|(cluster, at)| info(cluster, at, known, message(at)));
            put("clusterInfo", info.collect());
        }
        Shape::Profile => {
            let failed = rollout.at.iter().filter(|(_, at)| at.phase == Phase::Failed);
            let failed = failed.take(CLUSTERS).map(
                |(cluster, at)| json!({"clusterRef": reference(cluster), "failureMessage": message(at)}),
            );
            put("failedClusters", failed.collect());
            for (field, phase) in
                [("updatedClusters", Phase::Provisioned), ("updatingClusters", Phase::Provisioning)]
            {
                let those = rollout.at.iter().filter(|(_, at)| at.phase == phase);
                let those = references(those.map(|(cluster, _)| cluster));
                if !those.is_empty() {
                    status.insert(field.to_owned(), json!({"hash": known.hash, "clusters": those}));
                }
            }
        }
    }
    status.insert("conditions".into(), standing::conditions(rollout, known, problems, now));
    status.into()
}

/// Whether the object does not say this already.
pub(crate) fn is_news(known: &KnownObject, key: &ObjectKey, status: &Value) -> bool {
    if matches!(key.gvk.kind.as_str(), "EventSource" | "SveltosCluster") {
        return is_missing(known.there.as_ref(), status) || known.is_withdrawn(status);
    }
    !known.there.as_ref().is_some_and(|there| says(there, status))
}

/// Whether a status says this already; conditions of others count for nothing.
pub(crate) fn says(there: &Value, wanted: &Value) -> bool {
    FIELDS.iter().all(|field| match *field {
        "conditions" => has_conditions(there, wanted),
        field => there.get(field) == wanted.get(field),
    })
}

/// Whether there is something in a status that is not said there; conditions of others count for nothing.
fn is_missing(there: Option<&Value>, wanted: &Value) -> bool {
    let said = |(field, value): (&String, &Value)| {
        let Some(there) = there else { return false };
        if field == "conditions" { has_conditions(there, wanted) } else { there.get(field) == Some(value) }
    };
    wanted.as_object().is_some_and(|fields| !fields.iter().all(said))
}

fn references<'c>(clusters: impl Iterator<Item = &'c ClusterRef>) -> Vec<Value> {
    clusters.take(CLUSTERS).map(reference).collect()
}

/// As many clusters as a status lists, by name; the worst are among them.
fn worst(rollout: &Rollout) -> Vec<(&ClusterRef, &OnCluster)> {
    let mut all: Vec<_> = rollout.at.iter().collect();
    if all.len() > CLUSTERS {
        all.sort_by_key(|(cluster, at)| (at.phase, *cluster));
        all.truncate(CLUSTERS);
        all.sort_by_key(|(cluster, _)| *cluster);
    }
    all
}

fn info(cluster: &ClusterRef, at: &OnCluster, known: &KnownObject, message: String) -> Value {
    let status = match at.phase {
        Phase::Failed => "Failed",
        Phase::Removing => "Removing",
        Phase::Provisioning => "Provisioning",
        Phase::Provisioned => "Provisioned",
    };
    let mut info = json!({"cluster": reference(cluster), "hash": known.hash, "status": status});
    if !message.is_empty() {
        info["failureMessage"] = message.into();
    }
    info
}
