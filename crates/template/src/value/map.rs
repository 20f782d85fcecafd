//! Maps: borrowed from the input until the first write, then shared and changed in place.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde_json::{Map as JsonMap, Value as Json};

use super::{List, Str, Value};
use crate::Data;

/// The element type of a map with string keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapTy {
    /// `map[string]interface {}`
    Any,
    /// Helm's `Values`: the same under another name.
    Values,
    /// `map[string]string`
    Strings,
    /// Helm's `files`: `map[string][]uint8` with methods.
    Files,
}

/// A Go map.
#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    Nil(MapTy),
    Json(&'a JsonMap<String, Json>),
    Values(&'a JsonMap<String, Json>),
    Data(&'a Vec<(&'a str, Data<'a>)>),
    /// Sorted by name.
    Files(&'a [(&'a str, &'a [u8])]),
    Own(Rc<OwnMap<'a>>),
}

/// A computed or written-to map.
#[derive(Debug)]
pub(crate) struct OwnMap<'a> {
    pub(crate) ty: MapTy,
    pub(crate) entries: RefCell<BTreeMap<Str<'a>, Value<'a>>>,
}

/// Maps of the input that were written to, by the address of the original. Every access to a
/// borrowed map asks here first, so that all paths to it see the write.
#[derive(Debug, Default)]
pub(crate) struct Overlay<'a> {
    written: BTreeMap<usize, Rc<OwnMap<'a>>>,
    /// Maps that may contain themselves; they are emptied when the render ends.
    cyclic: Vec<Rc<OwnMap<'a>>>,
}

// === impl Map ===

impl<'a> Map<'a> {
    pub(crate) fn own(ty: MapTy, entries: BTreeMap<Str<'a>, Value<'a>>) -> Self {
        Self::Own(Rc::new(OwnMap { ty, entries: RefCell::new(entries) }))
    }

    pub(crate) fn ty(&self) -> MapTy {
        match self {
            Self::Nil(ty) => *ty,
            Self::Json(_) | Self::Data(_) => MapTy::Any,
            Self::Values(_) => MapTy::Values,
            Self::Files(_) => MapTy::Files,
            Self::Own(own) => own.ty,
        }
    }

    fn address(&self) -> usize {
        match self {
            Self::Nil(_) => 0,
            Self::Json(map) | Self::Values(map) => std::ptr::from_ref(*map).addr(),
            Self::Data(map) => std::ptr::from_ref(*map).addr(),
            Self::Files(files) => files.as_ptr().addr(),
            Self::Own(own) => Rc::as_ptr(own).addr(),
        }
    }

    fn get_direct(&self, key: &[u8]) -> Option<Value<'a>> {
        match self {
            Self::Nil(_) => None,
            Self::Json(map) | Self::Values(map) => map.get(std::str::from_utf8(key).ok()?).map(Value::from),
            Self::Data(map) => map.iter().find(|(k, _)| k.as_bytes() == key).map(|(_, v)| Value::from(v)),
            Self::Files(files) => {
                let at = files.binary_search_by(|(name, _)| name.as_bytes().cmp(key)).ok()?;
                Some(Value::List(List::Raw(files[at].1)))
            }
            Self::Own(own) => own.entries.borrow().get(key).cloned(),
        }
    }

    /// The entries of this very map, sorted by key.
    pub(crate) fn entries_direct(&self) -> Vec<(Str<'a>, Value<'a>)> {
        match self {
            Self::Nil(_) => Vec::new(),
            Self::Json(map) | Self::Values(map) => {
                map.iter().map(|(k, v)| (Str::from(k.as_str()), Value::from(v))).collect()
            }
            Self::Data(map) => {
                let mut all: Vec<_> = map.iter().map(|(k, v)| (Str::from(*k), Value::from(v))).collect();
                all.sort_by(|a, b| a.0.cmp(&b.0));
                all.dedup_by(|later, earlier| later.0 == earlier.0);
                all
            }
            Self::Files(files) => {
                files.iter().map(|(k, v)| (Str::from(*k), Value::List(List::Raw(v)))).collect()
            }
            Self::Own(own) => own.entries.borrow().iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        }
    }

    fn len_direct(&self) -> usize {
        match self {
            Self::Nil(_) => 0,
            Self::Json(map) | Self::Values(map) => map.len(),
            Self::Data(map) => map.len(),
            Self::Files(files) => files.len(),
            Self::Own(own) => own.entries.borrow().len(),
        }
    }
}

// === impl Overlay ===

impl<'a> Overlay<'a> {
    /// The map as it is now: the written copy of a borrowed one if there is any.
    pub(crate) fn current(&self, map: &Map<'a>) -> Map<'a> {
        if self.written.is_empty() || matches!(map, Map::Nil(_) | Map::Own(_)) {
            return map.clone();
        }
        let found = self.written.get(&map.address());
        found.map_or_else(|| map.clone(), |own| Map::Own(own.clone()))
    }

    /// Whether no map of the input has been written to.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.written.is_empty()
    }

    pub(crate) fn get(&self, map: &Map<'a>, key: &[u8]) -> Option<Value<'a>> {
        if self.written.is_empty() { map.get_direct(key) } else { self.current(map).get_direct(key) }
    }

    pub(crate) fn len(&self, map: &Map<'a>) -> usize {
        if self.written.is_empty() { map.len_direct() } else { self.current(map).len_direct() }
    }

    pub(crate) fn entries(&self, map: &Map<'a>) -> Vec<(Str<'a>, Value<'a>)> {
        if self.written.is_empty() { map.entries_direct() } else { self.current(map).entries_direct() }
    }

    /// Whether two values are the same map.
    pub(crate) fn same(&self, a: &Map<'a>, b: &Map<'a>) -> bool {
        !matches!(a, Map::Nil(_)) && self.current(a).address() == self.current(b).address()
    }

    /// The writable form of a map; nothing for a nil map.
    pub(crate) fn writable(&mut self, map: &Map<'a>) -> Option<Rc<OwnMap<'a>>> {
        match self.current(map) {
            Map::Nil(_) => None,
            Map::Own(own) => Some(own),
            borrowed => {
                let entries = borrowed.entries_direct().into_iter().collect();
                let own = Rc::new(OwnMap { ty: borrowed.ty(), entries: RefCell::new(entries) });
                self.written.insert(borrowed.address(), own.clone());
                Some(own)
            }
        }
    }

    /// Writes an entry of a writable map.
    pub(crate) fn insert(&mut self, own: &Rc<OwnMap<'a>>, key: Str<'a>, value: Value<'a>) {
        if matches!(value, Value::Map(_) | Value::List(_)) {
            self.cyclic.push(own.clone());
        }
        let replaced = own.entries.borrow_mut().insert(key, value);
        drop(replaced);
    }
}

impl Drop for Overlay<'_> {
    fn drop(&mut self) {
        for own in self.cyclic.drain(..) {
            let entries = std::mem::take(&mut *own.entries.borrow_mut());
            super::deep::dismantle(entries.into_values().collect());
        }
    }
}

impl Drop for OwnMap<'_> {
    fn drop(&mut self) {
        let entries = std::mem::take(self.entries.get_mut());
        super::deep::dismantle(entries.into_values().collect());
    }
}
