#![allow(clippy::unwrap_used)]

use sluice_bus::kit::{Server, write};
use sluice_protocol::Body;

use super::*;
use crate::kit::{cluster, connect, rows, service};
use crate::shards::shards;

fn target(namespace: &str, name: &str) -> Target {
    Target { cluster: cluster("b"), kind: "ConfigMap".into(), namespace: namespace.into(), name: name.into() }
}

#[tokio::test]
async fn an_add_on_is_followed_to_the_change_that_led_to_it_and_to_what_came_of_it() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    for (item, of_all) in [(Some(service()), ""), (None, ", the newest of them")] {
        write(&bus, rows(item.clone())).await;
        let traces = trace(&bus, &target("default", "made")).await.unwrap();
        assert_eq!((traces.len(), traces[0].profile.as_str()), (1, "ClusterProfile p"));
        let hops = &traces[0].hops;
        let stages: Vec<_> = hops.iter().map(|hop| &*hop.stage).collect();
        assert_eq!(stages, ["agent", "matcher", "renderer", "deployer"]);
        assert!(hops.iter().all(|hop| hop.at > 1_600_000_000_000_000 && hop.cause_at == 5), "{hops:?}");
        let says: Vec<_> = hops.iter().map(|hop| hop.says.as_str()).collect();
        assert_eq!(says[0], "Service shop/web on sveltos:default/a");
        assert_eq!(says[1], format!("an event of EventSource s{of_all}"));
        assert_eq!(says[2], "ClusterProfile p of EventTrigger t, from ConfigMap default/content");
        assert_eq!(says[3], "Failed: no room");
    }
    let all = shards(&bus, None).await.unwrap();
    let found: Vec<_> = all.iter().map(|shard| (&*shard.stage, shard.replica.as_str())).collect();
    assert_eq!(found, [("agent", "test"), ("matcher", "test"), ("renderer", "test"), ("deployer", "test")]);
    assert_eq!(shards(&bus, Some("matcher")).await.unwrap(), [all[1].clone()]);
}

#[tokio::test]
async fn where_there_is_none_it_says_what_there_is() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let asked = trace(&bus, &target("", "made")).await.unwrap_err().to_string();
    assert!(
        asked.starts_with("no profile deploys ConfigMap made to sveltos:default/b; nothing is"),
        "{asked}"
    );
    write(&bus, rows(None)).await;
    for wrong in [target("default", "mad"), target("other", "made")] {
        let asked = trace(&bus, &wrong).await.unwrap_err().to_string();
        assert!(asked.ends_with("; there is ConfigMap made"), "{asked}");
    }
    assert!(trace(&bus, &target("", "made")).await.is_ok(), "any namespace");
}

#[tokio::test]
async fn of_what_went_back_it_says_that_the_cluster_alone_has_it() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let mut rows = rows(None);
    for row in rows.iter_mut().filter(|row| matches!(row.subject, Subject::Desired { .. })) {
        row.body = Body::Value(GoBack::default().bytes());
    }
    write(&bus, rows).await;
    let asked = trace(&bus, &target("default", "made")).await.unwrap_err().to_string();
    let says =
        "has ConfigMap default/made for sveltos:default/b; ClusterProfile p went back there to a former one";
    assert!(asked.contains(says), "{asked}");
}
