//! One task for each shard of `reports`.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use sluice_api::model::Onboarding;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_bus::{
    Effects, InterestWriter, Lease, Outputs, ReadSpec, ShardSpec, Supervisor, Tally, drive, interest_feed,
    problem_feed,
};
use sluice_protocol::interest::Interest;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{About, Problem, Revision, Shard, Stop, Table};
use sluice_renderer_core::{Config, Effect, ExternalInput, Renderer, Salt, WithdrawGuard};
use sluice_runtime::{Context, Projector, Reporter, count_shards};
use sluice_tasks::{End, Group, Kept, Once};
use sluice_template::{Engine, Limits};
use tokio::sync::mpsc;

use crate::charts::{Asking, ChartSettings, Charts};
use crate::engine::Waiting;
use crate::history::History;
use crate::management::{Generated, Management};
use crate::object_status::Problems;
use crate::resources::{Reading, Registry};
use crate::rights::{Inquirer, Rights};
use crate::status::Statuses;
use crate::{capabilities, leftovers, management, object_status, salt, status};

/// Pause before an interest row that could not be written is written again.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// What is waited for: the random salt of templates.
const SALT: &str = "the Secret with the random salt in the management cluster";
/// What is waited for after a restore.
const PAST: &str = "the management cluster, which may be an older one: sluice problems says more";

/// What every shard needs.
#[derive(Clone)]
struct Shared {
    context: Context,
    written: Management,
    generated: Generated,
    statuses: Statuses,
    problems: Problems,
    interests: sluice_bus::Feed<ClusterRef, (ClusterRef, Interest)>,
    capabilities: capabilities::Known,
    projector: Projector,
    status_writer: Projector,
    resources: Registry,
    charts: Charts,
    rights: Rights,
    tera: Arc<dyn Engine>,
    salt: Salt,
    /// The mark of the restore since which versions of the management cluster count.
    restored: Revision,
    auto_deploys: bool,
    withdraw_guard: Option<WithdrawGuard>,
}

impl Shared {
    /// A renderer decides from everything or not at all: every feed must have been read once.
    async fn synced(&self) {
        let (written, statuses) = (self.written.synced(), self.statuses.synced());
        tokio::join!(written, statuses, self.interests.synced(), self.capabilities.synced());
    }
}

/// How a renderer works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where charts come from.
    pub charts: ChartSettings,
    /// Whether nothing is rendered while the management cluster is older than what renderers have worked with.
    pub guards_history: bool,
    /// Whether what a profile depends on goes where the profile goes.
    pub auto_deploys: bool,
    /// How much of the fleet is withdrawn at once without anybody being asked.
    pub withdraw_guard: Option<WithdrawGuard>,
    /// Which clusters of Cluster API are managed clusters.
    pub onboarding: Onboarding,
}

/// Runs the renderer until the context stops.
///
/// # Errors
/// When the members of the stage cannot be joined, or a task has ended without which the process cannot go on.
pub async fn run(context: Context, client: Client, settings: Settings) -> anyhow::Result<()> {
    // Said before the first wait ends: a process that waits for more is not ready in between.
    context.ready.wait_for(SALT);
    let history = settings.guards_history.then(|| History::new(&context, &client));
    let (written, generated) = management::follow(&context, &client, history.as_ref(), &settings.onboarding);
    let (synced, stop) = (written.clone(), context.tasks.stop());
    context.wait_for("the management cluster", async move { synced.synced().await });
    let told = Reporter::new(&context, "management");
    let Some(salt) = stop.run_until_cancelled(salt::salt(&client, &told)).await else { return Ok(()) };
    let mut restored = Revision::NONE;
    if let Some(history) = history {
        context.ready.wait_for(PAST);
        context.ready.done(SALT);
        let Some(begun) = stop.run_until_cancelled(history.begin()).await else { return Ok(()) };
        restored = begun;
        context.ready.done(PAST);
        history.keep(&context);
    }
    context.ready.done(SALT);
    let membership = context.join("renderer")?;
    let shared = Shared {
        statuses: status::follow(&context.bus, stop.clone()),
        problems: problem_feed(&context.bus, stop.clone()),
        interests: interest_feed(&context.bus, stop.clone()),
        capabilities: capabilities::follow(&context.bus, stop.clone()),
        projector: Projector::start(&context, client.clone(), "sluice-renderer"),
        status_writer: Projector::start(&context, client.clone(), "sluice-status"),
        rights: Rights::start(client.clone(), &context.tasks),
        resources: Registry::new(client, &context),
        charts: Charts::new(settings.charts, context.tasks.clone()),
        tera: Arc::new(Waiting::default()),
        salt,
        restored,
        auto_deploys: settings.auto_deploys,
        withdraw_guard: settings.withdraw_guard,
        written,
        generated,
        context: context.clone(),
    };
    let tally = Tally::default();
    count_shards(&context, &tally);
    let shards = context.bus.shards();
    let keys = move || Shard::all(shards).map(own_rows::shard_token).collect();
    let work = move |key: String, lease: Lease| render_shard(shared.clone(), lease, key);
    Supervisor::new(&context.tasks, membership, tally).run(keys, work).await;
    Ok(context.tasks.verdict()?)
}

