//! Tests against a real nats-server: the semantics that the protocol relies on, which the in-memory stream of
//! the simulation has too, so that it cannot drift.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sluice_api::{ClusterRef, Digest, ProfileId};
use sluice_protocol::interest::Interest;
use sluice_protocol::memory::{Expect, MemoryStream};
use sluice_protocol::{
    Body, Claim, Group, Incarnation, Outgoing, Publish, Revision, Sequence, Shard, Stop, Subject, Table,
};
use sluice_tasks::Tasks;
use tokio_util::sync::CancellationToken;

use crate::buckets::content_refs::ContentRefs;
use crate::buckets::contents::BodyLocation;
use crate::buckets::interest::{InterestWriter, interest_feed};
use crate::bus::Bus;
use crate::codec::Limit;
use crate::connection::Connection;
use crate::kit::{Server, arguments, spawn};
use crate::layout::BusOptions;
use crate::membership::{MEMBER_TTL, Membership};
use crate::seal::BusKeys;
use crate::shard::fence::{Claimed, Fence, Holder};
use crate::shard::publish_outcome::PublishOutcome;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};
use crate::shard::writer;

mod bare;
mod cloud_events;
mod cluster;
mod contents;
mod ends;
mod fences;
mod heads;
mod interest;
mod journal;
mod layouts;
mod looks;
mod losses;
mod members;
mod problems;
mod readers;
mod replays;
mod runner;
mod shards;

fn options(server: &Server) -> BusOptions {
    BusOptions {
        connection: Connection::plain(server.url()),
        name: "test".into(),
        shards: 2,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(1),
        keys: BusKeys::default(),
    }
}

async fn bus(server: &Server) -> Bus {
    Bus::connect(&options(server), &Tasks::default()).await.unwrap()
}

/// A replica that holds a lease.
async fn member(bus: &Bus, stop: &CancellationToken) -> Membership {
    let membership = Membership::join(bus, "stage", "a", stop.clone()).unwrap();
    while !membership.lease("0").is_held() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    membership
}

fn row(profile: &str, body: Option<&str>) -> Publish {
    let subject = Subject::Desired {
        shard: Shard::FIRST,
        cluster: ClusterRef::sveltos("a", "b"),
        origin: Shard::FIRST,
        profile: ProfileId::cluster(profile),
    };
    Publish::new(subject, body.map_or(Body::Tombstone, |body| Body::value(body.as_bytes())), 1)
}

fn fence(owner: &str) -> Fence {
    let subject = Subject::fence(Table::Desired, 0, owner).to_string();
    Fence { stream: Table::Desired.stream(Shard::FIRST), subject, expires: false }
}

/// The claim of a replica of this name, as its first one or under a former fence.
async fn claim_as(bus: &Bus, fence: &Fence, member: &str, number: u32, former: Option<Sequence>) -> Claimed {
    let holder = Holder { member: member.into(), life: member.len() as u64, number };
    fence.claim(bus, &holder, &Claim { output: 0, number, former, delay: 0 }).await
}

async fn claim(bus: &Bus, fence: &Fence) -> Sequence {
    match claim_as(bus, fence, "test", 1, None).await {
        Claimed::At(sequence) => sequence,
        other => panic!("{other:?}"),
    }
}

/// Stores rows in one group.
async fn send(bus: &Bus, rows: &[Publish], fence: &Fence, sequence: Sequence) -> writer::Sent {
    let outgoing = |row: &Publish| Outgoing { id: 0, head: row.head(), row: row.clone() };
    let rows = rows.iter().map(outgoing).collect();
    let group = Group { output: 0, fence: sequence, rows, delay: 0 };
    writer::prepare(bus, fence, &group).await.send(bus, fence, &group).await
}

async fn put(bus: &Bus, row: &Publish, fence: &Fence, sequence: Sequence) -> Option<Sequence> {
    match send(bus, std::slice::from_ref(row), fence, sequence).await.answer {
        Some(PublishOutcome::Stored(sequence)) => Some(sequence),
        _ => None,
    }
}

