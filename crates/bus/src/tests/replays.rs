//! Reading present rows once more, for a shard that works meanwhile.

use sluice_protocol::{Incarnation, Row, Shard};
use tokio::sync::mpsc;

use super::*;
use crate::shard::replay::replay;

#[derive(Debug, PartialEq)]
enum Input {
    Row(String, String),
    Done,
}

fn input(row: Row) -> Input {
    let Subject::Desired { profile, .. } = row.subject else { panic!("{:?}", row.subject) };
    Input::Row(profile.name, String::from_utf8(row.body.to_vec()).unwrap())
}

fn of(filter: &str) -> ReadSpec {
    ReadSpec::some(Table::Desired.stream(Shard::FIRST), vec![filter.to_owned()])
}

#[tokio::test]
async fn present_rows_come_in_their_order_and_then_the_end() {
    let server = Server::start();
    let bus = bus(&server).await;
    crate::kit::write(&bus, [("x", "1"), ("y", "1"), ("x", "2")].map(|(name, body)| row(name, Some(body))))
        .await;
    let (sender, mut inputs) = mpsc::unbounded_channel();
    replay(&bus, &of("desired.00.*.*.*"), &sender, input, Input::Done).await;
    drop(sender);
    let mut all = Vec::new();
    while let Some(input) = inputs.recv().await {
        all.push(input);
    }
    let row = |name: &str, body: &str| Input::Row(name.to_owned(), body.to_owned());
    assert_eq!(all, [row("y", "1"), row("x", "2"), Input::Done]);
}

#[tokio::test]
async fn an_empty_table_ends_at_once_and_a_shard_that_has_ended_is_told_nothing() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (spec, (sender, mut inputs)) = (of("desired.00.*.*.*"), mpsc::unbounded_channel());
    replay(&bus, &spec, &sender, input, Input::Done).await;
    assert_eq!(inputs.recv().await, Some(Input::Done));
    drop(inputs);
    let ended = replay(&bus, &spec, &sender, input, Input::Done);
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
}

#[tokio::test]
async fn a_replay_waits_for_a_stream_that_is_away_and_reads_it_when_it_is_back() {
    let server = Server::start();
    let bus = bus(&server).await;
    let spec = of("desired.00.*.*.*");
    let before = bus.incarnation(&spec.stream);
    bus.js.delete_stream(&spec.stream).await.unwrap();
    let (sender, mut inputs) = mpsc::unbounded_channel();
    let back = async {
        // Somebody makes it anew.
        crate::kit::until(|| ![Incarnation::NONE, before].contains(&bus.incarnation(&spec.stream))).await;
    };
    let replayed = async { tokio::join!(replay(&bus, &spec, &sender, input, Input::Done), back) };
    tokio::time::timeout(Duration::from_secs(60), replayed).await.unwrap();
    assert_eq!(inputs.recv().await, Some(Input::Done));
}
