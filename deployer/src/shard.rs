//! One task for each shard of `desired`.

use std::sync::{Arc, OnceLock};

use kube::Client;
use sluice_api::ClusterRef;
use sluice_bus::{
    Lease, MEMBER_TTL, Membership, Outputs, OwnAgents, ReadSpec, ShardSpec, Supervisor, Tally, drive,
    interest_feed_of,
};
use sluice_deployer_core::{
    Config, Configuration, Deployer, Left, PruneGuard, Serves, cluster_configuration,
};
use sluice_kube::outside::OwnHosts;
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Incarnation, Role, Shard, Stop, Table};
use sluice_runtime::{ClusterFeed, Context, Projector, Reporter, count_shards, registered_access};
use sluice_tasks::{End, Group, Kept, Once};
use tokio::sync::{mpsc, watch};

use crate::api::{Site, TIMEOUT};
use crate::checks::Turns;
use crate::events::Events;
use crate::shell::{Outlets, Shell};
use crate::sites::Sites;
use crate::{access, departures, restores, shown, tokens};

/// What every shard needs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) context: Context,
    pub(crate) feed: ClusterFeed,
    pub(crate) sites: Sites,
    /// What only those have who are outside of their clusters.
    pub(crate) outside: Option<Outside>,
    /// The cluster that this process is in.
    only: Option<ClusterRef>,
    pub(crate) turns: Turns,
    pub(crate) settings: Settings,
}

/// The management cluster.
#[derive(Clone)]
pub(crate) struct Outside {
    pub(crate) management: Arc<Site>,
    /// Changes when it went back.
    pub(crate) renewed: watch::Receiver<u64>,
    pub(crate) projector: Projector,
    pub(crate) events: Events,
    /// Which deployers that are in their clusters are heard, once a cluster pulls.
    heard: Arc<OnceLock<OwnAgents>>,
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
        outside: Some(Outside {
            management: Site::management(management.clone()),
            renewed,
            events: Events::start(&context, management.clone()),
            projector: Projector::start(&context, management, "sluice-deployer"),
            heard: Arc::default(),
        }),
        only: None,
        turns: Turns::default(),
        settings,
    };
    watch_restores(&shared, renew);
    let shards = context.bus.shards();
    let keys = move || Shard::all(shards).map(own_rows::shard_token).collect();
    Box::pin(work(shared, membership, keys)).await
}

// D-0213: a cluster that pulls has a deployer of its own.
/// The same in a cluster, which `kubeconfig` reaches, for this one alone: it needs nothing but the bus.
///
/// # Errors
/// As [`run`].
pub async fn run_inside(
    context: Context,
    cluster: ClusterRef,
    kubeconfig: &str,
    settings: Settings,
) -> anyhow::Result<()> {
    let membership = context.join(&Role::Deployer(Some(cluster.clone())).group())?;
    let interests = interest_feed_of(&context.bus, &cluster, context.tasks.stop().clone());
    let feed = registered_access(&interests, &context.tasks, &cluster, kubeconfig);
    let shared = Shared {
        context: context.clone(),
        feed,
        sites: Sites::default(),
        outside: None,
        only: Some(cluster.clone()),
        turns: Turns::default(),
        settings,
    };
    watch_restores(&shared, watch::channel(0).0);
    Box::pin(work(shared, membership, move || vec![cluster.to_string()])).await
}

/// Sees that clusters were restored from a backup.
fn watch_restores(shared: &Shared, renew: watch::Sender<u64>) {
    let (all, renew, stop) = (shared.clone(), Arc::new(renew), shared.context.tasks.stop().clone());
    shared.context.tasks.keep(Kept::Restores, move || {
        let management = all.outside.as_ref().map(|outside| outside.management.clone());
        restores::follow(all.sites.clone(), management, all.feed.clone(), renew.clone(), stop.clone())
    });
}

/// Works on shards, or on the one cluster, until the context stops.
async fn work(
    shared: Shared,
    membership: Membership,
    keys: impl Fn() -> Vec<String> + Send + 'static,
) -> anyhow::Result<()> {
    let (context, feed) = (shared.context.clone(), shared.feed.clone());
    context.wait_for("the registered clusters", async move { feed.synced().await });
    let tally = Tally::default();
    count_shards(&context, &tally);
    let work = move |key: String, lease: Lease| deploy(shared.clone(), lease, key);
    Supervisor::new(&context.tasks, membership, tally).run(keys, work).await;
    Ok(context.tasks.verdict()?)
}

/// What one owner works on.
pub(crate) struct Piece {
    shard: Shard,
    pub(crate) serves: Serves,
    spec: ShardSpec,
}

