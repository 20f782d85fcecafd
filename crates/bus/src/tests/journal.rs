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
