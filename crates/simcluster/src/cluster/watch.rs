//! Watches: each reads the log of its resource from its own position, so that a slow one holds up
//! nobody and needs no queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::collection::{Change, ChangeKind};
use super::list::ListOptions;
use super::{Cluster, State};
use crate::kinds::Endpoint;
use crate::object::Object;
use crate::status::ApiError;

/// Events that one wake-up hands out at most.
const MAX_BATCH: usize = 256;

/// How often a quiet watch tells its position, when it asked for bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// What a watch asks for.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Which objects; the resourceVersion to start after.
    pub list: ListOptions,
    /// Send the present state first, ended by a marked bookmark.
    pub send_initial_events: bool,
    /// Send bookmarks.
    pub bookmarks: bool,
    /// When to end.
    pub deadline: Instant,
}

/// Some events of a watch.
#[derive(Debug)]
pub enum Batch {
    /// Objects and what happened to them.
    Changes(Vec<(ChangeKind, Arc<Object>)>),
    /// Everything up to this resourceVersion was sent; `initial` ends the initial events.
    Bookmark {
        /// The resourceVersion.
        resource_version: u64,
        /// Whether this ends the initial events.
        initial: bool,
    },
    /// The watch cannot go on; it ends.
    Error(ApiError),
}

/// A running watch.
#[derive(Debug)]
pub struct Watch {
    cluster: Arc<Cluster>,
    endpoint: Endpoint,
    options: WatchOptions,
    initial: VecDeque<Arc<Object>>,
    initial_bookmark: bool,
    position: u64,
    changes: signal::Receiver<u64>,
    cuts: signal::Receiver<u64>,
    ended: bool,
}

/// Why a watch woke up.
enum Wake {
    Changed,
    Bookmark,
    End,
}

// === impl Watch ===

impl Watch {
    /// Starts a watch.
    pub fn start(cluster: &Arc<Cluster>, endpoint: Endpoint, options: WatchOptions) -> Self {
        let mut state = cluster.state();
        let from = options.list.resource_version.filter(|version| *version > 0);
        let send_state = options.send_initial_events || from.is_none();
        let current = state.resource_version();
        let initial = if send_state { present(&state, &endpoint, &options.list) } else { VecDeque::new() };
        let position = from.filter(|_| !send_state).unwrap_or(current);
        let mut changes = state.collection_mut(&endpoint.def).subscribe();
        changes.mark_changed();
        drop(state);
        let initial_bookmark = options.send_initial_events && options.bookmarks;
        let cuts = cluster.cuts();
        let cluster = cluster.clone();
        Self { cluster, endpoint, options, initial, initial_bookmark, position, changes, cuts, ended: false }
    }

    /// The endpoint that is watched.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Waits for the next events; `None` at the end.
    pub async fn next(&mut self) -> Option<Batch> {
        if let Some(batch) = self.next_initial() {
            return Some(batch);
        }
        while !self.ended {
            self.changes.mark_unchanged();
            if let Some(batch) = self.read_log() {
                return Some(batch);
            }
            if self.ended {
                break;
            }
            match self.wait().await {
                Wake::Changed => {}
                Wake::End => break,
                Wake::Bookmark => {
                    let state = self.cluster.state();
                    if !self.has_news(&state) {
                        return Some(Batch::Bookmark {
                            resource_version: state.resource_version(),
                            initial: false,
                        });
                    }
                }
            }
        }
        None
    }

    fn next_initial(&mut self) -> Option<Batch> {
        if !self.initial.is_empty() {
            let count = self.initial.len().min(MAX_BATCH);
            let objects = self.initial.drain(..count);
            return Some(Batch::Changes(objects.map(|object| (ChangeKind::Added, object)).collect()));
        }
        let due = std::mem::take(&mut self.initial_bookmark);
        due.then_some(Batch::Bookmark { resource_version: self.position, initial: true })
    }

    fn has_news(&self, state: &State) -> bool {
        let collection = state.collection(&self.endpoint.def.key);
        collection.is_none_or(|collection| {
            collection.changes_after(self.position, 1).is_none_or(|changes| !changes.is_empty())
        })
    }

    /// The next events of the log that are selected; `None` when there are none now.
    fn read_log(&mut self) -> Option<Batch> {
        loop {
            let changes = {
                let state = self.cluster.state();
                let Some(collection) = state.collection(&self.endpoint.def.key) else {
                    self.ended = true;
                    return None;
                };
                let current = state.resource_version();
                let Some(changes) = collection.changes_after(self.position, MAX_BATCH) else {
                    self.ended = true;
                    let message = format!("too old resource version: {} ({current})", self.position);
                    return Some(Batch::Error(ApiError::expired(message)));
                };
                self.ended |= changes.is_empty() && collection.has_ended();
                changes
            };
            self.position = changes.last()?.object.resource_version();
            let selected: Vec<_> = changes.iter().filter_map(|change| self.select(change)).collect();
            if !selected.is_empty() {
                return Some(Batch::Changes(selected));
            }
        }
    }

    /// What a change means to this watch, whose selection the object may enter or leave.
    fn select(&self, change: &Change) -> Option<(ChangeKind, Arc<Object>)> {
        let options = &self.options.list;
        if !options.namespace.is_empty() && change.object.namespace() != options.namespace {
            return None;
        }
        let before = change.previous.as_ref().filter(|object| options.selects(object));
        let after = change.kind != ChangeKind::Deleted && options.selects(&change.object);
        match (before, after) {
            (None, false) => None,
            (None, true) => Some((ChangeKind::Added, change.object.clone())),
            (Some(_), true) => Some((ChangeKind::Modified, change.object.clone())),
            (Some(_), false) if change.kind == ChangeKind::Deleted => {
                Some((ChangeKind::Deleted, change.object.clone()))
            }
            (Some(before), false) => {
                let last = before.at(change.object.resource_version());
                Some((ChangeKind::Deleted, Arc::new(last)))
            }
        }
    }

    async fn wait(&mut self) -> Wake {
        let bookmark = Instant::now() + BOOKMARK_INTERVAL;
        let wants_bookmark = self.options.bookmarks && bookmark < self.options.deadline;
        let until = if wants_bookmark { bookmark } else { self.options.deadline };
        tokio::select! {
            changed = self.changes.changed() => if changed.is_ok() { Wake::Changed } else { Wake::End },
            _ = self.cuts.changed() => Wake::End,
            () = tokio::time::sleep_until(until) => if wants_bookmark { Wake::Bookmark } else { Wake::End },
        }
    }
}

fn present(state: &State, endpoint: &Endpoint, options: &ListOptions) -> VecDeque<Arc<Object>> {
    let objects = state
        .collection(&endpoint.def.key)
        .into_iter()
        .flat_map(|collection| collection.iter(&options.namespace));
    objects.filter(|object| options.selects(object)).cloned().collect()
}
