//! Kubernetes Events about drift, in the management cluster: one object for each cluster, profile and drifted object, written
//! once in ten minutes, and once more where a fight begins. Pure: who writes them says what time it is.
//!
//! ```text
//! put right, again and again ─► DriftEvents ─► few of them, each with how often it happened ─► Event of the ClusterSummary
//! ```

// D-1075: drift is told in Kubernetes Events of the ClusterSummary, of which there are few.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::{ClusterRef, Digest, Gvk, ObjectKey, ProfileId};

use crate::summary::{seconds, summary_key};

/// What is told of one object is not told again for so long, microseconds.
const ONCE_IN: i64 = 10 * MINUTE;
/// How long it is remembered how often something happened, microseconds: as long as API servers keep Events.
const REMEMBERED: i64 = 60 * MINUTE;
const MINUTE: i64 = 60_000_000;
/// So many are written at once; from then on one in [`PACE`].
const BURST: u32 = 60;
/// After so long one more may be written, microseconds.
const PACE: i64 = 5_000_000;
/// So many objects are remembered; of more nothing is told until some are forgotten.
const MOST: usize = 10_000;
/// API servers take no longer message, bytes.
const LONGEST: usize = 1024;
/// Who says so.
const COMPONENT: &str = "sluice-deployer";

/// What became of an object that somebody else has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drifted {
    /// It was put right.
    Righted {
        /// Who has changed it, with some of the fields, where that is known.
        by: Option<String>,
    },
    /// It was put right too often, and is left alone for a while; this says why, and what to do.
    LeftAlone(String),
}

/// The same, with where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftEvent {
    /// The cluster.
    pub cluster: ClusterRef,
    /// Whose object it is.
    pub profile: ProfileId,
    /// The object.
    pub object: ObjectKey,
    /// What became of it.
    pub what: Drifted,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Since it was not remembered any more.
    pub count: u32,
    /// When it happened first, microseconds since 1970.
    pub first: i64,
    /// When it happened last.
    pub last: i64,
}

/// Which Events are written, of all that happens in a process.
#[derive(Debug)]
pub struct DriftEvents {
    told: BTreeMap<(ClusterRef, ProfileId, ObjectKey), Told>,
    /// So many may be written now.
    free: u32,
    /// When that was counted.
    counted_at: i64,
    /// When what is remembered was looked through.
    swept_at: i64,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    times: Times,
    /// When it was written.
    at: i64,
    /// Whether that it is left alone was written then, or since.
    is_fight: bool,
}

// === impl DriftEvents ===

impl Default for DriftEvents {
    fn default() -> Self {
        Self { told: BTreeMap::new(), free: BURST, counted_at: 0, swept_at: 0 }
    }
}

impl DriftEvents {
    /// Something happened: how often it has, if that is to be written now.
    pub fn admit(&mut self, event: &DriftEvent, now: i64) -> Option<Times> {
        self.refill(now);
        self.sweep(now);
        let is_fight = matches!(event.what, Drifted::LeftAlone(_));
        let place = (event.cluster.clone(), event.profile.clone(), event.object.clone());
        let known = self.told.get_mut(&place);
        if let Some(told) = known {
            told.times.count = told.times.count.saturating_add(1);
            told.times.last = now;
            let is_new = now.saturating_sub(told.at) >= ONCE_IN;
            let is_told = !is_new && (!is_fight || told.is_fight);
            if is_told || self.free == 0 {
                return None;
            }
            (told.at, told.is_fight) = (now, is_fight);
            self.free -= 1;
            return Some(told.times);
        }
        if self.free == 0 || self.told.len() >= MOST {
            return None;
        }
        let times = Times { count: 1, first: now, last: now };
        self.told.insert(place, Told { times, at: now, is_fight });
        self.free -= 1;
        Some(times)
    }

    fn refill(&mut self, now: i64) {
        let more = now.saturating_sub(self.counted_at) / PACE;
        if more <= 0 {
            // A clock that was set back gives nothing, and takes nothing.
            self.counted_at = self.counted_at.min(now);
            return;
        }
        self.free = self.free.saturating_add(u32::try_from(more).unwrap_or(BURST)).min(BURST);
        self.counted_at += more * PACE;
    }

