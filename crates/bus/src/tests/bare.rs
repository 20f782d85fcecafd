//! The loop that measurements put beside the pipeline does what it says.

use sluice_protocol::Shard;

use super::*;
use crate::bare::{BareForm, bare_loop};

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
            while let Some(subject) = futures::StreamExt::next(&mut subjects).await {
                let (subject, _) = subject.unwrap();
                stored += usize::from(!subject.contains("~owner"));
            }
        }
        assert_eq!(stored, 300, "{form:?}: each is there under its own subject");
    }
}
