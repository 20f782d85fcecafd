//! The streams and the interest bucket.
//!
//! In half of the schedules streams are replicated: one conditional message in process for each fence, elections in which
//! a stream takes nothing, readers on followers that lag behind and die with their node, and now and then a stream
//! that loses the last rows that it had acknowledged.

mod interests;

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_protocol::memory::{Expect, MemoryStream};
use sluice_protocol::{Body, Group, Head, Incarnation, Sequence, Shard, Subject, Table};

pub(crate) use crate::message::{Holder, Message};
use crate::world::STEP;

/// Nodes of the bus, when it is replicated.
pub(crate) const NODES: usize = 3;

/// All streams of a bus, and the bucket.
pub(crate) struct Store {
    shards: u16,
    streams: BTreeMap<(Table, Shard), Stream>,
    interests: interests::Interests,
    /// How often a stream became another one.
    wipes: u64,
    /// A node that gets nothing new, and until when.
    slow: (usize, i64),
    /// Whether streams are replicated.
    pub(crate) replicated: bool,
}

struct Stream {
    rows: MemoryStream<Message>,
    /// No leader until then.
    away_until: i64,
    /// How far each node has come.
    applied: [Sequence; NODES],
    /// Rows that nodes still have that have not come to what replaced them: by sequence, with the sequence of that.
    replaced: BTreeMap<Sequence, (Message, Sequence)>,
    /// Fence rows that are compared with a message in process, and until when.
    in_process: BTreeMap<String, i64>,
    /// When somebody will have noticed that acknowledged rows are lost.
    noticed_at: Option<i64>,
    /// Subjects that have an older row again since their newest one was lost, with its sequence, and whether it says something of
    /// the clusters.
    older: BTreeMap<String, (Sequence, bool)>,
}

/// What the server says to a conditional message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublishOutcome {
    /// Stored, with this sequence.
    Stored(Sequence),
    /// Another one is in process, or there is no leader.
    NotStored,
    /// The fence row is another one, whose this is; or there is none.
    Replaced(Option<Holder>),
}

impl Stream {
    /// The sequence of each row, and whether it says something of the clusters: not only whose the stream is, or what is complete.
    fn newest(&self) -> BTreeMap<String, (Sequence, bool)> {
        let says = |subject: &Subject| !matches!(subject, Subject::Owner { .. } | Subject::Complete { .. });
        let rows = self.rows.rows();
        rows.map(|(sequence, row)| (row.subject.clone(), (sequence, says(&row.value.subject)))).collect()
    }
}

impl Store {
    pub(crate) fn new(shards: u16, replicated: bool) -> Self {
        let tables = [Table::Changes, Table::Reports, Table::Desired].into_iter();
        let all = tables
            .flat_map(|table| Shard::all(shards).map(move |shard| (table, shard)))
            .chain([(Table::Status, Shard::FIRST)]);
        let new = || Stream {
            rows: MemoryStream::new(Incarnation::new(1)),
            away_until: 0,
            applied: [Sequence::NONE; NODES],
            replaced: BTreeMap::new(),
            in_process: BTreeMap::new(),
            noticed_at: None,
            older: BTreeMap::new(),
        };
        Self {
            shards,
            streams: all.map(|key| (key, new())).collect(),
            interests: interests::Interests::default(),
            wipes: 0,
            slow: (0, 0),
            replicated,
        }
    }

    /// The stream that holds a shard of a table.
    pub(crate) fn stream(&self, table: Table, shard: Shard) -> &MemoryStream<Message> {
        &self.streams[&stream_key(table, shard)].rows
    }

    fn stream_mut(&mut self, table: Table, shard: Shard) -> Option<&mut Stream> {
        self.streams.get_mut(&stream_key(table, shard))
    }

    /// Every stream.
    pub(crate) fn keys(&self) -> Vec<(Table, Shard)> {
        self.streams.keys().copied().collect()
    }

    /// Deletes a stream and makes it anew.
    pub(crate) fn wipe(&mut self, table: Table, shard: Shard) {
        if let Some(stream) = self.stream_mut(table, shard) {
            stream.rows.wipe();
            stream.replaced.clear();
            stream.noticed_at = None;
            stream.older.clear();
        }
        self.wipes += 1;
    }

    /// How often streams became others: while it stays the same, every incarnation does.
    pub(crate) fn wipes(&self) -> u64 {
        self.wipes
    }

