//! CloudEvents that are sent to the cluster: what counts is the newest of each key.
//!
//! They are read from the first message that is still there, by everybody who begins to own the cluster. Which row a message
//! led to is written in the head of the row, so nothing older replaces anything newer, and no position is kept. So are the ids of the
//! last ones: who sends an event once more does not say it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::cloud_event::{CloudEvent, item_of};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::{About, EventIds, Head, Meta, Position, Problem, Sequence, Step, WatchId};

use crate::messages::Effect;

/// So many channels with a message that is no event are told of; the others are counted.
const TOLD: usize = 16;

/// A message that was sent to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its subject, after the cluster.
    pub channel: String,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// What it says.
    pub body: Vec<u8>,
    /// Its place in the stream.
    pub sequence: Sequence,
    /// When the bus took it, microseconds since 1970.
    pub time: i64,
}

/// An event that is newer than what its row says.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) key: ObjectKey,
    pub(crate) body: Arc<[u8]>,
    pub(crate) position: Position,
}

/// An event whose place among others is not decided.
struct Early {
    body: Arc<[u8]>,
    sequence: Sequence,
    time: i64,
    /// Its own, after those that it took the place of.
    ids: EventIds,
}

// D-0811: CloudEvents become rows.
/// The events of one cluster.
#[derive(Default)]
pub(crate) struct Events {
    /// Number of the reading that goes on; 0 without one.
    reading: WatchId,
    /// Whether everything has come that had been sent before.
    known: bool,
    rows: BTreeMap<ObjectKey, Position>,
    /// The newest of each source and subject.
    newest: BTreeMap<ObjectKey, Position>,
    /// The newest of each key, until everything has come that had been sent before.
    early: BTreeMap<ObjectKey, Early>,
    refused: BTreeSet<String>,
}

// === impl Events ===

impl Events {
    /// A row is there.
    pub(crate) fn found(&mut self, key: &ObjectKey, head: &Head) {
        let position = match &head.meta {
            Meta::Position(position) => position.clone(),
            // A newer version wrote it: only what was sent later is surely newer.
            _ => Position { sequence: Sequence::END, time: head.time, ..Position::default() },
        };
        self.put(key.clone(), position);
    }

    /// The keys of all rows; from now on there is none.
    pub(crate) fn take_rows(&mut self) -> Vec<ObjectKey> {
        self.newest.clear();
        std::mem::take(&mut self.rows).into_keys().collect()
    }

    fn put(&mut self, key: ObjectKey, position: Position) {
        let newest = self.newest.entry(item_of(&key)).or_default();
        if newest.order <= position.order {
            *newest = Position { ids: EventIds::default(), ..position };
        }
        self.rows.insert(key, position);
    }

    /// Begins or ends to read; whether a reading of this number begins.
    pub(crate) fn listen(&mut self, wanted: bool, number: WatchId, step: &mut Step<Effect>) -> bool {
        if wanted == (self.reading > WatchId::new(0)) {
            return false;
        }
        self.known = false;
        self.early.clear();
        self.reading = if wanted { number } else { WatchId::new(0) };
        step.effect(if wanted { Effect::Listen(number) } else { Effect::Unlisten });
        wanted
    }

    /// Whether everything has come that had been sent before.
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Takes a message.
    pub(crate) fn take(
        &mut self,
        reading: WatchId,
        sent: Sent,
        cluster: &ClusterRef,
        step: &mut Step<Effect>,
    ) -> Vec<Accepted> {
        if reading != self.reading {
            return Vec::new();
        }
        let event = CloudEvent::of_message(&sent.headers, &sent.body);
        let event = event.and_then(|event| Ok((event.key(&sent.channel)?.object_key(), event)));
        let about = About::CloudEvents(sent.channel.clone());
        let (key, event) = match event {
            Ok(read) => read,
            Err(error) => {
                step.effect(Effect::Refused);
                if self.refused.len() < TOLD || self.refused.contains(&sent.channel) {
                    let text = format!("message {}: {error}; send it again as it should be", sent.sequence);
                    step.effect(Effect::Problem(Problem::open("agent", cluster, about, text)));
                    self.refused.insert(sent.channel);
                }
                return Vec::new();
            }
        };
        if self.refused.remove(&sent.channel) {
            step.effect(Effect::Problem(Problem::resolved("agent", cluster, about)));
        }
        let former = self.early.remove(&key);
        let mut ids = former.as_ref().map(|early| early.ids.clone()).unwrap_or_default();
        if self.rows.get(&key).is_some_and(|row| row.ids.has(&event.id)) || !ids.remember(&event.id) {
            self.early.extend(former.map(|early| (key, early)));
            return Vec::new();
        }
        let body = event.object.to_string().into_bytes().into();
        let early = Early { body, sequence: sent.sequence, time: sent.time, ids };
        if self.known {
            return self.accept(key, early).into_iter().collect();
        }
        self.early.insert(key, early);
        Vec::new()
    }

    /// Everything has come that had been sent before: the last one of each key counts.
    pub(crate) fn all(&mut self, reading: WatchId) -> Vec<Accepted> {
        if reading != self.reading {
            return Vec::new();
        }
        self.known = true;
        let mut early: Vec<_> = std::mem::take(&mut self.early).into_iter().collect();
        early.sort_by_key(|(_, early)| early.sequence);
        early.into_iter().filter_map(|(key, early)| self.accept(key, early)).collect()
    }

    fn accept(&mut self, key: ObjectKey, Early { body, sequence, time, ids }: Early) -> Option<Accepted> {
        let (same, newest) = (self.rows.get(&key), self.newest.get(&item_of(&key)));
        let mut known = same.map(|same| same.ids.clone()).unwrap_or_default();
        let Some(next) = Position::next(sequence, time, same, newest) else {
            // It is there already. The row may not have told its ids, if a newer version wrote it.
            if let Some(same) = self.rows.get_mut(&key) {
                same.ids = ids;
                same.ids.extend(&known);
            }
            return None;
        };
        known.extend(&ids);
        let position = Position { ids: known, ..next };
        self.put(key.clone(), position.clone());
        Some(Accepted { key, body, position })
    }
}
