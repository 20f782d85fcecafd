//! Which kinds a cluster gains and loses: its CustomResourceDefinitions are watched. With a definition go all its objects, and
//! nothing else says so.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{ApiResource, PartialObjectMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};

use crate::listening::{Heard, Listening};
use crate::raw::Raw;

/// Tells the groups whose kinds may be others now, until it is told that this is enough (`false`): whether it was. Why they cannot be
/// watched, or that they can again, is `trouble`.
pub async fn definitions(
    client: Client,
    mut tell: impl FnMut(String) -> bool,
    mut trouble: impl FnMut(Option<String>),
) -> bool {
    let mut known = Definitions::default();
    loop {
        match watch(client.clone(), &mut known, &mut tell, &mut trouble).await {
            // What is listed then is compared with what was known.
            Ended::Back => {}
            Ended::Enough => return true,
            Ended::Over => return false,
        }
    }
}

/// Why a watch has ended.
enum Ended {
    /// Its server was restored from a backup.
    Back,
    /// Nobody wants to hear more.
    Enough,
    Over,
}

async fn watch(
    client: Client,
    known: &mut Definitions,
    tell: &mut impl FnMut(String) -> bool,
    trouble: &mut impl FnMut(Option<String>),
) -> Ended {
    let resource = resource();
    let mut listening = Listening::to(Api::all_with(client.clone(), &resource));
    let api: Api<PartialObjectMeta<Raw>> = Api::all_with(client, &resource);
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let (mut listing, mut troubled) = (BTreeMap::new(), false);
    loop {
        let event = match listening.next(&mut events, |object| of(object).1.parse().unwrap_or(0)).await {
            Heard::Event(event) => event,
            Heard::Back => return Ended::Back,
            Heard::End => return Ended::Over,
            Heard::Well => {
                troubled = false;
                trouble(None);
                continue;
            }
        };
        let changed: BTreeSet<String> = match event {
            Ok(watcher::Event::Init) => {
                listing.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listing.extend([of(&object)]);
                continue;
            }
            Ok(watcher::Event::InitDone) => known.listed(std::mem::take(&mut listing)),
            Ok(watcher::Event::Apply(object)) => known.applied(of(&object)),
            Ok(watcher::Event::Delete(object)) => known.deleted(&of(&object).0),
            // Who may not watch them goes on as before: what a call is told of its kind is seen all the same.
            Err(error) => {
                tracing::debug!(%error, "definitions of kinds cannot be watched; trying again");
                troubled = true;
                trouble(Some(error.to_string()));
                continue;
            }
        };
        if std::mem::take(&mut troubled) {
            trouble(None);
        }
        if !changed.into_iter().all(&mut *tell) {
            return Ended::Enough;
        }
    }
}

/// Its name, and its version.
fn of(object: &PartialObjectMeta<Raw>) -> (String, String) {
    let metadata = &object.metadata;
    (metadata.name.clone().unwrap_or_default(), metadata.resource_version.clone().unwrap_or_default())
}

fn resource() -> ApiResource {
    ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
    }
}

/// Names of definitions, which are `plural.group`, with their versions; `None` before the first list.
#[derive(Default)]
struct Definitions(Option<BTreeMap<String, String>>);

impl Definitions {
    /// Everything that there is; the groups of those that are others than before.
    fn listed(&mut self, now: BTreeMap<String, String>) -> BTreeSet<String> {
        let Some(before) = self.0.replace(now.clone()) else { return BTreeSet::new() };
        let gone = before.keys().filter(|name| !now.contains_key(*name));
        let others = now.iter().filter(|(name, version)| before.get(*name) != Some(version));
        gone.chain(others.map(|(name, _)| name)).filter_map(|name| group(name)).collect()
    }

    fn applied(&mut self, (name, version): (String, String)) -> BTreeSet<String> {
        let group = group(&name);
        self.0.get_or_insert_default().insert(name, version);
        group.into_iter().collect()
    }

    fn deleted(&mut self, name: &str) -> BTreeSet<String> {
        self.0.get_or_insert_default().remove(name);
        group(name).into_iter().collect()
    }
}

fn group(name: &str) -> Option<String> {
    Some(name.split_once('.')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::fake_api::inside::answering;

    #[tokio::test(start_paused = true)]
    async fn that_they_cannot_be_watched_is_told_and_that_they_can_again() {
        let failed = AtomicBool::new(false);
        let denied = r#"{"kind": "Status", "code": 403, "message": "User \"u\" cannot watch resource \"customresourcedefinitions\""}"#;
        let list = r#"{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "3"}, "items": []}"#;
        let server = answering(move |request| match request.path.contains("watch=true") {
            true if !failed.swap(true, Ordering::Relaxed) => (403, denied.to_owned()),
            true => (200, String::new()),
            false => (200, list.to_owned()),
        });
        let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
        let trouble = move |trouble| {
            sender.send(trouble).unwrap();
        };
        let look = async { (told.recv().await.unwrap(), told.recv().await.unwrap()) };
        let (first, second) = tokio::select! {
            _ = super::definitions(server.clone(), |_| true, trouble) => unreachable!("it watches for ever"),
            told = look => told,
        };
        assert!(first.unwrap().contains("cannot watch resource"));
        assert_eq!(second, None);
    }

    fn definitions(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
    }

    #[test]
    fn a_list_after_a_break_tells_what_went_came_and_changed_meanwhile() {
        let mut known = Definitions::default();
        let first = [("as.one.io", "1"), ("bs.two.io", "1"), ("cs.three.io", "1")];
        assert!(known.listed(definitions(&first)).is_empty(), "nothing was known before");
        let second = [("as.one.io", "1"), ("bs.two.io", "2"), ("ds.four.io", "3")];
        assert_eq!(
            known.listed(definitions(&second)),
            ["four.io", "three.io", "two.io"].map(String::from).into()
        );
        assert_eq!(known.deleted("as.one.io"), ["one.io".to_owned()].into());
        assert_eq!(known.applied(("as.one.io".into(), "9".into())), ["one.io".to_owned()].into());
    }
}
