//! JSON of what goes over the bus. Writing it cannot fail, so nothing is ever published empty by mistake.

use serde::Serialize;

use crate::interest::{Complete, Interest};
use crate::position::Position;
use crate::rows::{Cause, Departure, Desired, GoBackBody, ReportMeta, Staged, Status};
use crate::{JournalEntry, ProblemRow};

/// What has a JSON form whatever its value: the keys of its objects are texts, and no part of it refuses to be written.
pub trait Wire: Serialize {}

impl Wire for crate::Capabilities {}
impl Wire for Cause {}
impl Wire for Complete {}
impl Wire for Departure {}
impl Wire for Desired {}
impl Wire for GoBackBody {}
impl Wire for Interest {}
impl Wire for JournalEntry {}
impl Wire for ProblemRow {}
impl Wire for Position {}
impl Wire for ReportMeta {}
impl Wire for Staged {}
impl Wire for Status {}

/// The JSON of a value.
pub fn text(value: &impl Wire) -> String {
    serde_json::to_string(value).expect("what is Wire has a JSON form whatever its value")
}

/// The same as bytes.
pub fn bytes(value: &impl Wire) -> Vec<u8> {
    serde_json::to_vec(value).expect("what is Wire has a JSON form whatever its value")
}
