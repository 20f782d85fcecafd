//! What ClusterSets and Sets say of themselves.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::model::{ClusterSet, Fleet, KnownSet};
use sluice_api::{ClusterRef, FieldError, object};

use crate::condition::{judgement, own_condition, reference, right, timestamp, wrong};

/// The fields of a set's status besides conditions.
const LISTS: [&str; 2] = ["matchingClusterRefs", "selectedClusterRefs"];

/// What a set should say where that is not what it says, and what is wrong with it; `now` is microseconds since 1970.
pub fn set_status(known: &KnownSet, fleet: &Fleet, now: i64) -> (Option<Value>, Option<String>) {
    let (status, error) = match &known.set {
        Ok(set) => {
            let error = fleet.missing(&set.clusters, "spec.clusterRefs");
            (of(set, fleet, error.as_deref(), &known.status, now), error)
        }
        Err(error) => (broken(error, &known.status, now), Some(error.to_string())),
    };
    (Some(status).filter(|status| !says(&known.status, status)), error)
}

fn of(set: &ClusterSet, fleet: &Fleet, error: Option<&str>, said: &Value, now: i64) -> Value {
    let references =
        |clusters: &mut dyn Iterator<Item = &ClusterRef>| -> Value { clusters.map(reference).collect() };
    let matching = set.matching(fleet.clusters().values().map(Arc::as_ref));
    let selected = set.select(&matching);
    let condition = match error {
        Some(error) => wrong(error, &wrong_since(said, now)),
        None => right("no problem is known", Some(said), now),
    };
    json!({
        "matchingClusterRefs": references(&mut matching.iter()),
        "selectedClusterRefs": references(&mut selected.iter()),
        "conditions": [condition],
    })
}

/// What a set that cannot be read says: its lists stay, since what it selected before is in them.
fn broken(error: &FieldError, said: &Value, now: i64) -> Value {
    let text = format!("{}: {}", error.field, error.reason);
    let condition = wrong(&text, &wrong_since(said, now));
    let mut status = json!({"conditions": [condition]});
    for field in LISTS {
        if let Some(list) = said.get(field) {
            status[field] = list.clone();
        }
    }
    status
}

/// Since when a status says that something is wrong; now, where it does not.
fn wrong_since(said: &Value, now: i64) -> String {
    let since = judgement(said).map(|condition| object::text(condition, &["lastTransitionTime"]).to_owned());
    since.unwrap_or_else(|| timestamp(now))
}

/// Whether a status says this already; conditions of others count for nothing.
fn says(status: &Value, wanted: &Value) -> bool {
    LISTS.iter().all(|field| status.get(field) == wanted.get(field))
        && own_condition(status) == own_condition(wanted)
}
