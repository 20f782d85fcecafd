//! Calls that may still arrive at a cluster's server, although nobody waits for their answers.

use std::collections::HashMap;

use sluice_api::ObjectKey;

use crate::request::Request;

// D-1005: calls of a former owner may still arrive.
/// A former owner made them, or this one before the cluster was reached in this way, or they were not answered. Times are
/// of the clock that nobody sets: a call is not over because a machine's clock has been set forward.
pub(crate) struct LateCalls {
    /// How long a call may still arrive, microseconds.
    lasting: i64,
    until: Option<i64>,
    /// Until when a call may come that creates the object. Unlike all others it can come true late: when what stood in its way
    /// has gone by then.
    creations: HashMap<ObjectKey, i64>,
}

impl LateCalls {
    /// Those of a former owner may arrive until then; calls of this one for so long after they were given up.
    pub(crate) fn new(lasting: i64, until: Option<i64>) -> Self {
        Self { lasting, until, creations: HashMap::new() }
    }

    /// This one is given up.
    pub(crate) fn expect(&mut self, request: &Request, now: i64) {
        if request.is_read() {
            return;
        }
        let until = now + self.lasting;
        self.until = self.until.max(Some(until));
        if let Request::Apply { object, against: None, .. } = request
            && let Some(key) = ObjectKey::of(object)
        {
            self.creations.insert(key, until);
        }
    }

    /// Whether some may still come.
    pub(crate) fn may_come(&self, now: i64) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Whether a call may still come that creates this object.
    pub(crate) fn may_create(&self, key: &ObjectKey, now: i64) -> bool {
        self.creations.get(key).is_some_and(|until| now < *until)
    }

    /// Until when some may come, when they are not over.
    pub(crate) fn until(&self) -> Option<i64> {
        self.until
    }

    /// Whether they are over, for the first time.
    pub(crate) fn take_end(&mut self, now: i64) -> bool {
        let ends = self.until.is_some_and(|until| until <= now);
        if ends {
            self.until = None;
            self.creations.clear();
        }
        ends
    }
}
