//! One replica's work on one shard, as a state machine.
//!
//! The phases, and what leaves them:
//! - *Claiming*: the fence row of every output stream is being replaced. Leaves when all are.
//! - *Loading*: the heads of this shard's own rows are being read. Leaves when all are.
//! - *Waiting*: the core does not know yet what there is besides rows, or some row was made from newer knowledge than
//!   this replica has. Leaves when the core is ready and its view covers every row; for the view it waits
//!   [`OwnerConfig::patience`] at most. Rows that are newer than the view stay as they are until it covers them.
//! - *Reading*: the input table is being read from its first row; the core runs. Never leaves by itself. What the core
//!   publishes before it has read the table to its end is held until then.
//!
//! Rows go to each output stream in groups, one after the other; what is not answered is sent again under a renewed
//! fence. A replaced fence, and acknowledged rows that are lost, stop the owner: the next one reads again.

use std::collections::BTreeSet;

use self::barriers::{Barrier, Barriers};
use self::early::Early;
use self::newer::{Covered, Newer};
use self::outlet::Outlet;
use self::table::{OwnTable, RowKey};
use crate::Sequence;
use crate::row::{Head, Publish};
use crate::subject::Subject;
use crate::view::View;

mod barriers;
mod core;
mod early;
mod finding;
mod newer;
mod outlet;
mod shell;
mod step;
mod table;

pub use self::core::Core;
pub use shell::{Claim, Command, Event, Group, Outgoing, OwnerConfig, Stop};
pub use step::{Now, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Claiming(usize),
    Loading(usize),
    Waiting { until: i64 },
    Reading,
    Stopped,
}

/// Runs a core over one shard: takes events, gives commands, and waits for nothing.
pub struct Owner<C: Core> {
    core: C,
    config: OwnerConfig,
    phase: Phase,
    outlets: Vec<Outlet>,
    /// Outlets that may have a group to send.
    ready: BTreeSet<usize>,
    needed: View,
    own: OwnTable,
    newer: Newer,
    early: Early,
    /// Rows that the server has not acknowledged.
    outstanding: BTreeSet<u64>,
    barriers: Barriers<C::Effect>,
    next_id: u64,
    caught_up: bool,
    lagging_since: Option<i64>,
    /// Sequence of the row of the input that came last.
    newest: Sequence,
    /// Whether the end of the input is being looked for.
    finding: bool,
    find_at: Option<i64>,
}

// === impl Owner ===

impl<C: Core> Owner<C> {
    /// Begins to own a shard; the commands are the first things to do.
    pub fn begin(core: C, config: OwnerConfig) -> (Self, Vec<Command<C::Effect>>) {
        let (outlets, claims): (Vec<_>, Vec<_>) = (0..config.outputs).map(Outlet::new).unzip();
        let commands = claims.into_iter().map(Command::Claim).collect();
        let owner = Self {
            phase: Phase::Claiming(config.outputs),
            outlets,
            ready: BTreeSet::new(),
            needed: View::default(),
            own: OwnTable::default(),
            newer: Newer::default(),
            early: Early::default(),
            outstanding: BTreeSet::new(),
            barriers: Barriers::default(),
            next_id: 0,
            caught_up: false,
            lagging_since: None,
            newest: Sequence::NONE,
            finding: false,
            find_at: None,
            core,
            config,
        };
        (owner, commands)
    }

    /// The stage's decision, for inspection.
    pub fn core(&self) -> &C {
        &self.core
    }

    /// Whether every row of the input has been seen.
    pub fn is_caught_up(&self) -> bool {
        self.caught_up
    }

    /// How many rows the server has not acknowledged.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Takes one event; returns what to do because of it, in order.
    pub fn handle(&mut self, now: impl Into<Now>, event: Event<C::External>) -> Vec<Command<C::Effect>> {
        let now = now.into();
        let mut commands = Vec::new();
        if self.phase == Phase::Stopped {
            return commands;
        }
        match event {
            Event::Ended(reason) => self.stop(reason, &mut commands),
            Event::Claimed { output, sequence } => self.claimed(output, sequence, &mut commands),
            Event::Found(subject, head) => self.found(&subject, head),
            Event::Loaded => self.loaded(now, &mut commands),
            Event::Stored { output, sequence } => self.stored(now, output, sequence, &mut commands),
            Event::NotStored(output) => {
                commands.extend(self.outlets.get_mut(output).and_then(Outlet::held));
            }
            Event::Unanswered(output) => {
                commands.extend(self.outlets.get_mut(output).map(Outlet::unanswered));
            }
            Event::External(input) => self.run(now, &mut commands, |core, step| core.external(input, step)),
            Event::Row(row, pending) if self.phase == Phase::Reading => {
                self.lagging_since = pending.then(|| self.lagging_since.unwrap_or(now.wall));
                // A row whose body was late comes again after later ones.
                self.newest = self.newest.max(row.sequence);
                self.run(now, &mut commands, |core, step| core.row(&row, step));
                if !pending {
                    self.find_end(&mut commands);
                }
            }
            Event::Row(..) => {}
            Event::CaughtUp(sequence) => self.catch_up(now, sequence, &mut commands),
            Event::More => self.finding = false,
            Event::Tick => self.tick(now, &mut commands),
        }
        self.find_end_later(now, &mut commands);
        self.begin_reading_when_ready(now, &mut commands);
        self.reconsider_covered(now, &mut commands);
        commands.extend(self.own.lines().map(Command::Tell));
        self.send(&mut commands);
        commands
    }

