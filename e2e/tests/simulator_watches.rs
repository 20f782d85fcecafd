//! Watches of the usual client library on simulated clusters, also when things go wrong.
#![allow(clippy::unwrap_used)]

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use sluice_simcluster::{FleetConfig, SimFleet};

type Events = Pin<Box<dyn Stream<Item = watcher::Result<Event<ConfigMap>>>>>;

async fn fleet() -> (SimFleet, Client) {
    let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&fleet.kubeconfig(&["management"])).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    (fleet, client)
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": value}})
}

fn put(fleet: &SimFleet, name: &str, value: &str) {
    fleet.apply("management", "test", config_map(name, value)).unwrap();
}

/// What the next change is, in words; errors and the edges of lists are passed over.
async fn next(events: &mut Events) -> String {
    loop {
        let event =
            tokio::time::timeout(Duration::from_secs(20), events.next()).await.expect("an event in time");
        let name = |object: &ConfigMap| {
            let value = object.data.as_ref().and_then(|data| data.get("k")).cloned().unwrap_or_default();
            format!("{}={value}", object.metadata.name.as_deref().unwrap_or_default())
        };
        match event.unwrap() {
            Ok(Event::InitApply(object)) => return format!("listed {}", name(&object)),
            Ok(Event::Apply(object)) => return format!("applied {}", name(&object)),
            Ok(Event::Delete(object)) => return format!("deleted {}", name(&object)),
            Ok(Event::Init | Event::InitDone) | Err(_) => {}
        }
    }
}

fn watch(client: &Client, config: watcher::Config) -> Events {
    Box::pin(watcher(Api::<ConfigMap>::namespaced(client.clone(), "default"), config))
}

async fn follows_changes(config: watcher::Config) {
    let (fleet, client) = fleet().await;
    put(&fleet, "a", "1");
    let mut events = watch(&client, config);
    assert_eq!(next(&mut events).await, "listed a=1");
    put(&fleet, "a", "1");
    put(&fleet, "a", "2");
    assert_eq!(next(&mut events).await, "applied a=2");
    fleet.delete("management", "v1", "ConfigMap", "default", "a").unwrap();
    assert_eq!(next(&mut events).await, "deleted a=2");
}

#[tokio::test]
async fn a_list_and_watch_follows_changes() {
    follows_changes(watcher::Config::default()).await;
}

#[tokio::test]
async fn a_streaming_list_follows_changes() {
    follows_changes(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test]
async fn a_paged_list_is_complete() {
    let (fleet, client) = fleet().await;
    (0..25).for_each(|index| put(&fleet, &format!("c{index:02}"), "1"));
    let mut events = watch(&client, watcher::Config::default().page_size(10));
    for index in 0..25 {
        assert_eq!(next(&mut events).await, format!("listed c{index:02}=1"));
    }
}

#[tokio::test]
async fn a_selector_turns_changes_into_arrivals_and_departures() {
    let (fleet, client) = fleet().await;
    let labelled = |label: &str, value: &str| {
        let mut object = config_map("a", value);
        object["metadata"]["labels"] = json!({"app": label});
        fleet.apply("management", "test", object).unwrap();
    };
    labelled("other", "1");
    put(&fleet, "z", "1");
    let mut events = watch(&client, watcher::Config::default().labels("app=web"));
    let first = tokio::time::timeout(Duration::from_secs(20), events.next()).await.unwrap();
    assert!(matches!(first, Some(Ok(Event::Init))));
    let second = tokio::time::timeout(Duration::from_secs(20), events.next()).await.unwrap();
    assert!(matches!(second, Some(Ok(Event::InitDone))));
    labelled("web", "2");
    assert_eq!(next(&mut events).await, "applied a=2");
    labelled("other", "3");
    assert_eq!(next(&mut events).await, "deleted a=2");
}

#[tokio::test]
async fn a_cut_watch_goes_on_where_it_was() {
    let (fleet, client) = fleet().await;
    put(&fleet, "a", "1");
    let mut events = watch(&client, watcher::Config::default());
    assert_eq!(next(&mut events).await, "listed a=1");
    put(&fleet, "a", "2");
    assert_eq!(next(&mut events).await, "applied a=2");
    fleet.faults("management").cut_watches();
    put(&fleet, "a", "3");
    assert_eq!(next(&mut events).await, "applied a=3");
}

#[tokio::test]
async fn an_expired_watch_lists_again() {
    let (fleet, client) = fleet().await;
    put(&fleet, "a", "1");
    let mut events = watch(&client, watcher::Config::default());
    assert_eq!(next(&mut events).await, "listed a=1");
    put(&fleet, "a", "2");
    assert_eq!(next(&mut events).await, "applied a=2");
    fleet.faults("management").expire_watches();
    assert_eq!(next(&mut events).await, "listed a=2");
}

#[tokio::test]
async fn faults_are_set_over_http_and_seen_by_clients() {
    let (fleet, client) = fleet().await;
    let faults = fleet.faults("management");
    let api = Api::<ConfigMap>::namespaced(client, "default");
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    };
    faults.error_rate(1.0, 500);
    assert_eq!(code(api.get("a").await.unwrap_err()), 500);
    faults.error_rate(0.0, 500);
    faults.expire_token(true);
    assert_eq!(code(api.get("a").await.unwrap_err()), 401);
    faults.expire_token(false);
    faults.unreachable(true);
    assert_eq!(code(api.get("a").await.unwrap_err()), 0);
    faults.unreachable(false);
    assert_eq!(code(api.get("a").await.unwrap_err()), 404);
}
