//! What measurements put beside the pipeline does what it says.

use futures::StreamExt as _;
use sluice_protocol::Shard;

use super::*;
use crate::bare::{BareForm, bare_loop};
use crate::relay::Relay;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_is_read_and_published_once_in_each_form() {
    for form in [BareForm::Bare, BareForm::Fenced, BareForm::Grouped] {
        let server = Server::start();
        let bus = bus(&server).await;
        let run = bare_loop(&bus, 300, 100, form).await.unwrap();
        assert_eq!(run.rows, 300, "{form:?}");
        let mut stored = 0;
        for shard in Shard::all(bus.shards()) {
            let stream = bus.js.get_stream(Table::Reports.stream(shard)).await.unwrap();
            let filter = format!("reports.{shard:02}.>");
            let mut subjects = stream.info_with_subjects(filter).await.unwrap();
            while let Some(subject) = subjects.next().await {
                let (subject, _) = subject.unwrap();
                stored += usize::from(!subject.contains("~owner"));
            }
        }
        assert_eq!(stored, 300, "{form:?}: each is there under its own subject");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_relayed_leaves_a_row_in_each_table() {
    let server = Server::start();
    let bus = bus(&server).await;
    let mut relay = Relay::open(&[bus.clone(), bus.clone(), bus.clone(), bus.clone()]).await.unwrap();
    let events = u64::from(bus.shards()) + 1;
    for event in 0..events {
        relay.pass(event, &"row".into()).await.unwrap();
    }
    for table in [Table::Changes, Table::Reports, Table::Desired] {
        let stream = bus.js.get_stream(table.stream(Shard::FIRST)).await.unwrap();
        let subjects = stream.info_with_subjects(format!("{}.00.>", table.name())).await.unwrap();
        let names: Vec<String> = subjects.map(|subject| subject.unwrap().0).collect().await;
        let found = names.iter().filter(|subject| !subject.contains("~owner")).count();
        assert_eq!(found, 2, "{table:?}: the first shard has the first event and the last one");
    }
}
