//! What one shard of one stage reads and writes.

use sluice_protocol::Table;

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
        (0..count).map(|shard| table.stream(shard)).collect()
    }
}
