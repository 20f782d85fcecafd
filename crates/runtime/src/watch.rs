//! Watching one kind for ever: streaming lists, backoff, kinds that come later.

use std::time::Duration;

use futures::StreamExt as _;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::Value;
use sluice_api::Gvk;

use crate::raw::Raw;

/// How often a kind that does not exist is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a watch says.
#[derive(Debug)]
pub enum WatchEvent {
    /// The complete list. An absent kind has an empty one.
    Listed(Vec<Value>),
    /// An object appeared or changed.
    Applied(Value),
    /// An object is gone; its last state.
    Deleted(Value),
    /// The server does not answer as it should; the watch goes on by itself.
    Trouble(String),
}

/// The resource of a kind, and whether it is namespaced; `None` when the server does not have the kind.
///
/// # Errors
/// When the server does not answer: then nothing is known.
pub async fn resource_of(client: &Client, gvk: &Gvk) -> Result<Option<(ApiResource, bool)>, kube::Error> {
    let group = if gvk.group.is_empty() {
        client.list_core_api_resources(&gvk.version).await
    } else {
        client.list_api_group_resources(&gvk.api_version()).await
    };
    let list = match group {
        Ok(list) => list,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        Err(error) => return Err(error),
    };
    let found =
        list.resources.into_iter().find(|resource| resource.kind == gvk.kind && !resource.name.contains('/'));
    Ok(found.map(|resource| {
        let kind = GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind);
        (ApiResource::from_gvk_with_plural(&kind, &resource.name), resource.namespaced)
    }))
}

/// Watches until the receiver says enough (`false`).
pub async fn watch(
    client: Client,
    gvk: Gvk,
    namespace: String,
    config: watcher::Config,
    mut tell: impl FnMut(WatchEvent) -> bool,
) {
    let mut told_absent = false;
    loop {
        match resource_of(&client, &gvk).await {
            Ok(Some((resource, namespaced))) => {
                let api: Api<Raw> = if namespaced && !namespace.is_empty() {
                    Api::namespaced_with(client.clone(), &namespace, &resource)
                } else {
                    Api::all_with(client.clone(), &resource)
                };
                if !run(api, &resource, config.clone(), &mut tell).await {
                    return;
                }
                told_absent = false;
            }
            Ok(None) => {
                if !told_absent && !tell(WatchEvent::Listed(Vec::new())) {
                    return;
                }
                told_absent = true;
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

/// Runs until the kind disappears (`true`) or the receiver has enough (`false`).
async fn run(
    api: Api<Raw>,
    resource: &ApiResource,
    config: watcher::Config,
    tell: &mut impl FnMut(WatchEvent) -> bool,
) -> bool {
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(object.complete(resource));
                continue;
            }
            Ok(watcher::Event::InitDone) => WatchEvent::Listed(std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => WatchEvent::Applied(object.complete(resource)),
            Ok(watcher::Event::Delete(object)) => WatchEvent::Deleted(object.complete(resource)),
            Err(error) if is_absent(&error) => return true,
            Err(error) => WatchEvent::Trouble(error.to_string()),
        };
        if !tell(event) {
            return false;
        }
    }
    true
}

fn is_absent(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}
