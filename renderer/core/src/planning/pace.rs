//! How fast triggers act, and for how long their events count: what their annotations say.

use sluice_protocol::rows::Cause;

use crate::knowledge::Knowledge;
use crate::planning::Planning;

impl Planning {
    /// Whether a trigger says how often it may act.
    pub(crate) fn is_limited(&self, knowledge: &Knowledge, cause: &Cause) -> bool {
        matches!(cause, Cause::Event(event) if knowledge.pace(&event.trigger).max_per_minute.is_some())
    }

    /// When a cause is looked at whose trigger may not act now; nothing when it may, and does.
    pub(crate) fn defer(&mut self, knowledge: &Knowledge, cause: &Cause, time: i64, now: i64) -> Option<i64> {
        let Cause::Event(event) = cause else { return None };
        let most = knowledge.pace(&event.trigger).max_per_minute?;
        let due = self.rates.act(&event.trigger, &event.cluster, most, now).err()?;
        self.agenda.defer(cause, due, time, now);
        Some(due)
    }

    /// Notes when the first of the matches that a cause is made of no longer counts: it is looked at again then.
    pub(crate) fn expire(&mut self, knowledge: &Knowledge, cause: &Cause) -> Option<i64> {
        let Cause::Event(event) = cause else { return None };
        let Some(ttl) = knowledge.pace(&event.trigger).ttl else {
            self.agenda.expire(cause, None);
            return None;
        };
        let oldest = knowledge.now.saturating_sub(ttl);
        let since = knowledge.inputs(event).into_iter().map(|(_, found)| found.since);
        let at = since.filter(|since| *since > oldest.max(0)).min().map(|since| since.saturating_add(ttl));
        self.agenda.expire(cause, at);
        at
    }
}
