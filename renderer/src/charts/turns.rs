//! How many are fetched at a time, and how much of what comes is in memory while they are: all tenants together cannot take more.

// D-0923: one fetcher for each process, with limits.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_renderer_core::Access;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failure::Failure;

/// Fetches at a time.
const ALL: usize = 16;
/// Of them those that ask one server in one way, so that one that is slow leaves turns to the others.
const EACH: usize = 4;
/// Answers and archives at a time of more than [`SMALL`] bytes.
const LARGE: usize = 3;
/// Bytes of which everybody whose turn it is may have so many.
const SMALL: usize = 4 << 20;
/// Archives and indices that are read at a time, on threads on which nobody waits for anything else. What they are read into is
/// many times as large.
const READ: usize = 2;

/// Turns that are there to be taken.
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    servers: Mutex<HashMap<(String, Access), Arc<Semaphore>>>,
    rooms: Rooms,
    read: Arc<Semaphore>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn {
    _of_server: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

/// Room for what is large.
#[derive(Clone)]
pub(crate) struct Rooms(Arc<Semaphore>);

/// Bytes, with the room that they take.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

// === impl Turns ===

impl Default for Turns {
    fn default() -> Self {
        let permits = |count| Arc::new(Semaphore::new(count));
        Self {
            all: permits(ALL),
            servers: Mutex::default(),
            rooms: Rooms(permits(LARGE)),
            read: permits(READ),
        }
    }
}

impl Turns {
    /// Waits for a turn to ask a server. Who waits for a server takes no turn from those who ask others.
    pub(crate) async fn wait(&self, server: &str, access: &Access) -> Turn {
        let of_server = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            servers.retain(|_, turns| Arc::strong_count(turns) > 1);
            let turns = servers.entry((server.to_owned(), access.clone()));
            turns.or_insert_with(|| Arc::new(Semaphore::new(EACH))).clone()
        };
        // Nobody closes them: there is a permit for everyone who waits.
        let _of_server = of_server.acquire_owned().await.ok();
        Turn { _of_server, _of_all: self.all.clone().acquire_owned().await.ok() }
    }

    /// Where what is large has its room.
    pub(crate) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Does work that takes a processor's time, away from those who wait for servers.
    ///
    /// # Errors
    /// When it ended in a panic.
    #[expect(clippy::disallowed_methods, reason = "its end is waited for here, and a panic is an error")]
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.read.clone().acquire_owned().await;
        // It goes on where nobody waits for it any more, and then still counts.
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        work.await.map_err(|_| Failure::content("reading it has ended in a panic"))
    }
}

// === impl Rooms ===

impl Rooms {
    /// Adds to bytes, when there is room for them.
    pub(crate) async fn add(&self, to: &mut Bytes, more: &[u8]) {
        self.make(to, to.bytes.len() + more.len()).await;
        to.bytes.extend_from_slice(more);
    }

    /// Makes room for so many bytes.
    pub(crate) async fn make(&self, to: &mut Bytes, length: usize) {
        if length > SMALL && to.room.is_none() {
            to.room = self.0.clone().acquire_owned().await.ok();
        }
    }
}

// === impl Bytes ===

impl Bytes {
    /// With these in the room that was made for them.
    pub(crate) fn filled(self, bytes: Vec<u8>) -> Self {
        Self { bytes, ..self }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_slow_server_takes_no_turn_from_others() {
        let (turns, access) = (Turns::default(), Access::default());
        let of = |server: &str| turns.wait(server, &access).now_or_never();
        let mut slow: Vec<Turn> = (0..EACH).map(|_| of("slow").unwrap()).collect();
        assert!(of("slow").is_none() && of("other").is_some());
        let theirs = Access { plain_http: true, ..Access::default() };
        assert!(turns.wait("slow", &theirs).now_or_never().is_some());
        let more: Vec<Turn> = (EACH..ALL).map(|at| of(&format!("h{at}")).unwrap()).collect();
        assert!(of("other").is_none());
        slow.pop();
        assert!(of("other").is_some());
        drop((slow, more));
        drop(of("last"));
        assert_eq!(turns.servers.lock().unwrap().len(), 1, "those that nobody asks are forgotten");
    }

    #[tokio::test]
    async fn what_is_large_waits_for_room_and_what_is_small_does_not() {
        let rooms = Turns::default().rooms().clone();
        let large = || async {
            let mut bytes = Bytes::default();
            rooms.add(&mut bytes, &vec![0; SMALL]).await;
            rooms.add(&mut bytes, b"1").await;
            rooms.add(&mut bytes, b"2").await;
            bytes
        };
        let mut all: Vec<Bytes> = (0..LARGE).map(|_| large().now_or_never().unwrap()).collect();
        assert!(large().now_or_never().is_none());
        let mut small = Bytes::default();
        assert!(rooms.add(&mut small, b"12").now_or_never().is_some());
        assert_eq!((&*small, all[0].len()), (b"12".as_slice(), SMALL + 2));
        all.pop();
        assert!(large().now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_panics_is_said() {
        let turns = Turns::default();
        for _ in 0..=READ {
            assert!(turns.read(|| assert_eq!(1, 2)).await.is_err());
        }
        assert_eq!(turns.read(|| 1).await, Ok(1));
    }
}
