//! What has been rendered, before it is deployed: its order, and what servers will make of it.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::{ClusterRef, Gvk, kinds, object};
use sluice_protocol::{Problem, Row, Subject};

use crate::pipeline::Rows;
use crate::served::{Definitions, Kinds, dropped, note};

/// What is to be deployed, as far as servers look at it.
pub(crate) struct Rendered {
    /// By cluster, those that are deployed with the rest included.
    pub(crate) definitions: BTreeMap<ClusterRef, Definitions>,
    pub(crate) notes: Vec<Problem>,
}

/// The order in which profiles come to their cluster: lower tiers first, then by name, so that the outcome of
/// conflicts is the same every time.
pub(crate) fn in_order(rows: Rows, kinds: &Kinds) -> (Vec<Row>, Rendered) {
    let (mut definitions, mut dropped) = (BTreeMap::new(), Vec::new());
    let mut placed = Vec::new();
    for row in rows.into_values() {
        let body = serde_json::from_slice::<Value>(&row.body).unwrap_or_default();
        let tier = body.get("tier").and_then(Value::as_i64).unwrap_or(100);
        if let Subject::Desired { cluster, .. } = &row.subject {
            let known =
                definitions.entry(cluster.clone()).or_insert_with(|| kinds.of_cluster(cluster).clone());
            rendered_in(&body).for_each(|object| known.add(object));
            dropped.extend(rendered_in(&body).filter_map(|object| in_no_namespace(cluster, object)));
        }
        placed.push(((tier, row.subject.to_string()), row));
    }
    placed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let rows = placed.into_iter().map(|(_, row)| row).collect();
    (rows, Rendered { definitions, notes: dropped })
}

fn rendered_in(body: &Value) -> impl Iterator<Item = &Value> {
    let policies = body.get("policies").and_then(Value::as_array).into_iter().flatten();
    policies.filter_map(|policy| policy.get("objects")?.as_array()).flatten()
}

/// What is said of an object that names a namespace and is of a kind that has none.
fn in_no_namespace(cluster: &ClusterRef, object: &Value) -> Option<Problem> {
    let namespace = object::namespace(object);
    let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
    let said = dropped(&gvk, namespace);
    let is_dropped = !namespace.is_empty() && kinds::known(&gvk).is_some_and(|kind| kind.is_cluster_scoped);
    is_dropped.then(|| note(&cluster.path(), object::describe(object), &[said])).flatten()
}
