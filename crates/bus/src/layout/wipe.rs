//! Losing the bus on purpose: what tests do to it, and operators who want a clean start.

use futures::TryStreamExt as _;

use crate::connection::Connection;
use crate::error::BusError;

/// Deletes every stream, buckets included, whose name begins with `prefix`; says how many there were.
///
/// The pipeline makes them again and fills them from the clusters.
///
/// # Errors
/// When the server does not answer.
pub async fn wipe(connection: &Connection, prefix: &str) -> Result<usize, BusError> {
    let js = connection.jetstream("sluice-wipe").await?;
    let mut names = Vec::new();
    let mut streams = js.streams();
    while let Some(info) = streams.try_next().await.map_err(BusError::request("list streams"))? {
        names.push(info.config.name);
    }
    names.retain(|name| name.starts_with(prefix));
    for name in &names {
        js.delete_stream(name).await.map_err(BusError::request(format!("delete stream {name}")))?;
    }
    Ok(names.len())
}
