//! Running a [`sluice_protocol::Owner`] against the server: the shell around the state machine.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use sluice_protocol::{Command, Core, Event, Group, Owner, OwnerConfig, Row, Sequence, Shard, Stop, Subject};
use sluice_tasks::{Group as TaskGroup, Once};
use tokio::sync::mpsc;

use crate::buckets::content_refs::ContentRefs;
use crate::bus::Bus;
use crate::clock;
use crate::layout::incarnation_watch::IncarnationWatch;
use crate::membership::Lease;
use crate::seal::SealWatch;
use crate::shard::alarm::Alarm;
use crate::shard::end::{End, Found};
use crate::shard::fence::Fence;
use crate::shard::heads::{Heads, OwnRows};
use crate::shard::input::{self, Inner, READ_AHEAD, send};
use crate::shard::observer::{Effects, Observer, Span};
use crate::shard::shard_spec::{Outputs, ShardSpec};
use crate::shard::shipping::{Delivered, Delivery, Shipping};
use crate::shard::stopwatch::Stopwatch;

/// How long a new owner waits for a view as new as its predecessor's.
const PATIENCE: Duration = Duration::from_secs(30);
/// External inputs taken at once before rows get their turn.
const EXTERNALS_AT_ONCE: usize = 256;
/// Rows without an acknowledgement beyond which nothing is taken in: enough for full groups. One step may publish more.
const ENOUGH_OUTSTANDING: usize = 2048;
/// Pause before something is asked again that was not answered.
const AGAIN: Duration = Duration::from_millis(200);

type OnItsWay<S> = std::pin::Pin<Box<dyn Future<Output = Delivery<S>> + Send>>;

struct Runner<'a, C: Core, E> {
    bus: &'a Bus,
    spec: &'a ShardSpec,
    shipping: Shipping,
    owner: Owner<C>,
    effects: &'a mut E,
    observer: &'a dyn Observer,
    content_refs: ContentRefs,
    /// Subjects of rows that were too large when they were published last.
    oversized: HashSet<Subject>,
    sender: mpsc::Sender<Inner<C::External>>,
    /// Dropped with the runner, and every task of the shard with it.
    tasks: TaskGroup,
    groups: FuturesUnordered<OnItsWay<C::External>>,
    fences: Vec<Fence>,
    end: Option<End>,
    stopwatch: Stopwatch,
    wake: Option<i64>,
    stop: Option<Stop>,
}

/// Owns the shard under `lease` until it is cancelled (`None`), deposed or out of date. The caller restarts as long as
/// the shard is its own.
pub async fn drive<C, E>(
    bus: &Bus,
    lease: &Lease,
    spec: &ShardSpec,
    core: C,
    mut externals: mpsc::UnboundedReceiver<C::External>,
    effects: &mut E,
    observer: &dyn Observer,
) -> Option<Stop>
where
    C: Core + Send,
    C::External: Send + 'static,
    C::Effect: Send,
    E: Effects<C>,
{
    let (incarnations, keys) = (IncarnationWatch::of(bus, spec), seal_watch(bus, spec));
    let (mut runner, mut inbox, first) = Runner::begin(bus, lease, spec, core, effects, observer);
    let mut ends = ends(incarnations, keys, &runner.tasks);
    let mut alarm = Alarm::default();
    runner.execute(first).await;
    while runner.stop.is_none() {
        let event = tokio::select! {
            Some(delivery) = runner.groups.next(), if !runner.groups.is_empty() => runner.delivered(delivery),
            input = externals.recv(), if runner.has_room() => match input {
                Some(input) => {
                    runner.externals(input, &mut externals).await;
                    continue;
                }
                None => return None,
            },
            Some(inner) = inbox.recv(), if runner.has_room() => match inner {
                Inner::Event(event) => event,
                Inner::Row(row, pending, _read_ahead) => runner.row(row, pending),
                Inner::Unreadable(row, pending, reason) => {
                    observer.unreadable(&row.subject.to_string(), &reason);
                    runner.row(row, pending)
                }
                Inner::Opened(end) => {
                    runner.end = Some(*end);
                    continue;
                }
                // D-0602: a message that is no row is counted and skipped.
                Inner::Malformed(subject, reason) => {
                    observer.malformed(&subject, &reason);
                    continue;
                }
            },
            () = alarm.rings(runner.wake) => {
                runner.wake = None;
                Event::Tick
            }
            Some(stop) = ends.next() => Event::Ended(stop),
        };
        runner.handle(event).await;
    }
    runner.stop
}

