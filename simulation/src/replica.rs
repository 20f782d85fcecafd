//! One replica of one role: an owner, its connection to the streams, and its position in them.

use std::collections::VecDeque;

use rand::Rng as _;
use sluice_protocol::{
    Claim, Command, Core, Event, Group, Incarnation, Now, Owner, Row, Sequence, Stop, Subject, Table,
};

use crate::coverage::Fault;
use crate::membership::Membership;
use crate::role::{Link, Role, Seat, owner_config};
use crate::store::NODES;
use crate::world::{STEP, World};

mod clock;
mod handle;
mod reading;
mod wire;

use clock::Clock;
pub(crate) use handle::Replica;
use wire::Wire;

/// A command to a server.
enum Out {
    Claim(Claim),
    Load { output: usize, fence: Sequence },
    FindEnd(Sequence),
    Send(Group),
}

/// A shard that ended begins again after so many steps at most.
const REST: i64 = 20;

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
    membership: Membership,
    clock: Clock,
    /// Whether it is of the version that writes rows in a form which the other one cannot read.
    newer: bool,
    /// Whether it believes to own its role.
    believes: bool,
    paused_until: i64,
    cut_until: i64,
    /// Not to begin before.
    rest_until: i64,
    /// Whether it was given a row that it could not read: in the end it begins anew.
    blind: bool,
    /// The node of the bus that it reads from.
    node: usize,
}

struct Running<C: Core> {
    owner: Owner<C>,
    /// The lease with which it began.
    lease: u64,
    /// In the order in which they were given, for each output stream; not before a time.
    outbox: Vec<VecDeque<(i64, Out)>>,
    answers: VecDeque<Event<C::External>>,
    cursor: Option<Sequence>,
    /// Rows that came without their bodies, and when these come.
    late: Vec<(i64, Row)>,
    /// When it last looked at its input: a shell whose reader is silent for long begins again.
    looked_at: i64,
    caught_up: bool,
    wake: Option<i64>,
    born: Vec<Incarnation>,
    /// How many streams had been wiped when their lives were compared last.
    wipes: u64,
    reborn: bool,
}

impl<R: Role> Process<R> {
    pub(crate) fn new(role: R, seat: Seat) -> Self {
        let name = format!("{} {}", role.name(), seat.index);
        let outputs = if role.output() == Table::Status { 1 } else { crate::roles::SHARDS };
        let fence = |shard| Subject::fence(role.output(), usize::from(shard), &role.fence());
        Self {
            membership: Membership::new(seat, role.name(), false),
            fences: (0..outputs).map(fence).collect(),
            role,
            name,
            seat,
            running: None,
            lives: 0,
            wire: Wire::default(),
            clock: Clock::default(),
            newer: false,
            believes: false,
            paused_until: 0,
            cut_until: 0,
            rest_until: 0,
            blind: false,
            node: 0,
        }
    }

    fn incarnations(&self, world: &World) -> Vec<Incarnation> {
        let mut lives = world.store.incarnations(self.role.output());
        lives.extend(self.role.input().map(|(table, shard)| world.store.stream(table, shard).incarnation()));
        lives
    }

    fn begin(&mut self, world: &mut World) {
        world.tell(|| format!("{} begins", self.name));
        self.lives += 1;
        self.blind = false;
        self.role.reset(world, self.newer);
        // Nobody keeps it from the one that lags.
        let node = world.random.random_range(0..2 * NODES);
        self.node = if node < NODES { node } else { world.store.slowest() };
        let config = owner_config(&self.role, self.fences.len(), world.tombstone_ttl);
        let (owner, first) = Owner::begin(self.role.core(world, self.clock.now(world.now)), config);
        self.running = Some(Running {
            owner,
            lease: self.membership.lease_epoch(),
            outbox: self.fences.iter().map(|_| VecDeque::new()).collect(),
            answers: VecDeque::new(),
            cursor: None,
            late: Vec::new(),
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
                Command::Claim(claim) => {
                    running.outbox[claim.output].push_back((world.now + claim.delay, Out::Claim(claim)));
                }
                Command::Claimed => self.membership.claimed(),
                Command::Load { output, fence } => {
                    running.outbox[output].push_back((world.now, Out::Load { output, fence }));
                }
                Command::Read => running.cursor = Some(Sequence::NONE),
                Command::FindEnd(after) => running.outbox[0].push_front((world.now, Out::FindEnd(after))),
                Command::Send(group) => {
                    running.outbox[group.output].push_back((world.now + group.delay, Out::Send(group)));
                }
                Command::Behind(_) | Command::Tell(_) => {}
                Command::WakeAt(at) => running.wake = Some(running.wake.map_or(at, |wake| wake.min(at))),
                Command::Effect(effect) => self.role.effect(world, effect),
                Command::Stop(reason) => self.stop(world, reason),
            }
        }
        if self.role.take_end() {
            self.end(world);
        }
    }

    fn stop(&mut self, world: &mut World, reason: Stop) {
        world.tell(|| format!("{} ends: {}", self.name, reason.name()));
        self.end(world);
    }

    fn end(&mut self, world: &mut World) {
        self.running = None;
        self.rest_until = world.now + world.random.random_range(1..REST) * STEP;
    }

