//! The journal over a real server.

use sluice_protocol::JournalEntry;

use super::*;
use crate::buckets::journal::{Journal, journal};

#[tokio::test]
async fn lines_of_any_process_are_heard_and_what_is_no_line_is_skipped() {
    let server = Server::start();
    let (one, other) = (bus(&server).await, bus(&server).await);
    let mut heard = journal(&other).await.unwrap();
    let line = |object: &str| JournalEntry::new("matcher", "matched", "a/b", object, 10, 4);
    for wrong in ["", "?", "{\"what\": 1}", "[]"] {
        one.js.client().publish("journal.matcher.matched", wrong.into()).await.unwrap();
    }
    let said = Journal::start(&one);
    ["x", "y"].iter().for_each(|object| said.record(line(object)));
    let next = async { [heard.recv().await.unwrap(), heard.recv().await.unwrap()] };
    let lines = tokio::time::timeout(Duration::from_secs(30), next).await.unwrap();
    assert_eq!(lines, ["x", "y"].map(line));
}

#[tokio::test]
async fn who_speaks_for_another_stage_is_not_heard() {
    let server = Server::start();
    let bus = bus(&server).await;
    let mut heard = journal(&bus).await.unwrap();
    let line = |stage: &str| JournalEntry::new(stage, "matched", "a/b", "x", 10, 4);
    for stage in ["deployer", "matcher"] {
        let body = sluice_protocol::json::bytes(&line(stage));
        bus.js.client().publish("journal.matcher.matched", body.to_vec().into()).await.unwrap();
    }
    let first = tokio::time::timeout(Duration::from_secs(30), heard.recv()).await.unwrap();
    assert_eq!(first, Some(line("matcher")));
}