    /// Forgets what has not happened for long.
    fn sweep(&mut self, now: i64) {
        if now.saturating_sub(self.swept_at) >= MINUTE || now < self.swept_at {
            self.swept_at = now;
            self.told.retain(|_, told| (0..REMEMBERED).contains(&now.saturating_sub(told.times.last)));
        }
    }
}

// === impl DriftEvent ===

impl DriftEvent {
    /// The ClusterSummary that the Event is of.
    pub fn regarding(&self) -> ObjectKey {
        summary_key(&self.cluster, &self.profile)
    }

    /// The Event, where the ClusterSummary has this uid.
    pub fn event(&self, uid: &str, times: Times) -> (ObjectKey, Value) {
        let about = self.regarding();
        // The name of an object may be as long as that of its Event may be.
        let hashed = || Digest::of(&[about.name.as_bytes()]).to_string();
        let of = if about.name.len() > 200 { hashed() } else { about.name.clone() };
        let gvk = &self.object.gvk;
        let which = [&gvk.group, &gvk.kind, &self.object.namespace, &self.object.name];
        let name = format!("{of}.drift-{}", Digest::of(&which.map(|part| part.as_bytes())).short());
        let (kind, reason) = match self.what {
            Drifted::Righted { .. } => ("Normal", "DriftCorrected"),
            Drifted::LeftAlone(_) => ("Warning", "DriftLeftAlone"),
        };
        let key = ObjectKey { gvk: Gvk::new("", "v1", "Event"), namespace: about.namespace.clone(), name };
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": {"apiVersion": about.gvk.api_version(), "kind": about.gvk.kind, "namespace": about.namespace,
                "name": about.name, "uid": uid},
            "type": kind,
            "reason": reason,
            "message": self.message(),
            "firstTimestamp": seconds(times.first),
            "lastTimestamp": seconds(times.last),
            "count": times.count,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
        });
        (key, event)
    }

    fn message(&self) -> String {
        let text = match &self.what {
            Drifted::LeftAlone(why) => why.clone(),
            Drifted::Righted { by } => {
                let by = by.as_deref().unwrap_or("somebody else");
                format!("{} was changed by {by}, and put right", self.object)
            }
        };
        clipped(text)
    }
}

