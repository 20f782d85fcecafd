//! One task for each shard of `changes`.

use sluice_api::ClusterRef;
use sluice_bus::{
    Bus, Effects, Lease, Outputs, ReadSpec, ShardSpec, Supervisor, Tally, drive, interest_feed, replay,
};
use sluice_matcher_core::{Config, Effect, ExternalInput, Matcher};
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Shard, Stop, Table};
use sluice_runtime::{Context, Reporter};
use sluice_script::Limits;
use sluice_tasks::{End, Group, Once};
use tokio::sync::mpsc;

type Interests = sluice_bus::Feed<ClusterRef, (ClusterRef, sluice_protocol::interest::Interest)>;

/// Runs the matcher until the context stops.
///
/// # Errors
/// When the members of the stage cannot be joined, or a task has ended without which the process cannot go on.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let membership = context.join("matcher")?;
    let interests = interest_feed(&context.bus, context.tasks.stop().clone());
    let tally = Tally::default();
    sluice_runtime::count_shards(&context, &tally);
    let shards = context.bus.shards();
    let keys = move || Shard::all(shards).map(own_rows::shard_token).collect();
    let shared = context.clone();
    let work = move |key: String, lease: Lease| match_shard(shared.clone(), lease, interests.clone(), key);
    Supervisor::new(&context.tasks, membership, tally).run(keys, work).await;
    Ok(context.tasks.verdict()?)
}

async fn match_shard(context: Context, lease: Lease, interests: Interests, key: String) -> Option<Stop> {
    let shard = key.parse::<Shard>().ok()?;
    interests.synced().await;
    let bus = &context.bus;
    // Unbounded: interest rows are few, and a replay is one cluster's part of one shard.
    let (sender, externals) = mpsc::unbounded_channel();
    let mut rows = interests.subscribe();
    let interest = sender.clone();
    let tasks = context.tasks.group(&key);
    // What is known now comes first: the owner's view must cover what its predecessor saw.
    while let Ok((cluster, row)) = rows.try_recv() {
        interest.send(ExternalInput::Interest(cluster, row)).ok()?;
    }
    interest.send(ExternalInput::Told).ok()?;
    tasks.spawn(Once::ExternalInput, async move {
        while let Some((cluster, row)) = rows.recv().await {
            if interest.send(ExternalInput::Interest(cluster, row)).is_err() {
                return End::Done;
            }
        }
        End::Early
    });
    let input = ReadSpec::all(Table::Changes.stream(shard));
    let core = Matcher::new(Config {
        shard,
        shards: bus.shards(),
        input: bus.incarnation(&input.stream),
        outputs: bus.incarnations_of(Table::Reports),
        limits: Limits::default(),
    });
    let spec = ShardSpec {
        outputs: Outputs {
            table: Table::Reports,
            owner: key.clone(),
            own_rows: own_rows::matcher(shard),
            leaves: false,
        },
        input: Some(input),
    };
    let observer = Reporter::new(&context, key);
    let lost = tasks.lost();
    let mut effects = Shell { bus: bus.clone(), shard, sender, reporter: observer.clone(), tasks };
    let stopped = tokio::select! {
        stopped = drive(bus, &lease, &spec, core, externals, &mut effects, &observer) => stopped,
        () = lost => Some(Stop::Failed),
    };
    tracing::info!(shard = shard.get(), ?stopped, "a matcher shard has ended");
    stopped
}

struct Shell {
    bus: Bus,
    shard: Shard,
    sender: mpsc::UnboundedSender<ExternalInput>,
    reporter: Reporter,
    /// They end with the shard.
    tasks: Group,
}

impl Shell {
    /// Reads what the shard holds of a cluster once more.
    fn replay(&self, cluster: ClusterRef, id: u64) {
        let spec =
            ReadSpec::some(Table::Changes.stream(self.shard), own_rows::changes_of(&cluster, self.shard));
        let (bus, sender) = (self.bus.clone(), self.sender.clone());
        self.tasks.spawn(Once::Replay, async move {
            replay(&bus, &spec, &sender, ExternalInput::Replayed, ExternalInput::ReplayDone(cluster, id))
                .await;
            End::Done
        });
    }
}

impl Effects<Matcher> for Shell {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Problem(problem) => self.reporter.problem(problem),
            Effect::Replay(cluster, id) => self.replay(cluster, id),
        }
    }
}
