//! What shards learn of their rows when several are taken over at once.

use futures::StreamExt as _;
use sluice_protocol::Event;
use sluice_protocol::subject::own_rows;
use tokio::sync::mpsc;

use super::*;
use crate::kit;
use crate::shard::heads::{Heads, OwnRows};
use crate::shard::input::Inner;

/// The rows of a renderer's shard in the first stream, after its claim.
async fn own_rows(bus: &Bus, origin: Shard) -> OwnRows {
    let fence = fence(&own_rows::shard_token(origin));
    let claimed = claim(bus, &fence).await;
    let filters = own_rows::renderer(origin).iter().map(|filter| filter.replace("{}", "00")).collect();
    OwnRows::new(fence.stream, filters, fence.subject, claimed)
}

fn row_of(origin: Shard, profile: &str) -> Publish {
    let row = row(profile, Some(profile));
    let Subject::Desired { shard, cluster, profile, .. } = row.subject.clone() else { panic!("{row:?}") };
    Publish { subject: Subject::Desired { shard, cluster, origin, profile }, ..row }
}

/// The profiles that are found, where their heads are right.
async fn names(bus: &Bus, rows: OwnRows) -> Vec<String> {
    // Larger than what is found.
    let (sender, mut found) = mpsc::channel::<Inner<()>>(1000);
    assert_eq!(rows.tell(bus, &ContentRefs::default(), &sender).await, Heads::Told);
    drop(sender);
    let mut names = Vec::new();
    while let Some(inner) = found.recv().await {
        let Inner::Event(Event::Found(Subject::Desired { profile, .. }, head)) = inner else {
            panic!("no head")
        };
        assert_eq!(head, row(&profile.name, Some(&profile.name)).head());
        names.push(profile.name.to_string());
    }
    names
}

/// How many consumers the server has made for the first stream since it is asked.
async fn consumers(bus: &Bus) -> impl AsyncFnOnce() -> usize {
    let made = "$JS.EVENT.ADVISORY.CONSUMER.CREATED.DESIRED-00.>";
    let mut made = bus.js.client().subscribe(made).await.unwrap();
    bus.js.client().flush().await.unwrap();
    async move || {
        let mut count = 0;
        while tokio::time::timeout(Duration::from_millis(300), made.next()).await.is_ok() {
            count += 1;
        }
        count
    }
}

#[tokio::test]
async fn shards_that_are_taken_over_together_find_their_own_rows_in_one_reading() {
    let server = Server::start();
    let bus = bus(&server).await;
    let [a, b, c] = [0, 1, 2].map(Shard::new);
    kit::write_as(&bus, "00", [row_of(a, "a1"), row_of(a, "a2")]).await;
    kit::write_as(&bus, "02", [row_of(c, "c1")]).await;
    let (of_a, of_b, of_c) = (own_rows(&bus, a).await, own_rows(&bus, b).await, own_rows(&bus, c).await);
    let made = consumers(&bus).await;
    let (again, others) = (of_a.clone(), (names(&bus, of_b), names(&bus, of_c)));
    let (in_a, in_b, in_c, in_a_again) =
        tokio::join!(names(&bus, of_a), others.0, others.1, names(&bus, again));
    assert_eq!((in_a, in_b), (vec!["a1".to_owned(), "a2".to_owned()], vec![]));
    assert_eq!((in_c, in_a_again), (vec!["c1".to_owned()], vec!["a1".to_owned(), "a2".to_owned()]));
    assert_eq!(made().await, 2, "for the first, and for all that came meanwhile");
}

#[tokio::test]
async fn many_shards_read_all_rows_and_learn_of_their_own_only() {
    let server = Server::start();
    let bus = bus(&server).await;
    let shards: Vec<_> = (0..20).map(Shard::new).collect();
    let mut all = Vec::new();
    for &origin in &shards {
        let name = |number: u32| format!("{}-{number}", own_rows::shard_token(origin));
        // More than go together.
        let rows = (0..70).map(|number| row_of(origin, &name(number)));
        kit::write_as(&bus, &own_rows::shard_token(origin), rows).await;
        all.push((0..70).map(name).collect::<Vec<_>>());
    }
    let mut asked = Vec::new();
    // Rows of the others are read, too.
    for &origin in &shards[..15] {
        asked.push(own_rows(&bus, origin).await);
    }
    let made = consumers(&bus).await;
    let found = futures::future::join_all(asked.into_iter().map(|rows| names(&bus, rows))).await;
    assert_eq!(found, all[..15]);
    assert_eq!(made().await, 2);
}

#[tokio::test]
async fn who_ends_while_it_is_read_for_keeps_nobody_waiting() {
    let server = Server::start();
    let bus = bus(&server).await;
    let [a, c] = [0, 2].map(Shard::new);
    kit::write_as(&bus, "02", [row_of(c, "c1")]).await;
    let (of_a, of_c) = (own_rows(&bus, a).await, own_rows(&bus, c).await);
    // Its claim never comes.
    let never = OwnRows::new(
        fence("00").stream,
        vec!["desired.00.*.00.*".into()],
        "desired.00.owner.none".into(),
        Sequence::new(1),
    );
    let (mut ends, refs) = (mpsc::channel::<Inner<()>>(1), ContentRefs::default());
    let mut waits = Box::pin(never.tell(&bus, &refs, &ends.0));
    assert!(futures::poll!(&mut waits).is_pending());
    let mut others = Box::pin(async { tokio::join!(names(&bus, of_a), names(&bus, of_c)) });
    assert!(futures::poll!(&mut others).is_pending());
    drop(waits);
    ends.1.close();
    let (in_a, in_c) = tokio::time::timeout(Duration::from_secs(20), others).await.unwrap();
    assert_eq!((in_a.len(), in_c), (0, vec!["c1".to_owned()]));
}
