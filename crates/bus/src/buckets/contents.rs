//! The `content` bucket: large bodies, stored once under their digest, however many rows name them.
//!
//! Bodies are kept by who writes the rows that name them and who reads these, as the rows are: a digest alone gives nobody
//! the body of a row that it may not read.
//!
//! Nobody deletes a body. It expires unless an owner marks it: whoever has rows that name a body stores it again long
//! before that. A body that no row names is marked by nobody and goes with its age.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::DirectGetErrorKind;
use bytes::Bytes;
use sluice_api::Digest;
use sluice_protocol::{Capabilities, Incarnation, Subject, subject};
use tokio::sync::watch;

use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::layout::CONTENT;
use crate::layout::incarnations::Incarnations;

/// Bodies above this are stored apart, bytes before compression.
pub(crate) const LARGE: usize = 64 << 10;
/// Bodies kept in memory for the next row that names them, bytes.
const CACHE: usize = 16 << 20;

/// A body must be missing this often before it counts as lost, and the pause in between.
const LOOKS: usize = 3;
const LOOK: Duration = Duration::from_millis(50);

// D-0110: a large body is stored once.
/// Where a body is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BodyLocation {
    home: String,
    digest: Digest,
}

impl BodyLocation {
    /// The place of the body of a row.
    pub(crate) fn of(row: &Subject, digest: Digest) -> Self {
        let table = row.table().name();
        let home = match row {
            // A renderer reads what clusters can do, and nothing else that agents tell.
            Subject::Change { cluster, object, .. } if Capabilities::is_key(object) => {
                home_of(CAPABILITIES, subject::cluster_token(cluster))
            }
            Subject::Change { cluster, .. } | Subject::Shown { cluster, .. } => {
                home_of(table, subject::cluster_token(cluster))
            }
            _ => table.to_owned(),
        };
        Self { home, digest }
    }

    /// What rows name the body by.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn subject(&self) -> String {
        format!("$KV.{CONTENT}.{}.{}", self.home, self.digest)
    }
}

/// Among the homes of bodies: those of rows that say what clusters can do.
pub(crate) const CAPABILITIES: &str = "capabilities";

fn home_of(kind: &str, cluster: String) -> String {
    format!("{kind}.{cluster}")
}

impl fmt::Display for BodyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.digest, self.home)
    }
}

/// Stores and fetches large bodies by their digest, and remembers the last ones. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    js: Context,
    /// How long a body lives unmarked.
    age: Duration,
    incarnations: watch::Receiver<Incarnations>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Which life of the bucket `marked` is about.
    life: Incarnation,
    /// When this process last stored a body.
    marked: HashMap<BodyLocation, Instant>,
    cached: HashMap<BodyLocation, Arc<[u8]>>,
    order: VecDeque<BodyLocation>,
    bytes: usize,
}

impl Contents {
    /// The bucket behind `js`, whose bodies live for `age`.
    pub(crate) fn new(js: Context, age: Duration, incarnations: watch::Receiver<Incarnations>) -> Self {
        Self { js, age, incarnations, state: Arc::default() }
    }

    /// How often rows that name a body must be looked through.
    pub(crate) fn period(&self) -> Duration {
        self.age / 8
    }

    /// Stores a body, unless this process did a short while ago.
    pub(crate) async fn put(&self, place: &BodyLocation, body: &[u8]) -> Result<(), BusError> {
        if self.is_fresh(place) {
            return Ok(());
        }
        self.store(place, codec::encode(body)).await
    }

    /// The body, which may not be larger than the limit; `None` where it is not now: it may come late to the replica that is asked,
    /// nobody has marked it for too long, or the bucket is a new one.
    pub(crate) async fn get(
        &self,
        place: &BodyLocation,
        limit: Limit,
    ) -> Result<Option<Arc<[u8]>>, BusError> {
        if let Some(body) = self.with(|state| state.cached.get(place).cloned()) {
            return Ok(Some(body));
        }
        let Some((_, body)) = self.fetch(place, limit).await? else { return Ok(None) };
        self.with(|state| state.keep(place, body.clone()));
        Ok(Some(body))
    }

    /// Stores a body again where that is due; whether it is there.
    pub(crate) async fn mark(&self, place: &BodyLocation) -> Result<bool, BusError> {
        if self.is_fresh(place) {
            return Ok(true);
        }
        for look in 0..LOOKS {
            if look > 0 {
                // A replica that lags behind does not have it yet.
                tokio::time::sleep(LOOK).await;
            }
            if let Some((message, _)) = self.fetch(place, Limit::LARGEST).await? {
                return self.store(place, message).await.map(|()| true);
            }
        }
        Ok(false)
    }

