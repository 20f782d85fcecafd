//! A watch of what profiles have deployed of a kind.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_deployer_core::{Live, Shown, Sight};

use crate::api_server::ApiServer;

/// A watch, and what it has shown: uid and version of each object.
pub(super) struct KindWatch {
    pub(super) cluster: ClusterRef,
    pub(super) gvk: Gvk,
    shown: Option<BTreeMap<ObjectKey, (String, String)>>,
    /// When it showed something for the first time.
    first_at: Option<i64>,
    /// Of what somebody deleted, what comes before this was there before it, or was shown.
    since: usize,
    /// The edition of what was applied in which nothing differed from what it has shown.
    nothing_new: Cell<Option<u64>>,
}

// === impl KindWatch ===

impl KindWatch {
    /// One that begins on this server.
    pub(super) fn new(cluster: ClusterRef, gvk: Gvk, server: Option<&ApiServer>) -> Self {
        let since = server.map_or(0, |server| server.missing.len());
        Self { cluster, gvk, shown: None, first_at: None, since, nothing_new: Cell::new(None) }
    }

    /// What differs from what it has shown.
    pub(super) fn news(&self, server: &ApiServer) -> Option<Shown> {
        let edition = Some(server.applied.edition());
        if self.nothing_new.get() == edition {
            return None;
        }
        let news = self.look(server);
        if news.is_none() {
            self.nothing_new.set(edition);
        }
        news
    }

    fn look(&self, server: &ApiServer) -> Option<Shown> {
        let there = || {
            server
                .applied
                .iter()
                .filter(|(key, object)| key.gvk == self.gvk && Live::of(object).owner.is_some())
        };
        let Some(shown) = &self.shown else {
            let all = there().map(|(key, object)| Sight::of(key.clone(), object)).collect();
            return Some(Shown::All(self.gvk.clone(), all));
        };
        if let Some((_, (key, uid))) = self.missing(server) {
            return Some(Shown::Gone(key.clone(), uid.clone()));
        }
        let is_new =
            |(key, object): &(&ObjectKey, &Arc<Value>)| shown.get(*key) != Some(&Live::of(object).version());
        if let Some((key, object)) = there().find(is_new) {
            return Some(Shown::Changed(Sight::of(key.clone(), object).into()));
        }
        let gone = shown.iter().find(|(key, _)| !there().any(|(other, _)| other == *key));
        gone.map(|(key, (uid, _))| Shown::Gone(key.clone(), uid.clone()))
    }

    /// What somebody deleted and it has not shown.
    fn missing<'s>(&self, server: &'s ApiServer) -> Option<(usize, &'s (ObjectKey, String))> {
        server.missing.iter().enumerate().skip(self.since).find(|(_, (key, _))| key.gvk == self.gvk)
    }

    /// Whether it had shown something by then.
    pub(super) fn had_shown(&self, at: i64) -> bool {
        self.first_at.is_some_and(|first| first <= at)
    }

    /// It has shown this of the server.
    pub(super) fn note(&mut self, news: &Shown, server: &ApiServer, now: i64) {
        self.first_at.get_or_insert(now);
        self.nothing_new.set(None);
        if let Some((index, (key, uid))) = self.missing(server)
            && matches!(news, Shown::Gone(shown, of) if (shown, of) == (key, uid))
        {
            self.since = index + 1;
        }
        let shown = self.shown.get_or_insert_default();
        match news {
            Shown::All(_, all) => {
                shown.extend(all.iter().map(|sight| (sight.key.clone(), sight.live.version())))
            }
            Shown::Changed(sight) => drop(shown.insert(sight.key.clone(), sight.live.version())),
            Shown::Gone(key, _) => drop(shown.remove(key)),
            Shown::Trouble(..) => {}
        }
    }
}
