//! Tables as people look at them, and the readers that are left when they have looked.

use std::ops::ControlFlow;

use sluice_protocol::Shard;

use super::*;
use crate::kit;
use crate::shard::look::{look, look_until, owner, owners};

fn desired() -> ReadSpec {
    ReadSpec::some(Table::Desired.stream(Shard::FIRST), vec!["desired.00.*.*.*".into()])
}

#[tokio::test]
async fn rows_are_seen_with_the_time_at_which_the_server_took_them() {
    let server = Server::start();
    let bus = bus(&server).await;
    let before = crate::clock::now_micros();
    kit::write(&bus, [row("x", Some("1")), row("y", Some("2"))]).await;
    let seen = look(&bus, &desired()).await.unwrap();
    assert_eq!(seen.iter().map(|stored| &*stored.row.body).collect::<Vec<_>>(), [b"1", b"2"]);
    // The clock of rows may be behind that of the machine, by two seconds at most.
    assert!(seen.iter().all(|stored| stored.at > before - 2_000_000) && seen[0].at <= seen[1].at);
}

#[tokio::test]
async fn who_needs_only_some_rows_reads_no_more() {
    let server = Server::start();
    let bus = bus(&server).await;
    kit::write(&bus, ["x", "y", "z"].map(|profile| row(profile, Some("1")))).await;
    let (mut seen, all) = (0, desired());
    let found = look_until(&bus, &all, |_| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.await.unwrap();
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn a_table_that_is_not_there_is_an_error_and_not_an_empty_one() {
    let server = Server::start();
    let bus = bus(&server).await;
    let error = look(&bus, &ReadSpec::all("DESIRED-99".into())).await.unwrap_err();
    assert!(
        matches!(&error, crate::BusError::Request { what, .. } if what.contains("DESIRED-99")),
        "{error}"
    );
}

#[tokio::test]
async fn owners_are_told_in_the_order_of_their_shards_by_their_newest_claim() {
    let server = Server::start();
    let bus = bus(&server).await;
    for (shard, member) in [("01", "a"), ("00", "a"), ("00", "bb")] {
        let claimed = claim_as(&bus, &fence(shard), member, 1, None).await;
        assert!(matches!(claimed, Claimed::At(_)), "{claimed:?}");
    }
    let all = owners(&bus, Table::Desired).await.unwrap();
    let told: Vec<_> = all.iter().map(|owner| (owner.key.as_str(), owner.member.as_str())).collect();
    assert_eq!(told, [("00", "bb"), ("01", "a")]);
    assert_eq!(owner(&bus, Table::Desired, "01").await.unwrap().as_ref(), Some(&all[1]));
    assert_eq!(owner(&bus, Table::Desired, "02").await.unwrap(), None);
}

#[tokio::test]
async fn a_reader_that_has_ended_is_not_kept_by_the_server() {
    let server = Server::start();
    let bus = bus(&server).await;
    let mut stream = bus.js.get_stream(Table::Desired.stream(Shard::FIRST)).await.unwrap();
    let mut kept = async || stream.info().await.unwrap().state.consumer_count;
    let before = (bus.consumers(), kept().await);
    let reader = read(&bus, &desired()).await.unwrap();
    assert_eq!((bus.consumers(), kept().await), (before.0 + 1, before.1 + 1));
    drop(reader);
    assert_eq!(bus.consumers(), before.0);
    let gone = async { while kept().await > before.1 {} };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
}
