//! Who works on what.

use std::borrow::Cow;

use serde::Serialize;
use sluice_bus::{Bus, BusError, owners};
use sluice_protocol::Table;

/// The stages that have shards.
pub const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];

/// A part of the work of one stage, and who does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// `agent`, `matcher`, `renderer` or `deployer`.
    pub stage: Cow<'static, str>,
    /// Its number; of agents the cluster.
    pub shard: String,
    /// The replica that claimed it last.
    pub replica: String,
    /// When, microseconds since 1970.
    pub since: i64,
}

/// The stage that writes a table.
pub(crate) fn writer(table: Table) -> &'static str {
    match table {
        Table::Changes => "agent",
        Table::Reports => "matcher",
        Table::Desired => "renderer",
        Table::Status => "deployer",
    }
}

/// The shards of all stages, or of one, in order.
///
/// # Errors
/// When the bus does not answer.
pub async fn shards(bus: &Bus, stage: Option<&str>) -> Result<Vec<Shard>, BusError> {
    let mut found = Vec::new();
    for table in [Table::Changes, Table::Reports, Table::Desired, Table::Status] {
        let writer = writer(table);
        if stage.is_some_and(|stage| stage != writer) {
            continue;
        }
        let shard = |owner: sluice_bus::FenceHolder| Shard {
            stage: writer.into(),
            shard: owner.key,
            replica: owner.member,
            since: owner.since,
        };
        found.extend(owners(bus, table).await?.into_iter().map(shard));
    }
    Ok(found)
}
