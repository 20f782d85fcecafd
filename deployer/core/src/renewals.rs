//! When the token of a cluster's kubeconfig is renewed. Pure; times are microseconds since 1970.

// D-1066: the deployer of a cluster renews its token.

use std::collections::BTreeMap;
use std::time::Duration;

use sluice_api::model::TokenRenewal;
use sluice_api::{ClusterRef, Digest};

use crate::budget::{backoff, micros};

/// First and longest pause before a renewal that has failed is tried again.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// A cluster is asked at most once in this time, whatever its tokens say: its clock may be another one than ours.
const AT_MOST: i64 = 60_000_000;

/// How long a token lives, as far as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenLife {
    /// When it was issued.
    pub issued: Option<i64>,
    /// When it ends.
    pub expires: Option<i64>,
}

/// A cluster whose token is renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// What its registration says.
    pub renewal: TokenRenewal,
    /// How long its present token lives.
    pub life: TokenLife,
    /// Of its kubeconfig: another one is tried at once, whatever has failed before.
    pub kubeconfig: Digest,
}

/// The clusters of a shard whose tokens are renewed.
#[derive(Debug, Default)]
pub struct Renewals {
    clusters: BTreeMap<ClusterRef, Known>,
}

#[derive(Debug)]
struct Known {
    renewed: Renewed,
    /// When it was renewed here.
    done: Option<i64>,
    /// Failures in a row.
    failures: u32,
    /// Not before this.
    not_before: i64,
    /// Somebody is at it.
    is_running: bool,
}

// === impl TokenLife ===

impl TokenLife {
    /// When a third of it is left, where it ends. Without a time of issue it counts from `last`.
    fn last_third(self, last: i64) -> Option<i64> {
        let expires = self.expires?;
        let life = expires.saturating_sub(self.issued.unwrap_or(last)).max(0);
        Some(expires.saturating_sub(life / 3))
    }
}

// === impl Renewed ===

impl Renewed {
    /// When its token is due: the interval after it was renewed last, but no later than when a third of its life is left.
    fn due(&self) -> i64 {
        let last = self.renewal.last;
        // Whoever registers the cluster anew gives it a token that is newer than the last renewal.
        let begun = self.life.issued.map_or(last, |issued| issued.max(last));
        let by_interval = begun.saturating_add(self.renewal.interval);
        self.life.last_third(last).map_or(by_interval, |third| third.min(by_interval))
    }
}

// === impl Renewals ===

impl Renewals {
    /// The cluster is like this; nothing where no token of it is to be renewed. Whether that can wait.
    pub fn set(&mut self, cluster: &ClusterRef, renewed: Option<Renewed>, now: i64) -> bool {
        let Some(renewed) = renewed else {
            self.clusters.remove(cluster);
            return true;
        };
        match self.clusters.get_mut(cluster) {
            Some(known) if known.renewed == renewed => {}
            Some(known) => {
                known.renewed = renewed;
                known.failures = 0;
                known.not_before = known.done.map_or(0, |done| done.saturating_add(AT_MOST));
            }
            None => {
                let known = Known { renewed, done: None, failures: 0, not_before: 0, is_running: false };
                self.clusters.insert(cluster.clone(), known);
            }
        }
        self.clusters.get(cluster).is_some_and(|known| known.failures == 0 && known.at() > now)
    }

    /// When a token is due next.
    pub fn next(&self) -> Option<i64> {
        self.clusters.values().filter(|known| !known.is_running).map(Known::at).min()
    }

    /// Those that are due. Each is somebody's until that has [`Renewals::ended`].
    pub fn take_due(&mut self, now: i64) -> Vec<(ClusterRef, TokenRenewal)> {
        let due = self.clusters.iter_mut().filter(|(_, known)| !known.is_running && known.at() <= now);
        let take = |(cluster, known): (&ClusterRef, &mut Known)| {
            known.is_running = true;
            (cluster.clone(), known.renewed.renewal.clone())
        };
        due.map(take).collect()
    }

    /// It has another token, which lives so long; or it could not be renewed.
    pub fn ended(&mut self, cluster: &ClusterRef, life: Option<TokenLife>, now: i64) {
        let Some(known) = self.clusters.get_mut(cluster) else { return };
        known.is_running = false;
        match life {
            Some(life) => {
                known.renewed.life = life;
                known.renewed.renewal.last = now;
                (known.done, known.failures) = (Some(now), 0);
                known.not_before = now.saturating_add(AT_MOST);
            }
            None => {
                known.failures = known.failures.saturating_add(1);
                let pause = micros(backoff(known.failures, FIRST_PAUSE, LONGEST_PAUSE));
                known.not_before = now.saturating_add(pause);
            }
        }
    }
}

// === impl Known ===