impl Piece {
    /// A shard, or the cluster that this process is in.
    fn of(shared: &Shared, key: String) -> Option<Self> {
        let shards = shared.context.bus.shards();
        let Some(cluster) = shared.only.clone() else {
            let shard = key.parse::<Shard>().ok()?;
            let others = shown::pulling(&shared.feed, shard, shards);
            let input = ReadSpec::all(Table::Desired.stream(shard));
            return Some(Self {
                serves: Serves { only: None, others },
                spec: spec(key, own_rows::deployer(shard), input),
                shard,
            });
        };
        let shard = cluster_shard(&cluster, shards);
        let input = ReadSpec::of_cluster(&cluster, shard);
        let spec = spec(key, own_rows::deployer_of(&cluster), input);
        Some(Self { shard, serves: Serves { only: Some(cluster), ..Serves::default() }, spec })
    }
}

fn spec(owner: String, own_rows: Vec<String>, input: ReadSpec) -> ShardSpec {
    ShardSpec {
        outputs: Outputs { table: Table::Status, owner, own_rows, leaves: false },
        input: Some(input),
    }
}

async fn deploy(shared: Shared, lease: Lease, key: String) -> Option<Stop> {
    let bus = &shared.context.bus;
    shared.feed.synced().await;
    let Piece { shard, serves, spec } = Piece::of(&shared, key.clone())?;
    // Unbounded: at most one answer for each call in flight, and those are limited for each cluster.
    let (sender, externals) = mpsc::unbounded_channel();
    let (accesses, changes) = mpsc::unbounded_channel();
    let reporter = Reporter::new(&shared.context, key.clone());
    let tasks = shared.context.tasks.group(&key);
    tasks.spawn(
        Once::Access,
        access::follow(shared.clone(), shard, sender.clone(), accesses, reporter.clone()),
    );
    let is_other = shown::others(&shared, shard, serves.others.clone());
    let outlets = outside(&shared, shard, &serves, &lease, &reporter, &tasks);
    let incarnation = bus.incarnation(&Table::Desired.stream(shard));
    let core = core(&shared, shard, serves, incarnation);
    let observer = reporter.clone();
    let lost = tasks.lost();
    let mut effects = Shell::new(&shared, lease.clone(), outlets, (sender, changes), reporter, tasks);
    let stopped = tokio::select! {
        stopped = drive(bus, &lease, &spec, core, externals, &mut effects, &observer) => stopped,
        () = lost => Some(Stop::Failed),
        // It begins again with what is its own then.
        () = is_other => None,
    };
    tracing::info!(shard = shard.get(), ?stopped, "a deployer shard has ended");
    stopped
}

/// Begins what only those do who are outside of their clusters.
fn outside(
    shared: &Shared,
    shard: Shard,
    serves: &Serves,
    lease: &Lease,
    reporter: &Reporter,
    tasks: &Group,
) -> Outlets {
    let Some(outside) = shared.outside.clone() else { return Outlets::default() };
    let (all, held, told, of) = (shared.clone(), lease.clone(), reporter.clone(), outside.clone());
    tasks.keep(Kept::Tokens, move || {
        tokens::follow(all.clone(), of.clone(), shard, held.clone(), told.clone())
    });
    let outlets = Outlets {
        configurations: Some(write_configurations(outside.projector.clone(), tasks)),
        lefts: Some(keep_registrations((shared, &outside), shard, lease, reporter, tasks)),
    };
    if !serves.others.is_empty() {
        let (bus, others) = (shared.context.bus.clone(), serves.others.clone());
        let projector = outside.projector.clone();
        tasks
            .keep(Kept::Shown, move || shown::project(bus.clone(), shard, others.clone(), projector.clone()));
        let heard = outside.heard.get_or_init(|| shown::listen(&shared.context.bus)).clone();
        let (others, reporter) = (serves.others.clone(), reporter.clone());
        tasks.keep(Kept::Heard, move || {
            let projector = outside.projector.clone();
            shown::tell_silent(heard.clone(), others.clone(), projector, reporter.clone())
        });
    }
    outlets
}

/// What decides for a shard, whose input has this incarnation.
fn core(shared: &Shared, shard: Shard, serves: Serves, input: Incarnation) -> Deployer {
    Deployer::new(Config {
        shard,
        shards: shared.context.bus.shards(),
        input,
        serves,
        former_calls: i64::try_from((TIMEOUT + MEMBER_TTL).as_micros()).unwrap_or(i64::MAX),
        prune_guard: shared.settings.prune_guard,
        forget_after: i64::try_from(shared.context.forget_after.as_micros()).unwrap_or(i64::MAX),
    })
}

/// Keeps registrations that ask for it until nothing is left on their clusters, as is told from now on.
fn keep_registrations(
    (shared, outside): (&Shared, &Outside),
    shard: Shard,
    lease: &Lease,
    reporter: &Reporter,
    tasks: &Group,
) -> mpsc::UnboundedSender<(ClusterRef, Left)> {
    // Unbounded: of a cluster that leaves, each time less is left.
    let (sender, lefts) = mpsc::unbounded_channel();
    let (of, all) = (outside.clone(), shared.clone());
    let keeping = departures::follow((all, of), shard, lefts, lease.clone(), reporter.clone());
    tasks.spawn(Once::Departures, keeping);
    sender
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
