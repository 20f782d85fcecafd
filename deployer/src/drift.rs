//! Watching the metadata of what is deployed: whether somebody else has changed it.

use std::sync::Arc;

use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::{ClusterRef, Gvk, ObjectKey, object};
use sluice_deployer_core::{ExternalInput, Shown, Sight};
use sluice_kube::{WatchEvent, watch_some_metadata};
use sluice_tasks::End;
use tokio::sync::mpsc;

use crate::api::{DEPLOYED, Site};

/// Tells what the watch of a kind shows. The deployer watches for itself: what it sees tells it what to put right, and a tenant nothing.
pub(crate) async fn watch(
    site: Arc<Site>,
    cluster: ClusterRef,
    gvk: Gvk,
    sender: mpsc::UnboundedSender<ExternalInput>,
) -> End {
    let config = watcher::Config::default().labels(DEPLOYED);
    let of = gvk.clone();
    let tell = |shown| sender.send(ExternalInput::Shown(cluster.clone(), shown)).is_ok();
    let mut troubled = Troubled(false);
    // Of a list only this is kept: metadata with managedFields are many times as large.
    let picked = |object: Value| sight(&object).ok_or(object);
    watch_some_metadata(site.client(), gvk, config, picked, |event| {
        if troubled.is_over(&event) && !tell(Shown::Trouble(of.clone(), None)) {
            return false;
        }
        match event {
            WatchEvent::Listed(sights) => tell(Shown::All(of.clone(), sights)),
            WatchEvent::Applied(sight) => tell(Shown::Changed(sight.into())),
            WatchEvent::Deleted(object) => ObjectKey::of(&object).is_none_or(|key| {
                tell(Shown::Gone(key, object::text(&object, &["metadata", "uid"]).to_owned()))
            }),
            WatchEvent::Trouble(error) => {
                let remedy = site.remedy(&error);
                tell(Shown::Trouble(of.clone(), Some(format!("{error}; it is tried again{remedy}"))))
            }
            WatchEvent::Well | WatchEvent::Version(_) => true,
        }
    })
    .await;
    End::Done
}

/// Whether a watch has had trouble when it showed something last.
pub(crate) struct Troubled(pub(crate) bool);

impl Troubled {
    /// Whether this event is the end of it.
    pub(crate) fn is_over<T>(&mut self, event: &WatchEvent<T>) -> bool {
        let is_trouble = matches!(event, WatchEvent::Trouble(_));
        std::mem::replace(&mut self.0, is_trouble) && !is_trouble
    }
}

fn sight(object: &Value) -> Option<Sight> {
    Some(Sight::of(ObjectKey::of(object)?, object))
}