    /// A stream has no leader until then.
    pub(crate) fn elect(&mut self, (table, shard): (Table, Shard), until: i64) {
        if let Some(stream) = self.stream_mut(table, shard) {
            stream.away_until = until;
        }
    }

    /// A stream loses its last rows, which is noticed at some time; how many there were.
    pub(crate) fn lose_tail(
        &mut self,
        (table, shard): (Table, Shard),
        rows: usize,
        noticed_at: i64,
    ) -> usize {
        let Some(stream) = self.stream_mut(table, shard) else { return 0 };
        let had = stream.newest();
        let lost = stream.rows.lose_tail(rows);
        let older = stream.newest().into_iter().filter(|(subject, row)| had.get(subject) > Some(row));
        stream.older.extend(older);
        stream.applied = [stream.rows.last(); NODES];
        stream.replaced.clear();
        if lost > 0 {
            stream.noticed_at = Some(noticed_at);
        }
        lost
    }

    /// Whether a stream has an older row where it lost a newer one, which nobody has written again.
    pub(crate) fn has_older(&self) -> bool {
        self.streams.values().any(|stream| stream.older.values().any(|(_, says)| *says))
    }

    /// Whether this subject has an older row because the stream lost a newer one.
    pub(crate) fn is_older(&self, (table, shard): (Table, Shard), subject: &str) -> bool {
        self.streams.get(&(table, shard)).is_some_and(|stream| stream.older.contains_key(subject))
    }

    /// A node gets nothing new until then; not when it has hardly caught up since the last time: one that lags for as long
    /// as tombstones live never hears of them.
    pub(crate) fn slow_down(&mut self, node: usize, now: i64, until: i64) -> bool {
        let has_caught_up = self.slow.0 != node || now >= self.slow.1 + 10 * STEP;
        self.slow = if has_caught_up { (node, until) } else { self.slow };
        has_caught_up
    }

    /// The node that lagged last for long.
    pub(crate) fn slowest(&self) -> usize {
        self.slow.0
    }

    /// Nodes catch up, and what is lost is noticed.
    pub(crate) fn pass_time(&mut self, now: i64, mut lags: impl FnMut() -> bool) {
        for stream in self.streams.values_mut() {
            let last = stream.rows.last();
            for (node, applied) in stream.applied.iter_mut().enumerate() {
                let slow = self.slow.0 == node && now < self.slow.1;
                if *applied != last && !(self.replicated && (slow || lags())) {
                    *applied = last;
                }
            }
            let behind = stream.applied.into_iter().min().unwrap_or(last);
            stream.replaced.retain(|_, (_, by)| *by > behind);
            let Stream { rows, older, .. } = stream;
            older.retain(|subject, (row, _)| rows.last_sequence(subject) == *row);
            if stream.noticed_at.is_some_and(|at| at <= now) {
                stream.noticed_at = None;
                stream.rows.raise_epoch();
                self.wipes += 1;
            }
        }
    }

    /// Whether a stream has a leader.
    pub(crate) fn has_leader(&self, table: Table, shard: Shard, now: i64) -> bool {
        self.streams[&stream_key(table, shard)].away_until <= now
    }

    /// The first row after `sequence` on a node: of each subject it has the newest row that has come to it.
    pub(crate) fn next_on(
        &self,
        node: usize,
        (table, shard): (Table, Shard),
        sequence: Sequence,
    ) -> Option<(Sequence, &Message)> {
        let stream = &self.streams[&stream_key(table, shard)];
        let applied = stream.applied[node];
        let present = stream.rows.next(sequence).map(|(found, stored)| (found, &stored.value));
        let mut former = stream.replaced.range(sequence.next()..).filter(|(_, (_, by))| *by > applied);
        let former = former.next().map(|(found, (message, _))| (*found, message));
        let first = present.into_iter().chain(former).min_by_key(|(found, _)| *found);
        first.filter(|(found, _)| *found <= applied)
    }

    /// Whether a stream has a row after `sequence` that somebody reads.
    pub(crate) fn follows(
        &self,
        (table, shard): (Table, Shard),
        sequence: Sequence,
        reads: impl Fn(&Subject) -> bool,
    ) -> bool {
        let stream = self.stream(table, shard);
        let mut rows = std::iter::successors(stream.next(sequence), |(at, _)| stream.next(*at));
        rows.any(|(_, stored)| reads(&stored.value.subject))
    }

