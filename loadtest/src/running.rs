//! Load for a pipeline that somebody else has started: events on a schedule, and whether each had its effect.
//!
//! Its stages may be scaled, stopped and killed meanwhile. What is looked at must hold whatever happens to them: each Service gets its
//! add-on, and none is left when the Services are gone.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use sluice_testbed::{Connection, KubeContext, contexts, manifests};

use crate::fleet::{Arrivals, Sender};
use crate::measure::{Cost, Events, Phase, pace, send, set_up};
use crate::run::say;

/// How often something is looked for that is not there yet.
const LOOK: Duration = Duration::from_secs(1);
const SERVICES: &str = "/api/v1/namespaces/default/services";
const POLICIES: &str = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";

/// What to send, and where.
#[derive(Clone, Debug)]
pub struct Load {
    /// Has a context for each cluster; that of the management cluster is called `management`.
    pub kubeconfig: PathBuf,
    /// Events a second, one phase for each.
    pub rates: Vec<u32>,
    /// Length of each phase.
    pub phase: Duration,
    /// How long anything may take.
    pub patience: Duration,
}

/// The clusters, and what is seen of them.
struct Fleet {
    targets: Vec<Arc<KubeContext>>,
    sender: Sender,
    arrivals: Arrivals,
    patience: Duration,
    /// Names of Services begin with it: a run that was stopped may have left its own.
    run: String,
}

/// Sends the load, prints what became of it, and takes it away again.
///
/// # Errors
/// When the clusters do not come up, an event had no effect, or an add-on is left.
pub async fn run(load: Load) -> anyhow::Result<()> {
    say("waiting for the clusters");
    let mut fleet = Fleet::wait_for(&load).await?;
    say("one event in each cluster");
    let mut phases = vec![fleet.once("warm").await?];
    for &rate in &load.rates {
        say(&format!("{rate} events/s"));
        phases.push(fleet.paced(rate, load.phase).await?);
    }
    println!("{}", table(&phases));
    say("the Services are deleted");
    let left = fleet.take_away(&phases).await?;
    let sent: usize = phases.iter().map(|phase| phase.sent).sum();
    let lost: usize = phases.iter().map(|phase| phase.sent - phase.applied()).sum();
    if lost + left > 0 {
        bail!("of {sent} events {lost} had no effect, and {left} add-ons are left of Services that are gone");
    }
    say(&format!("{sent} events: each was applied, and each was withdrawn"));
    Ok(())
}

/// What became of each phase, as Markdown.
fn table(phases: &[Phase]) -> String {
    let mut text = String::from("| load | sent | applied | p50 | p99 | longest |\n|---|---|---|---|---|---|");
    for phase in phases {
        let (name, sent, applied) = (&phase.name, phase.sent, phase.applied());
        let (p50, p99, max) = (phase.quantile(0.5), phase.quantile(0.99), phase.max());
        // Writing to a text cannot fail.
        let _written =
            write!(text, "\n| {name} | {sent} | {applied} | {p50:.1} ms | {p99:.1} ms | {max:.0} ms |");
    }
    text
}

/// How many objects of a list have a name that begins so.
fn named_so(list: &[u8], prefix: &str) -> anyhow::Result<usize> {
    let list: Value = serde_json::from_slice(list)?;
    let items = list.get("items").and_then(Value::as_array).context("the answer is no list")?;
    let name = |item: &Value| item.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    Ok(items.iter().filter_map(name).filter(|name| name.starts_with(prefix)).count())
}

// === impl Fleet ===

