//! A rollout as its clusters see it: who got which content when, and when it was well there.
//!
//! One ConfigMap is looked at in each cluster. Its `data.version` is the content, and a controller of the test says in `data.seen`
//! that it has seen it: until then the check of the profile fails there. What the test knows of a cluster is never older than what
//! the pipeline can know, so that a limit which the pipeline keeps is never passed here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::runtime::watcher;
use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_kube::{WatchEvent, watch};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cluster_client::{ClusterClient, is_deployed};
use crate::fleet::Fleet;

/// How long a controller works before it says that it has seen a content.
const WORK: Duration = Duration::from_millis(300);
/// A check that fails for so long is an error; a second less, since a watch may tell late when it began.
const PATIENCE: Duration = Duration::from_secs(9);

/// What is demanded of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many clusters may have a content and not be done with it.
    pub at_a_time: usize,
    /// A cluster is done when it has been well for so long.
    pub soak: Duration,
    /// Whether a cluster where it fails is done, too.
    pub failed_are_done: bool,
}

/// Watches of all clusters, and their controllers. They end when this is dropped.
pub struct Rollout {
    shared: Arc<Mutex<Shared>>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    moments: Vec<Moment>,
    /// Contents that are never well on a cluster.
    unwell: BTreeSet<(String, u64)>,
    /// Watches that restarted: what happened in between is not known.
    gaps: Vec<String>,
}

#[derive(Clone, Debug)]
struct Moment {
    at: Instant,
    cluster: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The cluster has this content.
    Has(u64),
    /// This content is well there.
    Well(u64),
}

// === impl Rollout ===

