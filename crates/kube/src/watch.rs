//! Watching one kind for ever: streaming lists, backoff, kinds that come later.

// D-0413: only discovery says that a kind does not exist.

use std::time::Duration;

use futures::Stream;
use kube::api::ApiResource;
use kube::core::{GroupVersionKind, PartialObjectMeta, Resource};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::Gvk;

use crate::listening::{Heard, Listening};
use crate::newest::version_of;
use crate::raw::Raw;

// D-0803: a kind that does not exist yet is looked for again.
/// How often a kind that does not exist is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long a server may take to say how new it is, before a list.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest pause before a server that does not answer is asked again: its events wait for that.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Pauses between attempts: the client's own, which grow and differ, but not for longer than [`LONGEST_PAUSE`].
#[derive(Default)]
struct Pauses(watcher::DefaultBackoff);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|pause| pause.min(LONGEST_PAUSE))
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// What a watch says of objects, which are told as they are or as what was made of them.
#[derive(Debug)]
pub enum WatchEvent<T = Value> {
    /// The complete list. A kind of which discovery says that it does not exist has an empty one.
    Listed(Vec<T>),
    /// An object appeared or changed.
    Applied(T),
    /// An object is gone; its last state.
    Deleted(Value),
    /// The server does not answer as it should; the watch goes on by itself.
    Trouble(String),
    /// It answers again, and nothing has changed since.
    Well,
    /// What was listed is as new as this version of the server, or newer. Only where it is asked for.
    Version(u64),
}

/// The resource of a kind, and whether it is namespaced; `None` when the server says that it does not have the kind.
///
/// A 404 alone does not say so: a proxy in between gives one as well. A group is absent when the list of all groups is
/// there and it is not in it; the core group never is.
///
/// # Errors
/// When the server does not answer, or not as an API server does: then nothing is known.
pub async fn resource_of(client: &Client, gvk: &Gvk) -> Result<Option<(ApiResource, bool)>, kube::Error> {
    let preferred = match gvk.version.is_empty() {
        true => preferred(client, gvk).await?,
        false => Some(gvk.clone()),
    };
    let Some(gvk) = &preferred else { return Ok(None) };
    let list = if gvk.group.is_empty() {
        client.list_core_api_resources(&gvk.version).await?
    } else {
        match client.list_api_group_resources(&gvk.api_version()).await {
            Ok(list) => list,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let groups = client.list_api_groups().await?.groups;
                let versions =
                    groups.iter().filter(|group| group.name == gvk.group).flat_map(|g| &g.versions);
                let is_there = versions.into_iter().any(|version| version.version == gvk.version);
                return if is_there { Err(kube::Error::Api(status)) } else { Ok(None) };
            }
            Err(error) => return Err(error),
        }
    };
    let found =
        list.resources.into_iter().find(|resource| resource.kind == gvk.kind && !resource.name.contains('/'));
    Ok(found.map(|resource| {
        let kind = GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind);
        (ApiResource::from_gvk_with_plural(&kind, &resource.name), resource.namespaced)
    }))
}

/// The kind in the version that the server prefers for its group; `None` where there is no such group.
async fn preferred(client: &Client, gvk: &Gvk) -> Result<Option<Gvk>, kube::Error> {
    let groups = client.list_api_groups().await?.groups;
    let group = groups.into_iter().find(|group| group.name == gvk.group);
    let version = group.and_then(|group| {
        let first = group.versions.into_iter().next();
        Some(group.preferred_version.or(first)?.version)
    });
    Ok(version.map(|version| Gvk { version, ..gvk.clone() }))
}

/// Watches until the receiver says enough (`false`).
pub async fn watch(
    client: Client,
    gvk: Gvk,
    namespace: String,
    config: watcher::Config,
    tell: impl FnMut(WatchEvent) -> bool,
) {
    let asked = Asked { gvk, namespace, config, versioned: false, metadata_only: false, pick: Ok };
    watch_as(client, asked, tell).await;
}

/// The same, as if there were nothing else than what `pick` takes: what it takes no longer is deleted. A list is kept as what it
/// makes of the objects, which may be a fraction of them.
pub async fn watch_some<T>(
    client: Client,
    gvk: Gvk,
    namespace: String,
    config: watcher::Config,
    pick: impl Fn(Value) -> Result<T, Value>,
    tell: impl FnMut(WatchEvent<T>) -> bool,
) {
    let asked = Asked { gvk, namespace, config, versioned: false, metadata_only: false, pick };
    watch_as(client, asked, tell).await;
}