impl<'a, C, E> Runner<'a, C, E>
where
    C: Core + Send,
    C::External: Send + 'static,
    E: Effects<C>,
{
    #[expect(
        clippy::type_complexity,
        reason = "what a loop needs to begin, named at the only place that takes it"
    )]
    fn begin(
        bus: &'a Bus,
        lease: &'a Lease,
        spec: &'a ShardSpec,
        core: C,
        effects: &'a mut E,
        observer: &'a dyn Observer,
    ) -> (Self, mpsc::Receiver<Inner<C::External>>, Vec<Command<C::Effect>>) {
        let max_lag = micros(bus.tombstone_ttl) / 2;
        let outputs = spec.output_streams(bus.shards).len();
        let config = OwnerConfig {
            outputs,
            reads: spec.input.is_some(),
            patience: micros(PATIENCE),
            max_lag,
            digest_key: bus.sealing.digest_key(),
        };
        let (owner, first) = Owner::begin(core, config);
        let (sender, inbox) = mpsc::channel(READ_AHEAD);
        let life = crate::bus::random();
        let mut runner = Self {
            bus,
            spec,
            shipping: Shipping { bus: bus.clone(), lease: lease.clone(), life },
            owner,
            effects,
            observer,
            content_refs: ContentRefs::default(),
            oversized: HashSet::new(),
            sender,
            tasks: bus.tasks.group(&spec.outputs.owner),
            groups: FuturesUnordered::new(),
            fences: (0..outputs).map(|output| fence(spec, output)).collect(),
            end: None,
            stopwatch: Stopwatch::begin(),
            wake: None,
            stop: None,
        };
        runner.keep_content();
        (runner, inbox, first)
    }

    /// Large bodies that this shard's rows name must not expire. When one did, the shard restarts: it then
    /// publishes the row anew.
    fn keep_content(&mut self) {
        let (content_refs, contents, sender) =
            (self.content_refs.clone(), self.bus.contents.clone(), self.sender.clone());
        self.tasks.spawn(Once::ContentRefs, async move {
            content_refs.keep(contents).await;
            send(&sender, Event::Ended(Stop::Content)).await
        });
    }

    fn row(&mut self, row: Row, pending: u64) -> Event<C::External> {
        self.observer.read(pending);
        self.stopwatch.arrived(row.head.time);
        Event::Row(row, pending > 0)
    }

    async fn handle(&mut self, event: Event<C::External>) {
        let (span, begun) = (span_of(&event), Instant::now());
        let commands = self.owner.handle(clock::now(), event);
        if let Some(span) = span {
            self.observer.took(span, begun.elapsed());
        }
        if self.owner.is_caught_up()
            && let Some(took) = self.stopwatch.caught_up()
        {
            self.observer.took(Span::Takeover, took);
        }
        self.execute(commands).await;
    }

    /// Several external inputs at once: they come in bursts, and each may be cheap.
    async fn externals(&mut self, first: C::External, more: &mut mpsc::UnboundedReceiver<C::External>) {
        self.handle(Event::External(first)).await;
        for _ in 1..EXTERNALS_AT_ONCE {
            if !self.has_room() {
                return;
            }
            let Ok(input) = more.try_recv() else { return };
            self.handle(Event::External(input)).await;
        }
    }

    fn has_room(&self) -> bool {
        self.owner.outstanding() < ENOUGH_OUTSTANDING
    }

    async fn execute(&mut self, commands: Vec<Command<C::Effect>>) {
        for command in commands {
            match command {
                Command::Claim(claim) => {
                    let Some(fence) = self.fences.get(claim.output).cloned() else { continue };
                    let (shipping, sender) = (self.shipping.clone(), self.sender.clone());
                    let claimed = async move { send(&sender, shipping.claim(fence, claim).await).await };
                    self.tasks.spawn(Once::Claim, claimed);
                }
                Command::Claimed => self.shipping.lease.claimed(),
                Command::Load { output, fence } => self.load(output, fence),
                Command::Read => self.read(),
                Command::FindEnd(after) => self.find_end(after),
                Command::Send(group) => self.send(group),
                Command::Tell(line) => self.observer.tell(line),
                Command::Behind(why) => self.observer.behind(why.as_deref()),
                Command::Effect(effect) => self.effects.effect(effect),
                Command::WakeAt(at) => self.wake = Some(self.wake.map_or(at, |wake| wake.min(at))),
                Command::Stop(stop) => self.stop = Some(stop),
            }
        }
    }

    fn send(&mut self, group: Group) {
        let Some(fence) = self.fences.get(group.output).cloned() else { return };
        self.groups.push(Box::pin(self.shipping.clone().send(fence, group)));
    }

    /// A group is back.
    fn delivered(&mut self, Delivery { event, rows, took }: Delivery<C::External>) -> Event<C::External> {
        if matches!(event, Event::Stored { .. }) {
            self.observer.took(Span::Publish, took);
        }
        for Delivered { subject, time, bytes, outcome } in rows {
            match outcome {
                Ok(content) => {
                    self.observer.published(bytes);
                    if let Some(took) = self.stopwatch.stored(time) {
                        self.observer.took(Span::Stage, took);
                    }
                    self.content_refs.note(&subject, content);
                    if self.oversized.remove(&subject) {
                        self.observer.too_large(&subject.to_string(), None);
                    }
                }
                Err(reason) => {
                    self.observer.too_large(&subject.to_string(), Some(&reason));
                    self.oversized.insert(subject);
                }
            }
        }
        event
    }

    fn load(&mut self, output: usize, fence: Sequence) {
        let (bus, sender, content_refs) = (self.bus.clone(), self.sender.clone(), self.content_refs.clone());
        let Some(Fence { stream, subject, .. }) = self.fences.get(output).cloned() else { return };
        let shard = format!("{output:02}");
        let own_rows = &self.spec.outputs.own_rows;
        let filters = own_rows.iter().map(|filter| filter.replace("{}", &shard)).collect();
        let rows = OwnRows::new(stream, filters, subject, fence);
        self.tasks.spawn(Once::OwnRows, async move {
            loop {
                match rows.tell(&bus, &content_refs, &sender).await {
                    Heads::Told => return send(&sender, Event::Loaded).await,
                    Heads::Some => return send(&sender, Event::Ended(Stop::Lagging)).await,
                    Heads::None => tokio::time::sleep(AGAIN).await,
                }
            }
        });
    }

    fn read(&mut self) {
        let Some(input) = self.spec.input.clone() else { return };
        let (bus, sender) = (self.bus.clone(), self.sender.clone());
        self.tasks.spawn(Once::Input, input::deliver(bus, input, sender));
    }

    fn find_end(&mut self, after: Sequence) {
        let Some(end) = self.end.clone() else { return };
        let sender = self.sender.clone();
        self.tasks.spawn(Once::InputEnd, async move {
            let event = match end.find(after).await {
                Ok(Found::Yes) => Event::CaughtUp(after),
                Ok(Found::Later) => return sluice_tasks::End::Done,
                Ok(Found::No) => Event::More,
                // The owner asks again.
                Err(error) => {
                    tracing::debug!(%error, "the end of the input is not known now");
                    Event::More
                }
            };
            send(&sender, event).await
        });
    }
}

