//! Compiled programs keyed by content and options.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{Error, Options, Program};

/// A bounded cache of programs, shared between workers. It keeps two generations: when the
/// young one is full it becomes the old one, and what nobody asked for since is dropped.
#[derive(Debug)]
pub struct Cache {
    capacity: usize,
    hasher: RandomState,
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<u64, Vec<Entry>>,
    old: HashMap<u64, Vec<Entry>>,
    young_len: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    name: Box<str>,
    options: Options,
    program: Arc<Program>,
}

// === impl Cache ===

impl Cache {
    /// A cache of at most `capacity` programs.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(2), hasher: RandomState::new(), generations: Mutex::default() }
    }

    /// The program of this text, compiled now if it is not known yet. Failures are not kept.
    pub fn get(&self, name: &str, text: &str, options: &Options) -> Result<Arc<Program>, Error> {
        let key = self.hasher.hash_one((name, text, options));
        let fits = |e: &Entry| *e.name == *name && e.options == *options && e.program.text() == text;
        {
            let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = generations.find(key, &fits) {
                generations.promote(key, &found, self.capacity / 2);
                return Ok(found.program);
            }
        }
        let program = Arc::new(Program::compile(name, text, options)?);
        let entry = Entry { name: name.into(), options: options.clone(), program: program.clone() };
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.insert(key, entry, self.capacity / 2);
        Ok(program)
    }

    /// How many programs are kept.
    pub fn len(&self) -> usize {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young_len + generations.old.values().map(Vec::len).sum::<usize>()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// === impl Generations ===

impl Generations {
    fn find(&self, key: u64, fits: &dyn Fn(&Entry) -> bool) -> Option<Entry> {
        let mut both = self.young.get(&key).into_iter().chain(self.old.get(&key)).flatten();
        both.find(|e| fits(e)).cloned()
    }

    fn promote(&mut self, key: u64, entry: &Entry, half: usize) {
        let Some(bucket) = self.old.get_mut(&key) else { return };
        let Some(at) = bucket.iter().position(|e| Arc::ptr_eq(&e.program, &entry.program)) else { return };
        let entry = bucket.swap_remove(at);
        self.insert(key, entry, half);
    }

    fn insert(&mut self, key: u64, entry: Entry, half: usize) {
        if self.young_len >= half {
            self.old = std::mem::take(&mut self.young);
            self.young_len = 0;
        }
        self.young.entry(key).or_default().push(entry);
        self.young_len += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_same_text_is_compiled_once() {
        let cache = Cache::new(8);
        let first = cache.get("t", "{{ 1 }}", &Options::default()).unwrap();
        let second = cache.get("t", "{{ 1 }}", &Options::default()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn other_options_are_another_program() {
        let cache = Cache::new(8);
        let strict = cache.get("t", "{{ 1 }}", &Options::default()).unwrap();
        let options = Options { lenient_numbers: false, ..Options::default() };
        let other = cache.get("t", "{{ 1 }}", &options).unwrap();
        assert!(!Arc::ptr_eq(&strict, &other));
    }

    #[test]
    fn it_stays_within_its_capacity() {
        let cache = Cache::new(10);
        for i in 0..1000 {
            cache.get("t", &format!("{{{{ {i} }}}}"), &Options::default()).unwrap();
            assert!(cache.len() <= 10);
        }
    }

    #[test]
    fn failures_are_not_kept() {
        let cache = Cache::new(8);
        assert!(cache.get("t", "{{ end }}", &Options::default()).is_err());
        assert!(cache.is_empty());
    }
}
