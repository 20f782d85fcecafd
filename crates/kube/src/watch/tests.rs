#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::*;
use crate::fake_api::Request;
use crate::fake_api::inside::answering;

const PROXY: &str = "<html>no upstream</html>";

fn not_found() -> (u16, String) {
    (404, "404 page not found".to_owned())
}

/// The kinds of a group, as discovery lists them.
fn kinds(group_version: &str) -> (u16, String) {
    let resource = |name: &str, namespaced: bool, kind: &str| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": []});
    let resources = [
        resource("things", true, "Thing"),
        resource("things/status", true, "Thing"),
        resource("places", false, "Place"),
    ];
    (
        200,
        json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources}).to_string(),
    )
}

/// The list of all groups, with these versions of `g`.
fn groups(versions: &[&str]) -> (u16, String) {
    let versions: Vec<_> = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("g/{version}"), "version": version}))
        .collect();
    let group = (!versions.is_empty()).then(|| json!({"name": "g", "versions": versions}));
    let groups: Vec<_> = group.into_iter().collect();
    (200, json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}).to_string())
}

fn thing(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "resourceVersion": version.to_string(), "managedFields": []}})
}

fn list(version: u64, items: &[Value]) -> (u16, String) {
    let metadata = json!({"resourceVersion": version.to_string()});
    (
        200,
        json!({"kind": "ThingList", "apiVersion": "g/v1", "metadata": metadata, "items": items}).to_string(),
    )
}

