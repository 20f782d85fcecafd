//! One replica of one role: an owner, its connection to the streams, and its position in them.

use std::collections::VecDeque;

use rand::Rng as _;
use sluice_protocol::{Body, Command, Core, Event, Head, Owner, Publish, Row, Subject, Table};

use crate::coverage::Fault;
use crate::role::{Role, Seat, owner_config};
use crate::world::{MEMBER_TTL, STEP, TOMBSTONE_TTL, World};

mod wire;

use wire::Wire;

/// What can be done with a replica, whatever its stage.
pub(crate) trait Replica {
    /// Name of its role.
    fn name(&self) -> &str;
    /// Which replica of which role it is.
    fn seat(&self) -> Seat;
    /// Does one micro step.
    fn step(&mut self, world: &mut World);
    /// Whether a micro step could do anything; else the time passes for it as if it had done one.
    fn rest(&mut self, world: &World) -> bool;
    /// Loses everything but its name.
    fn crash(&mut self);
    /// Does nothing until then; a long pause makes others take its work over.
    fn pause(&mut self, until: i64);
    /// Has no connection to the bus until then.
    fn cut(&mut self, until: i64);
    /// Cuts its watches, when it has any: they list again.
    fn relist(&mut self) -> bool;
}

/// A command to a server.
enum Out {
    Claim(usize),
    Load(usize),
    FindEnd(u64),
    Publish { id: u64, fence: u64, head: Head, row: Box<Publish> },
}

/// A replica of role `R`.
pub(crate) struct Process<R: Role> {
    role: R,
    name: String,
    seat: Seat,
    /// The fence row of every output.
    fences: Vec<Subject>,
    running: Option<Running<R::Core>>,
    /// How often it has begun: answers to what was asked before are for nobody.
    lives: u64,
    wire: Wire,
    /// Whether it believes to own its role.
    believes: bool,
    paused_until: i64,
    cut_until: i64,
}

struct Running<C: Core> {
    owner: Owner<C>,
    /// In the order in which they were given, for each output stream.
    outbox: Vec<VecDeque<Out>>,
    answers: VecDeque<Event<C::Side>>,
    /// Publishes that were stored: these answers come in any order.
    stored: Vec<u64>,
    cursor: Option<u64>,
    /// When it last looked at its input: a shell whose reader is silent for long begins again.
    looked_at: i64,
    caught_up: bool,
    wake: Option<i64>,
    born: Vec<u64>,
    /// How many streams had been wiped when their lives were compared last.
    wipes: u64,
    reborn: bool,
}

impl<R: Role> Process<R> {
    pub(crate) fn new(role: R, seat: Seat) -> Self {
        let name = format!("{} {}", role.name(), seat.index);
        let outputs = if role.output() == Table::Status { 1 } else { crate::roles::SHARDS };
        let fence = |shard| Subject::Owner { table: role.output(), shard, owner: role.fence() };
        Self {
            fences: (0..outputs).map(fence).collect(),
            role,
            name,
            seat,
            running: None,
            lives: 0,
            wire: Wire::default(),
            believes: false,
            paused_until: 0,
            cut_until: 0,
        }
    }

    fn incarnations(&self, world: &World) -> Vec<u64> {
        let mut lives = world.store.incarnations(self.role.output());
        lives.extend(self.role.input().map(|(table, shard)| world.store.stream(table, shard).incarnation()));
        lives
    }

    fn begin(&mut self, world: &mut World) {
        world.tell(|| format!("{} begins", self.name));
        self.lives += 1;
        self.role.reset(world);
        let (owner, first) = Owner::begin(self.role.core(world), owner_config(&self.role, self.fences.len()));
        self.running = Some(Running {
            owner,
            outbox: self.fences.iter().map(|_| VecDeque::new()).collect(),
            answers: VecDeque::new(),
            stored: Vec::new(),
            cursor: None,
            looked_at: world.now,
            caught_up: false,
            wake: None,
            born: self.incarnations(world),
            wipes: world.store.wipes(),
            reborn: false,
        });
        self.execute(world, first);
    }

    fn execute(&mut self, world: &mut World, commands: Vec<Command<<R::Core as Core>::Effect>>) {
        for command in commands {
            let Some(running) = &mut self.running else { return };
            match command {
                Command::Claim(output) => running.outbox[output].push_back(Out::Claim(output)),
                Command::Load(output) => running.outbox[output].push_back(Out::Load(output)),
                Command::Read => running.cursor = Some(0),
                Command::FindEnd(after) => running.outbox[0].push_back(Out::FindEnd(after)),
                Command::Publish { id, fence, head, row } => {
                    let output = if running.outbox.len() == 1 { 0 } else { usize::from(row.subject.shard()) };
                    running.outbox[output].push_back(Out::Publish { id, fence, head, row: Box::new(row) })
                }
                Command::WakeAt(at) => running.wake = Some(running.wake.map_or(at, |wake| wake.min(at))),
                Command::Effect(effect) => self.role.effect(world, effect),
                Command::Stop(_) => self.running = None,
            }
        }
    }

    fn handle(&mut self, world: &mut World, event: Event<<R::Core as Core>::Side>) {
        let Some(running) = &mut self.running else { return };
        let commands = running.owner.handle(world.now, event);
        self.execute(world, commands);
    }

