//! What happened in the clusters on the way, not only in the end.
//!
//! Each cluster numbers its changes, so that Services and NetworkPolicies stand in one order, whenever the watches
//! delivered them. A NetworkPolicy may be deleted once for each time that its Service stopped to be an event.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::{Gvk, object};
use sluice_kube::{WatchEvent, watch};
use sluice_testbed::manifests::{ALL, EACH};
use tokio::task::{AbortHandle, JoinSet};

use crate::cluster_client::is_deployed;
use crate::fleet::Fleet;

/// How long watches may be behind the clusters.
const BEHIND: Duration = Duration::from_secs(1);

/// Watches of all clusters. They end when this is dropped.
pub struct Watcher {
    record: Arc<Mutex<Record>>,
    /// Dropped with the watcher, and every watch with it.
    _watches: JoinSet<()>,
    handles: Vec<AbortHandle>,
}

#[derive(Clone, Debug, Default)]
struct Record {
    changes: Vec<Change>,
    /// Watches that restarted: what happened in between is not known.
    interrupted: Vec<String>,
}

/// One change of a Service or of the NetworkPolicy that is made for it.
#[derive(Clone, Debug)]
struct Change {
    cluster: String,
    version: u64,
    service: String,
    what: What,
    /// When the watch told it.
    at: Instant,
    /// The port of a Service.
    port: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The Service is an event, or is none any more.
    Event(bool),
    /// The NetworkPolicy is there, with the port of this change.
    Policy(u64),
    /// The NetworkPolicy was deleted.
    PolicyDeleted,
}

/// What is known of one Service on the way through the record.
#[derive(Default)]
struct History {
    event: bool,
    lost: u64,
    deleted: u64,
    port: u64,
    /// Everything in order, to be printed with what is wrong.
    trail: Vec<String>,
}

// === impl Watcher ===

impl Watcher {
    /// Begins to watch.
    pub fn start(fleet: &Fleet) -> Self {
        let (record, mut watches) = (Arc::new(Mutex::new(Record::default())), JoinSet::new());
        let mut handles = Vec::new();
        let kinds = [Gvk::new("", "v1", "Service"), Gvk::new("networking.k8s.io", "v1", "NetworkPolicy")];
        for (cluster, member) in &fleet.members {
            for gvk in &kinds {
                let (client, cluster, record) = (member.client.client(), cluster.clone(), record.clone());
                let (gvk, config) = (gvk.clone(), watcher::Config::default());
                let mut listed = false;
                let tell = move |event: WatchEvent| {
                    let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
                    record.take(&cluster, event, &mut listed);
                    true
                };
                #[expect(clippy::disallowed_methods, reason = "a watch that has ended fails the verdict")]
                handles.push(watches.spawn(watch(client, gvk, String::new(), config, tell)));
            }
        }
        Self { record, _watches: watches, handles }
    }

    /// How many NetworkPolicies were deleted so far.
    pub fn deletions(&self) -> usize {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.changes.iter().filter(|change| change.what == What::PolicyDeleted).count()
    }

    /// How long it took from each change of a Service since then until its NetworkPolicy had the port of that change, as watches
    /// told it. A change that was overtaken by another one has none.
    pub fn latencies(&self, since: Instant) -> Vec<Duration> {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begun = HashMap::new();
        let mut took = Vec::new();
        for change in record.changes.iter().filter(|change| change.at >= since) {
            let key = |port| (&change.cluster, &change.service, port);
            match change.what {
                What::Event(true) => drop(begun.insert(key(change.port), change.at)),
                What::Policy(port) => took.extend(begun.remove(&key(port)).map(|begun| change.at - begun)),
                _ => {}
            }
        }
        took
    }

    /// Checks the record. For Services that `excused` names, their trigger was deleted so often.
    ///
    /// # Errors
    /// What was deleted although its cause lived, or went back to something older.
    pub async fn verdict(&self, excused: impl Fn(&str) -> u64) -> anyhow::Result<()> {
        tokio::time::sleep(BEHIND).await;
        if self.handles.iter().any(AbortHandle::is_finished) {
            bail!("the record is not complete: a watch has ended");
        }
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !record.interrupted.is_empty() {
            bail!("the record is not complete: {}", record.interrupted.join(", "));
        }
        let wrong = record.wrong(excused);
        if wrong.is_empty() { Ok(()) } else { bail!("on the way:\n{}", wrong.join("\n")) }
    }
}

