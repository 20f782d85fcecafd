//! One shard for each cluster.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sluice_agent_core::{Agent, Config, ExternalInput};
use sluice_api::ClusterRef;
use sluice_bus::{
    Bus, Lease, Outputs, OwnAgents, ShardSpec, Supervisor, Tally, drive, interest_feed, interest_feed_of,
};
use sluice_kube::Connection;
use sluice_protocol::interest::Interest;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{About, Problem, Role, Stop, Table};
use sluice_runtime::{Access, ClusterFeed, Context, Reporter};
use sluice_tasks::{End, Kept, Once};
use tokio::sync::{Notify, mpsc};

use crate::leaving::{Leaver, Leaving};
use crate::watches::Watches;

/// Pause before a cluster without a usable kubeconfig is looked at again.
const AGAIN: Duration = Duration::from_secs(1);

type Interests = sluice_bus::Feed<ClusterRef, (ClusterRef, Interest)>;

/// What every cluster's task needs.
#[derive(Clone)]
struct Shared {
    context: Context,
    feed: ClusterFeed,
    interests: Interests,
}

// D-0805: one agent serves one cluster or many.
/// Runs the agent until the context stops; `only` restricts it to one cluster. An agent that serves all clusters leaves
/// those alone that have one of their own.
///
/// # Errors
/// When the members of the stage cannot be joined, or a task has ended without which the process cannot go on.
pub async fn run(context: Context, feed: ClusterFeed, only: Option<ClusterRef>) -> anyhow::Result<()> {
    let group = Role::Agent(only.clone()).group();
    let membership = context.join(&group)?;
    let interests = match &only {
        Some(cluster) => interest_feed_of(&context.bus, cluster, context.tasks.stop().clone()),
        None => interest_feed(&context.bus, context.tasks.stop().clone()),
    };
    let shared = Shared { context: context.clone(), feed: feed.clone(), interests };
    let synced = feed.clone();
    context.wait_for("the registered clusters", async move { synced.synced().await });
    let tally = Tally::default();
    sluice_runtime::count_shards(&context, &tally);
    let own_agents = only.is_none().then(|| OwnAgents::listen(&context.bus));
    // Only who serves all clusters takes away what is left of one: an agent of its own may not write interest rows.
    let (told, sweeps) = (shared.interests.clone(), only.is_none());
    let left = move |served: &BTreeSet<ClusterRef>| {
        told.keys_where(|cluster, (_, row)| sweeps && row.gone && !served.contains(cluster))
    };
    let keys = || {
        let left_alone = own_agents.as_ref().map(OwnAgents::clusters).unwrap_or_default();
        let served = |cluster: &ClusterRef| match &only {
            Some(only) => only == cluster,
            // Nobody reaches one that pulls from outside.
            None => !left_alone.contains(cluster) && !feed.get(cluster).is_some_and(|access| access.pulls),
        };
        let registered: BTreeSet<_> = feed.keys().into_iter().collect();
        let left = left(&registered);
        registered.into_iter().chain(left).filter(served).map(|cluster| cluster.to_string()).collect()
    };
    let work = move |key: String, lease: Lease| watch_cluster(shared.clone(), lease, key);
    Supervisor::new(&context.tasks, membership, tally).run(keys, work).await;
    Ok(context.tasks.verdict()?)
}

async fn watch_cluster(shared: Shared, lease: Lease, key: String) -> Option<Stop> {
    let cluster = key.parse::<ClusterRef>().ok()?;
    let reporter = Reporter::new(&shared.context, key);
    if shared.feed.get(&cluster).is_none() {
        return leave_cluster(&shared, &lease, &cluster, reporter).await;
    }
    let mut access = shared.feed.subscribe_key(cluster.clone());
    let (kubeconfig, trust) = loop {
        let now = access.recv().await?;
        if let Some(kubeconfig) = now.kubeconfig {
            break (kubeconfig, now.trust);
        }
    };
    let connection = match &kubeconfig {
        Ok(text) => Connection::open(text, trust).await,
        Err(error) => Err(error.clone()),
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => {
            reporter.problem(Problem::open("agent", &cluster, About::Kubeconfig, error));
            tokio::time::sleep(AGAIN).await;
            return None;
        }
    };
    reporter.problem(Problem::resolved("agent", &cluster, About::Kubeconfig));
    shared.interests.synced().await;
    tokio::select! {
        stopped = own_cluster(&shared, &lease, &cluster, connection.client(), reporter) => stopped,
        // Another kubeconfig, or none: the supervisor restarts with what is there then.
        () = changed(&mut access, kubeconfig, &connection) => None,
    }
}

