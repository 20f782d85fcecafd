//! One replica of one role: an owner, its connection to the streams, and its position in them.

use std::collections::VecDeque;

use rand::Rng as _;
use sluice_protocol::{Body, Command, Core, Event, Head, Owner, Publish, Row, Subject, Table};

use crate::role::{Role, owner_config};
use crate::world::{TOMBSTONE_TTL, World};

/// What can be done with a replica, whatever its stage.
pub(crate) trait Replica {
    /// Name of its role.
    fn role(&self) -> &str;
    /// Does one micro step.
    fn step(&mut self, world: &mut World);
    /// Loses everything but its name.
    fn crash(&mut self);
    /// Does nothing for so many steps; a long pause makes others take its work over.
    fn pause(&mut self, steps: i64);
}

/// A command on its way to the server.
enum Out {
    Claim(usize),
    Load(usize),
    Publish { id: u64, fence: u64, head: Head, row: Box<Publish> },
}

/// A replica of role `R`.
pub(crate) struct Process<R: Role> {
    role: R,
    name: String,
    index: usize,
    running: Option<Running<R::Core>>,
    /// Whether it believes to own its role.
    believes: bool,
    paused_until: i64,
}

struct Running<C: Core> {
    owner: Owner<C>,
    outbox: VecDeque<Out>,
    answers: VecDeque<Event<C::Side>>,
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
    pub(crate) fn new(role: R, index: usize) -> Self {
        Self { name: role.name(), role, index, running: None, believes: false, paused_until: 0 }
    }

    fn lives(&self, world: &World) -> Vec<u64> {
        let mut lives = world.store.incarnations(self.role.output());
        lives.extend(self.role.input().map(|(table, shard)| world.store.stream(table, shard).incarnation()));
        lives
    }

    fn begin(&mut self, world: &mut World) {
        world.tell(|| format!("{} {} begins", self.name, self.index));
        self.role.reset(world);
        let (owner, first) = Owner::begin(self.role.core(world), owner_config(&self.role, world));
        let born = self.lives(world);
        self.running = Some(Running {
            owner,
            outbox: VecDeque::new(),
            answers: VecDeque::new(),
            cursor: None,
            looked_at: world.now,
            caught_up: false,
            wake: None,
            born,
            wipes: world.store.wipes(),
            reborn: false,
        });
        self.execute(world, first);
    }

    fn execute(&mut self, world: &mut World, commands: Vec<Command<<R::Core as Core>::Effect>>) {
        for command in commands {
            let Some(running) = &mut self.running else { return };
            match command {
                Command::Claim(output) => running.outbox.push_back(Out::Claim(output)),
                Command::Load(output) => running.outbox.push_back(Out::Load(output)),
                Command::Read => running.cursor = Some(0),
                Command::Publish { id, fence, head, row } => {
                    running.outbox.push_back(Out::Publish { id, fence, head, row: Box::new(row) })
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

    fn fence_row(&self, output: usize) -> Subject {
        Subject::Owner {
            table: self.role.output(),
            shard: u16::try_from(output).unwrap_or(0),
            owner: self.role.fence(),
        }
    }

    /// One command reaches the server; its answer is on the way back.
    fn serve(&mut self, world: &mut World) {
        let Some(out) = self.running.as_mut().and_then(|running| running.outbox.pop_front()) else { return };
        let mut answers = Vec::new();
        match out {
            Out::Claim(output) => {
                let claimed = world.store.claim(&self.fence_row(output));
                answers.push(claimed.map_or(Event::Refused, |sequence| Event::Claimed { output, sequence }));
            }
            Out::Load(output) => {
                let stream = world.store.stream(self.role.output(), u16::try_from(output).unwrap_or(0));
                let own = stream
                    .rows()
                    .map(|(_, stored)| &stored.value)
                    .filter(|message| self.role.owns(&message.subject));
                answers
                    .extend(own.map(|message| Event::Found(message.subject.clone(), message.head.clone())));
                answers.push(Event::Loaded);
            }
            Out::Publish { id, fence, head, row } => {
                let output =
                    if self.role.output() == Table::Status { 0 } else { usize::from(row.subject.shard()) };
                let stored = world.store.publish(
                    &row,
                    head,
                    (&self.fence_row(output), fence),
                    world.now + TOMBSTONE_TTL,
                );
                let (kind, outcome) = (
                    if row.body == Body::Tombstone { "-" } else { "+" },
                    if stored { "" } else { " REFUSED" },
                );
                world.tell(|| {
                    format!(
                        "{} {} publishes {kind}{}{outcome} {}",
                        self.name, self.index, row.subject, row.meta
                    )
                });
                answers.push(if stored { Event::Stored(id) } else { Event::Refused });
            }
        }
        if let Some(running) = &mut self.running {
            running.answers.extend(answers);
        }
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
        let event = match stream.next(cursor) {
            Some((sequence, stored)) => {
                running.cursor = Some(sequence);
                running.caught_up = false;
                let Message { subject, head, body } = stored.value.clone();
                Event::Row(Row { subject, head, body, sequence }, stream.next(sequence).is_some())
            }
            None if running.caught_up => return,
            None => {
                running.caught_up = true;
                Event::CaughtUp
            }
        };
        world.tell(|| {
            let what = match &event {
                Event::Row(row, _) => {
                    format!("{}{}", if row.head.tombstone { "-" } else { "+" }, row.subject)
                }
                _ => "everything".to_owned(),
            };
            format!("{} {} has read {what}", self.name, self.index)
        });
        self.handle(world, event);
    }
}

use crate::store::Message;

impl<R: Role> Replica for Process<R> {
    fn role(&self) -> &str {
        &self.name
    }

    fn step(&mut self, world: &mut World) {
        if world.now < self.paused_until {
            return;
        }
        if world.random.random_bool(0.3) {
            self.believes = world.owners.get(&self.name) == Some(&self.index);
        }
        if !self.believes {
            return self.crash();
        }
        if self.running.as_ref().is_some_and(|running| running.wipes != world.store.wipes()) {
            let lives = self.lives(world);
            if let Some(running) = &mut self.running {
                (running.reborn, running.wipes) = (running.born != lives, world.store.wipes());
            }
        }
        let Some(running) = &mut self.running else { return self.begin(world) };
        // Missed heartbeats, or a lapsed membership after a pause.
        if world.now - running.looked_at > TOMBSTONE_TTL / 2 {
            return self.crash();
        }
        // Incarnations are looked at now and then.
        if running.reborn && world.random.random_bool(0.3) {
            return self.crash();
        }
        if running.wake.is_some_and(|at| at <= world.now) {
            running.wake = None;
            return self.handle(world, Event::Tick);
        }
        match world.random.random_range(0..5) {
            0 | 1 => self.serve(world),
            2 => {
                let answer = self.running.as_mut().and_then(|running| running.answers.pop_front());
                if let Some(answer) = answer {
                    self.handle(world, answer);
                }
            }
            3 => self.read(world),
            _ => {
                if let Some(side) = self.role.side(world) {
                    self.handle(world, Event::Side(side));
                }
            }
        }
    }

    fn crash(&mut self) {
        self.running = None;
    }

    fn pause(&mut self, steps: i64) {
        self.paused_until = steps;
    }
}
