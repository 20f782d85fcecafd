//! When the finalizer of a registration is put, and when it goes. Pure; times are microseconds since 1970.
//!
//! ```text
//! it asks for it ─► finalizer ─► somebody deletes the registration ─► its add-ons are withdrawn ─► nothing is left ─► no finalizer
//!                                                                      time is up, or no kubeconfig ─────────────────┘
//! ```
//!
//! Nothing is remembered that registrations and clusters do not say: whoever owns the cluster next goes on.

// D-0515: a registration may ask for its add-ons to be withdrawn before it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sluice_api::model::OnDelete;
use sluice_api::{ClusterRef, ProfileId, few};

use crate::budget::{backoff, micros};

/// A Secret that is made anew is away for a moment: without a kubeconfig for so long a cluster is let go.
const NO_KUBECONFIG: i64 = 10_000_000;
/// First and longest pause before a write that has failed is tried again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The profiles of which something is left on a cluster, or that somebody still wants there.
pub type Left = BTreeSet<ProfileId>;

/// What is known of a registration that says something of its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departing {
    /// What it says.
    pub on_delete: Arc<OnDelete>,
    /// Why its cluster cannot be reached for want of a kubeconfig.
    pub unreachable: Option<String>,
    /// Whether the cluster is left alone at present.
    pub paused: bool,
}

/// What is to be done with the finalizer of a registration with this uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalizing {
    /// Its cluster.
    pub cluster: ClusterRef,
    /// Tells it from a later one of its name.
    pub uid: String,
    /// Why the finalizer goes; nothing where it is put.
    pub why: Option<LetGo>,
}

/// Why a registration is not kept any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetGo {
    /// It does not ask for it any more.
    NotAsked,
    /// Nothing is left.
    Done,
    /// This is left, or may be.
    Stays(String),
}

/// The registrations of a shard.
#[derive(Debug, Default)]
pub struct Departures {
    clusters: BTreeMap<ClusterRef, Known>,
}

#[derive(Debug)]
struct Known {
    departing: Departing,
    /// What is left, as far as it was ever known since it was told that the cluster leaves.
    left: Option<Left>,
    /// Since when there is no kubeconfig.
    unreachable_since: Option<i64>,
    /// Failures in a row.
    failures: u32,
    not_before: i64,
    /// Somebody is at it.
    is_running: bool,
}

// === impl Departures ===

impl Departures {
    /// The registration is like this; nothing where it says nothing of its end, or has gone.
    pub fn set(&mut self, cluster: &ClusterRef, departing: Option<Departing>, now: i64) {
        let Some(departing) = departing else {
            self.clusters.remove(cluster);
            return;
        };
        let is_same = |known: &&mut Known| known.departing.on_delete.uid == departing.on_delete.uid;
        let (left, since, is_running) = match self.clusters.get_mut(cluster).filter(is_same) {
            Some(known) => (known.left.take(), known.unreachable_since, known.is_running),
            None => (None, None, false),
        };
        let unreachable_since = departing.unreachable.as_ref().map(|_| since.unwrap_or(now));
        let known = Known { departing, left, unreachable_since, failures: 0, not_before: 0, is_running };
        self.clusters.insert(cluster.clone(), known);
    }

    /// This is left on a cluster that leaves.
    pub fn left(&mut self, cluster: &ClusterRef, left: Left) {
        if let Some(known) = self.clusters.get_mut(cluster) {
            known.left = Some(left);
        }
    }

    /// Until when a cluster that leaves is kept at most.
    pub fn until(&self, cluster: &ClusterRef) -> Option<i64> {
        self.clusters.get(cluster)?.until()
    }

    /// When there is something to do.
    pub fn next(&self) -> Option<i64> {
        self.clusters.values().filter(|known| !known.is_running).filter_map(Known::at).min()
    }

    /// What is to be done now. Each is somebody's until that has [`Departures::ended`].
    pub fn take_due(&mut self, now: i64) -> Vec<Finalizing> {
        let due = self.clusters.iter_mut().filter(|(_, known)| !known.is_running);
        let take = |(cluster, known): (&ClusterRef, &mut Known)| {
            let why = known.due(now)?;
            known.is_running = true;
            Some(Finalizing { cluster: cluster.clone(), uid: known.departing.on_delete.uid.clone(), why })
        };
        due.filter_map(take).collect()
    }

