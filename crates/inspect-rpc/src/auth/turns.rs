//! Whose token the management cluster is asked about next: so many at the same time, fewer of one peer, and no more of it wait.
//!
//! ```text
//! peer a ─► waiting ─► two ─┐
//! peer b ─► waiting ─► two ─┼─► eight ─► the management cluster
//! ```

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Questions at the same time: guesses must not keep the management cluster from its work.
const AT_ONCE: usize = 8;
/// Those of one peer: the other turns are there for others, whatever it sends.
const OF_ONE: usize = 2;
/// Of one peer, those that are asked and those that wait for it.
const WAITING: usize = 16;

/// Turns of all peers.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    /// Peers of whom somebody waits or is being asked about.
    peers: Mutex<HashMap<Option<IpAddr>, Peer>>,
}

#[derive(Debug)]
struct Peer {
    turns: Arc<Semaphore>,
    here: usize,
}

/// A turn. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'t> {
    // The one of all is given back first.
    _of_all: OwnedSemaphorePermit,
    _of_peer: OwnedSemaphorePermit,
    _place: QueueSlot<'t>,
}

/// A place in the queue of a peer.
#[derive(Debug)]
struct QueueSlot<'t> {
    turns: &'t Turns,
    peer: Option<IpAddr>,
}

// === impl Turns ===

impl Turns {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(AT_ONCE)), peers: Mutex::default() }
    }

    /// Waits for the turn of a peer; nothing where too many of it wait already.
    pub(super) async fn take(&self, peer: Option<IpAddr>) -> Option<Turn<'_>> {
        let peer = peer.map(network);
        let (of_peer, place) = self.enter(peer)?;
        let of_peer = of_peer.acquire_owned().await.ok()?;
        let of_all = self.all.clone().acquire_owned().await.ok()?;
        Some(Turn { _of_all: of_all, _of_peer: of_peer, _place: place })
    }

    fn enter(&self, peer: Option<IpAddr>) -> Option<(Arc<Semaphore>, QueueSlot<'_>)> {
        let mut peers = self.lock();
        let queue =
            peers.entry(peer).or_insert_with(|| Peer { turns: Arc::new(Semaphore::new(OF_ONE)), here: 0 });
        if queue.here == WAITING {
            return None;
        }
        queue.here += 1;
        Some((queue.turns.clone(), QueueSlot { turns: self, peer }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        let mut peers = self.turns.lock();
        let left = peers.get_mut(&self.peer).map(|queue| {
            queue.here -= 1;
            queue.here
        });
        if left == Some(0) {
            peers.remove(&self.peer);
        }
    }
}

/// Who has one address of IPv6 has its network.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & (u128::MAX << 64)).into(),
        short => short,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn peer(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// What can be said at once.
    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_peer_that_asks_much_holds_up_itself_alone() {
        let turns = Turns::new();
        let _asked: Vec<_> = (0..OF_ONE).map(|_| now(turns.take(peer(1))).unwrap().unwrap()).collect();
        let mut waiting: Vec<_> = (OF_ONE..WAITING).map(|_| Box::pin(turns.take(peer(1)))).collect();
        assert!(waiting.iter_mut().all(|one| now(one).is_none()), "they wait");
        assert!(now(turns.take(peer(1))).unwrap().is_none(), "no more of it wait");
        assert!(now(turns.take(peer(2))).unwrap().is_some(), "another one does not wait");
        drop(waiting.pop());
        assert!(now(turns.take(peer(1))).is_none(), "who goes away gives the place back");
    }

    #[test]
    fn questions_at_the_same_time_are_few_however_many_peers_there_are() {
        let turns = Turns::new();
        let many: Vec<_> = (0..8_u8).flat_map(|last| [peer(last), peer(last)]).collect();
        let mut held: Vec<_> = many.into_iter().filter_map(|peer| now(turns.take(peer))).collect();
        assert_eq!(held.len(), AT_ONCE);
        held.pop();
        assert!(now(turns.take(peer(9))).unwrap().is_some());
    }

    #[test]
    fn of_who_has_gone_nothing_is_kept() {
        let turns = Turns::new();
        drop(now(turns.take(peer(1))));
        assert!(turns.lock().is_empty());
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