/// What the stream holds: profile, body and sequence, in order.
async fn rows(bus: &Bus) -> Vec<(String, String, u64)> {
    let spec = ReadSpec::some(Table::Desired.stream(Shard::FIRST), vec!["desired.00.*.*.*".into()]);
    let events = read(bus, &spec).await.unwrap().all().await.unwrap();
    let row = |event: ReadEvent| match event {
        ReadEvent::Row(row, _) => {
            let Subject::Desired { profile, .. } = row.subject else { panic!("{:?}", row.subject) };
            let body = String::from_utf8(row.body.to_vec()).unwrap();
            (profile.name, if row.head.tombstone { "gone".into() } else { body }, row.sequence.get())
        }
        other => panic!("{other:?}"),
    };
    events.into_iter().map(row).collect()
}

#[tokio::test]
async fn the_real_stream_and_the_one_in_memory_do_the_same() {
    let server = Server::start();
    same_as_in_memory(&bus(&server).await).await;
}

/// The semantics that the protocol relies on: the same script on both.
async fn same_as_in_memory(bus: &Bus) {
    let (fence, other) = (fence("00"), fence("01"));
    let name = fence.subject.clone();
    let first = claim(bus, &fence).await;
    assert!(
        first > Sequence::new(1_700_000_000_000_000),
        "sequences begin with the time the stream is made: {first}"
    );
    let mut memory = MemoryStream::after(Incarnation::new(1), first.before());
    assert_eq!(
        Ok(first),
        memory.put(&name, None, Some(Expect { subject: &name, sequence: Sequence::NONE }), None)
    );

    let mut script = Vec::new();
    for (profile, body, sequence) in [
        ("x", Some("1"), first),
        ("y", Some("1"), first),
        ("x", Some("2"), first),
        ("y", None, first),
        ("z", Some("1"), first.after_more(7)),
        ("z", Some("1"), first),
    ] {
        let publish = row(profile, body);
        let real = put(bus, &publish, &fence, sequence).await;
        let kept = body.map(str::to_owned);
        let same = memory.put(
            &publish.subject.to_string(),
            Some((profile, kept)),
            Some(Expect { subject: &name, sequence }),
            None,
        );
        script.push((real, same.ok()));
    }
    assert!(script.iter().all(|(real, same)| real == same), "{script:?}");
    assert_eq!(
        script.iter().filter(|(real, _)| real.is_none()).count(),
        1,
        "only the wrong fence is refused"
    );

    let seconds = claim(bus, &fence).await;
    assert_eq!(Ok(seconds), memory.put(&name, None, None, None));
    assert_eq!(put(bus, &row("x", Some("3")), &fence, first).await, None, "deposed");
    assert!(claim(bus, &other).await > seconds);
    assert!(
        put(bus, &row("x", Some("3")), &fence, seconds).await.is_some(),
        "another owner's fence is another row"
    );

    let expected: Vec<_> = memory
        .rows()
        .filter_map(|(sequence, stored)| stored.value.clone().map(|v| (v.0, v.1, sequence)))
        .collect();
    let found = rows(bus).await;
    assert_eq!(found.len(), expected.len());
    for ((profile, body, _), (name, value, _)) in found
        .iter()
        .zip(expected.iter().filter(|row| row.0 != "x").chain(expected.iter().filter(|row| row.0 == "x")))
    {
        assert_eq!(profile, name);
        assert_eq!(body, if profile == "x" { "3" } else { value.as_deref().unwrap_or("gone") });
    }
}