    fn stop(&mut self, reason: Stop, commands: &mut Vec<Command<C::Effect>>) {
        self.phase = Phase::Stopped;
        commands.push(Command::Stop(reason));
    }

    fn claimed(&mut self, output: usize, sequence: Sequence, commands: &mut Vec<Command<C::Effect>>) {
        let Some(outlet) = self.outlets.get_mut(output) else { return };
        match outlet.claimed(sequence) {
            Ok(again) => commands.extend(again),
            Err(reason) => return self.stop(reason, commands),
        }
        let Phase::Claiming(left) = self.phase else { return };
        self.phase = Phase::Claiming(left - 1);
        if left == 1 {
            // Only now: a row that the predecessor still gets in after this load would be unknown to us.
            self.phase = Phase::Loading(self.config.outputs);
            commands.push(Command::Claimed);
            let load = |(output, outlet): (usize, &Outlet)| Command::Load { output, fence: outlet.fence() };
            commands.extend(self.outlets.iter().enumerate().map(load));
        }
    }

    fn stored(
        &mut self,
        now: Now,
        output: usize,
        sequence: Option<Sequence>,
        commands: &mut Vec<Command<C::Effect>>,
    ) {
        let Some(outlet) = self.outlets.get_mut(output) else { return };
        match outlet.stored(sequence) {
            Ok(rows) => rows.iter().for_each(|row| {
                self.outstanding.remove(&row.id);
            }),
            Err(reason) => return self.stop(reason, commands),
        }
        self.ready.insert(output);
        self.release_barriers(now, commands);
    }

    /// The next group of every outlet that has one.
    fn send(&mut self, commands: &mut Vec<Command<C::Effect>>) {
        while let Some(output) = self.ready.pop_first().filter(|_| self.phase != Phase::Stopped) {
            commands.extend(self.outlets.get_mut(output).and_then(Outlet::next));
        }
    }

    fn found(&mut self, subject: &Subject, head: Head) {
        self.needed.merge(&head.view);
        self.newer.found(subject, &head, &self.core.view());
        self.core.found(subject, &head);
        if !head.tombstone {
            self.own.take(RowKey::of(subject), &head, None);
        }
    }

    fn loaded(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        let Phase::Loading(left) = self.phase else { return };
        self.phase = Phase::Loading(left - 1);
        if left == 1 {
            let until = now.wall + self.config.patience;
            self.phase = Phase::Waiting { until };
            commands.push(Command::WakeAt(until));
        }
    }

    fn begin_reading_when_ready(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        let Phase::Waiting { until } = self.phase else { return };
        let view = self.core.view();
        if !self.core.is_ready() || (now.wall < until && !view.covers(&self.needed)) {
            return;
        }
        self.newer.take_covered(&view);
        self.phase = Phase::Reading;
        self.run(now, commands, |core, step| core.start(step));
        if self.config.reads {
            self.lagging_since = Some(now.wall);
            commands.push(Command::Read);
        } else {
            self.catch_up(now, Sequence::NONE, commands);
        }
    }

    fn catch_up(&mut self, now: Now, sequence: Sequence, commands: &mut Vec<Command<C::Effect>>) {
        if self.phase != Phase::Reading {
            return;
        }
        self.finding = false;
        // Rows that came since may be far behind their table again.
        if sequence >= self.newest {
            self.lagging_since = None;
        }
        if !std::mem::replace(&mut self.caught_up, true) {
            // What was to be done after rows that were held until now.
            let effects = std::mem::take(&mut self.barriers);
            self.early.release().into_iter().for_each(|row| self.take(row));
            self.barriers.append(effects);
            self.barriers.restamp_others(self.next_id);
        }
        self.run(now, commands, |core, step| core.caught_up(sequence, step));
    }

