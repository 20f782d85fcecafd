//! How often triggers have acted upon the events of each cluster lately.

use std::collections::{BTreeMap, VecDeque};

use sluice_api::{ClusterRef, TriggerId};

const MINUTE: i64 = 60_000_000;

/// Times are microseconds since 1970.
#[derive(Default)]
pub(crate) struct Rates {
    acted: BTreeMap<(TriggerId, ClusterRef), VecDeque<i64>>,
}

impl Rates {
    /// Whether a trigger may act now, as it does then; else when it may. In no minute it acts more than `most` times.
    pub(crate) fn act(
        &mut self,
        trigger: &TriggerId,
        cluster: &ClusterRef,
        most: usize,
        now: i64,
    ) -> Result<(), i64> {
        let times = self.acted.entry((trigger.clone(), cluster.clone())).or_default();
        while times.front().is_some_and(|time| now - time >= MINUTE) {
            times.pop_front();
        }
        match times.len().checked_sub(most).and_then(|index| times.get(index)) {
            Some(time) => Err(time + MINUTE),
            None => {
                times.push_back(now);
                Ok(())
            }
        }
    }

    /// Forgets who has not acted for a minute.
    pub(crate) fn sweep(&mut self, now: i64) {
        self.acted.retain(|_, times| times.back().is_some_and(|time| now - time < MINUTE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_no_minute_it_acts_more_often_than_it_may() {
        let (trigger, cluster) = (TriggerId::new("EventTrigger", "t"), ClusterRef::sveltos("a", "b"));
        let mut rates = Rates::default();
        assert_eq!(rates.act(&trigger, &cluster, 2, 0), Ok(()));
        assert_eq!(rates.act(&trigger, &cluster, 2, 10), Ok(()));
        assert_eq!(rates.act(&trigger, &cluster, 2, 20), Err(MINUTE));
        assert_eq!(rates.act(&trigger, &ClusterRef::sveltos("a", "c"), 2, 20), Ok(()), "another cluster");
        assert_eq!(rates.act(&trigger, &cluster, 2, MINUTE), Ok(()));
        assert_eq!(rates.act(&trigger, &cluster, 2, MINUTE), Err(MINUTE + 10));
        assert_eq!(rates.act(&trigger, &cluster, 1, MINUTE), Err(2 * MINUTE), "it may less often now");
        rates.sweep(3 * MINUTE);
        assert!(rates.acted.is_empty());
    }
}
