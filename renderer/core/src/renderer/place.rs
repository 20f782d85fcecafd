//! Causes, and how problems name them.

use sluice_api::{ClusterRef, ObjectKey, TriggerId};
use sluice_protocol::Fault;
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

/// What is said of fields that have no effect; it is no problem.
pub(super) fn without_effect(fields: &[sluice_api::FieldError]) -> Option<Fault> {
    unsupported(fields).map(Fault::note)
}

pub(super) fn unsupported(fields: &[sluice_api::FieldError]) -> Option<String> {
    let texts: Vec<_> = fields.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