impl Fleet {
    async fn wait_for(load: &Load) -> anyhow::Result<Self> {
        let deadline = Instant::now() + load.patience;
        loop {
            match Self::open(load).await {
                Ok(fleet) => return Ok(fleet),
                Err(error) if Instant::now() > deadline => {
                    return Err(error.context(format!("nothing to load after {:?}", load.patience)));
                }
                Err(error) => tracing::debug!(%error, "not yet"),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn open(load: &Load) -> anyhow::Result<Self> {
        let path = load.kubeconfig.display();
        let text =
            std::fs::read_to_string(&load.kubeconfig).with_context(|| format!("cannot read {path}"))?;
        let clusters = contexts(&text)?;
        let is_management = |context: &KubeContext| context.name == "management";
        let (management, managed): (Vec<_>, Vec<_>) = clusters.into_iter().partition(is_management);
        let management = management.first().with_context(|| format!("{path} has no context management"))?;
        ensure!(!managed.is_empty(), "{path} has no context of a managed cluster");
        let targets: Vec<Arc<KubeContext>> = managed.into_iter().map(Arc::new).collect();
        set_up(management, &targets).await?;
        let sender = Sender::connect(&management.authority).await?;
        let arrivals = Arrivals::watch(&targets);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Self {
            targets,
            sender,
            arrivals,
            patience: load.patience,
            run: format!("run{}", since.as_secs()),
        })
    }

    /// One event in each cluster.
    async fn once(&mut self, name: &str) -> anyhow::Result<Phase> {
        let (mut events, due) = (Events::new(&format!("{}-{name}", self.run)), Instant::now());
        for cluster in 0..self.targets.len() {
            send(&self.targets, &self.sender, &mut events, (due, cluster, manifests::EACH));
        }
        self.finish(events).await
    }

    /// Events on a schedule that nothing holds up.
    async fn paced(&mut self, rate: u32, length: Duration) -> anyhow::Result<Phase> {
        let mut events = Events::new(&format!("{}-rate{rate}", self.run));
        pace(&self.targets, &self.sender, &mut events, rate, length).await?;
        self.finish(events).await
    }

    async fn finish(&mut self, mut events: Events) -> anyhow::Result<Phase> {
        let deadline = Instant::now() + self.patience;
        while events.missing() > 0 {
            let Some(arrival) = self.arrivals.next(deadline).await else { break };
            events.arrived(&arrival);
        }
        self.sender.check()?;
        events.phase(Cost::default())
    }

    /// Deletes the Services, waits for their add-ons to go, and says how many did not.
    async fn take_away(&self, phases: &[Phase]) -> anyhow::Result<usize> {
        for (number, target) in self.targets.iter().enumerate() {
            let mut connection = Connection::open(&target.authority).await?;
            for phase in phases {
                // As they were sent: one cluster after the other.
                for index in (number..phase.sent).step_by(self.targets.len()) {
                    let path = format!("{}{SERVICES}/{}-{index}", target.prefix, phase.name);
                    let answer =
                        connection.call(Method::DELETE, &path, &target.token, "", Bytes::new()).await?;
                    answer.success().with_context(|| format!("cannot delete {path}"))?;
                }
            }
        }
        let deadline = Instant::now() + self.patience;
        loop {
            let left = self.add_ons().await?;
            if left == 0 || Instant::now() > deadline {
                return Ok(left);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// How many add-ons of this run there are.
    async fn add_ons(&self) -> anyhow::Result<usize> {
        let (mut found, prefix) = (0, format!("front-{}-", self.run));
        for target in &self.targets {
            let mut connection = Connection::open(&target.authority).await?;
            let answer = connection.get(&format!("{}{POLICIES}", target.prefix), &target.token).await?;
            found += named_so(&answer.success()?.body, &prefix)?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::fleet::Arrival;

    #[test]
    fn add_ons_of_other_runs_do_not_count() {
        let list = br#"{"items": [{"metadata": {"name": "front-run1-warm-0"}}, {"metadata": {"name": "front-run12-warm-0"}}]}"#;
        assert_eq!(named_so(list, "front-run1-").unwrap(), 1);
        let refused = named_so(br#"{"kind": "Status"}"#, "front-run1-").unwrap_err();
        assert!(refused.to_string().contains("no list"), "{refused}");
    }

    #[test]
    fn what_was_not_applied_is_in_the_table() {
        let (due, mut events) = (Instant::now(), Events::new("run1-rate50"));
        let name = format!("front-{}", events.push(due));
        events.push(due);
        events.arrived(&Arrival { name, at: due + Duration::from_millis(20), cluster: 0 });
        let text = table(&[events.phase(Cost::default()).unwrap()]);
        assert!(text.ends_with("| run1-rate50 | 2 | 1 | 20.0 ms | 20.0 ms | 20 ms |"), "{text}");
    }
}