/// The same as [`watch`], with [`WatchEvent::Version`] after each list.
pub async fn watch_versioned(
    client: Client,
    gvk: Gvk,
    namespace: String,
    config: watcher::Config,
    tell: impl FnMut(WatchEvent) -> bool,
) {
    let asked = Asked { gvk, namespace, config, versioned: true, metadata_only: false, pick: Ok };
    watch_as(client, asked, tell).await;
}

/// The same as [`watch_some`] in all namespaces, of the metadata alone: what `pick` is given has nothing else beside its kind.
pub async fn watch_some_metadata<T>(
    client: Client,
    gvk: Gvk,
    config: watcher::Config,
    pick: impl Fn(Value) -> Result<T, Value>,
    tell: impl FnMut(WatchEvent<T>) -> bool,
) {
    let namespace = String::new();
    let asked = Asked { gvk, namespace, config, versioned: false, metadata_only: true, pick };
    watch_as(client, asked, tell).await;
}

/// What is watched.
struct Asked<P> {
    gvk: Gvk,
    namespace: String,
    config: watcher::Config,
    /// Whether the version of each list is told.
    versioned: bool,
    /// Whether the server sends nothing but the metadata of objects.
    metadata_only: bool,
    /// What is told of an object that the server shows; or the object itself, which is not told.
    pick: P,
}

async fn watch_as<T>(
    client: Client,
    asked: Asked<impl Fn(Value) -> Result<T, Value>>,
    mut tell: impl FnMut(WatchEvent<T>) -> bool,
) {
    let Asked { gvk, namespace, config, versioned, metadata_only, pick } = asked;
    let mut told_absent = false;
    loop {
        match resource_of(&client, &gvk).await {
            Ok(Some((resource, namespaced))) => {
                let api: Api<Raw> = if namespaced && !namespace.is_empty() {
                    Api::namespaced_with(client.clone(), &namespace, &resource)
                } else {
                    Api::all_with(client.clone(), &resource)
                };
                // What is listed later is as new.
                let version = match versioned {
                    true => Some(version_of(&api, PATIENCE).await.unwrap_or(0)),
                    false => None,
                };
                let listening = Listening::to(api.clone());
                let goes_on = if metadata_only {
                    let api: Api<PartialObjectMeta<Raw>> = Api::all_with(client.clone(), &resource);
                    let events = watcher(api, config.clone());
                    let made = |object| metadata_of(&object, &resource);
                    run((listening, events, version), made, &pick, &mut tell).await
                } else {
                    let events = watcher(api, config.clone());
                    let made = |object: Raw| object.complete(&resource);
                    run((listening, events, version), made, &pick, &mut tell).await
                };
                if !goes_on {
                    return;
                }
                told_absent = false;
            }
            Ok(None) => {
                let told = told_absent
                    || (tell(WatchEvent::Listed(Vec::new())) && (!versioned || tell(WatchEvent::Version(0))));
                if !told {
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

/// Runs until the kind disappears or its server went back (`true`), or the receiver has enough (`false`); tells `version_told` after each list.
async fn run<K: Resource, T>(
    (mut listening, events, version_told): (
        Listening,
        impl Stream<Item = watcher::Result<watcher::Event<K>>>,
        Option<u64>,
    ),
    made: impl Fn(K) -> Value,
    pick: &impl Fn(Value) -> Result<T, Value>,
    tell: &mut impl FnMut(WatchEvent<T>) -> bool,
) -> bool {
    let mut events = std::pin::pin!(events.backoff(Pauses::default()));
    let mut listed = Vec::new();
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
                listed.extend(pick(made(object)));
                continue;
            }
            Ok(watcher::Event::InitDone) => {
                let told = tell(WatchEvent::Listed(std::mem::take(&mut listed)));
                match version_told {
                    Some(version) if told => WatchEvent::Version(version),
                    _ if told => continue,
                    _ => return false,
                }
            }
            Ok(watcher::Event::Apply(object)) => match pick(made(object)) {
                Ok(picked) => WatchEvent::Applied(picked),
                Err(object) => WatchEvent::Deleted(object),
            },
            Ok(watcher::Event::Delete(object)) => WatchEvent::Deleted(made(object)),
            Err(error) if is_absent(&error) => return true,
            Err(error) => WatchEvent::Trouble(error.to_string()),
        };
        if !tell(event) {
            return false;
        }
    }
}

fn version<K: Resource>(object: &K) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// An object without everything that was not sent.
fn metadata_of(object: &PartialObjectMeta<Raw>, resource: &ApiResource) -> Value {
    let metadata = serde_json::to_value(&object.metadata).unwrap_or_default();
    json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata})
}

fn is_absent(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
