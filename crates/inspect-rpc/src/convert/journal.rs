//! What happens.

use sluice_inspect::JournalFilter;
use sluice_proto::inspect::v1 as proto;
use sluice_protocol::JournalEntry;

use super::time::{micros, micros_of_span, span, stamp};

pub(crate) fn question(filter: &JournalFilter) -> proto::WatchJournalRequest {
    proto::WatchJournalRequest {
        stage: filter.stage.clone().unwrap_or_default(),
        cluster: filter.cluster.as_ref().map(ToString::to_string).unwrap_or_default(),
        object: filter.object.clone().unwrap_or_default(),
    }
}

pub(crate) fn message(line: JournalEntry) -> proto::JournalLine {
    let JournalEntry { what, stage, cluster, object, micros, at, trace } = line;
    proto::JournalLine { what, stage, cluster, object, after: span(micros), at: stamp(at), trace }
}

pub(crate) fn answer(line: proto::JournalLine) -> JournalEntry {
    let proto::JournalLine { what, stage, cluster, object, after, at, trace } = line;
    JournalEntry { what, stage, cluster, object, micros: micros_of_span(after), at: micros(at), trace }
}

#[cfg(test)]
mod tests {
    use sluice_api::ClusterRef;

    use super::*;

    #[test]
    fn a_line_comes_back_as_it_was() {
        for time in [0, 1_000] {
            let line = JournalEntry::new("matcher", "matched", "sveltos:n/c", "Service x/y", 3_500, time);
            let line = line.because_of(&ClusterRef::sveltos("n", "c"), time);
            assert_eq!(answer(message(line.clone())), line);
        }
    }
}
