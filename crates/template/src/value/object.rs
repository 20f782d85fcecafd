//! Go values that are more than data: structs of the input and objects with methods.

use super::Value;
use crate::{Data, sprig::semver::Version};

/// A struct of the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) name: &'static str,
    pub(crate) fields: &'a [(&'static str, Data<'a>)],
}

/// An object with methods.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    Time(Time),
    /// A `*semver.Version`.
    Version(Version),
    Certificate(Certificate),
}

/// A moment with the zone it is shown in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) unix: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
    /// The zone's abbreviation; empty prints as a number.
    pub(crate) zone: Box<str>,
    /// Whether it is the zero time of Go, which some functions test for.
    pub(crate) utc: bool,
}

/// What the certificate functions return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) cert: Box<str>,
    pub(crate) key: Box<str>,
}

// === impl Record ===

impl<'a> Record<'a> {
    pub(crate) fn get(&self, field: &str) -> Option<Value<'a>> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, v)| Value::from(v))
    }
}
