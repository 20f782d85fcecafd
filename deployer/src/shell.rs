//! What a shard's core wants done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::Value;
use sluice_api::model::{Check, ClusterCheck};
use sluice_api::{ClusterRef, Gvk, ObjectKey, ServiceAccount};
use sluice_bus::{Effects, Lease};
use sluice_deployer_core::{
    CheckId, Class, Configuration, Deployer, Effect, ExternalInput, Failure, Left, Reply, Request,
    cluster_report, cluster_summary,
};
use sluice_kube::definitions;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::CallId;
use sluice_runtime::{Metrics, Projector, Reporter};
use sluice_tasks::{End, Group, Once};
use tokio::sync::mpsc;

use crate::api::Site;
use crate::checks::{Asking, Guard, Jobs, Turns};
use crate::events::Events;
use crate::running::Running;
use crate::shard::Shared;
use crate::{drift, own, reload};

/// How a cluster is reached from now on, if it is.
type Change = (ClusterRef, Option<Arc<Site>>);

/// What goes to the management cluster by tasks of the shard. Who is in its cluster has none.
#[derive(Default)]
pub(crate) struct Outlets {
    pub(crate) configurations: Option<mpsc::UnboundedSender<Configuration>>,
    pub(crate) lefts: Option<mpsc::UnboundedSender<(ClusterRef, Left)>>,
}

pub(crate) struct Shell {
    lease: Lease,
    metrics: Metrics,
    /// Who is in its cluster has none of these: what people see goes out as rows.
    projector: Option<Projector>,
    events: Option<Events>,
    sites: HashMap<ClusterRef, Arc<Site>>,
    /// Watches of the definitions of kinds.
    kinds: Running<()>,
    /// Checks that are asked.
    checks: Running<CheckId>,
    jobs: Jobs,
    /// Watches of what is deployed of a kind.
    watches: Running<Gvk>,
    /// Watches of what pods can read of a kind.
    sources: Running<Gvk>,
    turns: Turns,
    metric_hosts: Arc<OwnHosts>,
    outlets: Outlets,
    changes: mpsc::UnboundedReceiver<Change>,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
    /// Dropped with the shard, and every call with it.
    tasks: Group,
}

impl Shell {
    /// For a shard that begins. `changes` says how clusters are reached, in the order in which `sender` tells the core of it.
    pub(crate) fn new(
        shared: &Shared,
        lease: Lease,
        outlets: Outlets,
        (sender, changes): (mpsc::UnboundedSender<ExternalInput>, mpsc::UnboundedReceiver<Change>),
        reporter: Reporter,
        tasks: Group,
    ) -> Self {
        Self {
            lease,
            metrics: shared.context.metrics.clone(),
            projector: shared.outside.as_ref().map(|outside| outside.projector.clone()),
            events: shared.outside.as_ref().map(|outside| outside.events.clone()),
            sites: HashMap::new(),
            kinds: Running::default(),
            checks: Running::default(),
            jobs: Jobs::default(),
            watches: Running::default(),
            sources: Running::default(),
            turns: shared.turns.clone(),
            metric_hosts: shared.settings.metric_hosts.clone(),
            outlets,
            changes,
            sender,
            reporter,
            tasks,
        }
    }

    fn project(&self, (key, object): (ObjectKey, Option<Value>)) {
        if let Some(projector) = &self.projector {
            projector.project(key, object);
        }
    }

    /// The core knows of one change more: what it asks for from now on goes there, and not before.
    fn switch(&mut self, cluster: &ClusterRef) {
        self.kinds.end_all(cluster);
        self.checks.end_all(cluster);
        self.jobs.forget(cluster);
        self.watches.end_all(cluster);
        self.sources.end_all(cluster);
        match self.changes.try_recv() {
            Ok((changed, Some(site))) => drop(self.sites.insert(changed, site)),
            Ok((changed, None)) => drop(self.sites.remove(&changed)),
            Err(_) => {}
        }
    }

    fn follow_kinds(&mut self, cluster: ClusterRef) {
        let Some(site) = self.sites.get(&cluster).cloned() else { return };
        let (sender, of) = (self.sender.clone(), cluster.clone());
        let reporter = self.reporter.clone();
        let watch = async move {
            let client = site.client();
            let tell = |group: String| {
                site.forget_group(&group);
                sender.send(ExternalInput::Kinds(of.clone(), group)).is_ok()
            };
            let trouble = |trouble| own::tell_definitions(&reporter, &of, trouble);
            if definitions(client, tell, trouble).await { End::Done } else { End::Early }
        };
        self.kinds.begin(cluster, (), &self.tasks.spawn(Once::Definitions, watch));
    }

    /// Where nobody knows how to reach the cluster, that is said by a switch before long.
    fn check(
        &mut self,
        cluster: ClusterRef,
        id: CheckId,
        check: Arc<Check>,
        account: Option<ServiceAccount>,
    ) {
        let Some(site) = self.sites.get(&cluster).cloned() else { return };
        let (sender, turns, hosts) = (self.sender.clone(), self.turns.clone(), self.metric_hosts.clone());
        let (going, lease) =
            (self.jobs.begin((&cluster, id), &check, account.as_ref(), &site), self.lease.clone());
        let (of, passes) = (cluster.clone(), AtomicBool::default());
        let asking = Asking { cluster: of, id, check, account, sender, turns, going, lease, hosts, passes };
        self.checks.begin(cluster, id, &self.tasks.spawn(Once::Check, asking.run(site)));
    }

