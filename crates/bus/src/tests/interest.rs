//! The bucket of interest rows, as its writers and readers meet it.

use super::*;
use crate::buckets::interest::{interest_feed_of, subject};

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("a", name)
}

fn row(revision: u64) -> Interest {
    Interest { revision, sources: Vec::new() }
}

#[tokio::test]
async fn a_row_that_no_message_can_hold_is_refused_with_the_remedy_and_the_one_before_stays() {
    let server = Server::start();
    let bus = bus(&server).await;
    let writer = InterestWriter::new(&bus);
    writer.write(&cluster("b"), &row(1)).await.unwrap();
    let noise: Vec<String> =
        (0..200_000_u32).map(|number| Digest::of(&[&number.to_le_bytes()]).to_string()).collect();
    let source = sluice_protocol::interest::Source {
        name: "s".into(),
        changed: 2,
        manifest: std::sync::Arc::new(serde_json::json!({"spec": noise})),
    };
    let error =
        writer.write(&cluster("b"), &Interest { revision: 2, sources: vec![source] }).await.unwrap_err();
    assert!(error.to_string().contains("raise max_payload of nats-server"), "{error}");
    let stop = CancellationToken::new();
    let feed = interest_feed_of(&bus, &cluster("b"), stop.clone());
    feed.synced().await;
    assert_eq!(feed.values().iter().map(|(_, row)| row.revision).collect::<Vec<_>>(), [1]);
    stop.cancel();
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_not_taken_and_hides_no_other() {
    let server = Server::start();
    let bus = bus(&server).await;
    bus.js.publish(subject(&cluster("b")), "?".into()).await.unwrap().await.unwrap();
    InterestWriter::new(&bus).write(&cluster("c"), &row(3)).await.unwrap();
    let stop = CancellationToken::new();
    let feed = interest_feed(&bus, stop.clone());
    feed.synced().await;
    assert_eq!(feed.keys(), [cluster("c")]);
    stop.cancel();
}
