//! Registered clusters.

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_api::model::PAUSED_UNTIL;

use super::LIB;
use crate::world::BEGIN;

/// Labels of a registered cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) env: &'static str,
    pub(crate) tier: &'static str,
}

impl Default for Registration {
    fn default() -> Self {
        Self { env: "fv", tier: "x" }
    }
}

/// A cluster, which may be paused, also until a time, or pull.
pub(crate) fn registration(
    name: &str,
    labels: Registration,
    (paused, until): (bool, Option<i64>),
    pulls: bool,
) -> Value {
    let (mut spec, mut annotations) = (json!({}), json!({}));
    if let Some(until) = until.and_then(|until| Timestamp::from_microsecond(BEGIN + until).ok()) {
        annotations[PAUSED_UNTIL] = until.to_string().into();
    }
    for (field, _) in [("paused", paused), ("pullMode", pulls)].iter().filter(|(_, is_so)| *is_so) {
        spec[*field] = true.into();
    }
    json!({"apiVersion": LIB, "kind": "SveltosCluster",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations,
            "labels": {"env": labels.env, "tier": labels.tier}}, "spec": spec})
}