    /// How far a node has come.
    pub(crate) fn applied(&self, node: usize, table: Table, shard: Shard) -> Sequence {
        self.streams[&stream_key(table, shard)].applied[node]
    }

    /// Incarnations of a table's streams.
    pub(crate) fn incarnations(&self, table: Table) -> Vec<Incarnation> {
        let count = if table == Table::Status { 1 } else { self.shards };
        Shard::all(count).map(|shard| self.stream(table, shard).incarnation()).collect()
    }

    /// Replaces a fence row, whoever has it or only the one with the sequence `former`.
    pub(crate) fn claim(
        &mut self,
        fence: &Subject,
        holder: Holder,
        former: Option<Sequence>,
        times: impl FnOnce() -> u64,
        clock: (i64, i64),
    ) -> PublishOutcome {
        let name = fence.to_string();
        let Some(stream) = self.stream_mut(fence.table(), fence.shard()) else {
            return PublishOutcome::NotStored;
        };
        let last = stream.rows.last_sequence(&name);
        let found = stream.rows.get(&name).and_then(|stored| stored.value.holder);
        if former.is_some_and(|former| former != last) {
            // A former try of the same claim.
            return if found == Some(holder) {
                PublishOutcome::Stored(last)
            } else {
                PublishOutcome::Replaced(found)
            };
        }
        if stream.rows.has_lost() {
            stream.rows.skip(times());
        }
        let message = Message {
            subject: fence.clone(),
            head: Head::default(),
            body: Arc::from([]),
            holder: Some(holder),
            newer: false,
        };
        self.put(&name, &[(message, None)], (&name, last), clock)
    }

    /// Stores a group under a fence, of rows of the older or the newer form.
    pub(crate) fn send(
        &mut self,
        fence: &Subject,
        group: &Group,
        newer: bool,
        expires: i64,
        clock: (i64, i64),
    ) -> PublishOutcome {
        let rows: Vec<_> = group
            .rows
            .iter()
            .map(|row| {
                let (body, expires) = match &row.row.body {
                    Body::Value(body) => (body.clone(), None),
                    Body::Tombstone => (Arc::from([]), Some(expires)),
                };
                let (subject, head) = (row.row.subject.clone(), row.head.clone());
                (Message { subject, head, body, holder: None, newer }, expires)
            })
            .collect();
        self.put(&fence.to_string(), &rows, (&fence.to_string(), group.fence), clock)
    }

    /// Stores messages while the last row of the fence has this sequence; `clock` is now, and until when the message is in
    /// process.
    fn put(
        &mut self,
        of: &str,
        messages: &[(Message, Option<i64>)],
        (fence, sequence): (&str, Sequence),
        (now, until): (i64, i64),
    ) -> PublishOutcome {
        let replicated = self.replicated;
        let place = messages.first().map(|(message, _)| (message.subject.table(), message.subject.shard()));
        let Some(stream) = place.and_then(|(table, shard)| self.stream_mut(table, shard)) else {
            return PublishOutcome::NotStored;
        };
        let busy = stream.in_process.get(of).is_some_and(|until| now < *until);
        if now < stream.away_until || (replicated && busy) {
            return PublishOutcome::NotStored;
        }
        if stream.rows.last_sequence(fence) != sequence {
            return PublishOutcome::Replaced(stream.rows.get(fence).and_then(|stored| stored.value.holder));
        }
        stream.in_process.insert(of.to_owned(), until);
        let mut stored = Sequence::NONE;
        for (message, expires) in messages {
            let expect = Expect { subject: fence, sequence };
            let subject = message.subject.to_string();
            let (former, row) = (stream.rows.last_sequence(&subject), stream.rows.get(&subject).cloned());
            if let Ok(sequence) = stream.rows.put(&subject, message.clone(), Some(expect), *expires) {
                stored = sequence;
                stream.replaced.extend(row.map(|row| (former, (row.value, sequence))));
            }
        }
        PublishOutcome::Stored(stored)
    }

    /// Removes expired tombstones; how many there were.
    pub(crate) fn expire(&mut self, now: i64) -> usize {
        self.streams.values_mut().map(|stream| stream.rows.expire(now)).sum()
    }
}

fn stream_key(table: Table, shard: Shard) -> (Table, Shard) {
    if table == Table::Status { (table, Shard::FIRST) } else { (table, shard) }
}