    /// The next row of the input arrives, or the news that there is none.
    fn read(&mut self, world: &mut World) {
        let Some(running) = &mut self.running else { return };
        running.looked_at = world.now;
        let (Some(cursor), Some((table, shard))) = (running.cursor, self.role.input()) else { return };
        let stream = world.store.stream(table, shard);
        // A reader belongs to one life of its stream; it ends with it, and never says that it has caught up.
        if running.born.last() != Some(&stream.incarnation()) {
            return self.handle(world, Event::Refused);
        }
        let Some((sequence, stored)) = stream.next(cursor) else {
            if !std::mem::replace(&mut running.caught_up, true) {
                world.tell(|| format!("{} has read everything", self.name));
                self.handle(world, Event::CaughtUp(cursor));
            }
            return;
        };
        let message = &stored.value;
        let (subject, head, body) = (message.subject.clone(), message.head.clone(), message.body.clone());
        // Only an estimate: while a row is replaced it is counted neither in its old nor in its new place.
        let pending = stream.next(sequence).is_some() && !world.mishap(Fault::Miscount, 0.1);
        // The same row may come again, before anything that follows it.
        if !world.mishap(Fault::Duplicate, 0.01) {
            running.cursor = Some(sequence);
        }
        world.tell(|| format!("{} has read {}{subject}", self.name, if head.tombstone { "-" } else { "+" }));
        self.handle(world, Event::Row(Row { subject, head, body, sequence }, pending));
    }

    fn answer(&mut self, world: &mut World) {
        let Some(running) = &mut self.running else { return };
        if !running.stored.is_empty() && (running.answers.is_empty() || world.random.random_bool(0.5)) {
            let id = running.stored.swap_remove(world.random.random_range(0..running.stored.len()));
            return self.handle(world, Event::Stored(id));
        }
        if let Some(answer) = running.answers.pop_front() {
            self.handle(world, answer);
        }
    }

    fn learn(&mut self, world: &mut World) {
        if let Some(side) = self.role.side(world, world.now >= self.cut_until) {
            self.handle(world, Event::Side(side));
        }
    }

    /// Whether the streams are others than at the beginning, as far as it can know.
    fn is_reborn(&mut self, world: &World) -> bool {
        let wiped = self.running.as_ref().is_some_and(|running| running.wipes != world.store.wipes());
        let lives = if wiped { self.incarnations(world) } else { Vec::new() };
        let Some(running) = &mut self.running else { return false };
        if wiped {
            (running.reborn, running.wipes) = (running.born != lives, world.store.wipes());
        }
        running.reborn
    }
}

impl<R: Role> Replica for Process<R> {
    fn name(&self) -> &str {
        &self.name
    }

    fn seat(&self) -> Seat {
        self.seat
    }

    fn step(&mut self, world: &mut World) {
        // What is under way arrives, whatever its sender does.
        self.arrive(world);
        self.role.arrive(world);
        if world.now < self.paused_until {
            return;
        }
        let cut = world.now < self.cut_until;
        if !cut && world.random.random_bool(0.3) {
            self.believes = world.owners[self.seat.role].by == self.seat.index;
        }
        if !self.believes {
            return self.crash();
        }
        let reborn = self.is_reborn(world);
        let Some(running) = &mut self.running else {
            return if cut { self.crash() } else { self.begin(world) };
        };
        // Missed heartbeats, or a lapsed membership after a pause.
        if world.now - running.looked_at > TOMBSTONE_TTL / 2 {
            return self.crash();
        }
        // Incarnations are looked at now and then.
        if reborn && !cut && world.random.random_bool(0.3) {
            return self.crash();
        }
        if running.wake.is_some_and(|at| at <= world.now) {
            running.wake = None;
            return self.handle(world, Event::Tick);
        }
        match world.random.random_range(0..5) {
            4 => self.learn(world),
            _ if cut => {}
            0 | 1 => self.send(world),
            2 => self.answer(world),
            _ => self.read(world),
        }
    }

    fn rest(&mut self, world: &World) -> bool {
        let under_way = !self.wire.is_empty() || self.role.is_calling();
        if under_way || world.now < self.paused_until || world.now < self.cut_until {
            return !under_way;
        }
        if self.believes != (world.owners[self.seat.role].by == self.seat.index) || self.is_reborn(world) {
            return false;
        }
        if !self.believes {
            return true;
        }
        let Some(running) = &mut self.running else { return false };
        let unread = self.role.input().zip(running.cursor).is_some_and(|((table, shard), cursor)| {
            !running.caught_up || world.store.stream(table, shard).next(cursor).is_some()
        });
        let waiting = running.outbox.iter().any(|out| !out.is_empty())
            || !running.answers.is_empty()
            || !running.stored.is_empty()
            || running.wake.is_some_and(|at| at <= world.now)
            || world.now - running.looked_at > TOMBSTONE_TTL / 2;
        if unread || waiting || self.role.has_news(world) {
            return false;
        }
        running.looked_at = world.now;
        true
    }

    fn crash(&mut self) {
        self.running = None;
    }

    fn pause(&mut self, until: i64) {
        self.paused_until = until;
    }

    fn cut(&mut self, until: i64) {
        self.cut_until = until;
    }

    fn relist(&mut self) -> bool {
        self.running.is_some() && self.role.relist()
    }
}

/// Whether a silence of so long ends a membership.
pub(crate) fn lapses(steps: i64) -> bool {
    steps * STEP > MEMBER_TTL
}

/// Whether a row tells that something is gone.
fn sign(body: &Body) -> &'static str {
    if *body == Body::Tombstone { "-" } else { "+" }
}
