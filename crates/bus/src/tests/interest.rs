//! The bucket of interest rows, as its writers and readers meet it.

use sluice_protocol::Revision;

use super::*;
use crate::buckets::interest::{InterestRemover, interest_feed_of, subject};

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("a", name)
}

fn row(revision: u64) -> Interest {
    Interest { revision: Revision::new(revision), sources: Vec::new(), ..Interest::default() }
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
        changed: Revision::new(2),
        manifest: std::sync::Arc::new(serde_json::json!({"spec": noise})),
    };
    let error = writer
        .write(
            &cluster("b"),
            &Interest { revision: Revision::new(2), sources: vec![source], ..Interest::default() },
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("raise max_payload of nats-server"), "{error}");
    let stop = CancellationToken::new();
    let feed = interest_feed_of(&bus, &cluster("b"), stop.clone());
    feed.synced().await;
    assert_eq!(feed.values().iter().map(|(_, row)| row.revision).collect::<Vec<_>>(), [Revision::new(1)]);
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

#[tokio::test]
async fn the_row_of_a_cluster_that_has_gone_is_taken_away_and_that_of_one_that_is_there_again_stays() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (writer, remover) = (InterestWriter::new(&bus), InterestRemover::new(&bus));
    for name in ["b", "c"] {
        writer.write(&cluster(name), &Interest::of_gone(Revision::new(1))).await.unwrap();
    }
    writer.write(&cluster("c"), &row(2)).await.unwrap();
    let stop = CancellationToken::new();
    let feed = interest_feed(&bus, stop.clone());
    feed.synced().await;
    let mut told = feed.subscribe_key(cluster("b"));
    assert!(told.recv().await.unwrap().1.gone);
    for name in ["b", "c", "nobody"] {
        remover.remove(&cluster(name), Revision::new(1)).await.unwrap();
    }
    assert!(told.recv().await.unwrap().1.is_lost(), "who follows it hears that it is gone");
    assert_eq!(feed.keys(), [cluster("c")]);
    writer.write(&cluster("b"), &row(1)).await.unwrap();
    assert_eq!(told.recv().await.unwrap().1, row(2), "it may be registered again, under a later revision");
    stop.cancel();
}
