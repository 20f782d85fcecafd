//! Which projection is written next: the newest write for each object, in the order in which objects were first wanted,
//! each by one writer at a time. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use sluice_api::{Digest, ObjectKey};

use super::PendingWrite;

/// What was written is remembered up to this many objects; who is forgotten is written once more.
const REMEMBERED: usize = 100_000;

/// Wishes that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: HashMap<ObjectKey, PendingWrite>,
    /// The objects of `waiting` that nobody writes.
    order: VecDeque<ObjectKey>,
    /// Objects that are being written, or will be tried again.
    busy: HashSet<ObjectKey>,
    written: HashMap<ObjectKey, Digest>,
}

impl Queue {
    /// The object should become this; who has waited keeps its place.
    pub(super) fn want(&mut self, key: ObjectKey, pending: PendingWrite) {
        if self.waiting.insert(key.clone(), pending).is_none() && !self.busy.contains(&key) {
            self.order.push_back(key);
        }
    }

    /// How many objects wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next object to write, which is busy until it is [`Queue::written`] or [`Queue::released`].
    pub(super) fn next(&mut self) -> Option<(ObjectKey, PendingWrite)> {
        loop {
            let key = self.order.pop_front()?;
            let Some(pending) = self.waiting.remove(&key) else { continue };
            if pending.digest().is_some_and(|digest| self.written.get(&key) == Some(&digest)) {
                continue;
            }
            self.busy.insert(key.clone());
            return Some((key, pending));
        }
    }

    /// Whether the object was written, and not deleted since, as far as that is remembered.
    pub(super) fn has_written(&self, key: &ObjectKey) -> bool {
        self.written.contains_key(key)
    }

    /// The object is as it was wished.
    pub(super) fn written(&mut self, key: ObjectKey, pending: &PendingWrite) {
        self.released(&key);
        let Some(digest) = pending.digest() else {
            self.written.remove(&key);
            return;
        };
        if self.written.len() >= REMEMBERED {
            self.written.clear();
        }
        self.written.insert(key, digest);
    }

    /// The object could not be written; unless something newer waits, it is tried again.
    pub(super) fn again(&mut self, key: ObjectKey, pending: PendingWrite) {
        self.waiting.entry(key.clone()).or_insert(pending);
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

    use proptest::prelude::*;
    use sluice_api::Gvk;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "a".into(), name: name.into() }
    }

    fn pending(number: u32) -> PendingWrite {
        PendingWrite::Object(format!("{{\"number\":{number}}}").into(), None)
    }

    fn queue(names: &[&str]) -> Queue {
        let mut queue = Queue::default();
        names.iter().for_each(|name| queue.want(key(name), pending(0)));
        queue
    }

    #[test]
    fn the_newest_wish_is_written_at_the_place_of_the_first() {
        let mut queue = queue(&["b", "a"]);
        queue.want(key("b"), pending(1));
        assert_eq!(queue.next(), Some((key("b"), pending(1))));
        assert_eq!(queue.next(), Some((key("a"), pending(0))));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn an_object_is_written_by_one_writer_at_a_time() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.want(key("a"), pending(1));
        assert_eq!(queue.next(), None);
        queue.written(name, &first);
        assert_eq!(queue.next(), Some((key("a"), pending(1))));
    }

    #[test]
    fn what_is_so_already_is_not_written() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.written(name, &first);
        queue.want(key("a"), pending(0));
        assert_eq!(queue.next(), None);
        queue.want(key("a"), PendingWrite::Gone);
        let (name, gone) = queue.next().unwrap();
        queue.written(name, &gone);
        queue.want(key("a"), pending(0));
        assert!(queue.next().is_some());
    }

    #[test]
    fn an_equal_status_is_written_again_as_its_object_may_have_been_made_anew() {
        let (mut queue, status) = (Queue::default(), || PendingWrite::Status("{}".into(), None));
        for _ in 0..2 {
            queue.want(key("a"), status());
            let (name, first) = queue.next().unwrap();
            queue.written(name, &first);
        }
    }

    #[test]
    fn who_cannot_be_written_goes_behind_the_others_and_yields_to_something_newer() {
        let mut queue = queue(&["a", "b", "c"]);
        let (name, first) = queue.next().unwrap();
        queue.want(key("b"), pending(1));
        queue.again(name, first);
        assert_eq!(queue.next(), Some((key("b"), pending(1))));
        assert_eq!(queue.next(), Some((key("c"), pending(0))));
        let (name, first) = queue.next().unwrap();
        queue.want(key("a"), pending(2));
        queue.again(name, first);
        assert_eq!(queue.next(), Some((key("a"), pending(2))));
    }

    #[test]
    fn a_failed_write_is_not_taken_for_what_was_written_before() {
        let mut queue = queue(&["a"]);
        let (name, first) = queue.next().unwrap();
        queue.written(name, &first);
        queue.want(key("a"), pending(1));
        let (name, second) = queue.next().unwrap();
        queue.want(key("a"), pending(0));
        queue.again(name, second);
        assert_eq!(queue.next(), Some((key("a"), pending(0))));
    }

    /// One thing that happens to a queue.
    #[derive(Clone, Debug)]
    enum Event {
        /// An object should be this, or should not be.
        Want(usize, Option<u32>),
        /// The next one is taken.
        Take,
        /// One of those that are taken is done, or has failed.
        Done(usize, bool),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (0..3_usize, proptest::option::of(0..3_u32)).prop_map(|(name, wish)| Event::Want(name, wish)),
            3 => Just(Event::Take),
            3 => (0..3_usize, any::<bool>()).prop_map(|(which, well)| Event::Done(which, well)),
        ]
    }

    proptest! {
        /// Whatever is wished, taken, done and failed in between: no object is written by two at a time, and in the end the
        /// management cluster has the newest wish for each.
        #[test]
        fn the_newest_wishes_are_fulfilled(events in proptest::collection::vec(event(), 0..60)) {
            let names = ["a", "b", "c"];
            let (mut queue, mut wished, mut written) = (Queue::default(), HashMap::new(), HashMap::new());
            let mut taken: Vec<(ObjectKey, PendingWrite)> = Vec::new();
            let finish = |queue: &mut Queue, written: &mut HashMap<_, _>, (name, pending): (ObjectKey, PendingWrite)| {
                written.insert(name.clone(), pending.clone());
                queue.written(name, &pending);
            };
            for event in events {
                match event {
                    Event::Want(name, wish) => {
                        let wish = wish.map_or(PendingWrite::Gone, pending);
                        wished.insert(key(names[name]), wish.clone());
                        queue.want(key(names[name]), wish);
                    }
                    Event::Take => {
                        if let Some(next) = queue.next() {
                            prop_assert!(taken.iter().all(|(name, _)| *name != next.0), "{:?} twice", next);
                            taken.push(next);
                        }
                    }
                    Event::Done(which, well) if which < taken.len() => {
                        let (name, pending) = taken.remove(which);
                        if well {
                            finish(&mut queue, &mut written, (name, pending));
                        } else {
                            // Nobody knows whether it came through.
                            written.insert(name.clone(), pending.clone());
                            queue.again(name, pending);
                        }
                    }
                    Event::Done(..) => {}
                }
            }
            taken.into_iter().for_each(|one| finish(&mut queue, &mut written, one));
            while let Some(next) = queue.next() {
                finish(&mut queue, &mut written, next);
            }
            prop_assert_eq!(written, wished);
        }
    }
}
