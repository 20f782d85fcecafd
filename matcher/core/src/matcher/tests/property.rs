//! Any order of changes, interests, replays that come late, and a take-over ends with the reports that the rows and the
//! interest ask for, and what matched all the time is never withdrawn.

use std::collections::VecDeque;

use proptest::prelude::*;
use sluice_protocol::{Publish, Sequence};

use super::*;

/// Names of objects; the first one always has label `a`.
const NAMES: [&str; 3] = ["steady", "x", "y"];
/// Names of sources, each of which selects the label of its name; the first one is always there.
const LABELS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Op {
    /// A row is written: with a label, with none, or a tombstone.
    Write(usize, Option<usize>),
    Tombstone(usize),
    /// The matcher reads the next row.
    Read,
    /// Which sources there are, and which of them have another form.
    Interest(u8, u8),
    /// The next row of a replay arrives, or its end.
    Replay,
    /// Another replica takes the shard over.
    TakeOver,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1..NAMES.len(), proptest::option::of(0..LABELS.len())).prop_map(|(name, label)| Op::Write(name, label)),
        1 => Just(Op::Write(0, Some(0))),
        2 => (1..NAMES.len()).prop_map(Op::Tombstone),
        6 => Just(Op::Read),
        2 => (0..8u8, 0..8u8).prop_map(|(sources, changed)| Op::Interest(sources, changed)),
        6 => Just(Op::Replay),
        1 => Just(Op::TakeOver),
    ]
}

/// The table that the matcher reads, and the reports on the bus.
struct Bus {
    matcher: Matcher,
    sequence: u64,
    revision: u64,
    read: u64,
    rows: BTreeMap<ObjectKey, Row>,
    sources: Vec<(&'static str, u64)>,
    replay: Option<(u64, VecDeque<Row>)>,
    reports: BTreeMap<(String, ObjectKey), Subject>,
}

impl Bus {
    fn new() -> Self {
        let mut bus = Self {
            matcher: matcher(),
            sequence: 0,
            revision: 0,
            read: 0,
            rows: BTreeMap::new(),
            sources: Vec::new(),
            replay: None,
            reports: BTreeMap::new(),
        };
        bus.take(&Op::Write(0, Some(0)));
        bus.take(&Op::Interest(0, 0));
        bus.take(&Op::TakeOver);
        bus
    }

    fn run(&mut self, f: impl FnOnce(&mut Matcher, &mut Step<Effect>)) {
        let mut step = Step::at(10);
        f(&mut self.matcher, &mut step);
        let (rows, effects, _) = step.into_parts();
        for Publish { subject, body, .. } in rows {
            let Subject::Report { source, object, .. } = &subject else { continue };
            let report = (source.clone(), object.clone());
            match body {
                Body::Value(_) => drop(self.reports.insert(report, subject)),
                Body::Tombstone => {
                    assert_ne!(report, ("a".to_owned(), key("steady")), "it matched all the time");
                    self.reports.remove(&report);
                }
            }
        }
        for effect in effects {
            if let Effect::Replay(_, id) = effect {
                let mut rows: Vec<Row> = self.rows.values().cloned().collect();
                rows.sort_by_key(|row| row.sequence);
                self.replay = Some((id, rows.into()));
            }
        }
    }

    fn tell_interest(&mut self) {
        let row = interest(self.revision, &self.sources);
        self.run(|matcher, step| matcher.external(row, step));
    }

    /// The last row of each object after what has been read.
    fn next(&self) -> Option<Row> {
        self.rows
            .values()
            .filter(|row| row.sequence.get() > self.read)
            .min_by_key(|row| row.sequence)
            .cloned()
    }

    fn write(&mut self, name: usize, row: impl FnOnce(&str, u64) -> Row) {
        self.sequence += 1;
        self.rows.insert(key(NAMES[name]), row(NAMES[name], self.sequence));
    }