impl Rollout {
    /// Begins to look at the ConfigMap `default/<name>` of each cluster.
    pub fn watch(fleet: &Fleet, name: &str) -> Self {
        let (shared, mut tasks) = (Arc::new(Mutex::new(Shared::default())), JoinSet::new());
        for (cluster, member) in &fleet.members {
            // Unbounded: there are a few contents in a test.
            let (tell_controller, contents) = mpsc::unbounded_channel();
            let (client, gvk) = (member.client.client(), Gvk::new("", "v1", "ConfigMap"));
            let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let (known, place, mut listed) = (shared.clone(), cluster.clone(), false);
            let tell = move |event: WatchEvent| {
                for content in lock(&known).take(&place, event, &mut listed) {
                    tell_controller.send(content).ok();
                }
                true
            };
            #[expect(
                clippy::disallowed_methods,
                reason = "a watch that has ended tells nothing: the test waits in vain"
            )]
            tasks.spawn(watch(client, gvk, "default".to_owned(), config, tell));
            let (known, place) = (shared.clone(), cluster.clone());
            #[expect(
                clippy::disallowed_methods,
                reason = "a controller that has ended leaves its cluster unwell"
            )]
            tasks.spawn(control(known, place, name.to_owned(), member.client.clone(), contents));
        }
        Self { shared, _tasks: tasks }
    }

    /// From now on this content is never well on this cluster.
    pub fn never_well(&self, cluster: &str, version: u64) {
        lock(&self.shared).unwell.insert((cluster.to_owned(), version));
    }

    /// The clusters that have this content now.
    pub fn having(&self, version: u64) -> BTreeSet<String> {
        lock(&self.shared).latest(|what| matches!(what, What::Has(_)), What::Has(version))
    }

    /// The clusters where this content is what was well last.
    pub fn well(&self, version: u64) -> BTreeSet<String> {
        lock(&self.shared).latest(|what| matches!(what, What::Well(_)), What::Well(version))
    }

    /// What went beyond the limits so far.
    pub fn wrong(&self, limits: Limits) -> Vec<String> {
        let shared = lock(&self.shared);
        let beyond = wrong(&shared.moments, &shared.unwell, limits);
        shared.gaps.iter().cloned().chain(beyond).collect()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says of each content that it has seen it, unless it is never well there.
async fn control(
    known: Arc<Mutex<Shared>>,
    cluster: String,
    name: String,
    client: ClusterClient,
    mut contents: mpsc::UnboundedReceiver<u64>,
) {
    while let Some(version) = contents.recv().await {
        tokio::time::sleep(WORK).await;
        if !lock(&known).becomes_well(&cluster, version) {
            continue;
        }
        let seen = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": {"seen": version.to_string()}});
        if let Err(error) = client.apply(&seen).await {
            lock(&known).gaps.push(format!("{cluster}: {error:#}"));
        }
    }
}

// === impl Shared ===

impl Shared {
    /// The contents that are new with this event.
    fn take(&mut self, cluster: &str, event: WatchEvent, listed: &mut bool) -> Vec<u64> {
        match event {
            WatchEvent::Listed(objects) => {
                if std::mem::replace(listed, true) {
                    self.gaps.push(format!("the watch of {cluster} began anew"));
                }
                objects.iter().filter_map(|object| self.note(cluster, object)).collect()
            }
            WatchEvent::Applied(object) => self.note(cluster, &object).into_iter().collect(),
            WatchEvent::Deleted(_) => {
                self.gaps.push(format!("{cluster}: the object was deleted"));
                Vec::new()
            }
            WatchEvent::Trouble(error) => {
                self.gaps.push(format!("{cluster}: {error}"));
                Vec::new()
            }
            WatchEvent::Version(_) | WatchEvent::Well => Vec::new(),
        }
    }

    fn note(&mut self, cluster: &str, object: &Value) -> Option<u64> {
        let version = object::text(object, &["data", "version"]).parse().ok()?;
        if !is_deployed(object) || self.content(cluster) == Some(version) {
            return None;
        }
        self.push(cluster, What::Has(version));
        Some(version)
    }

    /// The content that a cluster has.
    fn content(&self, cluster: &str) -> Option<u64> {
        self.moments.iter().rev().filter(|moment| moment.cluster == cluster).find_map(|moment| {
            match moment.what {
                What::Has(version) => Some(version),
                What::Well(_) => None,
            }
        })
    }

    /// Whether the controller says now that it has seen this content: it stands here before anybody else can know.
    fn becomes_well(&mut self, cluster: &str, version: u64) -> bool {
        let is_unwell = self.unwell.contains(&(cluster.to_owned(), version));
        let is_it = self.content(cluster) == Some(version) && !is_unwell;
        if is_it {
            self.push(cluster, What::Well(version));
        }
        is_it
    }

    fn push(&mut self, cluster: &str, what: What) {
        self.moments.push(Moment { at: Instant::now(), cluster: cluster.to_owned(), what });
    }

    /// The clusters of which the last moment of this kind is this one.
    fn latest(&self, is_of_kind: impl Fn(What) -> bool, wanted: What) -> BTreeSet<String> {
        let mut last = BTreeMap::new();
        for Moment { cluster, what, .. } in self.moments.iter().filter(|moment| is_of_kind(moment.what)) {
            last.insert(cluster, *what);
        }
        last.into_iter().filter(|(_, what)| *what == wanted).map(|(cluster, _)| cluster.clone()).collect()
    }
}

/// Each moment in which a content was on more clusters that are not done with it than it may be. A content that is older than what a
/// cluster had is gone back to, which all may do at once.
fn wrong(moments: &[Moment], unwell: &BTreeSet<(String, u64)>, limits: Limits) -> Vec<String> {
    let mut newest = BTreeMap::<&str, u64>::new();
    let (mut has, mut well) =
        (BTreeMap::<(u64, &str), Instant>::new(), BTreeMap::<(u64, &str), Instant>::new());
    let mut wrong = Vec::new();
    for Moment { at, cluster, what } in moments {
        match *what {
            What::Well(version) => drop(well.entry((version, cluster)).or_insert(*at)),
            What::Has(version) if newest.get(cluster.as_str()).is_some_and(|newest| *newest >= version) => {}
            What::Has(version) => {
                newest.insert(cluster, version);
                has.insert((version, cluster), *at);
                let is_done = |cluster: &str, since: Instant| {
                    let is_well =
                        well.get(&(version, cluster)).is_some_and(|well| *well + limits.soak <= *at);
                    let is_unwell = limits.failed_are_done && unwell.contains(&(cluster.to_owned(), version));
                    is_well || is_unwell && since + PATIENCE <= *at
                };
                let all = has.iter().filter(|((of, _), _)| *of == version);
                let open: Vec<&str> = all
                    .filter(|((_, cluster), since)| !is_done(cluster, **since))
                    .map(|((_, cluster), _)| *cluster)
                    .collect();
                if open.len() > limits.at_a_time {
                    wrong.push(format!(
                        "content {version} was on {} at once, which were not done",
                        open.join(", ")
                    ));
                }
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { at_a_time: 1, soak: Duration::from_secs(2), failed_are_done: false };

    /// Seconds, cluster and what.
    fn found(moments: &[(u64, &str, What)], unwell: &[(&str, u64)], limits: Limits) -> usize {
        let begin = Instant::now();
        let moment = |&(second, cluster, what): &(u64, &str, What)| Moment {
            at: begin + Duration::from_secs(second),
            cluster: cluster.to_owned(),
            what,
        };
        let moments: Vec<Moment> = moments.iter().map(moment).collect();
        let unwell = unwell.iter().map(|(cluster, version)| ((*cluster).to_owned(), *version)).collect();
        wrong(&moments, &unwell, limits).len()
    }

    #[test]
    fn the_next_cluster_waits_until_the_one_before_was_well_for_long_enough() {
        let first = [(0, "a", What::Has(2)), (1, "a", What::Well(2))];
        let with = |second| [first.as_slice(), &[(second, "b", What::Has(2))]].concat();
        assert_eq!(found(&with(3), &[], LIMITS), 0);
        assert_eq!(found(&with(2), &[], LIMITS), 1);
        assert_eq!(found(&with(2), &[], Limits { at_a_time: 2, ..LIMITS }), 0);
    }

    #[test]
    fn a_cluster_that_is_never_well_holds_its_turn_unless_it_failed_within_the_budget() {
        let seen = [(0, "a", What::Has(2)), (10, "b", What::Has(2))];
        assert_eq!(found(&seen, &[("a", 2)], LIMITS), 1);
        assert_eq!(found(&seen, &[("a", 2)], Limits { failed_are_done: true, ..LIMITS }), 0);
    }

    #[test]
    fn all_go_back_at_once() {
        let seen = [
            (0, "a", What::Has(1)),
            (1, "a", What::Well(1)),
            (3, "b", What::Has(1)),
            (4, "b", What::Well(1)),
            (5, "a", What::Has(2)),
            (6, "a", What::Well(2)),
            (8, "b", What::Has(2)),
            (9, "a", What::Has(1)),
            (9, "b", What::Has(1)),
        ];
        assert_eq!(found(&seen, &[], LIMITS), 0);
    }
}
