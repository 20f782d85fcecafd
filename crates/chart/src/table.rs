//! Values while they are put together: tables that several places share, as Go's maps do.
//!
//! Helm's results follow from this sharing in places (a nested table of `global` is one table for a chart and its
//! dependencies), so it is kept.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde_json::{Map, Value as Json};

/// A table; clones are the same table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table(Rc<RefCell<BTreeMap<String, Node>>>);

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Leaf(Json),
    Table(Table),
}

// === impl Table ===

impl Table {
    pub(crate) fn from_json(map: &Map<String, Json>) -> Self {
        let entries = map.iter().map(|(key, value)| (key.clone(), Node::from_json(value)));
        Self(Rc::new(RefCell::new(entries.collect())))
    }

    pub(crate) fn to_json(&self) -> Map<String, Json> {
        self.0.borrow().iter().map(|(key, node)| (key.clone(), node.to_json())).collect()
    }

    /// A table of its own, tables within included.
    pub(crate) fn deep_copy(&self) -> Self {
        let entries = self.entries().into_iter().map(|(key, node)| match node {
            Node::Table(table) => (key, Node::Table(table.deep_copy())),
            leaf => (key, leaf),
        });
        Self(Rc::new(RefCell::new(entries.collect())))
    }

    /// A table of its own that shares the tables within.
    pub(crate) fn shallow_copy(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    pub(crate) fn get(&self, key: &str) -> Option<Node> {
        self.0.borrow().get(key).cloned()
    }

    pub(crate) fn insert(&self, key: &str, node: Node) {
        let replaced = self.0.borrow_mut().insert(key.to_owned(), node);
        drop(replaced);
    }

    pub(crate) fn remove(&self, key: &str) {
        let removed = self.0.borrow_mut().remove(key);
        drop(removed);
    }

    pub(crate) fn entries(&self) -> Vec<(String, Node)> {
        self.0.borrow().iter().map(|(key, node)| (key.clone(), node.clone())).collect()
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The table under a path with dots.
    pub(crate) fn table(&self, path: &str) -> Option<Self> {
        self.below(path).ok()
    }

    /// The table under a path with dots.
    ///
    /// # Errors
    /// The part of the path that is no table.
    pub(crate) fn below<'p>(&self, path: &'p str) -> Result<Self, &'p str> {
        let mut table = self.clone();
        for part in path.split('.') {
            let Some(Node::Table(next)) = table.get(part) else { return Err(part) };
            table = next;
        }
        Ok(table)
    }

    /// What is under a path with dots, unless it is a table.
    pub(crate) fn leaf(&self, path: &str) -> Option<Json> {
        let (table, key) = match path.rsplit_once('.') {
            Some((path, key)) => (self.table(path)?, key),
            None => (self.clone(), path),
        };
        match table.get(key) {
            Some(Node::Leaf(leaf)) => Some(leaf),
            _ => None,
        }
    }
}

// === impl Node ===

impl Node {
    pub(crate) const NULL: Self = Self::Leaf(Json::Null);

    fn from_json(json: &Json) -> Self {
        match json {
            Json::Object(map) => Self::Table(Table::from_json(map)),
            leaf => Self::Leaf(leaf.clone()),
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Leaf(leaf) => leaf.clone(),
            Self::Table(table) => Json::Object(table.to_json()),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Leaf(Json::Null))
    }
}
