//! What a row of `changes` holds.

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::cloud_event::is_event;
use sluice_protocol::{Meta, Row, Subject};

use crate::error::RowError;

/// The object of a row, which is what its subject says.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn object_of(row: &Row, key: &ObjectKey) -> Result<Value, RowError> {
    let object = row.content::<Value>().map_err(RowError::Body)?;
    is_of(key, &object)?;
    order_of(row)?;
    Ok(object)
}

// D-0810: a row that holds another object than its subject says is no event.
/// A row says of its subject what it says, and of nothing else.
fn is_of(key: &ObjectKey, object: &Value) -> Result<(), RowError> {
    match ObjectKey::of(object) {
        _ if is_event(key) => Ok(()),
        Some(found) if found == *key => Ok(()),
        Some(found) => Err(RowError::Other(Box::new(found))),
        None => Err(RowError::Nothing),
    }
}

/// Which of the events of one source and subject is the newest: the order of this one; 0 for an object.
pub(super) fn order_of(row: &Row) -> Result<u64, RowError> {
    match (&row.subject, &row.head.meta) {
        (Subject::Change { object, .. }, _) if !is_event(object) => Ok(0),
        (_, Meta::Position(position)) => Ok(position.order),
        (_, other) => Err(RowError::Meta(other.to_string())),
    }
}
