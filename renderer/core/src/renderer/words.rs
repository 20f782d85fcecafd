//! What is said of fields.

use sluice_protocol::Fault;

/// What is said of fields that have no effect; it is no problem.
pub(super) fn without_effect(fields: &[sluice_api::FieldError]) -> Option<Fault> {
    unsupported(fields).map(Fault::note)
}

pub(super) fn unsupported(fields: &[sluice_api::FieldError]) -> Option<String> {
    let texts: Vec<_> = fields.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
