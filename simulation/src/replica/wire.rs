//! Commands between a replica and the bus: late, overtaken by others, without an answer, and more than once.

use rand::Rng as _;
use sluice_protocol::{Claim, Event, Group, Sequence, Shard, Stop};

use super::{Out, Process};
use crate::coverage::Fault;
use crate::role::Role;
use crate::store::{Holder, PublishOutcome};
use crate::world::{STEP, World};

/// Commands that are under way. Those to one stream arrive in their order, but for those that were given up.
#[derive(Default)]
pub(super) struct Wire(Vec<Parcel>);

struct Parcel {
    at: i64,
    output: usize,
    /// Which life of the replica waits for the answer.
    life: u64,
    /// Whether its sender has been told that there is no answer: a server that was paused carries it out all the same.
    given_up: bool,
    out: Out,
}

impl Wire {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<R: Role> Process<R> {
    /// One command is sent; most arrive at once.
    pub(super) fn send(&mut self, world: &mut World) {
        let lease = self.holds_lease(world.now);
        let Some(running) = &mut self.running else { return };
        let due = |out: &(i64, Out)| out.0 <= world.now;
        let ready: Vec<usize> = (0..running.outbox.len())
            .filter(|output| running.outbox[*output].front().is_some_and(due))
            .collect();
        if ready.is_empty() {
            return;
        }
        let output = ready[world.random.random_range(0..ready.len())];
        world.coverage.many(Fault::Reorder, u64::from(output > ready[0]));
        let Some((_, out)) = running.outbox[output].pop_front() else { return };
        if matches!(out, Out::Send(_) | Out::Claim(_)) && !lease {
            return running.answers.push_back(Event::Ended(Stop::Lease));
        }
        let delay =
            if world.mishap(Fault::Delay, 0.02) { world.random.random_range(1..60) * STEP } else { 0 };
        let given_up =
            delay > 0 && matches!(out, Out::Send(_) | Out::Claim(_)) && world.mishap(Fault::GivenUp, 0.5);
        if given_up {
            running.answers.push_back(Event::Unanswered(output));
        }
        let kept = |parcel: &&Parcel| parcel.output == output && !parcel.given_up;
        let before = self.wire.0.iter().filter(kept).map(|parcel| parcel.at).max();
        let at = world.now + delay;
        let at = if given_up { at } else { before.map_or(at, |before| before.max(at)) };
        let parcel = Parcel { at, output, life: self.lives, given_up, out };
        if at > world.now {
            return self.wire.0.push(parcel);
        }
        self.deliver(world, parcel);
    }

    /// Commands whose time has come reach their server.
    pub(super) fn arrive(&mut self, world: &mut World) {
        while let Some(index) = self.wire.0.iter().position(|parcel| parcel.at <= world.now) {
            let parcel = self.wire.0.remove(index);
            if self.running.is_none() || parcel.life != self.lives {
                world.coverage.note(Fault::Orphan);
            }
            self.deliver(world, parcel);
        }
    }

    /// A command reaches its server; the answer is on its way back, unless nobody waits for it.
    fn deliver(&mut self, world: &mut World, parcel: Parcel) {
        let Parcel { output, life, given_up, .. } = parcel;
        let mut answers = Vec::new();
        match &parcel.out {
            Out::Claim(claim) => answers.extend(self.claim(world, claim, life)),
            Out::Send(group) => answers.extend(self.store(world, group)),
            Out::Load { output, fence } => {
                let (table, shard) = (self.role.output(), Shard::of_output(*output));
                if life != self.lives {
                    return;
                }
                let applied = world.store.applied(self.node, table, shard);
                if applied < *fence {
                    // The reader's node has not come so far.
                    return self.wire.0.push(Parcel { at: world.now + STEP, ..parcel });
                }
                let after = |at| world.store.next_on(self.node, (table, shard), at);
                let rows = std::iter::successors(after(Sequence::NONE), |(at, _)| after(*at))
                    .map(|(_, message)| message);
                let own = rows.filter(|message| message.holder.is_none() && self.role.owns(&message.subject));
                answers.extend(own.map(|message| {
                    let (subject, head, _) = message.read_by(self.newer);
                    Event::Found(subject, head)
                }));
                answers.push(Event::Loaded);
            }
            Out::FindEnd(after) => {
                let ends = self.role.input().is_some_and(|(table, shard)| {
                    let has_leader = world.store.has_leader(table, shard, world.now);
                    let follows =
                        world.store.follows((table, shard), *after, |subject| self.role.reads(subject));
                    has_leader && !follows
                });
                answers.push(if ends { Event::CaughtUp(*after) } else { Event::More });
            }
        }
        if let Some(running) = self.running.as_mut().filter(|_| life == self.lives && !given_up) {
            let sent = matches!(parcel.out, Out::Send(_) | Out::Claim(_));
            if sent && world.mishap(Fault::Unanswered, 0.004) {
                answers = vec![Event::Unanswered(output)];
            }
            running.answers.extend(answers);
        }
    }

