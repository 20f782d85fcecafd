//! Causes, and how problems name them.

use sluice_api::{ClusterRef, ObjectKey, TriggerId};
use sluice_protocol::rows::{Cause, EventCause};

pub(super) fn now_millis(now: i64) -> u64 {
    u64::try_from(now / 1000).unwrap_or(0)
}

pub(super) fn event_cause(
    trigger: &TriggerId,
    cluster: &ClusterRef,
    source: &str,
    item: Option<ObjectKey>,
) -> Cause {
    Cause::Event(EventCause {
        trigger: trigger.clone(),
        cluster: cluster.clone(),
        source: source.to_owned(),
        item,
    })
}

pub(super) fn unsupported(fields: &[sluice_api::FieldError]) -> Option<String> {
    let texts: Vec<_> = fields.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
