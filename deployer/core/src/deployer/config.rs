//! What a deployer must know of its place, and whose work it does.

use std::collections::BTreeSet;

use sluice_api::ClusterRef;
use sluice_protocol::{Incarnation, Shard};

use crate::prune_guard::PruneGuard;

/// What a deployer must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `desired`.
    pub shard: Shard,
    /// Number of shards of every table.
    pub shards: u16,
    /// Incarnation of its shard of `desired`.
    pub input: Incarnation,
    /// How long calls of a former owner may still arrive once this one works, microseconds: how long they may take, and
    /// how long it may not know that it was deposed.
    pub former_calls: i64,
    /// How much of what a profile has a change of it deletes at once; without one, all of it.
    pub prune_guard: Option<PruneGuard>,
    /// How long a cluster is not registered before nothing is said of it any more, microseconds.
    pub forget_after: i64,
    /// Whose work it does.
    pub serves: Serves,
}

// D-0213: a cluster that pulls has a deployer of its own.
/// Which clusters of the shard a deployer serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serves {
    /// The one that it is in: then nothing else comes to it, and what people see goes out as rows, since it does not reach the
    /// management cluster.
    pub only: Option<ClusterRef>,
    /// Those that pull: their own deployers do it.
    pub others: BTreeSet<ClusterRef>,
}
