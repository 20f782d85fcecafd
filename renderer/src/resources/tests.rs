#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_protocol::Role;
use sluice_runtime::kit::{self, Server};
use sluice_tasks::Tasks;

use super::*;

fn place() -> CollectionKey {
    (Gvk::new("example.com", "v1", "Thing"), "n".to_owned())
}

fn thing(name: &str, size: i64) -> Value {
    json!({"kind": "Thing", "metadata": {"name": name, "managedFields": [1]}, "spec": {"size": size}})
}

/// A place where one shard reads these objects, and what it is told.
fn read_by_one(names: &[&str]) -> (Collection, mpsc::UnboundedReceiver<ExternalInput>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut place = Collection::default();
    for name in names {
        place.objects.entry((*name).to_owned()).or_default().readers.insert(Shard::FIRST, sender.clone());
    }
    (place, receiver)
}

/// What was told since the last time: name and size, `-` for what is absent, `?` for what cannot be read.
fn told(receiver: &mut mpsc::UnboundedReceiver<ExternalInput>) -> Vec<String> {
    std::iter::from_fn(|| receiver.try_recv().ok())
        .map(|input| match input {
            ExternalInput::Resource(key, Resource::There(object)) => {
                assert!(object["metadata"].get("managedFields").is_none());
                format!("{} {}", key.name, object["spec"]["size"])
            }
            ExternalInput::Resource(key, Resource::Absent) => format!("{} -", key.name),
            ExternalInput::Resource(key, Resource::Unavailable(_)) => format!("{} ?", key.name),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn one_object_is_told_of_when_it_changes_and_its_first_list_says_that_it_is_absent() {
    let (mut found, mut receiver) = read_by_one(&["a"]);
    let mut tell = |event| assert!(found.tell_one(&place(), "a", event));
    tell(WatchEvent::Trouble("forbidden".into()));
    tell(WatchEvent::Listed(Vec::new()));
    tell(WatchEvent::Trouble("gone for a while".into()));
    tell(WatchEvent::Applied(thing("a", 1)));
    tell(WatchEvent::Applied(thing("a", 1)));
    tell(WatchEvent::Listed(vec![thing("a", 2)]));
    tell(WatchEvent::Deleted(thing("a", 2)));
    assert_eq!(told(&mut receiver), ["a ?", "a -", "a 1", "a 2", "a -"]);
    assert!(!found.tell_one(&place(), "b", WatchEvent::Listed(Vec::new())), "nobody reads it");
}

#[tokio::test]
async fn all_objects_of_a_place_come_from_one_watch() {
    let (mut found, mut receiver) = read_by_one(&["a", "b"]);
    let _watch = Tasks::default().group("test");
    found.together = Some(Together { _watch, present: None });
    let mut tell = |event| assert!(found.tell_all(&place(), event));
    tell(WatchEvent::Trouble("not yet".into()));
    tell(WatchEvent::Listed(vec![thing("a", 1), thing("c", 1)]));
    tell(WatchEvent::Applied(thing("c", 2)));
    tell(WatchEvent::Applied(thing("b", 2)));
    tell(WatchEvent::Deleted(thing("a", 1)));
    tell(WatchEvent::Trouble("gone for a while".into()));
    assert_eq!(told(&mut receiver), ["a ?", "b ?", "a 1", "b -", "b 2", "a -"]);
    assert!(
        !found.tell_one(&place(), "a", WatchEvent::Applied(thing("a", 9))),
        "a late word of the former watch"
    );
    let present = found.together.as_ref().unwrap().present.as_ref().unwrap();
    assert_eq!(present.keys().collect::<Vec<_>>(), ["b", "c"]);
}

#[tokio::test]
async fn many_objects_are_watched_together_and_nothing_is_left_when_the_readers_end() {
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let (server, tasks) = (Server::start(), Tasks::default());
    let context = kit::context(&server, Role::Renderer, &tasks).await;
    let registry = Registry::new(Client::try_from(config).unwrap(), &context);
    let (sender, _receiver) = mpsc::unbounded_channel();
    let (one, two) =
        (registry.reading(Shard::new(1), sender.clone()), registry.reading(Shard::new(2), sender));
    let keys: Vec<ObjectKey> = (0..=MANY).map(|number| key(&place(), &format!("t{number}"))).collect();
    keys[1..].iter().for_each(|key| one.watch(key));
    assert!(registry.lock()[&place()].together.is_none());
    two.watch(&keys[0]);
    {
        let places = registry.lock();
        assert!(places[&place()].together.is_some());
        assert!(places[&place()].objects.values().all(|watched| watched.watch.is_none()));
    }
    two.watch(&keys[1]);
    one.unwatch(&keys[1]);
    assert_eq!(registry.lock()[&place()].objects.len(), MANY + 1, "the other one reads it");
    drop(one);
    assert_eq!(registry.lock()[&place()].objects.len(), 2);
    drop(two);
    assert!(registry.lock().is_empty());
}
