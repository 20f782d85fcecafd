//! What each viewer sees.

use sluice_api::ObjectKey;

/// An object as one viewer sees it: what a row of `changes` is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sight {
    /// As in [`WatchSpec::viewer`](crate::watches::WatchSpec::viewer).
    pub(crate) viewer: String,
    pub(crate) object: ObjectKey,
}

impl Sight {
    pub(crate) fn of(viewer: &str, object: ObjectKey) -> Self {
        Self { viewer: viewer.to_owned(), object }
    }

    /// A CloudEvent is sent to the cluster: no server is asked who may see it.
    pub(crate) fn of_event(object: ObjectKey) -> Self {
        Self::of("", object)
    }
}
