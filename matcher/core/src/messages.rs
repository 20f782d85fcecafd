//! What a matcher learns, and what it wants done.

use sluice_api::ClusterRef;
use sluice_protocol::interest::Interest;
use sluice_protocol::{Problem, Row};

/// What a matcher learns besides `changes`.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "replayed rows are the most frequent")]
pub enum ExternalInput {
    /// The interest row of a cluster.
    Interest(ClusterRef, Interest),
    /// A row that was asked for by [`Effect::Replay`].
    Replayed(Row),
    /// All rows of the replay have come.
    ReplayDone(ClusterRef, u64),
    /// Every interest row that was there at the beginning has been told.
    Told,
}

/// What a matcher wants done.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Read the present rows of this cluster in this shard once more, as [`ExternalInput::Replayed`].
    Replay(ClusterRef, u64),
    /// Something is wrong, or no longer.
    Problem(Problem),
}