/// At a whole character.
fn clipped(mut text: String) -> String {
    const MORE: &str = "…";
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST - MORE.len()));
        text.push_str(MORE);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use sluice_api::object;

    use super::*;

    const T0: i64 = 1_700_000_000_000_000;

    fn of(name: &str) -> DriftEvent {
        let gvk = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
        DriftEvent {
            cluster: ClusterRef::sveltos("eu", "a"),
            profile: ProfileId::cluster("p"),
            object: ObjectKey { gvk, namespace: "shop".into(), name: name.into() },
            what: Drifted::Righted { by: Some("kubectl-edit (spec)".into()) },
        }
    }

    fn fight(name: &str) -> DriftEvent {
        DriftEvent { what: Drifted::LeftAlone("it is left alone for 1 min".into()), ..of(name) }
    }

    fn count(events: &mut DriftEvents, event: &DriftEvent, now: i64) -> Option<u32> {
        events.admit(event, now).map(|times| times.count)
    }

    #[test]
    fn an_object_is_told_once_in_ten_minutes_with_how_often_it_happened() {
        let mut events = DriftEvents::default();
        assert_eq!(count(&mut events, &of("w"), T0), Some(1));
        for second in 1..100 {
            assert_eq!(count(&mut events, &of("w"), T0 + second * 1_000_000), None);
        }
        assert_eq!(count(&mut events, &of("v"), T0 + MINUTE), Some(1), "another object");
        let other = DriftEvent { profile: ProfileId::cluster("q"), ..of("w") };
        assert_eq!(count(&mut events, &other, T0 + MINUTE), Some(1), "another profile");
        let times = events.admit(&of("w"), T0 + ONCE_IN).unwrap();
        assert_eq!(times, Times { count: 101, first: T0, last: T0 + ONCE_IN });
    }

    #[test]
    fn that_a_fight_has_begun_is_told_at_once_and_once_in_ten_minutes() {
        let mut events = DriftEvents::default();
        assert_eq!(count(&mut events, &of("w"), T0), Some(1));
        assert_eq!(count(&mut events, &fight("w"), T0 + 1), Some(2));
        assert_eq!(count(&mut events, &fight("w"), T0 + MINUTE), None);
        assert_eq!(
            count(&mut events, &of("w"), T0 + ONCE_IN),
            None,
            "the fight was told less than ten minutes ago"
        );
        assert_eq!(count(&mut events, &fight("w"), T0 + ONCE_IN + 1), Some(5));
    }

    #[test]
    fn what_has_not_happened_for_an_hour_begins_anew() {
        let mut events = DriftEvents::default();
        assert_eq!(count(&mut events, &of("w"), T0), Some(1));
        assert_eq!(count(&mut events, &of("w"), T0 + REMEMBERED - 1), Some(2));
        let later = T0 + 2 * REMEMBERED;
        assert_eq!(events.admit(&of("w"), later), Some(Times { count: 1, first: later, last: later }));
    }

    #[test]
    fn a_process_writes_few_whatever_happens() {
        let mut events = DriftEvents::default();
        let mut written = |now: i64| {
            (0..500).filter(|number| events.admit(&of(&format!("{now}-{number}")), now).is_some()).count()
        };
        assert_eq!(written(T0), BURST as usize);
        assert_eq!(written(T0 + PACE - 1), 0);
        assert_eq!(written(T0 + 3 * PACE), 3);
        assert_eq!(written(T0 - MINUTE), 0, "a clock that was set back");
        assert_eq!(written(T0 + 10 * REMEMBERED), BURST as usize);
    }

    proptest! {
        /// Whatever happens when, within ten minutes an object is told twice at most, and a process keeps its pace.
        #[test]
        fn no_flood_is_written(happened in proptest::collection::vec((0..4_usize, any::<bool>(), 0..ONCE_IN / 20), 1..300)) {
            let (mut events, mut now, mut written) = (DriftEvents::default(), T0, Vec::new());
            for (object, is_fight, later) in happened {
                now += later;
                let event = if is_fight { fight(&object.to_string()) } else { of(&object.to_string()) };
                if events.admit(&event, now).is_some() {
                    written.push((object, now));
                }
            }
            for (object, at) in &written {
                let near = written.iter().filter(|(other, then)| other == object && (*at..*at + ONCE_IN).contains(then));
                prop_assert!(near.count() <= 2);
            }
            let most = i64::from(BURST) + (now - T0) / PACE;
            prop_assert!(i64::try_from(written.len()).unwrap() <= most);
        }
    }

    #[test]
    fn the_event_is_of_the_cluster_summary_and_is_where_that_is() {
        let times = Times { count: 3, first: 0, last: 60_000_000 };
        let (place, event) = of("w").event("u7", times);
        assert_eq!((place.namespace.as_str(), place.name.starts_with("p-sveltos-a.drift-")), ("eu", true));
        assert_eq!(
            event["involvedObject"],
            json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterSummary", "namespace": "eu",
                "name": "p-sveltos-a", "uid": "u7"})
        );
        assert_eq!(
            event["message"],
            "NetworkPolicy shop/w was changed by kubectl-edit (spec), and put right"
        );
        assert_eq!((&event["count"], &event["lastTimestamp"]), (&json!(3), &json!("1970-01-01T00:01:00Z")));
        let (same, warning) = fight("w").event("u7", times);
        assert_eq!(
            (same, &warning["type"], &warning["reason"]),
            (place, &json!("Warning"), &json!("DriftLeftAlone"))
        );
    }

    #[test]
    fn no_text_is_longer_than_api_servers_take() {
        let mut event = fight("w");
        event.what = Drifted::LeftAlone("ä".repeat(3000));
        event.profile = ProfileId::cluster("n".repeat(253));
        let (place, told) = event.event("", Times { count: 1, first: 0, last: 0 });
        assert!(place.name.len() <= 253, "{}", place.name);
        assert!(object::text(&told, &["message"]).len() <= LONGEST);
    }
}
