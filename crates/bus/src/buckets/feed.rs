//! A small table that many shards want to know as a whole: the present values, then every change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

/// Values by key, and who wants to hear of which. Cheap to clone; clones are the same table.
#[derive(Debug)]
pub struct Feed<K, V> {
    state: Arc<Mutex<State<K, V>>>,
    synced: Arc<watch::Sender<bool>>,
}

#[derive(Debug)]
struct State<K, V> {
    values: BTreeMap<K, V>,
    subscribers: Vec<Subscriber<K, V>>,
}

struct Subscriber<K, V> {
    wants: Wants<K, V>,
    /// Unbounded: a subscriber only updates its memory, it never waits for anything while it takes a value.
    sender: mpsc::UnboundedSender<V>,
}

type Wants<K, V> = Box<dyn Fn(&K, &V) -> bool + Send>;

impl<K, V> std::fmt::Debug for Subscriber<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
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

    /// `key` has this value now. Who wanted the former one is told, too: it is no longer so.
    pub fn put(&self, key: K, value: V) {
        self.with(|state| {
            let former = state.values.insert(key.clone(), value.clone());
            state.tell_if(&key, [Some(&value), former.as_ref()], &value);
        });
    }

    /// Tells the value of `key` once more, as if it had changed.
    pub fn repeat(&self, key: &K) {
        self.with(|state| {
            if let Some(value) = state.values.get(key).cloned() {
                state.tell_if(key, [Some(&value), None], &value);
            }
        });
    }

    /// `key` is gone; `last` tells those so who wanted its value.
    pub fn remove(&self, key: &K, last: V) {
        self.with(|state| {
            if let Some(former) = state.values.remove(key) {
                state.tell_if(key, [Some(&former), None], &last);
            }
        });
    }

    /// `key` is gone, and nobody is told.
    pub fn forget(&self, key: &K) {
        self.with(|state| drop(state.values.remove(key)));
    }

    /// The value of `key`.
    pub fn get(&self, key: &K) -> Option<V> {
        self.with(|state| state.values.get(key).cloned())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.with(|state| state.values.len())
    }

    /// All keys.
    pub fn keys(&self) -> Vec<K> {
        self.with(|state| state.values.keys().cloned().collect())
    }

    /// The keys of those that are wanted.
    pub fn keys_where(&self, wanted: impl Fn(&K, &V) -> bool) -> Vec<K> {
        let wanted = |(key, value): (&K, &V)| wanted(key, value).then(|| key.clone());
        self.with(|state| state.values.iter().filter_map(wanted).collect())
    }

    /// All values.
    pub fn values(&self) -> Vec<V> {
        self.with(|state| state.values.values().cloned().collect())
    }

    /// The values as they are, then every change, until the receiver is dropped.
    pub fn subscribe(&self) -> mpsc::UnboundedReceiver<V> {
        self.subscribe_where(|_, _| true)
    }

    /// The same for one key only.
    pub fn subscribe_key(&self, key: K) -> mpsc::UnboundedReceiver<V>
    where
        K: Send + 'static,
    {
        self.subscribe_where(move |of, _| *of == key)
    }

    /// The same for those that are wanted.
    pub fn subscribe_where(
        &self,
        wants: impl Fn(&K, &V) -> bool + Send + 'static,
    ) -> mpsc::UnboundedReceiver<V> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.with(|state| {
            let mut present = state.values.iter().filter(|(key, value)| wants(key, value));
            if present.all(|(_, value)| sender.send(value.clone()).is_ok()) {
                state.subscribers.push(Subscriber { wants: Box::new(wants), sender });
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
    /// Tells `value` to who wants one of `judged`.
    fn tell_if(&mut self, key: &K, judged: [Option<&V>; 2], value: &V) {
        self.subscribers.retain(|Subscriber { wants, sender }| {
            let wanted = judged.into_iter().flatten().any(|judged| wants(key, judged));
            if wanted { sender.send(value.clone()).is_ok() } else { !sender.is_closed() }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_told_as_a_change() {
        let feed = Feed::new();
        feed.put("a", 1);
        let (mut all, mut other) = (feed.subscribe(), feed.subscribe_key("b"));
        feed.repeat(&"a");
        feed.repeat(&"b");
        assert_eq!((all.try_recv(), all.try_recv(), all.try_recv().is_err()), (Ok(1), Ok(1), true));
        assert!(other.try_recv().is_err());
    }

    #[test]
    fn who_wants_some_values_hears_of_their_end_too() {
        let feed = Feed::new();
        let mut even = feed.subscribe_where(|_, value| value % 2 == 0);
        let mut b = feed.subscribe_key("b");
        feed.put("a", 1);
        feed.put("b", 2);
        feed.remove(&"a", -2);
        feed.remove(&"b", -1);
        feed.put("c", 4);
        feed.put("c", 5);
        feed.put("c", 7);
        feed.forget(&"c");
        let seen = |from: &mut mpsc::UnboundedReceiver<i32>| {
            std::iter::from_fn(|| from.try_recv().ok()).collect::<Vec<_>>()
        };
        assert_eq!((seen(&mut even), seen(&mut b)), (vec![2, -1, 4, 5], vec![2, -1]));
        assert!(feed.keys().is_empty());
    }

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

    #[test]
    fn who_has_gone_is_told_nothing_and_is_forgotten() {
        let feed = Feed::new();
        drop(feed.subscribe());
        let (gone, stays) = (feed.subscribe_key("b"), feed.subscribe());
        drop(gone);
        feed.put("a", 1);
        assert_eq!(feed.with(|state| state.subscribers.len()), 1);
        drop(stays);
    }

    #[test]
    fn what_was_never_there_has_no_end() {
        let feed = Feed::new();
        let mut news = feed.subscribe();
        feed.remove(&"a", -1);
        feed.forget(&"a");
        feed.put("b", 1);
        assert_eq!((news.try_recv(), news.try_recv().is_err()), (Ok(1), true));
    }

    #[test]
    fn values_are_in_the_order_of_their_keys_and_the_last_one_counts() {
        let feed = Feed::new();
        [("b", 1), ("a", 2), ("b", 3)].into_iter().for_each(|(key, value)| feed.put(key, value));
        assert_eq!((feed.keys(), feed.values()), (vec!["a", "b"], vec![2, 3]));
        assert_eq!(feed.keys_where(|key, value| *key == "a" || *value == 1), ["a"]);
    }

    #[tokio::test]
    async fn a_clone_is_the_same_table_and_is_in_step_with_it() {
        let feed = Feed::<&str, i32>::new();
        let clone = feed.clone();
        assert!(!clone.is_synced());
        tokio::join!(clone.synced(), async { feed.set_synced() });
        clone.put("a", 1);
        assert!(clone.is_synced());
        assert_eq!(feed.get(&"a"), Some(1));
    }
}