    fn is_fresh(&self, place: &BodyLocation) -> bool {
        let life = self.incarnations.borrow().get(&format!("KV_{CONTENT}"));
        self.with(|state| {
            if state.life != life {
                // A new bucket: what was stored is not there any more.
                state.life = life;
                state.marked.clear();
            }
            state.marked.get(place).is_some_and(|at| at.elapsed() < self.age / 4)
        })
    }

    async fn store(&self, place: &BodyLocation, message: Bytes) -> Result<(), BusError> {
        let named = || format!("store content {place}");
        let limit = self.js.client().server_info().max_payload;
        if message.len() > limit {
            let text = format!(
                "{} bytes, compressed, are more than the bus takes in one message; split the object, or raise max_payload ({limit}) of nats-server",
                message.len()
            );
            return Err(BusError::TooLarge(text));
        }
        let sent = self.js.publish(place.subject(), message).await.map_err(BusError::request(named()))?;
        sent.await.map_err(BusError::request(named()))?;
        let age = self.age;
        self.with(|state| {
            state.marked.retain(|_, at| at.elapsed() < age);
            state.marked.insert(place.clone(), Instant::now());
        });
        Ok(())
    }

    /// A body and the message it is in. Every stage may store bodies: one that is not what its digest says is not there,
    /// so that whoever has the right one stores it again.
    async fn fetch(
        &self,
        place: &BodyLocation,
        limit: Limit,
    ) -> Result<Option<(Bytes, Arc<[u8]>)>, BusError> {
        let named = || format!("read content {place}");
        let bucket = self.js.get_stream_no_info(format!("KV_{CONTENT}")).await;
        let bucket = bucket.map_err(BusError::request(named()))?;
        match bucket.direct_get_last_for_subject(place.subject()).await {
            Ok(message) => match codec::decode(&message.payload, limit) {
                Ok(body) if Digest::of(&[&body]) == place.digest => Ok(Some((message.payload, body))),
                _ => {
                    tracing::warn!(%place, "content is not what its digest says and counts as missing");
                    Ok(None)
                }
            },
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
            Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn keep(&mut self, place: &BodyLocation, body: Arc<[u8]>) {
        if self.cached.contains_key(place) {
            return;
        }
        self.bytes += body.len();
        self.cached.insert(place.clone(), body);
        self.order.push_back(place.clone());
        while self.bytes > CACHE {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.cached.remove(&oldest).map_or(0, |body| body.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::{ClusterRef, ProfileId};

    use super::*;
    use sluice_protocol::Shard;

    fn place(number: usize) -> BodyLocation {
        let cluster = ClusterRef::sveltos("default", "a");
        let row = Subject::Desired {
            shard: Shard::FIRST,
            cluster,
            origin: Shard::FIRST,
            profile: ProfileId::cluster("p"),
        };
        BodyLocation::of(&row, Digest::of(&[&number.to_le_bytes()]))
    }

    fn kept(sizes: &[usize]) -> State {
        let mut state = State::default();
        for (number, bytes) in sizes.iter().enumerate() {
            state.keep(&place(number), vec![0; *bytes].into());
        }
        state
    }

    #[test]
    fn of_bodies_that_were_read_the_newest_are_kept_as_far_as_there_is_room() {
        let state = kept(&[CACHE / 2, CACHE / 2, 1]);
        let here: Vec<bool> = (0..3).map(|number| state.cached.contains_key(&place(number))).collect();
        assert_eq!(here, [false, true, true]);
        assert_eq!((state.bytes, state.order.len()), (CACHE / 2 + 1, 2));
    }

    #[test]
    fn a_body_that_is_larger_than_all_room_is_not_kept() {
        let state = kept(&[1, CACHE + 1]);
        assert_eq!((state.bytes, state.cached.len(), state.order.len()), (0, 0, 0));
    }

    #[test]
    fn a_body_that_is_read_twice_takes_its_room_once() {
        let mut state = kept(&[10]);
        state.keep(&place(0), vec![0; 10].into());
        assert_eq!((state.bytes, state.order.len()), (10, 1));
    }

    #[test]
    fn a_row_has_its_body_where_the_rows_of_its_table_have_theirs() {
        let digest = Digest::of(&[&0_usize.to_le_bytes()]);
        assert_eq!(place(0).subject(), format!("$KV.content.desired.{digest}"));
        assert_eq!(place(0).to_string(), format!("{digest} of desired"));
        assert_eq!(place(0).digest(), digest);
    }
}