    fn claim(&mut self, world: &mut World, claim: &Claim, life: u64) -> Option<Event<External<R>>> {
        let fence = &self.fences[claim.output];
        if world.mishap(Fault::Lost, 0.002) {
            return Some(Event::Unanswered(claim.output));
        }
        let holder = Holder { index: self.seat.index, life, number: claim.number };
        let clock = (world.now, world.now + world.random.random_range(0..3) * STEP);
        let World { store, random, .. } = world;
        let times = || random.random_range(0..64);
        let verdict = store.claim(fence, holder, claim.former, times, clock);
        world.tell(|| format!("{} claims output {}: {verdict:?}", self.name, claim.output));
        Some(match verdict {
            PublishOutcome::Stored(sequence) => Event::Claimed { output: claim.output, sequence },
            // The shell asks again, and gives up for a while.
            PublishOutcome::NotStored => Event::Unanswered(claim.output),
            PublishOutcome::Replaced(by) => self.deposed(world, by, life),
        })
    }

    fn store(&mut self, world: &mut World, group: &Group) -> Option<Event<External<R>>> {
        if world.mishap(Fault::Lost, 0.002) {
            return Some(Event::Unanswered(group.output));
        }
        let fence = &self.fences[group.output];
        let clock = (world.now, world.now + world.random.random_range(0..3) * STEP);
        let expires = world.now + world.tombstone_ttl;
        group.rows.iter().for_each(|row| world.history.rollouts.tried(row, world.now));
        let verdict = world.store.send(fence, group, self.newer, expires, clock);
        world.coverage.many(Fault::NotStored, u64::from(verdict == PublishOutcome::NotStored));
        world.coverage.many(Fault::Refused, u64::from(matches!(verdict, PublishOutcome::Replaced(_))));
        if matches!(verdict, PublishOutcome::Stored(_)) {
            for row in group.rows.iter() {
                let wrong = world.history.stored(row).or_else(|| world.note_content(row));
                world.violation = world.violation.take().or(wrong);
            }
        }
        world.tell(|| {
            let fence = group.fence;
            format!(
                "{} sends {} rows under {fence}: {verdict:?} {:?}",
                self.name,
                group.rows.len(),
                names(group)
            )
        });
        Some(match verdict {
            PublishOutcome::Stored(sequence) => {
                Event::Stored { output: group.output, sequence: Some(sequence) }
            }
            PublishOutcome::NotStored => Event::NotStored(group.output),
            PublishOutcome::Replaced(by) => match by {
                Some(by) if (by.index, by.life) == (self.seat.index, self.lives) => {
                    Event::Unanswered(group.output)
                }
                by => self.deposed(world, by, self.lives),
            },
        })
    }

    fn deposed(&mut self, world: &mut World, by: Option<Holder>, life: u64) -> Event<External<R>> {
        match by {
            Some(by) => {
                if life == self.lives {
                    self.membership.proved(by.index, world.now);
                }
                Event::Ended(Stop::Deposed)
            }
            None => Event::Ended(Stop::Lost),
        }
    }
}

type External<R> = <<R as Role>::Core as sluice_protocol::Core>::External;

/// The rows of a group, for people.
fn names(group: &Group) -> Vec<String> {
    let sign = |tombstone| if tombstone { "-" } else { "+" };
    group
        .rows
        .iter()
        .map(|row| format!("{}{} {}", sign(row.head.tombstone), row.row.subject, row.row.meta))
        .collect()
}
