//! A small table that many shards want to know as a whole: the present values, then every change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

/// See the module's text. Cheap to clone.
#[derive(Debug)]
pub struct Feed<K, V> {
    state: Arc<Mutex<State<K, V>>>,
    synced: Arc<watch::Sender<bool>>,
}

#[derive(Debug)]
struct State<K, V> {
    values: BTreeMap<K, V>,
    /// Unbounded: a subscriber only updates its memory, it never waits for anything while it takes a value.
    subscribers: Vec<(Option<K>, mpsc::UnboundedSender<V>)>,
}

impl<K, V> Clone for Feed<K, V> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), synced: self.synced.clone() }
    }
}

impl<K: Ord + Clone, V: Clone> Default for Feed<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord + Clone, V: Clone> Feed<K, V> {
    /// An empty feed that is not in step with its source yet.
    pub fn new() -> Self {
        let state = State { values: BTreeMap::new(), subscribers: Vec::new() };
        Self { state: Arc::new(Mutex::new(state)), synced: Arc::new(watch::Sender::new(false)) }
    }

    /// `key` has this value now.
    pub fn put(&self, key: K, value: V) {
        self.with(|state| {
            state.values.insert(key.clone(), value.clone());
            state.tell(&key, &value);
        });
    }

    /// `key` is gone; `last` tells the subscribers so.
    pub fn remove(&self, key: &K, last: V) {
        self.with(|state| {
            if state.values.remove(key).is_some() {
                state.tell(key, &last);
            }
        });
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Option<V> {
        self.with(|state| state.values.get(key).cloned())
    }

    /// All keys.
    pub fn keys(&self) -> Vec<K> {
        self.with(|state| state.values.keys().cloned().collect())
    }

    /// All values.
    pub fn values(&self) -> Vec<V> {
        self.with(|state| state.values.values().cloned().collect())
    }

    /// The values as they are, then every change, until the receiver is dropped.
    pub fn subscribe(&self) -> mpsc::UnboundedReceiver<V> {
        self.subscribe_to(None)
    }

    /// The same for one key only.
    pub fn subscribe_key(&self, key: K) -> mpsc::UnboundedReceiver<V> {
        self.subscribe_to(Some(key))
    }

    fn subscribe_to(&self, key: Option<K>) -> mpsc::UnboundedReceiver<V> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.with(|state| {
            let present: Vec<&V> = match &key {
                Some(key) => state.values.get(key).into_iter().collect(),
                None => state.values.values().collect(),
            };
            if present.into_iter().all(|value| sender.send(value.clone()).is_ok()) {
                state.subscribers.push((key, sender));
            }
        });
        receiver
    }

    /// The source has been read completely once.
    pub fn set_synced(&self) {
        self.synced.send_replace(true);
    }

    /// Whether the source has been read completely once.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until the source has been read completely once.
    pub async fn synced(&self) {
        let mut receiver = self.synced.subscribe();
        // The sender lives as long as this feed: waiting cannot fail.
        if receiver.wait_for(|synced| *synced).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut State<K, V>) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: PartialEq, V: Clone> State<K, V> {
    fn tell(&mut self, key: &K, value: &V) {
        let wants = |wanted: &Option<K>| wanted.as_ref().is_none_or(|wanted| wanted == key);
        self.subscribers.retain(|(wanted, subscriber)| {
            if wants(wanted) { subscriber.send(value.clone()).is_ok() } else { !subscriber.is_closed() }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_get_what_is_there_and_what_comes() {
        let feed = Feed::new();
        feed.put("a", 1);
        let mut receiver = feed.subscribe();
        feed.put("b", 2);
        feed.remove(&"a", -1);
        feed.remove(&"a", -1);
        let seen: Vec<i32> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        assert_eq!(seen, [1, 2, -1]);
        assert_eq!((feed.get(&"b"), feed.keys()), (Some(2), vec!["b"]));
    }
}
