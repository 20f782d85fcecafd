//! CloudEvents that are sent to clusters.

use std::sync::Mutex;

use sluice_api::ClusterRef;
use sluice_tasks::Tasks;

use super::*;
use crate::buckets::cloud_events::{Message, read_cloud_events, send_cloud_event};

/// What is told until the end has been told so often.
async fn told(bus: &Bus, cluster: &ClusterRef, ends: usize) -> Vec<Option<Message>> {
    let all = Mutex::new(Vec::new());
    read_cloud_events(bus, cluster, |message| {
        let mut all = all.lock().unwrap();
        all.push(message);
        all.iter().filter(|message| message.is_none()).count() < ends
    })
    .await;
    all.into_inner().unwrap()
}

#[tokio::test]
async fn what_was_sent_to_a_cluster_is_read_from_the_first_message_on_and_what_is_sent_twice_is_there_once() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (here, there) = (ClusterRef::sveltos("default", "c.1"), ClusterRef::sveltos("default", "c"));
    let send = async |cluster: &ClusterRef, id: &str| {
        send_cloud_event(&bus, cluster, "orders.eu", (id, id.into())).await.unwrap();
    };
    assert_eq!(told(&bus, &here, 1).await, [None], "an empty log has an end");
    for id in ["/shop 1", "/shop 2", "/shop 1"] {
        send(&here, id).await;
    }
    send(&there, "/shop 3").await;
    let all = told(&bus, &here, 1).await;
    let [Some(first), Some(second), None] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&first.body[..], &second.body[..]), (&b"/shop 1"[..], &b"/shop 2"[..]));
    assert_eq!(first.subject, "cloudevents.sveltos:default/c%2E1.orders.eu");
    assert_eq!(first.headers["Content-Type"], "application/cloudevents+json");
    assert!(
        first.sequence < second.sequence && first.time <= second.time && first.time > 1_700_000_000_000_000
    );
}

#[tokio::test]
async fn what_is_sent_while_somebody_reads_comes_after_the_end() {
    let server = Server::start();
    let tasks = Tasks::default();
    let bus = Bus::connect(&options(&server), &tasks).await.unwrap();
    let cluster = ClusterRef::sveltos("default", "c");
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let reading = read_cloud_events(&bus, &cluster, |message| sender.send(message).is_ok());
    let script = async {
        assert_eq!(told.recv().await, Some(None));
        send_cloud_event(&bus, &cluster, "orders", ("1", b"{}".to_vec())).await.unwrap();
        let message = told.recv().await.flatten().unwrap();
        assert_eq!(message.body, b"{}");
    };
    tokio::select! {
        () = reading => panic!("it ends when nobody listens"),
        () = script => {}
    }
}
