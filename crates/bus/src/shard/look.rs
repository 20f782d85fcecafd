//! Tables as they are now, for people: nothing is followed, and nothing is concluded.

use std::ops::ControlFlow;
use std::time::Duration;

use sluice_protocol::{Row, Shard, Subject, Table};

use crate::bus::Bus;
use crate::error::BusError;
use crate::shard::fence::Holder;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// How long bodies may be late at the end: people wait for an answer.
const SETTLE: Duration = Duration::from_secs(2);

/// A row, and when the server stored it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The row.
    pub row: Row,
    /// By the server's clock, microseconds since 1970.
    pub at: i64,
}

/// Who may write the rows of a shard, by its newest claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceHolder {
    /// The shard, or the cluster of an agent.
    pub key: String,
    /// Name of the replica.
    pub member: String,
    /// When it claimed the shard, by the server's clock, microseconds since 1970.
    pub since: i64,
}

/// The rows that there are; those that cannot be read are left out.
///
/// # Errors
/// When the server does not answer, or the stream ends while it is read.
pub async fn look(bus: &Bus, spec: &ReadSpec) -> Result<Vec<Stored>, BusError> {
    let mut rows = Vec::new();
    look_each(bus, spec, |stored| rows.push(stored)).await?;
    Ok(rows)
}

/// The same one after the other, for who keeps little of many.
///
/// # Errors
/// As [`look`].
pub async fn look_each(bus: &Bus, spec: &ReadSpec, mut each: impl FnMut(Stored)) -> Result<(), BusError> {
    look_until(bus, spec, |stored| {
        each(stored);
        ControlFlow::Continue(())
    })
    .await
}

/// The same up to the row at which it breaks, for who needs only some.
///
/// # Errors
/// As [`look`].
pub async fn look_until(
    bus: &Bus,
    spec: &ReadSpec,
    mut each: impl FnMut(Stored) -> ControlFlow<()>,
) -> Result<(), BusError> {
    let mut reader = read(bus, spec).await?;
    loop {
        match reader.next().await {
            Some(ReadEvent::Row(row, _)) => {
                if each(Stored { row, at: reader.stored() }).is_break() {
                    return Ok(());
                }
            }
            Some(ReadEvent::CaughtUp(_)) => break,
            Some(_) => {}
            None => {
                return Err(BusError::Request {
                    what: format!("read stream {}", spec.stream),
                    source: "it could not be read to its end; ask again".into(),
                });
            }
        }
    }
    while let Ok(Some(row)) = tokio::time::timeout(SETTLE, reader.settle()).await {
        if each(Stored { row, at: reader.stored() }).is_break() {
            break;
        }
    }
    Ok(())
}

/// The owners of all shards of a table's writers, in the order of their keys.
///
/// # Errors
/// As [`look`].
pub async fn owners(bus: &Bus, table: Table) -> Result<Vec<FenceHolder>, BusError> {
    // An owner has its fence row in every stream of the table: the first one tells of all.
    owners_in(bus, table, Subject::fences(table)).await
}

/// The owner of one shard, or of an agent's cluster.
///
/// # Errors
/// As [`look`].
pub async fn owner(bus: &Bus, table: Table, key: &str) -> Result<Option<FenceHolder>, BusError> {
    Ok(owners_in(bus, table, Subject::fence(table, 0, key).to_string()).await?.pop())
}

async fn owners_in(bus: &Bus, table: Table, filter: String) -> Result<Vec<FenceHolder>, BusError> {
    let rows = look(bus, &ReadSpec::some(table.stream(Shard::FIRST), vec![filter])).await?;
    let owner = |stored: Stored| {
        let Subject::Owner { owner: key, .. } = stored.row.subject else { return None };
        let holder: Holder = serde_json::from_slice(&stored.row.body).ok()?;
        Some(FenceHolder { key, member: holder.member, since: stored.at })
    };
    let mut owners: Vec<FenceHolder> = rows.into_iter().filter_map(owner).collect();
    owners.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(owners)
}
