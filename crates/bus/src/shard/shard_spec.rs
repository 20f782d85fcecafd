//! What one shard of one stage reads and writes.

use sluice_protocol::{Shard, Table};

use crate::shard::read_spec::ReadSpec;

/// The streams a shard writes to.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Which table its rows belong to.
    pub table: Table,
    /// Name of the owner in the fence rows.
    pub owner: String,
    /// Filters that select this owner's rows; `{}` stands for the shard of the stream.
    pub own_rows: Vec<String>,
    /// Whether it takes all of them away, and nobody comes after it: its fence rows go as tombstones do.
    pub leaves: bool,
}

/// One shard of one stage.
#[derive(Clone, Debug)]
pub struct ShardSpec {
    /// What it writes.
    pub outputs: Outputs,
    /// What it reads.
    pub input: Option<ReadSpec>,
}

impl ShardSpec {
    /// The streams that it writes to, where each table has so many shards.
    pub(crate) fn output_streams(&self, shards: u16) -> Vec<String> {
        let table = self.outputs.table;
        let count = if table == Table::Status { 1 } else { shards };
        Shard::all(count).map(|shard| table.stream(shard)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(table: Table, shards: u16) -> Vec<String> {
        let outputs = Outputs { table, owner: "00".into(), own_rows: Vec::new(), leaves: false };
        ShardSpec { outputs, input: None }.output_streams(shards)
    }

    #[test]
    fn a_shard_writes_to_every_stream_of_its_table() {
        assert_eq!(streams(Table::Reports, 3), ["REPORTS-00", "REPORTS-01", "REPORTS-02"]);
    }

    #[test]
    fn there_is_one_stream_of_status_however_many_shards_there_are() {
        assert_eq!(streams(Table::Status, 64), ["STATUS"]);
    }
}
