//! What readers and followers deliver of a stream.

use sluice_protocol::{Revision, Row, Shard};

use super::*;
use crate::buckets::interest::interest_feed_of;
use crate::kit;
use crate::shard::reader::Reader;

async fn open(bus: &Bus, filters: &[&str]) -> Reader {
    let filters = filters.iter().map(|filter| (*filter).to_owned()).collect();
    read(bus, &ReadSpec::some(Table::Desired.stream(Shard::FIRST), filters)).await.unwrap()
}

/// What comes, in words, up to the end of what was there.
async fn words(reader: &mut Reader) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        words.push(match reader.next().await.unwrap() {
            ReadEvent::Row(row, _) => word(&row),
            ReadEvent::Unreadable(row, _, why) => format!("{}? {}", word(&row), !why.is_empty()),
            ReadEvent::Malformed(subject, why) => format!("{subject}! {}", !why.is_empty()),
            ReadEvent::CaughtUp(_) => return words,
            other => panic!("{other:?}"),
        });
    }
}

fn word(row: &Row) -> String {
    match &row.subject {
        Subject::Desired { profile, .. } if row.head.tombstone => format!("-{}", profile.name),
        Subject::Desired { profile, .. } => format!("+{}", profile.name),
        Subject::Owner { .. } => "fence".to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reader_says_when_it_has_delivered_what_was_there_and_goes_on() {
    let server = Server::start();
    let bus = bus(&server).await;
    kit::write(&bus, [row("x", Some("1")), row("y", Some("1"))]).await;
    let mut reader = open(&bus, &[]).await;
    assert_eq!(words(&mut reader).await, ["fence", "+x", "+y"]);
    kit::write(&bus, [row("y", Some("2")), row("x", None)]).await;
    let mut then = Vec::new();
    while then.len() < 3 {
        let ReadEvent::Row(row, _) = reader.next().await.unwrap() else { panic!("the end comes once") };
        then.push(word(&row));
    }
    assert_eq!(then, ["fence", "+y", "-x"]);
}

#[tokio::test]
async fn a_reader_of_some_rows_delivers_no_others_and_an_empty_table_has_an_end() {
    let server = Server::start();
    let bus = bus(&server).await;
    let mut nothing = open(&bus, &["desired.00.*.*.*"]).await;
    assert!(words(&mut nothing).await.is_empty());
    kit::write(&bus, [row("x", Some("1"))]).await;
    assert_eq!(words(&mut open(&bus, &["desired.00.*.*.*"]).await).await, ["+x"]);
    let spec = ReadSpec {
        heads_only: true,
        ..ReadSpec::some(Table::Desired.stream(Shard::FIRST), vec!["desired.00.*.*.*".into()])
    };
    let events = read(&bus, &spec).await.unwrap().all().await.unwrap();
    let [ReadEvent::Row(row, _)] = &events[..] else { panic!("{events:?}") };
    assert!(row.body.is_empty() && row.head.digest != Digest::default(), "the head alone");
}

#[tokio::test]
async fn a_message_that_is_no_row_is_told_and_skipped() {
    let server = Server::start();
    let bus = bus(&server).await;
    let raw = |subject: &str, body: &'static [u8]| bus.js.publish(subject.to_owned(), body.into());
    raw("desired.00.nonsense", b"x").await.unwrap().await.unwrap();
    let subject = row("broken", None).subject.to_string();
    raw(&subject, b"\x07no such format").await.unwrap().await.unwrap();
    kit::write(&bus, [row("x", Some("1"))]).await;
    let words = words(&mut open(&bus, &["desired.00.nonsense", "desired.00.*.*.*"]).await).await;
    assert_eq!(words, ["desired.00.nonsense! true", "+broken? true", "+x"]);
}

#[tokio::test]
async fn a_reader_whose_consumer_is_gone_goes_on_after_its_last_row() {
    let server = Server::start();
    let bus = bus(&server).await;
    kit::write(&bus, [row("x", Some("1"))]).await;
    let mut reader = open(&bus, &["desired.00.*.*.*"]).await;
    assert_eq!(words(&mut reader).await, ["+x"]);
    // As when the node that it was on goes.
    let stream = bus.js.get_stream(Table::Desired.stream(Shard::FIRST)).await.unwrap();
    let mut names = stream.consumer_names();
    while let Some(name) = futures::StreamExt::next(&mut names).await {
        stream.delete_consumer(&name.unwrap()).await.unwrap();
    }
    kit::write(&bus, [row("y", Some("1"))]).await;
    let next = tokio::time::timeout(Duration::from_secs(60), reader.next()).await.unwrap();
    let Some(ReadEvent::Row(row, _)) = next else { panic!("{next:?}") };
    assert_eq!(word(&row), "+y", "once, and nothing of before");
}

#[tokio::test]
async fn who_follows_one_cluster_hears_of_no_other() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (own, other) = (ClusterRef::sveltos("a", "b"), ClusterRef::sveltos("a", "c"));
    let writer = InterestWriter::new(&bus);
    let interest = |revision| Interest { revision, sources: Vec::new(), ..Interest::default() };
    writer.write(&other, &interest(Revision::new(3))).await.unwrap();
    let feed = interest_feed_of(&bus, &own, CancellationToken::new());
    feed.synced().await;
    assert!(feed.keys().is_empty());
    let mut news = feed.subscribe();
    writer.write(&other, &interest(Revision::new(4))).await.unwrap();
    writer.write(&own, &interest(Revision::new(5))).await.unwrap();
    let (cluster, row) = kit::told(&mut news, |_| true).await;
    assert_eq!((cluster, row.revision), (own, Revision::new(5)));
}

#[tokio::test]
async fn an_older_interest_row_does_not_take_the_place_of_a_newer_one() {
    let server = Server::start();
    let bus = bus(&server).await;
    let cluster = ClusterRef::sveltos("a", "b");
    let writer = InterestWriter::new(&bus);
    let feed = interest_feed(&bus, CancellationToken::new());
    let mut news = feed.subscribe();
    for revision in [7, 5, 8].map(Revision::new) {
        writer
            .write(&cluster, &Interest { revision, sources: Vec::new(), ..Interest::default() })
            .await
            .unwrap();
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&8) {
        seen.push(kit::told(&mut news, |_| true).await.1.revision.get());
    }
    assert!(seen.is_sorted(), "{seen:?}");
}