    /// It was done, which the registration says before long, or could not be.
    pub fn ended(&mut self, cluster: &ClusterRef, is_done: bool, now: i64) {
        let Some(known) = self.clusters.get_mut(cluster) else { return };
        known.is_running = false;
        known.failures = if is_done { 0 } else { known.failures.saturating_add(1) };
        // Also where it was done: what the registration says now may be on its way.
        let pause = backoff(known.failures.max(1), FIRST_PAUSE, LONGEST_PAUSE);
        known.not_before = now.saturating_add(micros(pause));
    }
}

// === impl Known ===

impl Known {
    fn until(&self) -> Option<i64> {
        let on_delete = &self.departing.on_delete;
        let deleted_at = on_delete.deleted_at.filter(|_| on_delete.is_leaving())?;
        Some(deleted_at.saturating_add(on_delete.grace))
    }

    fn is_empty(&self) -> bool {
        self.left.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// When its finalizer is to be put or taken, if it is.
    fn at(&self) -> Option<i64> {
        let on_delete = &self.departing.on_delete;
        let at = match (on_delete.withdraws, on_delete.is_kept, self.until()) {
            (true, false, _) => on_delete.deleted_at.is_none().then_some(i64::MIN),
            (false, false, _) | (true, true, None) => None,
            (false, true, _) => Some(i64::MIN),
            (true, true, Some(_)) if self.is_empty() => Some(i64::MIN),
            (true, true, Some(until)) => {
                let no_kubeconfig = self.unreachable_since.map(|since| since.saturating_add(NO_KUBECONFIG));
                Some(no_kubeconfig.map_or(until, |at| at.min(until)))
            }
        };
        at.map(|at| at.max(self.not_before))
    }

    /// Why it is taken, or that it is put, if that is due.
    fn due(&self, now: i64) -> Option<Option<LetGo>> {
        self.at().filter(|at| *at <= now)?;
        let on_delete = &self.departing.on_delete;
        Some(match (on_delete.is_kept, on_delete.withdraws) {
            (false, _) => None,
            (true, false) => Some(LetGo::NotAsked),
            (true, true) if self.is_empty() => Some(LetGo::Done),
            (true, true) => Some(LetGo::Stays(self.stays())),
        })
    }

    /// What stays, and why.
    fn stays(&self) -> String {
        let what = match &self.left {
            Some(left) => few(", ", left),
            None => "all that was deployed, since nobody could look at it".to_owned(),
        };
        let why = match (&self.departing.unreachable, self.departing.paused) {
            (Some(error), _) => error.clone(),
            (None, true) => "it was paused".to_owned(),
            (None, false) => {
                let seconds = self.departing.on_delete.grace / 1_000_000;
                format!("the time was up, {seconds} s (spec.cleanupGracePeriod)")
            }
        };
        format!(
            "was deregistered before all was withdrawn: {why}; this stays there: {what}; delete it by hand, or register the cluster again"
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SECOND: i64 = 1_000_000;
    const GRACE: i64 = 60 * SECOND;
    const T0: i64 = 1_700_000_000_000_000;

    fn cluster() -> ClusterRef {
        ClusterRef::sveltos("eu", "a")
    }

    fn on_delete(withdraws: bool, is_kept: bool, deleted_at: Option<i64>) -> OnDelete {
        OnDelete { uid: "u".into(), withdraws, is_kept, grace: GRACE, deleted_at, mistake: None }
    }

    fn departing(on_delete: OnDelete) -> Departing {
        Departing { on_delete: Arc::new(on_delete), unreachable: None, paused: false }
    }

    fn of(on_delete: OnDelete) -> Departures {
        let mut departures = Departures::default();
        departures.set(&cluster(), Some(departing(on_delete)), T0);
        departures
    }

    fn leaving() -> Departures {
        of(on_delete(true, true, Some(T0)))
    }

    fn due(departures: &mut Departures, now: i64) -> Option<Option<LetGo>> {
        let mut due = departures.take_due(now);
        assert!(due.len() <= 1, "{due:?}");
        due.pop().map(|one| one.why)
    }

    fn stays(departures: &mut Departures, now: i64) -> String {
        match due(departures, now) {
            Some(Some(LetGo::Stays(text))) => text,
            other => panic!("{other:?}"),
        }
    }

    fn left(names: &[&str]) -> Left {
        names.iter().map(|name| ProfileId::cluster(*name)).collect()
    }

    #[test]
    fn the_finalizer_is_put_while_it_is_asked_for_and_goes_when_it_is_not() {
        assert_eq!(due(&mut of(on_delete(true, false, None)), T0), Some(None));
        assert_eq!(due(&mut of(on_delete(true, true, None)), T0), None);
        assert_eq!(due(&mut of(on_delete(false, false, None)), T0), None);
        for deleted_at in [None, Some(T0)] {
            let mut kept = of(on_delete(false, true, deleted_at));
            assert_eq!(due(&mut kept, T0), Some(Some(LetGo::NotAsked)), "{deleted_at:?}");
        }
        assert_eq!(
            due(&mut of(on_delete(true, false, Some(T0))), T0),
            None,
            "no server takes a finalizer then"
        );
    }

    #[test]
    fn a_cluster_is_let_go_once_nothing_is_left() {
        let mut departures = leaving();
        assert_eq!(due(&mut departures, T0), None, "nobody has said what is there");
        departures.left(&cluster(), left(&["p", "q"]));
        assert_eq!(due(&mut departures, T0 + SECOND), None);
        departures.left(&cluster(), left(&[]));
        assert_eq!(due(&mut departures, T0 + SECOND), Some(Some(LetGo::Done)));
        assert_eq!(due(&mut departures, T0 + SECOND), None, "somebody is at it");
    }

    #[test]
    fn whatever_happens_it_is_let_go_when_the_time_is_up() {
        let mut departures = leaving();
        assert_eq!(departures.next(), Some(T0 + GRACE));
        departures.left(&cluster(), left(&["p"]));
        assert_eq!(due(&mut departures, T0 + GRACE - 1), None);
        let text = stays(&mut departures, T0 + GRACE);
        assert!(
            text.contains("60 s (spec.cleanupGracePeriod); this stays there: ClusterProfile p;"),
            "{text}"
        );
        let text = stays(&mut leaving(), T0 + GRACE);
        assert!(text.contains("all that was deployed, since nobody could look at it"), "{text}");
    }

    #[test]
    fn that_it_was_paused_or_has_no_kubeconfig_is_said() {
        let mut departures = leaving();
        let mut paused = departing(on_delete(true, true, Some(T0)));
        paused.paused = true;
        departures.set(&cluster(), Some(paused.clone()), T0);
        assert!(stays(&mut departures, T0 + GRACE).contains("it was paused"));

        let mut departures = leaving();
        departures.left(&cluster(), left(&["p"]));
        paused.unreachable = Some("Secret k does not exist".into());
        departures.set(&cluster(), Some(paused.clone()), T0 + SECOND);
        departures.set(&cluster(), Some(paused), T0 + 2 * SECOND);
        assert_eq!(departures.next(), Some(T0 + SECOND + NO_KUBECONFIG));
        assert_eq!(due(&mut departures, T0 + NO_KUBECONFIG), None, "it may be made anew");
        let text = stays(&mut departures, T0 + SECOND + NO_KUBECONFIG);
        assert!(text.contains("Secret k does not exist; this stays there: ClusterProfile p;"), "{text}");
    }

    #[test]
    fn a_kubeconfig_that_is_there_again_counts() {
        let mut departures = leaving();
        let mut without = departing(on_delete(true, true, Some(T0)));
        without.unreachable = Some("no Secret".into());
        departures.set(&cluster(), Some(without), T0);
        departures.set(&cluster(), Some(departing(on_delete(true, true, Some(T0)))), T0 + SECOND);
        assert_eq!(departures.next(), Some(T0 + GRACE));
    }

    #[test]
    fn what_cannot_be_written_is_tried_again_ever_more_rarely() {
        let mut departures = of(on_delete(true, false, None));
        let mut now = T0;
        for pause in [1, 2, 4] {
            assert_eq!(due(&mut departures, now), Some(None));
            departures.ended(&cluster(), false, now);
            assert_eq!(departures.next(), Some(now + pause * SECOND));
            now += pause * SECOND;
        }
    }

    #[test]
    fn what_was_left_of_a_former_registration_says_nothing_of_a_later_one_of_its_name() {
        let mut departures = leaving();
        departures.left(&cluster(), left(&[]));
        let later = OnDelete { uid: "v".into(), ..on_delete(true, true, Some(T0)) };
        departures.set(&cluster(), Some(departing(later)), T0);
        assert_eq!(due(&mut departures, T0), None);
        departures.set(&cluster(), None, T0);
        assert_eq!((departures.next(), departures.until(&cluster())), (None, None));
    }
}
