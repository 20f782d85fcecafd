//! What a watch has shown and nobody has looked at yet: of each object the newest only, however slow the program is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_kube::WatchEvent;
use tokio::sync::Notify;

/// See the module.
#[derive(Default)]
pub(super) struct Pending {
    news: Mutex<News>,
    woken: Notify,
}

/// What has happened since somebody looked.
#[derive(Debug, Default)]
pub(super) struct News {
    /// All objects there were, before the changes.
    pub(super) listed: Option<Vec<Value>>,
    /// Objects that have changed or gone.
    pub(super) changes: BTreeMap<ObjectKey, Option<Value>>,
    /// Why the server shows nothing.
    pub(super) trouble: Option<String>,
}

// === impl Pending ===

impl Pending {
    /// The watch goes on in any case.
    pub(super) fn note(&self, event: WatchEvent) -> bool {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            WatchEvent::Listed(objects) => *news = News { listed: Some(objects), ..News::default() },
            WatchEvent::Applied(object) => {
                news.changes.extend(ObjectKey::of(&object).map(|key| (key, Some(object))));
            }
            WatchEvent::Deleted(object) => news.changes.extend(ObjectKey::of(&object).map(|key| (key, None))),
            WatchEvent::Trouble(error) => news.trouble = Some(error),
            WatchEvent::Well | WatchEvent::Version(_) => news.trouble = None,
        }
        drop(news);
        self.woken.notify_one();
        true
    }

    /// What has happened since this was asked last, once something has.
    pub(super) async fn next(&self) -> News {
        self.woken.notified().await;
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl News ===

impl News {
    /// Whether there was nothing, and nothing has come since.
    pub(super) fn is_empty_list(&self) -> bool {
        self.listed.as_ref().is_some_and(Vec::is_empty) && self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn pod(name: &str, version: u64) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "n", "name": name}, "version": version})
    }

    #[tokio::test]
    async fn of_each_object_only_the_newest_waits_and_a_list_replaces_everything() {
        let pending = Pending::default();
        pending.note(WatchEvent::Applied(pod("a", 1)));
        pending.note(WatchEvent::Listed(vec![pod("a", 2)]));
        for version in 3..9 {
            pending.note(WatchEvent::Applied(pod("b", version)));
        }
        pending.note(WatchEvent::Deleted(pod("a", 2)));
        let news = pending.next().await;
        assert_eq!(news.listed.unwrap().len(), 1);
        let changes: Vec<_> = news.changes.into_values().collect();
        assert_eq!(changes, [None, Some(pod("b", 8))]);
    }

    #[tokio::test]
    async fn trouble_that_is_over_is_not_told() {
        let pending = Pending::default();
        pending.note(WatchEvent::Trouble("away".to_owned()));
        assert_eq!(pending.next().await.trouble.as_deref(), Some("away"));
        pending.note(WatchEvent::Trouble("away".to_owned()));
        pending.note(WatchEvent::Well);
        let news = pending.next().await;
        assert!(news.trouble.is_none() && !news.is_empty_list());
        pending.note(WatchEvent::Listed(Vec::new()));
        assert!(pending.next().await.is_empty_list());
    }
}
