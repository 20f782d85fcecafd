//! What is said of fields, and the time in the unit of revisions.

use sluice_protocol::Fault;

pub(super) fn now_millis(now: i64) -> u64 {
    u64::try_from(now / 1000).unwrap_or(0)
}

/// What is said of fields that have no effect; it is no problem.
pub(super) fn without_effect(fields: &[sluice_api::FieldError]) -> Option<Fault> {
    unsupported(fields).map(Fault::note)
}

pub(super) fn unsupported(fields: &[sluice_api::FieldError]) -> Option<String> {
    let texts: Vec<_> = fields.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