/// What the core is asked by an event.
fn span_of<S>(event: &Event<S>) -> Option<Span> {
    match event {
        Event::Row(..) => Some(Span::Row),
        Event::External(_) => Some(Span::External),
        Event::Tick => Some(Span::Tick),
        _ => None,
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn fence(spec: &ShardSpec, output: usize) -> Fence {
    let Outputs { table, owner, leaves, .. } = &spec.outputs;
    let subject = Subject::fence(*table, output, owner).to_string();
    Fence { stream: table.stream(Shard::of_output(output)), subject, expires: *leaves }
}

/// What ends a shard from outside. It is looked at only when it has something to say, not at each row.
fn ends(
    mut incarnations: IncarnationWatch,
    mut keys: SealWatch,
    tasks: &TaskGroup,
) -> FuturesUnordered<BoxFuture<'static, Stop>> {
    let lost = tasks.lost();
    FuturesUnordered::from_iter([
        async move {
            incarnations.ended().await;
            Stop::Reborn
        }
        .boxed(),
        async move {
            keys.ended().await;
            Stop::Keys
        }
        .boxed(),
        lost.map(|()| Stop::Failed).boxed(),
    ])
}

fn seal_watch(bus: &Bus, spec: &ShardSpec) -> SealWatch {
    let outputs = spec.output_streams(bus.shards).len();
    SealWatch::of(bus, spec, (0..outputs).map(|output| fence(spec, output).subject).collect())
}