/// Waits for a kubeconfig that may lead elsewhere. A newer token of the same account is used from then on, and changes nothing.
async fn changed(
    access: &mut mpsc::UnboundedReceiver<Access>,
    mut known: Result<Arc<str>, String>,
    connection: &Connection,
) {
    while let Some(Access { kubeconfig, trust, .. }) = access.recv().await {
        match kubeconfig {
            Some(same) if same == known => {}
            Some(Ok(text)) if connection.renew(&text, trust) => known = Ok(text),
            _ => return,
        }
    }
}

/// Only the newest row counts: an older one could end a watch that the newest wants.
async fn tell_interest(
    mut interests: mpsc::UnboundedReceiver<(ClusterRef, Interest)>,
    sender: mpsc::UnboundedSender<ExternalInput>,
) -> End {
    while let Some((_, mut row)) = interests.recv().await {
        while let Ok((_, newer)) = interests.try_recv() {
            row = newer;
        }
        if sender.send(ExternalInput::Interest(row)).is_err() {
            return End::Done;
        }
    }
    End::Early
}

/// Takes away what is left on the bus of a cluster that is no longer registered.
async fn leave_cluster(
    shared: &Shared,
    lease: &Lease,
    cluster: &ClusterRef,
    reporter: Reporter,
) -> Option<Stop> {
    let bus = &shared.context.bus;
    // Unbounded: interest rows only.
    let (sender, externals) = mpsc::unbounded_channel();
    let tasks = shared.context.tasks.group(&cluster.to_string());
    tasks.spawn(Once::ExternalInput, tell_interest(shared.interests.subscribe_key(cluster.clone()), sender));
    let (leaving, wanted) = (Leaving::new(bus, cluster), Arc::new(Notify::new()));
    let mut leaver = Leaver { leaving: leaving.clone(), reporter: reporter.clone(), wanted: wanted.clone() };
    let (core, spec) = owner(bus, cluster, true);
    let stopped = tokio::select! {
        stopped = drive(bus, lease, &spec, core, externals, &mut leaver, &reporter) => stopped,
        () = tasks.lost() => Some(Stop::Failed),
        () = leaving.done() => None,
        () = wanted.notified() => None,
    };
    tracing::info!(%cluster, ?stopped, "what was left of a cluster has been taken away");
    stopped
}

/// The owner of a cluster's rows.
fn owner(bus: &Bus, cluster: &ClusterRef, leaves: bool) -> (Agent, ShardSpec) {
    let core = Agent::new(Config {
        cluster: cluster.clone(),
        shards: bus.shards(),
        outputs: bus.incarnations_of(Table::Changes),
    });
    let outputs = Outputs {
        table: Table::Changes,
        owner: cluster.to_string(),
        own_rows: own_rows::agent(cluster),
        leaves,
    };
    (core, ShardSpec { outputs, input: None })
}

async fn own_cluster(
    shared: &Shared,
    lease: &Lease,
    cluster: &ClusterRef,
    client: kube::Client,
    reporter: Reporter,
) -> Option<Stop> {
    let bus = &shared.context.bus;
    // Unbounded: the watches are as fast as their server, and the core only compares and publishes.
    let (sender, externals) = mpsc::unbounded_channel();
    let interests = shared.interests.subscribe_key(cluster.clone());
    let tasks = shared.context.tasks.group(&cluster.to_string());
    tasks.spawn(Once::ExternalInput, tell_interest(interests, sender.clone()));
    tasks.keep(Kept::Capabilities, {
        let (cluster, client, sender, reporter) =
            (cluster.clone(), client.clone(), sender.clone(), reporter.clone());
        move || crate::capabilities::follow(cluster.clone(), client.clone(), sender.clone(), reporter.clone())
    });
    let (core, spec) = owner(bus, cluster, false);
    let leaving = Leaving::new(bus, cluster);
    let observer = reporter.clone();
    let mut watches = Watches {
        cluster: cluster.clone(),
        client,
        sender,
        reporter,
        tasks: shared.context.tasks.clone(),
        running: HashMap::new(),
        bus: bus.clone(),
        listening: None,
        leaving: leaving.clone(),
    };
    let stopped = tokio::select! {
        stopped = drive(bus, lease, &spec, core, externals, &mut watches, &observer) => stopped,
        () = tasks.lost() => Some(Stop::Failed),
        // The renderer has not heard yet that it is registered again: what it wants then is a new beginning.
        () = leaving.done() => None,
    };
    tracing::info!(%cluster, ?stopped, "the agent of a cluster has ended");
    stopped
}
