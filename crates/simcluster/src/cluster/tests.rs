#![allow(clippy::unwrap_used)]
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::selectors::LabelSelector;

fn cluster() -> Arc<Cluster> {
    Arc::new(Cluster::new("a", "t"))
}

fn endpoint(cluster: &Cluster) -> Endpoint {
    cluster.endpoint("", "v1", "configmaps").unwrap()
}

fn config_map(name: &str, label: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": label}}})
}

/// Applies a ConfigMap, or pretends to.
fn apply(cluster: &Cluster, name: &str, label: &str, dry_run: bool) -> Written {
    let endpoint = endpoint(cluster);
    let options = WriteOptions { field_manager: "m".into(), dry_run, ..WriteOptions::default() };
    let write = Write { endpoint: &endpoint, namespace: "default", name, subresource: "", options: &options };
    let written = cluster.state().apply(config_map(name, label), &write);
    written.unwrap()
}

fn put(cluster: &Cluster, name: &str, label: &str) {
    apply(cluster, name, label, false);
}

fn list(cluster: &Cluster, options: &ListOptions) -> Result<Page, ApiError> {
    let endpoint = endpoint(cluster);
    cluster.state().list(&endpoint, options)
}

fn names(page: &Page) -> Vec<&str> {
    page.objects.iter().map(|object| object.name()).collect()
}

fn watch(cluster: &Arc<Cluster>, list: ListOptions, send_initial_events: bool) -> Watch {
    let deadline = Instant::now() + Duration::from_secs(60);
    let options = WatchOptions { list, send_initial_events, bookmarks: true, deadline };
    Watch::start(cluster, endpoint(cluster), options)
}

fn from_now(cluster: &Cluster) -> ListOptions {
    let resource_version = Some(cluster.state().resource_version());
    ListOptions { resource_version, ..ListOptions::default() }
}

async fn changes(watch: &mut Watch) -> Vec<(ChangeKind, String)> {
    match watch.next().await {
        Some(Batch::Changes(changes)) => {
            changes.into_iter().map(|(kind, object)| (kind, object.name().to_owned())).collect()
        }
        other => panic!("changes were expected, not {other:?}"),
    }
}

#[test]
fn pages_show_one_moment() {
    let cluster = cluster();
    ["a", "b", "c"].iter().for_each(|name| put(&cluster, name, "x"));
    let first = list(&cluster, &ListOptions { limit: 2, ..ListOptions::default() }).unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a", "b"], Some(1)));
    put(&cluster, "bb", "x");
    let rest =
        ListOptions { limit: 2, continue_token: first.continue_token.clone(), ..ListOptions::default() };
    let second = list(&cluster, &rest).unwrap();
    assert_eq!((names(&second), second.continue_token.as_str()), (vec!["c"], ""));
    assert_eq!(first.resource_version, second.resource_version);
    cluster.expire_watches();
    assert_eq!(list(&cluster, &rest).unwrap_err().code, 410);
}

#[test]
fn a_list_shows_a_former_moment() {
    let cluster = cluster();
    put(&cluster, "a", "x");
    let then = ListOptions { exact: true, ..from_now(&cluster) };
    put(&cluster, "a", "y");
    put(&cluster, "b", "y");
    let page = list(&cluster, &then).unwrap();
    assert_eq!(names(&page), ["a"]);
    assert_eq!(page.objects[0].metadata().unwrap()["labels"], json!({"app": "x"}));
    let future = ListOptions { resource_version: Some(1_000), ..ListOptions::default() };
    assert_eq!(list(&cluster, &future).unwrap_err().code, 504);
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    let cluster = cluster();
    let before = cluster.state().resource_version();
    let written = apply(&cluster, "a", "x", true);
    assert!(written.created);
    assert_eq!((written.object.name(), written.object.meta_str("resourceVersion")), ("a", ""));
    assert_eq!(cluster.state().resource_version(), before);
    assert!(names(&list(&cluster, &ListOptions::default()).unwrap()).is_empty());
}

