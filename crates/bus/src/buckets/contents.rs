//! The `content` bucket: large bodies, stored once under their digest, however many rows name them.
//!
//! Nobody deletes a body. It expires unless an owner marks it: whoever has rows that name a body stores it again long
//! before that. A body that no row names is marked by nobody and goes with its age.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::DirectGetErrorKind;
use bytes::Bytes;
use sluice_api::Digest;
use tokio::sync::watch;

use crate::codec;
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
    life: u64,
    /// When this process last stored a body.
    marked: HashMap<Digest, Instant>,
    cached: HashMap<Digest, Arc<[u8]>>,
    order: VecDeque<Digest>,
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
    pub(crate) async fn put(&self, digest: Digest, body: &[u8]) -> Result<(), BusError> {
        if self.is_fresh(digest) {
            return Ok(());
        }
        self.store(digest, codec::encode(body)).await
    }

    /// The body, `None` when nobody marked it for too long, or the bucket is a new one.
    pub(crate) async fn get(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, BusError> {
        if let Some(body) = self.with(|state| state.cached.get(&digest).cloned()) {
            return Ok(Some(body));
        }
        let Some((_, body)) = self.fetch(digest).await? else { return Ok(None) };
        self.with(|state| state.keep(digest, body.clone()));
        Ok(Some(body))
    }

    /// Stores a body again where that is due; whether it is there.
    pub(crate) async fn mark(&self, digest: Digest) -> Result<bool, BusError> {
        if self.is_fresh(digest) {
            return Ok(true);
        }
        let Some((message, _)) = self.fetch(digest).await? else { return Ok(false) };
        self.store(digest, message).await.map(|()| true)
    }

    fn is_fresh(&self, digest: Digest) -> bool {
        let life = self.incarnations.borrow().get(&format!("KV_{CONTENT}"));
        self.with(|state| {
            if state.life != life {
                // A new bucket: what was stored is not there any more.
                state.life = life;
                state.marked.clear();
            }
            state.marked.get(&digest).is_some_and(|at| at.elapsed() < self.age / 4)
        })
    }

    async fn store(&self, digest: Digest, message: Bytes) -> Result<(), BusError> {
        let named = || format!("store content {digest}");
        let limit = self.js.client().server_info().max_payload;
        if message.len() > limit {
            let text = format!(
                "{} bytes, compressed, are more than the bus takes in one message; split the object, or raise max_payload ({limit}) of nats-server",
                message.len()
            );
            return Err(BusError::TooLarge(text));
        }
        let sent = self.js.publish(subject(digest), message).await.map_err(BusError::request(named()))?;
        sent.await.map_err(BusError::request(named()))?;
        let age = self.age;
        self.with(|state| {
            state.marked.retain(|_, at| at.elapsed() < age);
            state.marked.insert(digest, Instant::now());
        });
        Ok(())
    }

    /// A body and the message it is in. Every stage may store bodies: one that is not what its digest says is not there,
    /// so that whoever has the right one stores it again.
    async fn fetch(&self, digest: Digest) -> Result<Option<(Bytes, Arc<[u8]>)>, BusError> {
        let named = || format!("read content {digest}");
        let bucket = self.js.get_stream_no_info(format!("KV_{CONTENT}")).await;
        let bucket = bucket.map_err(BusError::request(named()))?;
        for _ in 0..LOOKS {
            match bucket.direct_get_last_for_subject(subject(digest)).await {
                Ok(message) => match codec::decode(&message.payload) {
                    Ok(body) if Digest::of(&[&body]) == digest => return Ok(Some((message.payload, body))),
                    _ => {
                        tracing::warn!(%digest, "content is not what its digest says and counts as missing");
                        return Ok(None);
                    }
                },
                // A replica that lags behind does not have it yet.
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => tokio::time::sleep(LOOK).await,
                Err(error) => return Err(BusError::Request { what: named(), source: error.into() }),
            }
        }
        Ok(None)
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn keep(&mut self, digest: Digest, body: Arc<[u8]>) {
        if self.cached.contains_key(&digest) {
            return;
        }
        self.bytes += body.len();
        self.cached.insert(digest, body);
        self.order.push_back(digest);
        while self.bytes > CACHE {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.cached.remove(&oldest).map_or(0, |body| body.len());
        }
    }
}

fn subject(digest: Digest) -> String {
    format!("$KV.{CONTENT}.{digest}")
}
