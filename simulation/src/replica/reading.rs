//! Rows of the input: late, twice, out of sight, unreadable, and with bodies that come after them.

use rand::Rng as _;
use sluice_protocol::{Event, Row, Stop, Subject, Table};

use super::Process;
use crate::coverage::Fault;
use crate::role::Role;
use crate::world::{STEP, World};

impl<R: Role> Process<R> {
    /// The next row of the input arrives, or the news that there is none.
    pub(super) fn read(&mut self, world: &mut World) {
        let Some(running) = &mut self.running else { return };
        running.looked_at = world.now;
        let (Some(cursor), Some((table, shard))) = (running.cursor, self.role.input()) else { return };
        let stream = world.store.stream(table, shard);
        // A reader belongs to one life of its stream; it ends with it, and never says that it has caught up.
        if running.born.last() != Some(&stream.incarnation()) {
            return self.handle(world, Event::Ended(Stop::Reborn));
        }
        let reads = |subject: &Subject| self.role.reads(subject);
        let follows = |after| world.store.follows((table, shard), after, reads);
        let after = |at| world.store.next_on(self.node, (table, shard), at);
        let mut rows = std::iter::successors(after(cursor), |(at, _)| after(*at));
        let Some((sequence, message)) = rows.find(|(_, message)| reads(&message.subject)) else {
            // The leader is asked, and there may be none.
            let ends = !follows(cursor) && world.store.has_leader(table, shard, world.now);
            if ends && !std::mem::replace(&mut running.caught_up, true) {
                world.tell(|| format!("{} has read everything", self.name));
                self.handle(world, Event::CaughtUp(cursor));
            }
            return;
        };
        let (subject, head, mut body) = message.read_by(self.newer);
        let replaced = message.holder.is_none() && stream.last_sequence(&subject.to_string()) != sequence;
        world.coverage.many(Fault::Replaced, u64::from(replaced && !running.caught_up));
        world.coverage.many(Fault::Newer, u64::from(message.newer && !self.newer));
        // Only an estimate: while a row is replaced it is counted neither in its old nor in its new place.
        let pending = follows(sequence) && !world.mishap(Fault::Miscount, 0.1);
        // The same row may come again, before anything that follows it.
        if !world.mishap(Fault::Duplicate, 0.01) {
            running.cursor = Some(sequence);
        }
        if table == Table::Reports && !body.is_empty() && world.mishap(Fault::Unreadable, 0.003) {
            (body, self.blind) = ((*b"?").into(), true);
            world.tell(|| format!("{} cannot read {subject}", self.name));
        }
        world.tell(|| format!("{} has read {}{subject}", self.name, if head.tombstone { "-" } else { "+" }));
        running.late.retain(|(_, row)| row.subject != subject);
        if !body.is_empty() && world.mishap(Fault::LateBody, 0.01) {
            let at = world.now + world.random.random_range(1..100) * STEP;
            let row = Row { subject: subject.clone(), head: head.clone(), body, sequence };
            running.late.push((at, row));
            body = (*b"?").into();
        }
        self.handle(world, Event::Row(Row { subject, head, body, sequence }, pending));
    }

    /// A row whose body was late comes once more.
    pub(super) fn complete(&mut self, world: &mut World) -> bool {
        let Some(running) = &mut self.running else { return false };
        let Some(index) = running.late.iter().position(|(at, _)| *at <= world.now) else { return false };
        let (_, row) = running.late.swap_remove(index);
        world.tell(|| format!("{} has the body of {}", self.name, row.subject));
        self.handle(world, Event::Row(row, false));
        true
    }
}