async fn render_shard(shared: Shared, lease: Lease, key: String) -> Option<Stop> {
    let shard = key.parse::<Shard>().ok()?;
    let bus = &shared.context.bus;
    shared.synced().await;
    // Unbounded: the core only updates its memory and renders, it waits for nothing.
    let (sender, externals) = mpsc::unbounded_channel();
    let tasks = shared.context.tasks.group(&key);
    let (all, place) = (shared.clone(), (shard, bus.shards()));
    tasks.keep(Kept::Verdicts, move || {
        let (problems, statuses) = (all.problems.clone(), all.statuses.clone());
        let written = (all.written.clone(), all.generated.clone());
        let (known, projector) = (all.capabilities.clone(), all.status_writer.clone());
        object_status::keep(written, problems, statuses, (known, all.auto_deploys), projector, place)
    });
    forward(&tasks, shared.written.subscribe(), &sender, ExternalInput::Management);
    forward(&tasks, shared.interests.subscribe(), &sender, |(cluster, row)| {
        ExternalInput::Interest(cluster, row)
    });
    forward(&tasks, shared.capabilities.subscribe(), &sender, |(cluster, known)| {
        ExternalInput::Capabilities(cluster, known)
    });
    let statuses = shared.statuses.subscribe_where(move |_, status| status.origin == Some(shard));
    forward(&tasks, statuses, &sender, |status| ExternalInput::Status(status.row));
    tell_fleet_size(&shared, &tasks, &sender);
    sender.send(ExternalInput::Told).ok()?;
    let input = ReadSpec::all(Table::Reports.stream(shard));
    let core = core(&shared, shard, &input);
    let spec = ShardSpec {
        outputs: Outputs {
            table: Table::Desired,
            owner: key.clone(),
            own_rows: own_rows::renderer(shard),
            leaves: false,
        },
        input: Some(input),
    };
    let observer = Reporter::new(&shared.context, key);
    let mut effects = Shell {
        reporter: observer.clone(),
        projector: shared.projector.clone(),
        statuses: shared.status_writer.clone(),
        resources: shared.resources.reading(shard, sender.clone()),
        charts: shared.charts.asking(shard, sender.clone()),
        rights: shared.rights.inquirer(shard, sender.clone()),
        generated: shared.generated.clone(),
        interests: write_interests(InterestWriter::new(bus), observer.clone(), &tasks),
        wanted: BTreeSet::new(),
    };
    let stopped = tokio::select! {
        stopped = drive(bus, &lease, &spec, core, externals, &mut effects, &observer) => stopped,
        () = tasks.lost() => Some(Stop::Failed),
    };
    tracing::info!(shard = shard.get(), ?stopped, "a renderer shard has ended");
    stopped
}

/// What decides for a shard.
fn core(shared: &Shared, shard: Shard, input: &ReadSpec) -> Renderer {
    let bus = &shared.context.bus;
    let core = Renderer::new(Config {
        shard,
        shards: bus.shards(),
        input: bus.incarnation(&input.stream),
        outputs: bus.incarnations_of(Table::Desired),
        tombstone_ttl: i64::try_from(bus.tombstone_ttl().as_micros()).unwrap_or(i64::MAX),
        limits: Limits::default(),
        salt: shared.salt.clone(),
        forget_after: i64::try_from(shared.context.forget_after.as_micros()).unwrap_or(i64::MAX),
        mark: RandomState::new().hash_one(shard),
    })
    .with_restored(shared.restored)
    .guarded_by(shared.withdraw_guard)
    .with_tera(shared.tera.clone());
    if shared.auto_deploys { core } else { core.without_dependents() }
}

/// How often it is looked how many add-ons the fleet has.
const COUNTED: Duration = Duration::from_secs(10);

