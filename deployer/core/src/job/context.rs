//! What a job works with.

use crate::checks::CheckBook;
use crate::claims::Claims;
use crate::cluster::Others;
use crate::late_calls::LateCalls;
use crate::live_objects::LiveObjects;
use crate::prune_guard::PruneGuard;
use crate::request::Request;
use crate::sources::SourceBook;

/// What a job may look at and change in its cluster.
pub(crate) struct JobContext<'a> {
    pub(crate) now: i64,
    /// Number of shards of every table.
    pub(crate) shards: u16,
    /// Whether the cluster is the management cluster, in which a Profile has its own namespace only.
    pub(crate) is_management: bool,
    pub(crate) prune_guard: Option<PruneGuard>,
    pub(crate) late: &'a LateCalls,
    /// Whether every renderer has said that all its rows are there.
    pub(crate) all_said: bool,
    pub(crate) others: Others<'a>,
    pub(crate) live: &'a mut LiveObjects,
    pub(crate) claims: &'a mut Claims,
    pub(crate) checks: &'a mut CheckBook,
    pub(crate) sources: &'a mut SourceBook,
    pub(crate) calls: &'a mut Vec<Request>,
}
