//! What an agent learns, and what it wants done.

use std::sync::Arc;

use sluice_api::ObjectKey;
use sluice_protocol::interest::Interest;
use sluice_protocol::{Capabilities, Problem, Revision, WatchId};

use crate::events::Sent;
use crate::watches::WatchSpec;

/// An object as a watch shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which object.
    pub key: ObjectKey,
    /// The object as JSON, without `managedFields`.
    pub body: Arc<[u8]>,
}

/// What an agent learns.
#[derive(Debug)]
pub enum ExternalInput {
    /// The interest row of its cluster.
    Interest(Interest),
    /// A watch has completed its list; also that of a kind that does not exist.
    Listed(WatchId, Vec<Seen>),
    /// An object appeared or changed.
    Applied(WatchId, Seen),
    /// An object is gone.
    Deleted(WatchId, ObjectKey),
    /// A watch cannot list, and will not soon: its kind may be forbidden.
    Troubled(WatchId),
    /// A message came where CloudEvents for the cluster are sent to; of this reading.
    Sent(WatchId, Sent),
    /// Everything that had been sent before has come.
    SentAll(WatchId),
    /// What the cluster can do.
    Capabilities(Capabilities),
}

/// What an agent wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Begin a watch; its number is in every [`ExternalInput`] that comes of it. What the server shows of it that is not
    /// [wanted](WatchSpec::wants) is not there.
    Watch(WatchId, WatchSpec),
    /// End a watch.
    Unwatch(WatchId),
    /// Read what is sent to the cluster, from the first message that is still there; the number is in every [`ExternalInput`]
    /// that comes of it, and takes the place of the one before.
    Listen(WatchId),
    /// Read it no longer.
    Unlisten,
    /// Nothing is left on the bus of a cluster that is no longer registered: the interest row of this revision, which said so, can
    /// be taken away, and the agent ends.
    Left(Revision),
    /// A message is no CloudEvent.
    Refused,
    /// Something is wrong, or no longer.
    Problem(Problem),
}