/// Tells how many add-ons the whole fleet has: as many as there are rows of deployers about them.
fn tell_fleet_size(shared: &Shared, tasks: &Group, to: &mpsc::UnboundedSender<ExternalInput>) {
    if shared.withdraw_guard.is_none() || to.send(ExternalInput::Fleet(shared.statuses.count())).is_err() {
        return;
    }
    let (statuses, to) = (shared.statuses.clone(), to.clone());
    tasks.keep(Kept::FleetSize, move || {
        let (statuses, to) = (statuses.clone(), to.clone());
        async move {
            let mut told = None;
            loop {
                tokio::time::sleep(COUNTED).await;
                let count = statuses.count();
                if told.replace(count) != Some(count) && to.send(ExternalInput::Fleet(count)).is_err() {
                    return End::Done;
                }
            }
        }
    });
}

/// What is known now goes through at once, so that the owner begins with it; then every change follows.
fn forward<T: Send + 'static>(
    tasks: &Group,
    mut from: mpsc::UnboundedReceiver<T>,
    to: &mpsc::UnboundedSender<ExternalInput>,
    input: impl Fn(T) -> ExternalInput + Send + 'static,
) {
    while let Ok(value) = from.try_recv() {
        if to.send(input(value)).is_err() {
            return;
        }
    }
    let to = to.clone();
    tasks.spawn(Once::ExternalInput, async move {
        while let Some(value) = from.recv().await {
            if to.send(input(value)).is_err() {
                return End::Done;
            }
        }
        End::Early
    });
}

/// Writes interest rows, the newest of each cluster, again and again until they are written.
fn write_interests(
    writer: InterestWriter,
    reporter: Reporter,
    tasks: &Group,
) -> mpsc::UnboundedSender<(ClusterRef, Interest)> {
    // Unbounded: one row for each cluster and change of a trigger.
    let (sender, mut receiver) = mpsc::unbounded_channel::<(ClusterRef, Interest)>();
    tasks.spawn(Once::InterestWriter, async move {
        let (mut batch, mut newest) = (Vec::new(), HashMap::<ClusterRef, Interest>::new());
        let mut failing = BTreeSet::new();
        loop {
            tokio::select! {
                count = receiver.recv_many(&mut batch, 1024) => if count == 0 { return End::Done },
                () = tokio::time::sleep(WRITE_AGAIN), if !newest.is_empty() => {}
            }
            newest.extend(batch.drain(..));
            for (cluster, row) in std::mem::take(&mut newest) {
                match writer.write(&cluster, &row).await {
                    Ok(()) if failing.remove(&cluster) => {
                        reporter.problem(Problem::resolved("renderer", &cluster, About::Interest));
                    }
                    Ok(()) => {}
                    Err(error) => {
                        let text = format!("{error}; it is tried again");
                        reporter.problem(Problem::open("renderer", &cluster, About::Interest, text));
                        failing.insert(cluster.clone());
                        newest.insert(cluster, row);
                    }
                }
            }
        }
    });
    sender
}

struct Shell {
    reporter: Reporter,
    projector: Projector,
    statuses: Projector,
    resources: Reading,
    charts: Asking,
    rights: Inquirer,
    generated: Generated,
    interests: mpsc::UnboundedSender<(ClusterRef, Interest)>,
    wanted: BTreeSet<ObjectKey>,
}

impl Effects<Renderer> for Shell {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::WriteInterest(cluster, row) => {
                if self.interests.send((cluster, row)).is_err() {
                    tracing::debug!("the shard has ended");
                }
            }
            Effect::Project(projection) => {
                if projection.object.is_some() {
                    self.wanted.insert(projection.key.clone());
                } else {
                    self.wanted.remove(&projection.key);
                }
                self.projector.project(projection.key, projection.object);
            }
            Effect::Projected(cluster) => {
                for key in leftovers::of_cluster(&self.generated, &cluster, &self.wanted) {
                    self.projector.project(key, None);
                }
            }
            Effect::WriteStatus(key, status) => self.statuses.project_status(key, status, None),
            Effect::Watch(key) => self.resources.watch(&key),
            Effect::Unwatch(key) => self.resources.unwatch(&key),
            Effect::Fetch(request) => self.charts.fetch(request),
            Effect::Unfetch(request) => self.charts.unfetch(&request),
            Effect::Ask(question, number) => self.rights.ask(question, number),
            Effect::Unask(question) => self.rights.unask(&question),
            Effect::Problem(problem) => self.reporter.problem(problem),
        }
    }
}
