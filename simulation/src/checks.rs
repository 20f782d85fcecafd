//! What must hold at every write to a cluster.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::{ObjectKey, object};

use crate::management::{ALL, EACH};
use crate::world::STEP;

/// Since when things are as they are, in steps of the schedule.
#[derive(Default)]
pub(crate) struct History {
    /// Since when a service of a cluster is an event without a break.
    event_since: BTreeMap<(String, String), i64>,
    /// When each version of a service came to be.
    born: BTreeMap<u64, i64>,
    /// When the management cluster last gave a reason to withdraw add-ons of a trigger.
    reason: BTreeMap<&'static str, i64>,
    /// Now.
    pub(crate) now: i64,
}

/// Renderers learn late of what changes in the management cluster, and may act upon it for so long.
const LATE: i64 = 600 * STEP;

impl History {
    /// A service changed.
    pub(crate) fn service(&mut self, cluster: &str, name: &str, event: Option<u64>, now: i64) {
        let key = (cluster.to_owned(), name.to_owned());
        match event {
            Some(v) => {
                self.born.insert(v, now);
                self.event_since.entry(key).or_insert(now);
            }
            None => drop(self.event_since.remove(&key)),
        }
    }

    /// The management cluster changed what a trigger leads to.
    pub(crate) fn reason(&mut self, trigger: &'static str, now: i64) {
        self.reason.insert(trigger, now);
    }

    /// Whether the service has been an event ever since this version of it.
    fn always_since(&self, cluster: &str, name: &str, v: u64) -> bool {
        let since = self.event_since.get(&(cluster.to_owned(), name.to_owned()));
        since.zip(self.born.get(&v)).is_some_and(|(since, born)| since <= born)
    }

    /// Whether the management cluster gives no reason for a withdrawal.
    fn no_reason(&self, trigger: &str) -> bool {
        self.reason.get(trigger).is_none_or(|at| self.now - at > LATE)
    }

    /// Checks that `new` may take the place of `old` in `cluster`; `None` deletes.
    pub(crate) fn check(
        &self,
        cluster: &str,
        key: &ObjectKey,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<(), String> {
        let Some(old) = old else { return Ok(()) };
        if let Some(service) = key.name.strip_prefix("each-") {
            let (before, after) = (version(old, "v"), new.map(|new| version(new, "v")));
            return match after {
                Some(after) if after < before => {
                    Err(format!("{cluster}: {key}: version {after} over {before}"))
                }
                None if self.always_since(cluster, service, before) && self.no_reason(EACH) => {
                    Err(format!("{cluster}: {key} withdrawn, its service was an event all the time"))
                }
                _ => Ok(()),
            };
        }
        let Some(source) = key.name.strip_prefix("all-") else { return Ok(()) };
        for (service, v) in object::at(old, &["data"]).and_then(Value::as_object).into_iter().flatten() {
            let before = v.as_str().and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
            let kept = new.is_some_and(|new| object::at(new, &["data", service]).is_some());
            if service != "edit" && !kept && self.always_since(source, service, before) && self.no_reason(ALL)
            {
                return Err(format!("{cluster}: {key} lost {service}, which was an event all the time"));
            }
        }
        Ok(())
    }
}

fn version(object: &Value, field: &str) -> u64 {
    object::text(object, &["data", field]).parse().unwrap_or(0)
}
