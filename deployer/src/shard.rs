//! One task for each shard of `desired`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use kube::Client;
use sluice_api::model::{Check, ClusterCheck};
use sluice_api::{ClusterRef, Gvk, ServiceAccount};
use sluice_bus::{Effects, Lease, MEMBER_TTL, Outputs, ReadSpec, ShardSpec, Supervisor, Tally, drive};
use sluice_deployer_core::{
    CheckId, Class, Config, Configuration, Deployer, Effect, ExternalInput, Failure, PruneGuard, Reply,
    Request, cluster_configuration, cluster_report, cluster_summary,
};
use sluice_kube::definitions;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{CallId, Incarnation, Shard, Stop, Table};
use sluice_runtime::{ClusterFeed, Context, Metrics, Projector, Reporter, count_shards};
use sluice_tasks::{End, Group, Kept, Once};
use tokio::sync::{mpsc, watch};

use crate::api::{Site, TIMEOUT};
use crate::checks::{Asking, Guard, Jobs, Turns};
use crate::own;
use crate::running::Running;
use crate::sites::Sites;
use crate::{access, drift, reload, restores, tokens};

/// What every shard needs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) context: Context,
    pub(crate) feed: ClusterFeed,
    pub(crate) sites: Sites,
    pub(crate) management: Arc<Site>,
    /// Changes when the management cluster went back.
    pub(crate) renewed: watch::Receiver<u64>,
    pub(crate) projector: Projector,
    turns: Turns,
    settings: Settings,
}

/// How a deployer works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much may go with one change.
    pub prune_guard: Option<PruneGuard>,
    /// Hosts of the own network that checks of tenants may ask for numbers.
    pub metric_hosts: Arc<OwnHosts>,
}

/// Runs the deployer until the context stops.
///
/// # Errors
/// When the members of the stage cannot be joined, or a task has ended without which the process cannot go on.
pub async fn run(
    context: Context,
    management: Client,
    feed: ClusterFeed,
    settings: Settings,
) -> anyhow::Result<()> {
    let membership = context.join("deployer")?;
    let (renew, renewed) = watch::channel(0);
    let shared = Shared {
        context: context.clone(),
        feed: feed.clone(),
        sites: Sites::default(),
        management: Site::management(management.clone()),
        renewed,
        projector: Projector::start(&context, management, "sluice-deployer"),
        turns: Turns::default(),
        settings,
    };
    context.wait_for("the registered clusters", async move { feed.synced().await });
    let (all, renew, stop) = (shared.clone(), Arc::new(renew), context.tasks.stop().clone());
    context.tasks.keep(Kept::Restores, move || {
        let (sites, management, feed) = (all.sites.clone(), all.management.clone(), all.feed.clone());
        restores::follow(sites, management, feed, renew.clone(), stop.clone())
    });
    let tally = Tally::default();
    count_shards(&context, &tally);
    let shards = context.bus.shards();
    let keys = move || Shard::all(shards).map(own_rows::shard_token).collect();
    let work = move |key: String, lease: Lease| deploy_shard(shared.clone(), lease, key);
    Supervisor::new(&context.tasks, membership, tally).run(keys, work).await;
    Ok(context.tasks.verdict()?)
}

async fn deploy_shard(shared: Shared, lease: Lease, key: String) -> Option<Stop> {
    let shard = key.parse::<Shard>().ok()?;
    let bus = &shared.context.bus;
    shared.feed.synced().await;
    // Unbounded: at most one answer for each call in flight, and those are limited for each cluster.
    let (sender, externals) = mpsc::unbounded_channel();
    let (accesses, changes) = mpsc::unbounded_channel();
    let reporter = Reporter::new(&shared.context, key.clone());
    let tasks = shared.context.tasks.group(&key);
    tasks.spawn(
        Once::Access,
        access::follow(shared.clone(), shard, sender.clone(), accesses, reporter.clone()),
    );
    let (all, held, told) = (shared.clone(), lease.clone(), reporter.clone());
    tasks.keep(Kept::Tokens, move || tokens::follow(all.clone(), shard, held.clone(), told.clone()));
    let input = ReadSpec::all(Table::Desired.stream(shard));
    let incarnation = bus.incarnation(&input.stream);
    let spec = ShardSpec {
        outputs: Outputs {
            table: Table::Status,
            owner: key,
            own_rows: own_rows::deployer(shard),
            leaves: false,
        },
        input: Some(input),
    };
    let core = core(&shared, shard, incarnation);
    let observer = reporter.clone();
    let lost = tasks.lost();
    let mut effects = Shell {
        lease: lease.clone(),
        metrics: shared.context.metrics.clone(),
        projector: shared.projector.clone(),
        sites: HashMap::new(),
        kinds: Running::default(),
        checks: Running::default(),
        jobs: Jobs::default(),
        watches: Running::default(),
        sources: Running::default(),
        turns: shared.turns.clone(),
        metric_hosts: shared.settings.metric_hosts.clone(),
        configurations: write_configurations(shared.projector.clone(), &tasks),
        changes,
        sender,
        reporter,
        tasks,
    };
    let stopped = tokio::select! {
        stopped = drive(bus, &lease, &spec, core, externals, &mut effects, &observer) => stopped,
        () = lost => Some(Stop::Failed),
    };
    tracing::info!(shard = shard.get(), ?stopped, "a deployer shard has ended");
    stopped
}

/// What decides for a shard, whose input has this incarnation.
fn core(shared: &Shared, shard: Shard, input: Incarnation) -> Deployer {
    Deployer::new(Config {
        shard,
        shards: shared.context.bus.shards(),
        input,
        former_calls: i64::try_from((TIMEOUT + MEMBER_TTL).as_micros()).unwrap_or(i64::MAX),
        prune_guard: shared.settings.prune_guard,
        forget_after: i64::try_from(shared.context.forget_after.as_micros()).unwrap_or(i64::MAX),
    })
}

/// Writes everything that is on a cluster as one object, apart from the shard's work: it may be large.
fn write_configurations(projector: Projector, tasks: &Group) -> mpsc::UnboundedSender<Configuration> {
    // Unbounded: one for each cluster in five seconds.
    let (sender, mut receiver) = mpsc::unbounded_channel::<Configuration>();
    tasks.spawn(Once::Configurations, async move {
        while let Some(configuration) = receiver.recv().await {
            let (key, object) = cluster_configuration(&configuration);
            projector.project(key, object);
        }
        End::Done
    });
    sender
}

struct Shell {
    lease: Lease,
    metrics: Metrics,
    projector: Projector,
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
    configurations: mpsc::UnboundedSender<Configuration>,
    changes: mpsc::UnboundedReceiver<(ClusterRef, Option<Arc<Site>>)>,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
    /// Dropped with the shard, and every call with it.
    tasks: Group,
}

impl Shell {
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
                let (key, object) = cluster_summary(&summary);
                self.projector.project(key, object);
            }
            Effect::Configuration(configuration) => {
                if self.configurations.send(configuration).is_err() {
                    tracing::debug!("the shard has ended");
                }
            }
            Effect::Report(report) => {
                let (key, object) = cluster_report(&report);
                self.projector.project(key, object);
            }
            Effect::Problem(problem) => self.reporter.problem(problem),
            Effect::Journal(line) => self.reporter.record(line),
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
