//! One task for each shard of `changes`.

use sluice_api::ClusterRef;
use sluice_bus::{
    Bus, Effects, Lease, Load, Outputs, ShardSpec, Supervisor, Tally, drive, interest_feed, replay,
};
use sluice_matcher_core::{Config, Effect, Matcher, Side};
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Stop, Table};
use sluice_runtime::{Context, Reporter};
use sluice_script::Limits;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

type Interests = sluice_bus::Feed<ClusterRef, (ClusterRef, sluice_protocol::interest::Interest)>;

/// Runs the matcher until the context stops.
///
/// # Errors
/// When the members of the stage cannot be joined.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let membership = context.join("matcher")?;
    let interests = interest_feed(&context.bus, context.stop.clone());
    let tally = Tally::default();
    sluice_runtime::count_shards(&context, &tally);
    let shards = context.bus.shards();
    let keys = move || (0..shards).map(own_rows::shard_token).collect();
    let shared = context.clone();
    let work = move |key: String, lease: Lease| match_shard(shared.clone(), lease, interests.clone(), key);
    Supervisor::new(membership, tally).run(keys, work, context.stop.clone()).await;
    Ok(())
}

async fn match_shard(context: Context, lease: Lease, interests: Interests, key: String) -> Option<Stop> {
    let shard = key.parse::<u16>().ok()?;
    interests.synced().await;
    let bus = &context.bus;
    // Unbounded: interest rows are few, and a replay is one cluster's part of one shard.
    let (sender, sides) = mpsc::unbounded_channel();
    let mut rows = interests.subscribe();
    let interest = sender.clone();
    let mut tasks = JoinSet::new();
    // What is known now comes first: the owner's view must cover what its predecessor saw.
    while let Ok((cluster, row)) = rows.try_recv() {
        interest.send(Side::Interest(cluster, row)).ok()?;
    }
    interest.send(Side::Told).ok()?;
    tasks.spawn(async move {
        while let Some((cluster, row)) = rows.recv().await {
            if interest.send(Side::Interest(cluster, row)).is_err() {
                return;
            }
        }
    });
    let input = Load::all(Table::Changes.stream(shard));
    let core = Matcher::new(Config {
        shard,
        shards: bus.shards(),
        input: bus.incarnation(&input.stream),
        outputs: bus.incarnations_of(Table::Reports),
        limits: Limits::default(),
    });
    let spec = ShardSpec {
        outputs: Outputs { table: Table::Reports, owner: key.clone(), own_rows: own_rows::matcher(shard) },
        input: Some(input),
    };
    let observer = Reporter::new(&context, key);
    let (replays, wanted) = mpsc::unbounded_channel();
    tasks.spawn(replay_each(bus.clone(), shard, sender, wanted));
    let mut effects = Shell { replays, reporter: observer.clone() };
    let stopped = drive(bus, &lease, &spec, core, sides, &mut effects, &observer).await;
    tracing::info!(shard, ?stopped, "a matcher shard has ended");
    stopped
}

/// Reads what the shard holds of a cluster once more, for each that is wanted.
async fn replay_each(
    bus: Bus,
    shard: u16,
    sender: mpsc::UnboundedSender<Side>,
    mut wanted: mpsc::UnboundedReceiver<(ClusterRef, u64)>,
) {
    let mut running = JoinSet::new();
    loop {
        let (cluster, id) = tokio::select! {
            Some(_) = running.join_next() => continue,
            next = wanted.recv() => match next {
                Some(next) => next,
                None => return,
            },
        };
        let load = Load::some(Table::Changes.stream(shard), own_rows::changes_of(&cluster, shard));
        let (bus, sender) = (bus.clone(), sender.clone());
        running.spawn(async move {
            replay(&bus, &load, &sender, Side::Replayed, Side::ReplayDone(cluster, id)).await;
        });
    }
}

struct Shell {
    replays: mpsc::UnboundedSender<(ClusterRef, u64)>,
    reporter: Reporter,
}

impl Effects<Matcher> for Shell {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Problem(problem) => self.reporter.problem(problem),
            Effect::Happened(line) => self.reporter.happened(line),
            Effect::Replay(cluster, id) => {
                if self.replays.send((cluster, id)).is_err() {
                    tracing::debug!("the shard has ended");
                }
            }
        }
    }
}
