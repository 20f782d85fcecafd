//! Which projection is written next: the newest wish for each object, in the order in which objects were first wished
//! for, each by one writer at a time. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use sluice_api::{Digest, ObjectKey};

use super::Wish;

/// What was written is remembered up to this many objects; who is forgotten is written once more.
const REMEMBERED: usize = 100_000;

/// Wishes that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: HashMap<ObjectKey, Wish>,
    /// The objects of `waiting` that nobody writes.
    order: VecDeque<ObjectKey>,
    /// Objects that are being written, or will be tried again.
    busy: HashSet<ObjectKey>,
    written: HashMap<ObjectKey, Digest>,
}

impl Queue {
    /// The object should become this; who has waited keeps its place.
    pub(super) fn want(&mut self, key: ObjectKey, wish: Wish) {
        if self.waiting.insert(key.clone(), wish).is_none() && !self.busy.contains(&key) {
            self.order.push_back(key);
        }
    }

    /// The next object to write, which is busy until it is [`Queue::written`] or [`Queue::released`].
    pub(super) fn next(&mut self) -> Option<(ObjectKey, Wish)> {
        loop {
            let key = self.order.pop_front()?;
            let Some(wish) = self.waiting.remove(&key) else { continue };
            if wish.digest().is_some_and(|digest| self.written.get(&key) == Some(&digest)) {
                continue;
            }
            self.busy.insert(key.clone());
            return Some((key, wish));
        }
    }

    /// The object is as it was wished.
    pub(super) fn written(&mut self, key: ObjectKey, wish: &Wish) {
        self.released(&key);
        let Some(digest) = wish.digest() else {
            self.written.remove(&key);
            return;
        };
        if self.written.len() >= REMEMBERED {
            self.written.clear();
        }
        self.written.insert(key, digest);
    }

    /// The object could not be written; unless something newer waits, it is tried again.
    pub(super) fn again(&mut self, key: ObjectKey, wish: Wish) {
        self.waiting.entry(key.clone()).or_insert(wish);
        self.written.remove(&key);
        self.released(&key);
    }

    fn released(&mut self, key: &ObjectKey) {
        self.busy.remove(key);
        if self.waiting.contains_key(key) {
            self.order.push_back(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use sluice_api::Gvk;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "a".into(), name: name.into() }
    }

    fn wish(number: u32) -> Wish {
        Wish::Object(format!("{{\"number\":{number}}}").into())
    }

    fn queue(names: &[&str]) -> Queue {
        let mut queue = Queue::default();
        names.iter().for_each(|name| queue.want(key(name), wish(0)));
        queue
    }

    #[test]
    fn the_newest_wish_is_written_at_the_place_of_the_first() {
        let mut queue = queue(&["b", "a"]);
        queue.want(key("b"), wish(1));
        assert_eq!(queue.next(), Some((key("b"), wish(1))));
        assert_eq!(queue.next(), Some((key("a"), wish(0))));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn an_object_is_written_by_one_writer_at_a_time() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.want(key("a"), wish(1));
        assert_eq!(queue.next(), None);
        queue.written(name, &first);
        assert_eq!(queue.next(), Some((key("a"), wish(1))));
    }

    #[test]
    fn what_is_so_already_is_not_written() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.written(name, &first);
        queue.want(key("a"), wish(0));
        assert_eq!(queue.next(), None);
        queue.want(key("a"), Wish::Gone);
        let (name, gone) = queue.next().unwrap();
        queue.written(name, &gone);
        queue.want(key("a"), wish(0));
        assert!(queue.next().is_some());
    }

    #[test]
    fn who_cannot_be_written_goes_behind_the_others_and_yields_to_something_newer() {
        let mut queue = queue(&["a", "b", "c"]);
        let (name, first) = queue.next().unwrap();
        queue.want(key("b"), wish(1));
        queue.again(name, first);
        assert_eq!(queue.next(), Some((key("b"), wish(1))));
        assert_eq!(queue.next(), Some((key("c"), wish(0))));
        let (name, first) = queue.next().unwrap();
        queue.want(key("a"), wish(2));
        queue.again(name, first);
        assert_eq!(queue.next(), Some((key("a"), wish(2))));
    }

    #[test]
    fn a_failed_write_is_not_taken_for_what_was_written_before() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.written(name, &first);
        queue.want(key("a"), wish(1));
        let (name, second) = queue.next().unwrap();
        queue.want(key("a"), wish(0));
        queue.again(name, second);
        assert_eq!(queue.next(), Some((key("a"), wish(0))));
    }
}
