//! Work that takes long, or waits for a cluster that is away: who looks at a profile should not see what came of its former
//! content. What ends soon is never said to have begun, so that nothing is written twice for it.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::rows::{State, Status};
use sluice_protocol::{About, ProblemKey, Shard, Step};

use super::Deployer;
use super::reporting::status_row;
use crate::messages::Effect;

// D-1042: work is reported once it has taken three seconds.
/// Work on a row that came may take so long before it is said, microseconds.
const PATIENCE: i64 = 3_000_000;
/// The same of what a former owner has said something: most of that is still so.
const PATIENCE_AT_FIRST: i64 = 30_000_000;

type Place = (ClusterRef, ProfileId);

/// Work that has begun and not ended, and when it is said that it goes on. Times are of the clock that nobody sets.
#[derive(Debug, Default)]
pub(super) struct Slow {
    due: BTreeMap<Place, i64>,
    order: BTreeSet<(i64, Place)>,
}

impl Slow {
    fn begin(&mut self, place: Place, at: i64) {
        if !self.due.contains_key(&place) {
            self.due.insert(place.clone(), at);
            self.order.insert((at, place));
        }
    }

    pub(super) fn end(&mut self, cluster: &ClusterRef, profile: &ProfileId) {
        let place = (cluster.clone(), profile.clone());
        if let Some(at) = self.due.remove(&place) {
            self.order.remove(&(at, place));
        }
    }

    fn next(&self) -> Option<i64> {
        self.order.first().map(|(at, _)| *at)
    }

    fn take(&mut self, now: i64) -> Option<Place> {
        if self.next()? > now {
            return None;
        }
        let (_, place) = self.order.pop_first()?;
        self.due.remove(&place);
        Some(place)
    }
}

impl Deployer {
    /// Work on the newest row begins, or waits until it can.
    pub(super) fn begun(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        let is_of_former_times = !self.caught_up && self.has_found(cluster, profile);
        let patience = if is_of_former_times { PATIENCE_AT_FIRST } else { PATIENCE };
        self.slow.begin((cluster.clone(), profile.clone()), step.steady + patience);
        self.wake_for_slow(step);
    }

    /// Whether a former owner has said something of a profile.
    fn has_found(&self, cluster: &ClusterRef, profile: &ProfileId) -> bool {
        let found = self.found.get(cluster);
        found.is_some_and(|found| {
            let mut from = found.range((profile.clone(), Shard::FIRST)..);
            from.next().is_some_and(|(other, _)| other == profile)
        })
    }

    fn wake_for_slow(&self, step: &mut Step<Effect>) {
        self.slow.next().into_iter().for_each(|at| step.wake_at_steady(at));
    }

    /// Says of all work that has taken long that it goes on. Of a cluster that nobody knows how to reach nothing is said.
    pub(super) fn tell_slow(&mut self, step: &mut Step<Effect>) {
        while let Some((cluster, profile)) = self.slow.take(step.steady) {
            let Some(known) = self.clusters.get(&cluster).filter(|known| known.is_known()) else { continue };
            let Some(job) = known.jobs.get(&profile) else { continue };
            let (origin, time) = (job.origin, job.time);
            if let (Some(text), Some(held)) = (job.held_by(), job.inventory()) {
                let status = Status::new(State::Failed, vec![text.clone()]);
                let subject = self.status_subject(&cluster, &profile, origin);
                step.publish(status_row(subject, &status, &held.cause, time));
                if let Some(former) = job.former().cloned() {
                    self.show(&cluster, &profile, &former, State::Provisioning, Vec::new(), step);
                }
                self.note(ProblemKey::on(&cluster, About::Profile(profile)), Some(text.into()), step);
                continue;
            }
            let Some(desired) = job.target.look() else { continue };
            let status = Status::new(State::Provisioning, job.waits_for()).of(&desired, job.target.digest());
            let subject = self.status_subject(&cluster, &profile, origin);
            step.publish(status_row(subject, &status, &desired.cause, time));
            self.show(&cluster, &profile, &desired, State::Provisioning, Vec::new(), step);
        }
        self.wake_for_slow(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_time_is_not_said_and_the_rest_once() {
        let place = |name: &str| (ClusterRef::sveltos("a", "b"), ProfileId::cluster(name));
        let mut slow = Slow::default();
        slow.begin(place("x"), 30);
        slow.begin(place("y"), 10);
        slow.begin(place("y"), 40);
        slow.begin(place("z"), 20);
        let (cluster, profile) = place("z");
        slow.end(&cluster, &profile);
        assert_eq!((slow.next(), slow.take(9)), (Some(10), None));
        assert_eq!((slow.take(30), slow.take(30)), (Some(place("y")), Some(place("x"))));
        assert_eq!((slow.take(90), slow.next()), (None, None));
    }
}