    /// The same of the cluster as a whole.
    fn check_cluster(&mut self, cluster: ClusterRef, id: CheckId, check: Arc<ClusterCheck>) {
        let Some(site) = self.sites.get(&cluster).cloned() else { return };
        let of = cluster.clone();
        let guard = Guard { cluster: of, id, check, sender: self.sender.clone(), turns: self.turns.clone() };
        self.checks.begin(cluster, id, &self.tasks.spawn(Once::Check, guard.run(site.client())));
    }

    fn call(&self, cluster: ClusterRef, id: CallId, request: Request) {
        let (sender, metrics, site) =
            (self.sender.clone(), self.metrics.clone(), self.sites.get(&cluster).cloned());
        let lease = self.lease.clone();
        self.tasks.spawn(Once::Call, async move {
            let failed = |text: &str| Reply::Failed(Failure::new(Class::Transient, text));
            let (kind, begun) = (kind(&request), Instant::now());
            let reply = match site {
                None => failed("nobody knows how to reach the cluster"),
                Some(site) => site.call(request, || lease.is_held()).await,
            };
            metrics.call("deployer", kind, outcome(&reply), begun.elapsed());
            if sender.send(ExternalInput::Reply(cluster, id, reply)).is_err() {
                tracing::trace!("the shard has ended");
            }
            End::Done
        });
    }
}

/// What metrics call it.
fn kind(request: &Request) -> &'static str {
    match request {
        Request::Inventories
        | Request::ReadInventory(_)
        | Request::WriteInventory { .. }
        | Request::DeleteInventory { .. } => "inventory",
        Request::Keep { .. } | Request::ReadKept { .. } | Request::DropKept(_) => "kept",
        Request::List(_) | Request::Along { .. } => "list",
        Request::Read(_) | Request::Content(_) => "read",
        Request::Prove { .. } => "prove",
        Request::Rehearse { .. } | Request::RehearseDelete { .. } => "rehearse",
        Request::Apply { .. } => "apply",
        Request::Delete { .. } | Request::Release { .. } => "delete",
    }
}

fn outcome(reply: &Reply) -> &'static str {
    match reply {
        Reply::Failed(Failure { class: Class::Conflict, .. }) => "conflict",
        Reply::Failed(Failure { class: Class::Transient, .. }) => "transient",
        Reply::Failed(Failure { class: Class::Unanswered, .. }) => "unanswered",
        Reply::Failed(Failure { class: Class::Refused | Class::Forbidden | Class::NoKind, .. }) => "refused",
        _ => "ok",
    }
}

impl Effects<Deployer> for Shell {
    fn effect(&mut self, effect: Effect) {
        match effect {
            // Changes are sent in the order in which the core is told of them.
            Effect::Switch(cluster) => self.switch(&cluster),
            Effect::FollowKinds(cluster) => self.follow_kinds(cluster),
            Effect::Call(cluster, id, request) => self.call(cluster, id, request),
            Effect::Check(cluster, id, check, account) => self.check(cluster, id, check, account),
            Effect::ClusterCheck(cluster, id, check) => self.check_cluster(cluster, id, check),
            Effect::EndCheck(cluster, id) => {
                self.checks.end(&cluster, &id);
                self.jobs.end(&cluster, id, &self.tasks, &self.lease);
            }
            Effect::Watch(cluster, gvk) => {
                if let Some(site) = self.sites.get(&cluster).cloned() {
                    let watch = drift::watch(site, cluster.clone(), gvk.clone(), self.sender.clone());
                    self.watches.begin(cluster, gvk, &self.tasks.spawn(Once::DriftWatch, watch));
                }
            }
            Effect::EndWatch(cluster, gvk) => self.watches.end(&cluster, &gvk),
            Effect::WatchSources(cluster, gvk) => {
                if let Some(site) = self.sites.get(&cluster).cloned() {
                    let watch = reload::watch(site, cluster.clone(), gvk.clone(), self.sender.clone());
                    self.sources.begin(cluster, gvk, &self.tasks.spawn(Once::SourceWatch, watch));
                }
            }
            Effect::EndWatchSources(cluster, gvk) => self.sources.end(&cluster, &gvk),
            Effect::Summary(summary) => {
                self.project(cluster_summary(&summary));
            }
            Effect::Configuration(configuration) => {
                if self
                    .outlets
                    .configurations
                    .as_ref()
                    .is_some_and(|sender| sender.send(configuration).is_err())
                {
                    tracing::debug!("the shard has ended");
                }
            }
            Effect::Report(report) => {
                self.project(cluster_report(&report));
            }
            Effect::Problem(problem) => self.reporter.problem(problem),
            Effect::Journal(line) => self.reporter.record(line),
            Effect::Drifted(event) => self.events.iter().for_each(|events| events.tell(event.clone())),
            Effect::Left(cluster, left) => {
                if self.outlets.lefts.as_ref().is_some_and(|lefts| lefts.send((cluster, left)).is_err()) {
                    tracing::debug!("the shard has ended");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_by_what_the_core_makes_of_its_answer() {
        let failed = |class| outcome(&Reply::Failed(Failure::new(class, "no")));
        assert_eq!((outcome(&Reply::Done), outcome(&Reply::Read(None))), ("ok", "ok"));
        assert_eq!((failed(Class::Conflict), failed(Class::Transient)), ("conflict", "transient"));
        assert_eq!((failed(Class::Unanswered), failed(Class::NoKind)), ("unanswered", "refused"));
    }
}