#[test]
fn an_equal_apply_is_no_write() {
    let cluster = cluster();
    let first = apply(&cluster, "a", "x", false);
    let second = apply(&cluster, "a", "x", false);
    assert!(Arc::ptr_eq(&first.object, &second.object));
}

#[tokio::test]
async fn a_watch_sees_what_comes_after_its_start() {
    let cluster = cluster();
    put(&cluster, "a", "x");
    let mut watch = watch(&cluster, from_now(&cluster), false);
    put(&cluster, "a", "x");
    put(&cluster, "a", "y");
    put(&cluster, "b", "y");
    let expected = [(ChangeKind::Modified, "a".to_owned()), (ChangeKind::Added, "b".to_owned())];
    assert_eq!(changes(&mut watch).await, expected);
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let cluster = cluster();
    put(&cluster, "a", "x");
    let mut watch = watch(&cluster, ListOptions::default(), true);
    assert_eq!(changes(&mut watch).await, [(ChangeKind::Added, "a".to_owned())]);
    let version = cluster.state().resource_version();
    let bookmark = watch.next().await;
    assert!(
        matches!(bookmark, Some(Batch::Bookmark { resource_version, initial: true }) if resource_version == version)
    );
}

#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let cluster = cluster();
    put(&cluster, "a", "x");
    let labels = LabelSelector::parse("app=y").unwrap();
    let mut watch = watch(&cluster, ListOptions { labels, ..from_now(&cluster) }, false);
    put(&cluster, "a", "y");
    assert_eq!(changes(&mut watch).await, [(ChangeKind::Added, "a".to_owned())]);
    put(&cluster, "a", "z");
    let Some(Batch::Changes(left)) = watch.next().await else { panic!("a change") };
    let (kind, last) = &left[0];
    assert_eq!(*kind, ChangeKind::Deleted);
    // It is shown as it was, at the version at which it left.
    assert_eq!(last.metadata().unwrap()["labels"], json!({"app": "y"}));
    assert_eq!(last.resource_version(), cluster.state().resource_version());
}

#[tokio::test]
async fn a_watch_that_is_too_old_ends_with_410() {
    let cluster = cluster();
    put(&cluster, "a", "x");
    let start = from_now(&cluster);
    cluster.expire_watches();
    let mut watch = watch(&cluster, start, false);
    assert!(matches!(watch.next().await, Some(Batch::Error(error)) if error.code == 410));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_cut_ends_a_watch_after_what_it_has_to_say() {
    let cluster = cluster();
    let mut watch = watch(&cluster, from_now(&cluster), false);
    put(&cluster, "a", "x");
    cluster.cut_watches();
    assert_eq!(changes(&mut watch).await.len(), 1);
    assert!(watch.next().await.is_none());
}

#[test]
fn a_cluster_that_is_filled_has_services_that_can_be_changed() {
    let cluster = cluster();
    cluster.state().fill(3);
    let endpoint = cluster.endpoint("", "v1", "services").unwrap();
    let page = cluster.state().list(&endpoint, &ListOptions::default()).unwrap();
    assert_eq!(names(&page), ["kubernetes", "resting-1", "resting-2", "resting-3"]);
    let versions: Vec<u64> = page.objects.iter().map(|object| object.resource_version()).collect();
    assert_eq!(page.resource_version, versions[3], "the list is as of the last of them");
    let options = WriteOptions { field_manager: "m".into(), ..WriteOptions::default() };
    let (namespace, name) = ("default", "resting-2");
    let write = Write { endpoint: &endpoint, namespace, name, subresource: "", options: &options };
    let label = json!({"metadata": {"name": "resting-2", "labels": {"app": "x"}}});
    let written = cluster.state().apply(label, &write).unwrap();
    assert!(!written.created && written.object.resource_version() > versions[3]);
    assert_eq!(written.object.body()["spec"]["ports"][0]["targetPort"], 9376);
}