// === impl Record ===

impl Record {
    fn take(&mut self, cluster: &str, event: WatchEvent, listed: &mut bool) {
        match event {
            WatchEvent::Listed(objects) => {
                if std::mem::replace(listed, true) {
                    self.interrupted.push(format!("a watch of {cluster} restarted"));
                }
                objects.iter().for_each(|object| self.note(cluster, object, false));
            }
            WatchEvent::Applied(object) => self.note(cluster, &object, false),
            WatchEvent::Deleted(object) => self.note(cluster, &object, true),
            WatchEvent::Trouble(error) => self.interrupted.push(format!("{cluster}: {error}")),
            WatchEvent::Version(_) | WatchEvent::Well => {}
        }
    }

    fn note(&mut self, cluster: &str, value: &Value, deleted: bool) {
        let name = object::name(value);
        let (service, what) = match object::text(value, &["kind"]) {
            "Service" => {
                let matching =
                    object::label(value, "sveltos").is_some_and(|label| [EACH, ALL].contains(&label));
                (name, What::Event(matching && !deleted))
            }
            _ if !is_deployed(value) => return,
            _ => {
                let Some(service) = name.strip_prefix("front-") else { return };
                let port = value.pointer("/spec/ingress/0/ports/0/port").and_then(Value::as_u64).unwrap_or(0);
                (service, if deleted { What::PolicyDeleted } else { What::Policy(port) })
            }
        };
        self.changes.push(Change {
            cluster: cluster.to_owned(),
            version: object::resource_version(value),
            service: service.to_owned(),
            what,
            at: Instant::now(),
            port: value.pointer("/spec/ports/0/port").and_then(Value::as_u64).unwrap_or(0),
        });
    }

    fn wrong(mut self, excused: impl Fn(&str) -> u64) -> Vec<String> {
        self.changes.sort_by_key(|change| change.version);
        let (mut histories, mut wrong) = (HashMap::<(String, String), History>::new(), Vec::new());
        let say = |history: &History, what: String| format!("{what}; before: {}", history.trail.join(", "));
        for Change { cluster, version, service, what, .. } in self.changes {
            let named = format!("{cluster}, version {version}: the NetworkPolicy of Service {service}");
            let history = histories.entry((cluster, service.clone())).or_default();
            history.trail.push(format!("{version} {what:?}"));
            match what {
                What::Event(event) => {
                    history.lost += u64::from(history.event && !event);
                    history.event = event;
                }
                What::Policy(port) => {
                    if port < history.port {
                        let back = format!("{named} went back from port {} to {port}", history.port);
                        wrong.push(say(history, back));
                    }
                    history.port = port;
                }
                What::PolicyDeleted => {
                    history.deleted += 1;
                    if history.deleted > history.lost + excused(&service) {
                        wrong.push(say(history, format!("{named} was deleted, and its cause lived")));
                    }
                }
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(changes: &[(u64, What)]) -> Record {
        let change = |&(version, what): &(u64, What)| Change {
            cluster: "c".into(),
            version,
            service: "s".into(),
            what,
            at: Instant::now(),
            port: 0,
        };
        Record { changes: changes.iter().map(change).collect(), interrupted: Vec::new() }
    }

    #[test]
    fn a_policy_may_go_when_its_service_went() {
        let seen =
            [(4, What::PolicyDeleted), (1, What::Event(true)), (3, What::Event(false)), (2, What::Policy(5))];
        assert!(record(&seen).wrong(|_| 0).is_empty());
    }

    #[test]
    fn a_policy_may_not_go_before_its_service() {
        let seen =
            [(1, What::Event(true)), (2, What::Policy(5)), (3, What::PolicyDeleted), (4, What::Event(false))];
        assert_eq!(record(&seen).wrong(|_| 0).len(), 1);
        assert!(record(&seen).wrong(|_| 1).is_empty());
    }

    #[test]
    fn a_policy_may_not_become_older() {
        let seen = [(1, What::Event(true)), (2, What::Policy(5)), (3, What::Policy(6)), (4, What::Policy(5))];
        assert_eq!(record(&seen).wrong(|_| 0).len(), 1);
    }
}