    fn tick(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        if self.lagging_since.is_some_and(|since| now.wall - since > self.config.max_lag) {
            // D-0315: an owner that lags for half of a tombstone's life begins again.
            return self.stop(Stop::Lagging, commands);
        }
        match self.find_at {
            Some(at) if at <= now.wall => {
                self.find_at = None;
                self.find_end(commands);
            }
            // This tick was for something else, and there is one wake-up time.
            Some(at) => commands.push(Command::WakeAt(at)),
            None => {}
        }
        if self.phase == Phase::Reading {
            self.run(now, commands, |core, step| core.tick(step));
        }
    }

    fn run(
        &mut self,
        now: Now,
        commands: &mut Vec<Command<C::Effect>>,
        f: impl FnOnce(&mut C, &mut Step<C::Effect>),
    ) {
        let mut step = Step::at(now).with_key(self.config.digest_key.as_ref());
        f(&mut self.core, &mut step);
        debug_assert!(step.publishes.is_empty() || self.phase == Phase::Reading, "published before start");
        let (waiting, hears) = (std::mem::take(&mut step.after_all), step.hears);
        self.early.take(step.left.iter());
        let parting = self.newer.tombstones_of(&step.parted, now.wall);
        let (publishes, effects, wake) = step.into_parts();
        parting.into_iter().chain(publishes).for_each(|row| self.take(row));
        waiting.into_iter().for_each(|effect| self.barriers.push(self.next_id, Barrier::Effect(effect)));
        (0..hears).for_each(|_| self.barriers.push(self.next_id, Barrier::Heard));
        commands.extend(effects.into_iter().map(Command::Effect));
        commands.extend(wake.map(Command::WakeAt));
        self.release_barriers(now, commands);
    }

    /// A row that the core wants to exist.
    fn take(&mut self, row: Publish) {
        if !self.caught_up {
            let head = row.head_by(self.config.digest_key.as_ref());
            let stored = self.own.says(RowKey::of(&row.subject), &head);
            self.early.hold(row, stored);
        } else if row.barrier {
            // What was wanted there before must not come after it.
            self.newer.forget_wanted(&row.subject);
            self.barriers.push(self.next_id, Barrier::Row(Box::new(row)));
        } else {
            self.publish(row);
        }
    }

    /// Lets go what waited for earlier rows to be stored: a row that claims completeness must not be readable before
    /// what it speaks of. Before the end of the input has been seen, rows are held elsewhere, and what follows them waits.
    fn release_barriers(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        while self.caught_up
            && let Some(barrier) = self.barriers.take(self.outstanding.first().copied())
        {
            match barrier {
                Barrier::Row(row) => {
                    self.publish(*row);
                    self.barriers.restamp_others(self.next_id);
                }
                Barrier::Effect(effect) => commands.push(Command::Effect(effect)),
                Barrier::Heard => self.run(now, commands, |core, step| core.all_stored(step)),
            }
        }
    }

    /// Rows that were newer than the view, and are not any more, become what the core wants them to be.
    fn reconsider_covered(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        if self.phase != Phase::Reading || self.newer.is_empty() {
            return;
        }
        let view = self.core.view();
        let Covered { rows, wanted } = self.newer.take_covered(&view);
        if !rows.is_empty() {
            let early = self.early.take(rows.iter().map(|(subject, _)| subject));
            let mut anew = false;
            self.run(now, commands, |core, step| anew = core.reconsider(&rows, step));
            if !anew {
                early.into_iter().chain(wanted).for_each(|row| self.take(row));
            }
        }
        commands.extend(self.newer.news(&view).map(Command::Behind));
    }

    fn publish(&mut self, row: Publish) {
        let Some(mut row) = self.newer.hold(row) else { return };
        let (key, head) = (RowKey::of(&row.subject), row.head_by(self.config.digest_key.as_ref()));
        if self.own.says(key, &head) && !row.forced {
            return;
        }
        self.own.take(key, &head, row.line.take());
        let output = self.output_of(&row.subject);
        let Some(outlet) = self.outlets.get_mut(output) else { return };
        let id = self.next_id;
        self.next_id += 1;
        self.outstanding.insert(id);
        outlet.push(Outgoing { id, head, row });
        self.ready.insert(output);
    }

    /// Index of the output stream of `subject`: outputs are one stream for each shard, or a single one.
    fn output_of(&self, subject: &Subject) -> usize {
        if self.config.outputs == 1 { 0 } else { subject.shard().index() }
    }
}

#[cfg(test)]
mod tests;