fn gvk(kind: &str) -> Gvk {
    Gvk::new("g", "v1", kind)
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// What a watch that wants everything but what is called `unwanted` says until `enough` of it.
async fn watched(server: &Client, versioned: bool, enough: usize) -> Vec<String> {
    let (client, mut said) = (server.clone(), Vec::new());
    let tell = |event: WatchEvent| {
        said.push(match event {
            WatchEvent::Listed(objects) => {
                format!("listed {:?}", objects.iter().map(name).collect::<Vec<_>>())
            }
            WatchEvent::Applied(object) => format!("applied {}", name(&object)),
            WatchEvent::Deleted(object) => format!("deleted {}", name(&object)),
            WatchEvent::Trouble(_) => "trouble".to_owned(),
            WatchEvent::Well => "well".to_owned(),
            WatchEvent::Version(version) => format!("version {version}"),
        });
        said.len() < enough
    };
    let pick = |object: Value| if name(&object) == "unwanted" { Err(object) } else { Ok(object) };
    let (namespace, config) = (String::new(), watcher::Config::default());
    watch_as(
        client,
        Asked { gvk: gvk("Thing"), namespace, config, versioned, metadata_only: false, pick },
        tell,
    )
    .await;
    said
}

fn is_watch(request: &Request) -> bool {
    request.path.contains("watch=true")
}

/// Whether it is a list of one object.
fn is_question(request: &Request) -> bool {
    request.path.split(['?', '&']).any(|part| part == "limit=1")
}

#[tokio::test]
async fn discovery_says_what_a_kind_is_called_and_where_it_lives() {
    let server = answering(|request| kinds(request.path.trim_start_matches("/apis/")));
    let (resource, namespaced) = resource_of(&server.clone(), &gvk("Thing")).await.unwrap().unwrap();
    assert_eq!((resource.plural.as_str(), namespaced), ("things", true));
    let (resource, namespaced) = resource_of(&server.clone(), &gvk("Place")).await.unwrap().unwrap();
    assert_eq!((resource.plural.as_str(), namespaced), ("places", false));
    assert!(resource_of(&server.clone(), &gvk("Other")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_group_is_absent_only_when_the_list_of_groups_says_so() {
    let server = |versions: &'static [&'static str]| {
        answering(move |request| if request.path == "/apis" { groups(versions) } else { not_found() })
    };
    assert!(resource_of(&server(&[]), &gvk("Thing")).await.unwrap().is_none());
    assert!(resource_of(&server(&["v2"]), &gvk("Thing")).await.unwrap().is_none());
    assert!(resource_of(&server(&["v1"]), &gvk("Thing")).await.is_err(), "a proxy in between");
    let proxy = answering(|_| (404, PROXY.to_owned()));
    assert!(resource_of(&proxy, &gvk("Thing")).await.is_err());
    assert!(resource_of(&proxy, &Gvk::new("", "v1", "Service")).await.is_err(), "the core group never is");
}

#[tokio::test]
async fn a_watch_lists_and_then_says_what_changes() {
    let server = answering(|request| match request {
        request if is_watch(request) => {
            let event =
                |what: &str, object: Value| json!({"type": what, "object": object}).to_string() + "\n";
            (200, event("MODIFIED", thing("a", 4)) + &event("DELETED", thing("b", 5)))
        }
        request if request.path.contains("/things") => list(3, &[thing("a", 1), thing("b", 2)]),
        _ => kinds("g/v1"),
    });
    let expected = [r#"listed ["a", "b"]"#, "applied a", "deleted b"];
    assert_eq!(watched(&server, false, 3).await, expected);
}

#[tokio::test]
async fn what_is_not_wanted_is_not_listed_and_what_is_no_longer_is_deleted() {
    let server = answering(|request| match request {
        request if is_watch(request) => {
            let event = |object: Value| json!({"type": "MODIFIED", "object": object}).to_string() + "\n";
            (200, event(thing("unwanted", 4)) + &event(thing("a", 5)))
        }
        request if request.path.contains("/things") => list(3, &[thing("a", 1), thing("unwanted", 2)]),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 3).await, [r#"listed ["a"]"#, "deleted unwanted", "applied a"]);
}

#[tokio::test]
async fn the_version_follows_the_list() {
    let server =
        answering(
            |request| {
                if request.path.contains("/things") { list(3, &[thing("a", 1)]) } else { kinds("g/v1") }
            },
        );
    assert_eq!(watched(&server, true, 2).await, [r#"listed ["a"]"#, "version 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_does_not_exist_is_an_empty_list_told_once_and_looked_for() {
    let server = answering(|request| match request.path.as_str() {
        "/apis" => groups(&[]),
        path if path.contains("/things") => list(3, &[thing("a", 1)]),
        _ if request.number < 5 => not_found(),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 2).await, ["listed []", r#"listed ["a"]"#]);
}

#[tokio::test(start_paused = true)]
async fn a_404_of_a_proxy_is_trouble_and_no_empty_list() {
    let server = answering(|request| match request {
        request if request.number < 2 => (404, PROXY.to_owned()),
        request if request.path.contains("/things") => list(3, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    let said = watched(&server, false, 2).await;
    assert_eq!(said, ["trouble", r#"listed ["a"]"#]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_a_proxy_answers_with_404_is_asked_for_again() {
    let server = answering(|request| match request {
        request if request.path.contains("/things") && request.number < 2 => (404, PROXY.to_owned()),
        request if request.path.contains("/things") => list(3, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 1).await, [r#"listed ["a"]"#]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_goes_on_in_silence_is_well_again() {
    let failed = AtomicBool::new(false);
    let server = answering(move |request| match request {
        request if is_watch(request) && !failed.swap(true, Ordering::Relaxed) => (500, PROXY.to_owned()),
        // Nothing changes.
        request if is_watch(request) => (200, String::new()),
        request if request.path.contains("/things") => list(3, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 3).await, [r#"listed ["a"]"#, "trouble", "well"]);
}

#[tokio::test(start_paused = true)]
async fn after_trouble_a_server_that_went_back_is_listed_anew() {
    // From its first watch on it is another, of the time before.
    let restored = AtomicBool::new(false);
    let server = answering(move |request| match request {
        request if is_watch(request) && !restored.swap(true, Ordering::Relaxed) => (500, PROXY.to_owned()),
        request if is_watch(request) => (200, String::new()),
        request if request.path.contains("/things") && !restored.load(Ordering::Relaxed) => {
            list(9, &[thing("a", 1), thing("lost", 8)])
        }
        request if request.path.contains("/things") => list(5, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 3).await, [r#"listed ["a", "lost"]"#, "trouble", r#"listed ["a"]"#]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_asked_how_new_it_is() {
    let asked = std::sync::atomic::AtomicU64::new(0);
    let server = answering(move |request| match request {
        request if is_watch(request) => (200, String::new()),
        // Each question about its version is a list of one object.
        request if request.path.contains("/things") && is_question(request) => {
            list(1_000_000 - asked.fetch_add(1, Ordering::Relaxed), &[])
        }
        request if request.path.contains("/things") => list(9, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    assert_eq!(watched(&server, false, 2).await, [r#"listed ["a"]"#, r#"listed ["a"]"#]);
}

#[tokio::test(start_paused = true)]
async fn who_may_list_and_not_watch_is_not_well() {
    let server = answering(|request| match request {
        request if is_watch(request) => (403, PROXY.to_owned()),
        request if request.path.contains("/things") => list(3, &[thing("a", 1)]),
        _ => kinds("g/v1"),
    });
    let said = watched(&server, false, 8).await;
    assert!(said[1..].iter().all(|event| event == "trouble"), "{said:?}");
}

#[tokio::test]
async fn pauses_grow_to_a_limit() {
    let mut pauses = Pauses::default();
    let longest = pauses.by_ref().take(40).max().unwrap();
    assert!(longest <= LONGEST_PAUSE && longest > LONGEST_PAUSE / 4, "{longest:?}");
    pauses.reset();
    assert!(pauses.next().unwrap() < LONGEST_PAUSE / 2);
}
