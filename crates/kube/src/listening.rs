//! What a watch does not say by itself: that its trouble is over while nothing changes, and that its server was restored from a backup.

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::Api;
use kube::api::{ListParams, WatchParams};
use kube::runtime::watcher;
use tokio::time::Instant;

use crate::newest::{Newest, version_of};
use crate::raw::Raw;

/// How long nothing may come after trouble before the server is asked whether it is over: a watch that goes on where it was
/// says nothing by itself as long as nothing changes.
const SILENCE: Duration = Duration::from_secs(2);

/// How often a server that says nothing of a kind is asked how new it is: where it was restored from a backup, it may have nothing to say
/// for hours.
const LOOK_BACK: Duration = Duration::from_secs(300);

/// What one hears who listens to a watch.
pub(crate) enum Heard<K> {
    /// What the watch says.
    Event(Result<watcher::Event<K>, watcher::Error>),
    /// Its trouble is over, and nothing has changed since.
    Well,
    /// Its server was restored from a backup: what there is must be listed anew.
    Back,
    /// It has ended.
    End,
}

/// Listens to the watch of a kind, and asks its server when it is silent.
pub(crate) struct Listening {
    api: Api<Raw>,
    newest: Newest,
    troubled: bool,
    look_at: Instant,
}

/// What asking a server has shown.
#[derive(Debug, PartialEq)]
enum Found {
    Back,
    Well,
    Nothing,
}

// === impl Listening ===

impl Listening {
    /// To a watch of these objects.
    pub(crate) fn to(api: Api<Raw>) -> Self {
        Self { api, newest: Newest::default(), troubled: false, look_at: Instant::now() + LOOK_BACK }
    }

    /// What comes next. `version` is the resourceVersion of an object.
    pub(crate) async fn next<K>(
        &mut self,
        events: &mut (impl Stream<Item = Result<watcher::Event<K>, watcher::Error>> + Unpin),
        version: impl Fn(&K) -> u64,
    ) -> Heard<K> {
        loop {
            let until = if self.troubled { Instant::now() + SILENCE } else { self.look_at };
            if let Ok(next) = tokio::time::timeout_at(until, events.next()).await {
                return next.map_or(Heard::End, |event| self.heard(event, version));
            }
            self.look_at = Instant::now() + LOOK_BACK;
            match self.ask().await {
                Found::Back => return Heard::Back,
                Found::Well => {
                    self.troubled = false;
                    return Heard::Well;
                }
                Found::Nothing => {}
            }
        }
    }

    fn heard<K>(
        &mut self,
        event: Result<watcher::Event<K>, watcher::Error>,
        version: impl Fn(&K) -> u64,
    ) -> Heard<K> {
        use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
        self.troubled = event.is_err();
        match &event {
            // What is listed now may be of an older server.
            Ok(Init) => self.newest = Newest::default(),
            Ok(InitApply(object) | Apply(object) | Delete(object)) => self.newest.saw(version(object)),
            Ok(InitDone) | Err(_) => {}
        }
        Heard::Event(event)
    }

    async fn ask(&mut self) -> Found {
        match version_of(&self.api, SILENCE).await {
            Some(version) if self.newest.is_back(version) => Found::Back,
            Some(_) if self.troubled && self.can_be_watched().await => Found::Well,
            _ => Found::Nothing,
        }
    }

    /// Whether the server lets the kind be watched now: who may list it need not be allowed that.
    async fn can_be_watched(&self) -> bool {
        let asked = async {
            let listed = self.api.list_metadata(&ListParams::default().limit(1)).await?;
            let version = listed.metadata.resource_version.unwrap_or_default();
            self.api.watch_metadata(&WatchParams::default().timeout(1), &version).await.map(drop)
        };
        tokio::time::timeout(SILENCE, asked).await.is_ok_and(|answer| answer.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use kube::api::ApiResource;
    use serde_json::json;

    use super::*;
    use crate::fake_api::inside::answering;

    #[tokio::test]
    async fn after_trouble_a_server_that_went_back_is_told_from_one_that_is_well() {
        let found = async |version: u64, troubled: bool, watched: u16| {
            let server = answering(move |request| {
                let metadata = json!({"resourceVersion": version.to_string()});
                let list = json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": []});
                match request.path.contains("watch=true") {
                    true => (watched, String::new()),
                    false => (200, list.to_string()),
                }
            });
            let kind = kube::core::GroupVersionKind::gvk("g", "v1", "Thing");
            let resource = ApiResource::from_gvk_with_plural(&kind, "things");
            let mut listening = Listening::to(Api::all_with(server.clone(), &resource));
            listening.newest.saw(8);
            listening.troubled = troubled;
            listening.ask().await
        };
        assert_eq!(found(5, true, 200).await, Found::Back);
        assert_eq!(found(5, false, 200).await, Found::Back, "nobody has noticed");
        assert_eq!(found(8, true, 200).await, Found::Well);
        assert_eq!(found(8, true, 403).await, Found::Nothing, "it may not be watched");
        assert_eq!(found(8, false, 200).await, Found::Nothing);
    }
}