#[tokio::test]
async fn tombstones_expire_and_a_wiped_stream_refuses_every_fence() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let sequence = claim(&bus, &fence("00")).await;
    put(&bus, &row("x", None), &fence("00"), sequence).await.unwrap();
    assert_eq!(rows(&bus).await.len(), 1);
    let mut left = 1;
    for _ in 0..100 {
        left = rows(&bus).await.len();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(left, 0, "the tombstone's time to live is one second");

    let before = bus.incarnation(&stream);
    bus.js.delete_stream(&stream).await.unwrap();
    let mut incarnations = bus.incarnations.clone();
    while bus.incarnation(&stream) == before {
        incarnations.changed().await.unwrap();
    }
    assert_eq!(put(&bus, &row("x", Some("1")), &fence("00"), sequence).await, None);
    assert!(claim(&bus, &fence("00")).await > sequence);
}

#[tokio::test]
async fn every_key_has_one_owner_and_a_leaving_member_gives_its_keys_up() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (stop_a, stop_b) = (CancellationToken::new(), CancellationToken::new());
    let a = Membership::join(&bus, "matcher", "a", stop_a.clone()).unwrap();
    let b = Membership::join(&bus, "matcher", "b", stop_b.clone()).unwrap();
    let keys: Vec<String> = (0..32).map(|key| key.to_string()).collect();
    let owned = |member: &Membership| keys.iter().filter(|key| member.owns(key)).count();
    let shared = || a.live() == 2 && b.live() == 2 && a.lease("0").is_held() && b.lease("0").is_held();
    for _ in 0..100 {
        if shared() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(keys.iter().all(|key| a.owns(key) != b.owns(key)));
    assert!(owned(&a) > 4 && owned(&b) > 4);
    stop_b.cancel();
    for _ in 0..100 {
        if owned(&a) == keys.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(owned(&a), keys.len());
    assert!(Membership::join(&bus, "matcher", "no.dots", stop_a).is_err());
}

#[tokio::test]
async fn a_process_that_is_busy_keeps_its_lease() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stop = CancellationToken::new();
    let membership = member(&bus, &stop).await;
    let lease = membership.lease("0");
    // Nothing else of this runtime runs meanwhile.
    let busy = std::time::Instant::now();
    while busy.elapsed() < MEMBER_TTL + Duration::from_secs(1) {
        std::hint::spin_loop();
    }
    assert!(lease.is_held());
    stop.cancel();
    membership.left().await;
}

#[tokio::test]
async fn another_layout_is_refused_with_the_name_of_the_stream() {
    let server = Server::start();
    let client = async_nats::connect(server.url()).await;
    let client = match client {
        Ok(client) => client,
        Err(_) => {
            tokio::time::sleep(Duration::from_millis(500)).await;
            async_nats::connect(server.url()).await.unwrap()
        }
    };
    let js = async_nats::jetstream::new(client);
    let foreign = async_nats::jetstream::stream::Config {
        name: "CHANGES-00".into(),
        subjects: vec!["changes.00.>".into()],
        ..Default::default()
    };
    js.create_stream(foreign).await.unwrap();
    let error = Bus::connect(&options(&server), &Tasks::default()).await.unwrap_err().to_string();
    assert!(error.contains("stream CHANGES-00 has another"), "{error}");
}

#[tokio::test]
async fn large_bodies_are_stored_once_and_live_while_a_row_names_them() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let fence = fence("00");
    let sequence = claim(&bus, &fence).await;
    let large: String = (0..40_000).map(|number| format!("{number},")).collect();
    let content_refs = ContentRefs::default();
    for profile in ["x", "y"] {
        let row = row(profile, Some(&large));
        let sent = send(&bus, std::slice::from_ref(&row), &fence, sequence).await;
        content_refs.note(&row.subject, sent.rows[0].clone().unwrap());
    }
    let place = BodyLocation::of(&row("x", None).subject, Digest::of(&[large.as_bytes()]));
    let mut bucket = bus.js.get_stream("KV_content").await.unwrap();
    assert_eq!(bucket.info().await.unwrap().state.messages, 1);
    assert!(rows(&bus).await.iter().all(|(_, body, _)| *body == large));
    // Kept beyond its age as long as it is marked, and gone when nobody does.
    let age = bus.tombstone_ttl;
    let kept = tokio::time::timeout(age * 2, content_refs.clone().keep(bus.contents.clone())).await;
    assert!(kept.is_err(), "it expired although it is named");
    let other = self::bus(&server).await;
    assert!(other.contents.get(&place, Limit::LARGEST).await.unwrap().is_some());
    tokio::time::sleep(age * 2).await;
    let third = self::bus(&server).await;
    assert!(third.contents.get(&place, Limit::LARGEST).await.unwrap().is_none());
    // Who takes the rows over learns that their bodies are lost.
    let spec = ReadSpec { heads_only: true, ..ReadSpec::some(stream, vec!["desired.00.*.*.*".into()]) };
    let mut reader = read(&third, &spec).await.unwrap();
    assert_eq!(reader.all().await.unwrap().len(), 2);
    let missing = ContentRefs::default().adopt(&third.contents, reader.take_named()).await.unwrap();
    assert_eq!(missing.len(), 2);
}