impl Known {
    fn at(&self) -> i64 {
        self.renewed.due().max(self.not_before)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use sluice_api::model::KubeconfigRef;

    use super::*;

    const MINUTE: i64 = 60_000_000;
    const HOUR: i64 = 60 * MINUTE;
    const NEVER: TokenLife = TokenLife { issued: None, expires: None };

    fn cluster() -> ClusterRef {
        ClusterRef::sveltos("n", "c")
    }

    fn of(interval: i64, last: i64, life: TokenLife) -> Renewed {
        let kubeconfig = KubeconfigRef { secret: "s".into(), renewed: None, key: None };
        let (duration, namespace, name) = (interval, String::new(), String::new());
        let renewal = TokenRenewal { interval, duration, namespace, name, kubeconfig, last };
        Renewed { renewal, life, kubeconfig: Digest::of(&[b"first"]) }
    }

    fn lives(issued: i64, expires: i64) -> TokenLife {
        TokenLife { issued: Some(issued), expires: Some(expires) }
    }

    fn next(renewed: Renewed) -> i64 {
        let mut renewals = Renewals::default();
        renewals.set(&cluster(), Some(renewed), 0);
        renewals.next().unwrap()
    }

    #[test]
    fn a_token_is_renewed_at_the_interval_or_when_a_third_of_its_life_is_left() {
        assert_eq!(next(of(HOUR, 5, NEVER)), HOUR + 5, "nobody knows when it ends");
        assert_eq!(next(of(HOUR, 0, lives(0, 3 * HOUR))), HOUR);
        assert_eq!(
            next(of(24 * HOUR, 0, lives(0, 3 * HOUR))),
            2 * HOUR,
            "it was given for less than was asked"
        );
        let without_issue = TokenLife { issued: None, expires: Some(4 * HOUR) };
        assert_eq!(next(of(24 * HOUR, HOUR, without_issue)), 3 * HOUR);
        assert_eq!(next(of(HOUR, 0, lives(HOUR, 9 * HOUR))), 2 * HOUR, "somebody has registered it anew");
        assert_eq!(
            next(of(HOUR, HOUR, lives(5 * MINUTE, 10 * MINUTE))),
            10 * MINUTE - 100_000_000,
            "it has ended"
        );
    }

    #[test]
    fn what_is_due_is_taken_once_until_it_has_ended() {
        let mut renewals = Renewals::default();
        assert!(renewals.set(&cluster(), Some(of(HOUR, 0, NEVER)), 0));
        assert!(renewals.take_due(HOUR - 1).is_empty());
        let due = renewals.take_due(HOUR);
        assert_eq!((due.len(), &due[0].0, due[0].1.interval), (1, &cluster(), HOUR));
        assert!(renewals.take_due(2 * HOUR).is_empty() && renewals.next().is_none());
        renewals.ended(&cluster(), Some(lives(HOUR, 3 * HOUR)), HOUR);
        assert_eq!(renewals.next(), Some(2 * HOUR));
        assert!(renewals.set(&cluster(), None, HOUR) && renewals.next().is_none());
        renewals.ended(&cluster(), None, HOUR);
        assert_eq!(renewals.next(), None, "it is not registered any more");
    }

    #[test]
    fn a_failure_is_tried_again_ever_more_rarely_and_at_once_when_something_is_another() {
        let (mut renewals, mut now, mut pauses) = (Renewals::default(), HOUR, Vec::new());
        assert!(!renewals.set(&cluster(), Some(of(HOUR, 0, NEVER)), now), "it is due");
        for _ in 0..8 {
            assert_eq!(renewals.take_due(now).len(), 1);
            renewals.ended(&cluster(), None, now);
            pauses.push((renewals.next().unwrap() - now) / 1_000_000);
            now = renewals.next().unwrap();
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 600, 600]);
        assert!(!renewals.set(&cluster(), Some(of(HOUR, 0, NEVER)), now - 1), "nothing is another");
        assert_eq!(renewals.next(), Some(now));
        let other = Renewed { kubeconfig: Digest::of(&[b"other"]), ..of(HOUR, 0, NEVER) };
        assert!(!renewals.set(&cluster(), Some(other.clone()), now - 1));
        assert_eq!(renewals.take_due(now - 1).len(), 1);
        renewals.ended(&cluster(), None, now);
        let later =
            Renewed { renewal: TokenRenewal { interval: 24 * HOUR, ..other.renewal.clone() }, ..other };
        assert!(renewals.set(&cluster(), Some(later), now), "nothing is wrong any more");
    }

    /// The status is told by another watch than the Secret: for a while the old token stands beside the new time.
    #[test]
    fn what_is_told_late_renews_nothing_twice() {
        let (mut renewals, now) = (Renewals::default(), 2 * HOUR);
        renewals.set(&cluster(), Some(of(24 * HOUR, 0, lives(0, 3 * HOUR))), now);
        assert_eq!(renewals.take_due(now).len(), 1);
        renewals.ended(&cluster(), Some(lives(now, now + 3 * HOUR)), now);
        renewals.set(&cluster(), Some(of(24 * HOUR, now, lives(0, 3 * HOUR))), now);
        assert!(renewals.take_due(now + AT_MOST - 1).is_empty());
        renewals.set(&cluster(), Some(of(24 * HOUR, now, lives(now, now + 3 * HOUR))), now);
        assert_eq!(renewals.next(), Some(now + 2 * HOUR));
    }

    proptest! {
        /// Whatever servers give: there is time left, no cluster is asked all the time, and none is forgotten.
        #[test]
        fn a_token_is_renewed_before_it_ends_and_not_all_the_time(interval in MINUTE..1_000 * HOUR, given in 10 * MINUTE..1_000 * HOUR) {
            let (mut renewals, mut now) = (Renewals::default(), 0);
            renewals.set(&cluster(), Some(of(interval, 0, lives(0, given))), now);
            for _ in 0..10 {
                let at = renewals.next().unwrap();
                prop_assert!(at >= now + AT_MOST && at <= now + interval.max(AT_MOST) && at <= now + given - given / 3);
                now = at;
                prop_assert_eq!(renewals.take_due(now).len(), 1);
                renewals.ended(&cluster(), Some(lives(now, now + given)), now);
            }
        }
    }
}
