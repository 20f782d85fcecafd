//! Commands between a replica and the bus: late, overtaken by others, and without an answer.

use rand::Rng as _;
use sluice_protocol::Event;

use super::{Out, Process, sign};
use crate::coverage::Fault;
use crate::role::Role;
use crate::world::{STEP, TOMBSTONE_TTL, World};

/// Commands that are under way. Those to one stream arrive in their order.
#[derive(Default)]
pub(super) struct Wire(Vec<Parcel>);

struct Parcel {
    at: i64,
    output: usize,
    /// Which life of the replica waits for the answer.
    life: u64,
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
        let waiting = running.outbox.iter().filter(|out| !out.is_empty()).count();
        if waiting == 0 {
            return;
        }
        let pick = if waiting == 1 { 0 } else { world.random.random_range(0..waiting) };
        let mut queues = running.outbox.iter_mut().enumerate().filter(|(_, out)| !out.is_empty());
        let Some((output, queue)) = queues.nth(pick) else { return };
        let Some(out) = queue.pop_front() else { return };
        if matches!(out, Out::Publish { .. }) && !lease {
            return running.answers.push_back(Event::Refused);
        }
        let overtakes = |queue: &std::collections::VecDeque<Out>| {
            matches!((&out, queue.front()),
            (Out::Publish { id, .. }, Some(Out::Publish { id: older, .. })) if older < id)
        };
        world.coverage.many(Fault::Reorder, u64::from(running.outbox.iter().any(overtakes)));
        let delay =
            if world.mishap(Fault::Delay, 0.02) { world.random.random_range(1..60) * STEP } else { 0 };
        let before =
            self.wire.0.iter().filter(|parcel| parcel.output == output).map(|parcel| parcel.at).max();
        let at = before.map_or(world.now + delay, |before| before.max(world.now + delay));
        let parcel = Parcel { at, output, life: self.lives, out };
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
    fn deliver(&mut self, world: &mut World, Parcel { output, life, out, .. }: Parcel) {
        let fence = &self.fences[output];
        let mut answers = Vec::new();
        let mut stored = None;
        match out {
            Out::Claim(output) => {
                let claimed = world.store.claim(fence);
                answers.push(claimed.map_or(Event::Refused, |sequence| Event::Claimed { output, sequence }));
            }
            Out::Load(output) => {
                let stream = world.store.stream(self.role.output(), u16::try_from(output).unwrap_or(0));
                let rows = stream.rows().map(|(_, stored)| &stored.value);
                let own = rows.filter(|message| self.role.owns(&message.subject));
                answers
                    .extend(own.map(|message| Event::Found(message.subject.clone(), message.head.clone())));
                answers.push(Event::Loaded);
            }
            Out::FindEnd(after) => {
                let more = self
                    .role
                    .input()
                    .is_some_and(|(table, shard)| world.store.stream(table, shard).next(after).is_some());
                answers.push(if more { Event::More } else { Event::CaughtUp(after) });
            }
            Out::Publish { .. } if world.mishap(Fault::Lost, 0.002) => answers.push(Event::Refused),
            Out::Publish { id, fence: sequence, head, row } => {
                let accepted = world.store.publish(&row, head, (fence, sequence), world.now + TOMBSTONE_TTL);
                world.coverage.many(Fault::Refused, u64::from(!accepted));
                let outcome = if accepted { "" } else { " REFUSED" };
                world.tell(|| {
                    format!(
                        "{} publishes {}{}{outcome} {}",
                        self.name,
                        sign(&row.body),
                        row.subject,
                        row.meta
                    )
                });
                if accepted && !world.mishap(Fault::Unanswered, 0.002) {
                    stored = Some(id);
                } else {
                    answers.push(Event::Refused);
                }
            }
        }
        if let Some(running) = self.running.as_mut().filter(|_| life == self.lives) {
            running.answers.extend(answers);
            running.stored.extend(stored);
        }
    }
}