#[tokio::test]
async fn tombstones_and_bodies_live_as_long_as_the_bus_was_made_for() {
    let server = Server::start();
    let first = bus(&server).await;
    for seconds in [0, 3600] {
        let other = BusOptions { tombstone_ttl: Duration::from_secs(seconds), ..options(&server) };
        let second = Bus::connect(&other, &Tasks::default()).await.unwrap();
        assert_eq!(second.tombstone_ttl(), first.tombstone_ttl(), "else it marks bodies too late");
    }
}

#[tokio::test]
async fn a_row_that_no_message_can_hold_is_an_error_of_its_own() {
    let server = Server::start();
    let bus = bus(&server).await;
    let fence = fence("00");
    let sequence = claim(&bus, &fence).await;
    // Not compressible: the digests of numbers.
    let noise: String =
        (0..200_000_u32).map(|number| Digest::of(&[&number.to_le_bytes()]).to_string()).collect();
    let row = row("x", Some(&noise));
    let sent = send(&bus, std::slice::from_ref(&row), &fence, sequence).await;
    assert!(sent.answer.is_none() && sent.rows[0].is_err(), "{sent:?}");
}

#[tokio::test]
async fn interest_that_is_lost_with_its_bucket_is_told_and_can_be_written_again() {
    let server = Server::start();
    let bus = bus(&server).await;
    let cluster = ClusterRef::sveltos("a", "b");
    let row = |revision| Interest { revision, sources: Vec::new(), ..Interest::default() };
    let stop = CancellationToken::new();
    let feed = interest_feed(&bus, stop.clone());
    let mut news = feed.subscribe();
    InterestWriter::new(&bus).write(&cluster, &row(Revision::new(5))).await.unwrap();
    assert_eq!(news.recv().await.unwrap().1.revision, Revision::new(5));
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_interest").await.unwrap();
    assert!(news.recv().await.unwrap().1.is_lost());
    InterestWriter::new(&bus).write(&cluster, &row(Revision::new(6))).await.unwrap();
    assert_eq!(news.recv().await.unwrap().1.revision, Revision::new(6));
    stop.cancel();
}

#[tokio::test]
async fn an_interest_row_of_a_newer_version_is_followed_by_a_later_one() {
    let server = Server::start();
    let bus = bus(&server).await;
    let cluster = ClusterRef::sveltos("a", "b");
    let stop = CancellationToken::new();
    let feed = interest_feed(&bus, stop.clone());
    let mut news = feed.subscribe();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Sluice-Revision", "7");
    let subject = crate::buckets::interest::subject(&cluster);
    bus.js.publish_with_headers(subject, headers, "?".into()).await.unwrap().await.unwrap();
    let row = Interest { revision: Revision::new(5), sources: Vec::new(), ..Interest::default() };
    InterestWriter::new(&bus).write(&cluster, &row).await.unwrap();
    assert_eq!(news.recv().await.unwrap().1.revision, Revision::new(8));
    stop.cancel();
}
