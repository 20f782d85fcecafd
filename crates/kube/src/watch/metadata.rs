//! Watching the metadata of one kind for ever: of each object a fraction is sent.

use kube::core::{ApiResource, PartialObjectMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::Gvk;

use super::{LOOK_AGAIN, Pauses, WatchEvent, is_absent, resource_of};
use crate::listening::{Heard, Listening};
use crate::raw::Raw;

/// Watches until the receiver says enough (`false`). What is told of an object has its kind and its metadata, and nothing else.
pub async fn watch_metadata(
    client: Client,
    gvk: Gvk,
    config: watcher::Config,
    mut tell: impl FnMut(WatchEvent) -> bool,
) {
    let mut told_absent = false;
    loop {
        match resource_of(&client, &gvk).await {
            Ok(Some((resource, _))) => {
                told_absent = false;
                if !run(&client, &resource, config.clone(), &mut tell).await {
                    return;
                }
            }
            Ok(None) => {
                if !std::mem::replace(&mut told_absent, true) && !tell(WatchEvent::Listed(Vec::new())) {
                    return;
                }
            }
            Err(error) => {
                if !tell(WatchEvent::Trouble(error.to_string())) {
                    return;
                }
            }
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Runs until the kind disappears or its server went back (`true`), or the receiver has enough (`false`).
async fn run(
    client: &Client,
    resource: &ApiResource,
    config: watcher::Config,
    tell: &mut impl FnMut(WatchEvent) -> bool,
) -> bool {
    let mut listening = Listening::to(Api::all_with(client.clone(), resource));
    let api: Api<PartialObjectMeta<Raw>> = Api::all_with(client.clone(), resource);
    let mut events = std::pin::pin!(watcher(api, config).backoff(Pauses::default()));
    let mut listed = Vec::new();
    let shown = |object: PartialObjectMeta<Raw>| {
        let metadata = serde_json::to_value(&object.metadata).unwrap_or_default();
        json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata})
    };
    loop {
        let event = match listening.next(&mut events, version).await {
            Heard::Event(event) => event,
            Heard::Back | Heard::End => return true,
            Heard::Well if tell(WatchEvent::Well) => continue,
            Heard::Well => return false,
        };
        let event = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(shown(object));
                continue;
            }
            Ok(watcher::Event::InitDone) => WatchEvent::<Value>::Listed(std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => WatchEvent::Applied(shown(object)),
            Ok(watcher::Event::Delete(object)) => WatchEvent::Deleted(shown(object)),
            Err(error) if is_absent(&error) => return true,
            Err(error) => WatchEvent::Trouble(error.to_string()),
        };
        if !tell(event) {
            return false;
        }
    }
}

fn version(object: &PartialObjectMeta<Raw>) -> u64 {
    object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
