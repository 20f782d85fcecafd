//! The streams and the interest bucket.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_protocol::interest::Interest;
use sluice_protocol::memory::{Expect, MemoryStream};
use sluice_protocol::{Body, Head, Publish, Subject, Table};

/// What a message holds.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) subject: Subject,
    pub(crate) head: Head,
    pub(crate) body: Arc<[u8]>,
}

/// All streams of a bus, and the bucket.
pub(crate) struct Store {
    shards: u16,
    streams: BTreeMap<(Table, u16), MemoryStream<Message>>,
    interests: Interests,
    /// How many streams have been wiped.
    wipes: u64,
}

/// Every interest row that was ever written, in order: readers have positions in it. A bucket keeps the newest row
/// of each key: older ones cannot be read any more.
#[derive(Default)]
struct Interests {
    rows: Vec<(ClusterRef, Interest)>,
    newest: BTreeMap<ClusterRef, usize>,
}

impl Store {
    pub(crate) fn new(shards: u16) -> Self {
        let tables = [Table::Changes, Table::Reports, Table::Desired].into_iter();
        let all =
            tables.flat_map(|table| (0..shards).map(move |shard| (table, shard))).chain([(Table::Status, 0)]);
        Self {
            shards,
            streams: all.map(|key| (key, MemoryStream::new(1))).collect(),
            interests: Interests::default(),
            wipes: 0,
        }
    }

    /// The stream that holds a shard of a table.
    pub(crate) fn stream(&self, table: Table, shard: u16) -> &MemoryStream<Message> {
        &self.streams[&stream_key(table, shard)]
    }

    fn stream_mut(&mut self, table: Table, shard: u16) -> &mut MemoryStream<Message> {
        self.streams.entry(stream_key(table, shard)).or_insert_with(|| MemoryStream::new(1))
    }

    /// Every stream.
    pub(crate) fn keys(&self) -> Vec<(Table, u16)> {
        self.streams.keys().copied().collect()
    }

    /// Deletes a stream and makes it anew.
    pub(crate) fn wipe(&mut self, table: Table, shard: u16) {
        self.stream_mut(table, shard).wipe();
        self.wipes += 1;
    }

    /// How many streams have been wiped: while it stays the same, every incarnation does.
    pub(crate) fn wipes(&self) -> u64 {
        self.wipes
    }

    /// Incarnations of a table's streams.
    pub(crate) fn incarnations(&self, table: Table) -> Vec<u64> {
        let count = if table == Table::Status { 1 } else { self.shards };
        (0..count).map(|shard| self.stream(table, shard).incarnation()).collect()
    }

    /// Replaces a fence row; its sequence.
    pub(crate) fn claim(&mut self, fence: &Subject) -> Option<u64> {
        let name = fence.to_string();
        let stream = self.stream_mut(fence.table(), fence.shard());
        let seen = stream.last_sequence(&name);
        let message = Message { subject: fence.clone(), head: Head::default(), body: Arc::from([]) };
        stream.put(&name, message, Some(Expect { subject: &name, sequence: seen }), None).ok()
    }

    /// Publishes under a fence; whether it was accepted.
    pub(crate) fn publish(
        &mut self,
        row: &Publish,
        head: Head,
        fence: (&Subject, u64),
        expires: i64,
    ) -> bool {
        let (body, expires) = match &row.body {
            Body::Value(body) => (body.clone(), None),
            Body::Tombstone => (Arc::from([]), Some(expires)),
        };
        let fence_name = fence.0.to_string();
        let message = Message { subject: row.subject.clone(), head, body };
        let stream = self.stream_mut(row.subject.table(), fence.0.shard());
        stream
            .put(
                &row.subject.to_string(),
                message,
                Some(Expect { subject: &fence_name, sequence: fence.1 }),
                expires,
            )
            .is_ok()
    }

    /// Writes an interest row unless a newer one is there.
    pub(crate) fn write_interest(&mut self, cluster: &ClusterRef, row: &Interest) {
        let Interests { rows, newest } = &mut self.interests;
        if newest.get(cluster).is_none_or(|index| rows[*index].1.revision < row.revision) {
            newest.insert(cluster.clone(), rows.len());
            rows.push((cluster.clone(), row.clone()));
        }
    }

    /// Deletes the bucket and makes it anew: who follows it is told of each row that is lost.
    pub(crate) fn wipe_interests(&mut self) {
        let Interests { rows, newest } = &mut self.interests;
        for (cluster, index) in newest {
            *index = rows.len();
            rows.push((cluster.clone(), Interest::default()));
        }
    }

    /// The first interest row from `position` on that is still there, and the position after it.
    pub(crate) fn next_interest(&self, position: usize) -> (Option<&(ClusterRef, Interest)>, usize) {
        let Interests { rows, newest } = &self.interests;
        let from = position.min(rows.len());
        let present = |(index, row): &(usize, &(ClusterRef, Interest))| newest.get(&row.0) == Some(index);
        match rows.iter().enumerate().skip(from).find(present) {
            Some((index, row)) => (Some(row), index + 1),
            None => (None, rows.len()),
        }
    }

    /// The interest rows as they are.
    pub(crate) fn present_interests(&self) -> impl Iterator<Item = &(ClusterRef, Interest)> {
        self.interests.newest.values().map(|index| &self.interests.rows[*index])
    }

    /// The position after every interest row.
    pub(crate) fn interests_end(&self) -> usize {
        self.interests.rows.len()
    }

    /// Removes expired tombstones; how many there were.
    pub(crate) fn expire(&mut self, now: i64) -> usize {
        self.streams.values_mut().map(|stream| stream.expire(now)).sum()
    }
}

fn stream_key(table: Table, shard: u16) -> (Table, u16) {
    if table == Table::Status { (table, 0) } else { (table, shard) }
}
