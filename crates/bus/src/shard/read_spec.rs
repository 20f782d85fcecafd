//! Which rows of a stream are read, and up to where.

use sluice_api::ClusterRef;
use sluice_protocol::subject::own_rows;
use sluice_protocol::{Sequence, Shard, Subject, Table};

/// What to read.
#[derive(Clone, Debug)]
pub struct ReadSpec {
    /// What the server calls the stream.
    pub stream: String,
    /// Only subjects that match one of these; empty for all.
    pub filters: Vec<String>,
    /// Whether bodies are left out.
    pub heads_only: bool,
    /// Subjects and sequences of rows after which the reading is at its end, on any node: own fence rows, whose claims came after
    /// everything that there is to read.
    pub until: Vec<(String, Sequence)>,
    /// Whether the end is where the server estimates it, for who concludes nothing from absence: only who may read every row of
    /// a stream can ask it where its end is.
    pub estimated: bool,
    /// Subject of a mark, which is written to see that everything before it has come: for who may read the rows of one cluster only, and
    /// cannot ask the stream for more.
    pub mark: Option<String>,
    /// Whether nothing in it is replaced: then the server knows how many messages follow one, and nobody asks the stream.
    pub log: bool,
}

impl ReadSpec {
    /// Everything that is in a stream.
    pub fn all(stream: String) -> Self {
        Self::some(stream, Vec::new())
    }

    /// What is for one cluster in `desired`, for who may read nothing else.
    pub fn of_cluster(cluster: &ClusterRef, shard: Shard) -> Self {
        let filter = own_rows::of_cluster(Table::Desired, cluster, shard);
        let mark = Subject::Mark { shard, cluster: cluster.clone() };
        Self { mark: Some(mark.to_string()), ..Self::some(Table::Desired.stream(shard), vec![filter]) }
    }

    /// What is sent to subjects that match `filter`, in a stream that keeps everything.
    pub(crate) fn log(stream: String, filter: String) -> Self {
        Self { log: true, ..Self::some(stream, vec![filter]) }
    }

    /// Rows of a stream whose subject matches one of `filters`.
    pub fn some(stream: String, filters: Vec<String>) -> Self {
        Self {
            stream,
            filters,
            heads_only: false,
            until: Vec::new(),
            estimated: false,
            mark: None,
            log: false,
        }
    }
}