    fn take(&mut self, op: &Op) {
        match *op {
            Op::Write(name, label) => {
                self.write(name, |name, sequence| change(name, label.map(|label| LABELS[label]), sequence));
            }
            Op::Tombstone(name) => self.write(name, tombstone),
            Op::Read => {
                let Some(row) = self.next() else { return };
                self.read = row.sequence.get();
                self.run(|matcher, step| matcher.row(&row, step));
                if self.next().is_none() {
                    let read = Sequence::new(self.read);
                    self.run(|matcher, step| matcher.caught_up(read, step));
                }
            }
            Op::Interest(sources, changed) => {
                self.revision += 1;
                let revision = self.revision;
                let former = std::mem::take(&mut self.sources);
                let changed = |index: usize, label: &str| {
                    let known = former.iter().find(|(name, _)| *name == label).map(|(_, changed)| *changed);
                    known.filter(|_| changed & (1 << index) == 0).unwrap_or(revision)
                };
                let there =
                    LABELS.iter().enumerate().filter(|(index, _)| *index == 0 || sources & (1 << index) != 0);
                self.sources = there.map(|(index, label)| (*label, changed(index, label))).collect();
                self.tell_interest();
            }
            Op::Replay => {
                let Some((id, rows)) = &mut self.replay else { return };
                let id = *id;
                match rows.pop_front() {
                    Some(row) => {
                        self.run(|matcher, step| matcher.external(ExternalInput::Replayed(row), step))
                    }
                    None => {
                        self.replay = None;
                        self.run(|matcher, step| {
                            matcher.external(ExternalInput::ReplayDone(cluster(), id), step)
                        });
                    }
                }
            }
            Op::TakeOver => {
                (self.matcher, self.read, self.replay) = (matcher(), 0, None);
                let reports: Vec<Subject> = self.reports.values().cloned().collect();
                reports.iter().for_each(|report| self.matcher.found(report, &Head::default()));
                self.tell_interest();
                self.run(|matcher, step| {
                    matcher.external(ExternalInput::Told, step);
                    matcher.start(step);
                });
            }
        }
    }

    /// Everything that is under way arrives, and the agent says that this was all.
    fn rest(&mut self) {
        while self.next().is_some() || self.replay.is_some() {
            self.take(&Op::Read);
            self.take(&Op::Replay);
        }
        let subject = Subject::Complete {
            table: sluice_protocol::Table::Changes,
            shard: Shard::FIRST,
            cluster: cluster(),
            origin: None,
        };
        let meta = sluice_protocol::Meta::Complete(Complete::of_all(INPUT, Revision::new(self.revision)));
        let end = Sequence::new(self.sequence + 1);
        let row = Row { subject, head: Head { meta, ..Head::default() }, body: [].into(), sequence: end };
        self.run(|matcher, step| matcher.row(&row, step));
        self.run(|matcher, step| matcher.caught_up(end, step));
        while self.replay.is_some() {
            self.take(&Op::Replay);
        }
    }

    fn wanted(&self) -> BTreeSet<(String, ObjectKey)> {
        let has = |row: &Row, label: &str| {
            !row.head.tombstone && String::from_utf8_lossy(&row.body).contains(&format!("\"{label}\":\"\""))
        };
        let matches = |(key, row): (&ObjectKey, &Row)| {
            let sources = self.sources.iter().filter(|(label, _)| has(row, label));
            sources.map(|(label, _)| ((*label).to_owned(), key.clone())).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(matches).collect()
    }
}

proptest! {
    #[test]
    fn reports_become_what_the_rows_and_the_interest_ask_for(ops in proptest::collection::vec(op(), 0..60)) {
        let mut bus = Bus::new();
        ops.iter().for_each(|op| bus.take(op));
        bus.rest();
        let reported: BTreeSet<_> = bus.reports.keys().cloned().collect();
        prop_assert_eq!(reported, bus.wanted());
    }
}
