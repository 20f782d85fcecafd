//! Watching the versions of what pods can read: whether a workload is to be restarted.

use std::sync::Arc;

use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_deployer_core::{ExternalInput, Glimpse, Live, Version};
use sluice_kube::{WatchEvent, watch_some_metadata};
use sluice_tasks::End;
use tokio::sync::mpsc;

use crate::api::Site;
use crate::drift::Troubled;

/// Tells what the watch of a kind shows. The deployer watches for itself: what it sees tells it what to plan, and a tenant nothing.
/// What pods read is mostly somebody else's, so that no label says which objects that are.
pub(crate) async fn watch(
    site: Arc<Site>,
    cluster: ClusterRef,
    gvk: Gvk,
    sender: mpsc::UnboundedSender<ExternalInput>,
) -> End {
    let of = gvk.clone();
    let tell = |glimpse| sender.send(ExternalInput::Glimpse(cluster.clone(), glimpse)).is_ok();
    // What a former watch has told is over when this one shows something.
    let mut troubled = Troubled(true);
    watch_some_metadata(site.client(), gvk, watcher::Config::default(), picked, |event| {
        if troubled.is_over(&event) && !tell(Glimpse::Trouble(of.clone(), None)) {
            return false;
        }
        match event {
            WatchEvent::Listed(all) => tell(Glimpse::All(of.clone(), all)),
            WatchEvent::Applied((key, version)) => tell(Glimpse::Changed(key, version)),
            WatchEvent::Deleted(object) => ObjectKey::of(&object).is_none_or(|key| tell(Glimpse::Gone(key))),
            WatchEvent::Trouble(error) => {
                let remedy = site.remedy(&error);
                tell(Glimpse::Trouble(of.clone(), Some(format!("{error}; it is tried again{remedy}"))))
            }
            WatchEvent::Well | WatchEvent::Version(_) => true,
        }
    })
    .await;
    End::Done
}

/// All that is kept of an object.
fn picked(object: Value) -> Result<(ObjectKey, Version), Value> {
    let Some(key) = ObjectKey::of(&object) else { return Err(object) };
    Ok((key, Live::of(&object).version()))
}