    fn handle(&mut self, world: &mut World, event: Event<<R::Core as Core>::External>) {
        let Some(running) = &mut self.running else { return };
        let now = Now { wall: self.clock.now(world.now), steady: world.now };
        let commands = running.owner.handle(now, event);
        self.execute(world, commands);
    }

    fn answer(&mut self, world: &mut World) {
        let Some(running) = &mut self.running else { return };
        if let Some(answer) = running.answers.pop_front() {
            self.handle(world, answer);
        }
    }

    fn learn(&mut self, world: &mut World) {
        let link = Link { online: world.now >= self.cut_until, lease: self.holds_lease(world.now) };
        if let Some(input) = self.role.external(world, link) {
            self.handle(world, Event::External(input));
        }
    }

    /// Does one thing, when there is one.
    fn work(&mut self, world: &mut World) {
        // What is under way arrives, whatever its sender does.
        self.arrive(world);
        self.role.arrive(world);
        if world.now < self.paused_until {
            return;
        }
        let cut = world.now < self.cut_until;
        // Ownership and incarnations are looked at now and then.
        if world.random.random_bool(0.3) {
            self.believes = self.membership.owns(world.now);
            let same =
                self.running.as_ref().is_some_and(|running| running.lease == self.membership.lease_epoch());
            let outdated = self.role.is_outdated(world);
            if !self.believes || !same || outdated || (!cut && self.is_reborn(world)) {
                self.running = None;
            }
        }
        if !self.believes {
            return;
        }
        let Some(running) = &mut self.running else {
            if !cut && self.rest_until <= world.now && self.role.may_begin(world) {
                self.begin(world);
            }
            return;
        };
        if self.blind && !world.rough {
            self.running = None;
            return;
        }
        // Missed heartbeats.
        if world.now - running.looked_at > world.tombstone_ttl / 2 {
            self.running = None;
            return;
        }
        if running.wake.is_some_and(|at| at <= self.clock.now(world.now)) {
            running.wake = None;
            return self.handle(world, Event::Tick);
        }
        match world.random.random_range(0..5) {
            4 => self.learn(world),
            _ if cut => {}
            0 | 1 => self.send(world),
            2 => self.answer(world),
            _ if self.complete(world) => {}
            _ => self.read(world),
        }
    }

    /// Whether it holds the lease with which it began.
    fn holds_lease(&self, now: i64) -> bool {
        self.running.as_ref().is_some_and(|running| self.membership.holds(running.lease, now))
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

    fn step(&mut self, world: &mut World) {
        self.work(world);
        let Seat { role, index } = self.seat;
        let working = self.running.is_some();
        let began = working && !std::mem::replace(&mut world.at_work[role][index], working);
        world.coverage.many(Fault::Overlap, u64::from(began && world.at_work[role][1 - index]));
        world.at_work[role][index] = working;
    }

    fn rest(&mut self, world: &World) -> bool {
        let under_way = !self.wire.is_empty() || self.role.is_calling();
        if under_way || world.now < self.paused_until {
            return !under_way;
        }
        let owns = self.membership.owns(world.now);
        let outdated = self.running.is_some() && self.role.is_outdated(world);
        if self.believes != owns || outdated || self.is_reborn(world) {
            return false;
        }
        if !owns {
            return self.running.is_none();
        }
        if self.running.is_some() && (!self.holds_lease(world.now) || (self.blind && !world.rough)) {
            return false;
        }
        let Some(running) = &mut self.running else { return false };
        let unread = self.role.input().zip(running.cursor).is_some_and(|((table, shard), cursor)| {
            !running.caught_up
                || world.store.follows((table, shard), cursor, |subject| self.role.reads(subject))
        });
        let waiting = running.outbox.iter().any(|out| !out.is_empty())
            || !running.answers.is_empty()
            || running.wake.is_some_and(|at| at <= self.clock.now(world.now))
            || !running.late.is_empty()
            || world.now - running.looked_at > world.tombstone_ttl / 2;
        if unread || waiting || self.role.has_news(world) {
            return false;
        }
        running.looked_at = world.now;
        true
    }

    fn keep_membership(&mut self, world: &mut World) {
        world.at_work[self.seat.role][self.seat.index] = self.running.is_some();
        self.membership.arrive(world);
        if world.now >= self.paused_until {
            self.membership.keep(world, world.now >= self.cut_until);
        }
    }

    fn crash(&mut self) {
        self.running = None;
        self.believes = false;
        self.membership.restart(self.newer);
        self.clock.restart();
        self.role.crash();
    }

    fn leave(&mut self, world: &mut World, until: i64) {
        self.crash();
        self.membership.leave(world);
        self.paused_until = until;
    }

    fn pause(&mut self, until: i64) {
        self.paused_until = until;
    }

    fn cut(&mut self, until: i64) {
        self.cut_until = until;
    }

    fn deafen(&mut self, until: i64) {
        self.membership.deafen(until);
    }

    fn lose_node(&mut self, node: usize, other: usize) {
        if self.node == node {
            self.node = other;
        }
    }

    fn set_clock(&mut self, by: i64) {
        self.clock.jump(by);
    }

    fn upgrade(&mut self, newer: bool) {
        if std::mem::replace(&mut self.newer, newer) != newer {
            self.crash();
        }
    }

    fn is_inside(&self) -> bool {
        self.role.is_inside()
    }

    fn relist(&mut self) -> bool {
        self.running.is_some() && self.role.relist()
    }
}
