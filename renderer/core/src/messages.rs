//! What a renderer learns, and what it wants done.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::interest::Interest;
use sluice_protocol::{Problem, Row};

use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::catalog::{Change, Resource};
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::rights::{Question, Right};
use crate::rendering::projection::Projection;

/// What a renderer learns besides `reports`.
#[derive(Clone, Debug)]
pub enum ExternalInput {
    /// An object of the management cluster.
    Management(Change),
    /// The interest row of a cluster.
    Interest(ClusterRef, Interest),
    /// A row of `status`.
    Status(Arc<Row>),
    /// An object that it asked for by [`Effect::Watch`], as it is now.
    Resource(ObjectKey, Resource),
    /// A chart that it asked for by [`Effect::Fetch`], as far as it is known.
    Chart(ChartRequest, ChartState),
    /// Whether a tenant may read something that it asked for by [`Effect::Ask`], and the number of the newest question that this
    /// answers.
    Right(Question, Right, u64),
    /// What a cluster can do; nothing for one that is no longer registered, and of which everything has gone.
    Capabilities(ClusterRef, Option<Arc<ClusterCapabilities>>),
    /// So many add-ons the whole fleet has.
    Fleet(usize),
    /// Everything that was there of the first three at the beginning has been told.
    Told,
}

/// What a renderer wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The interest row of a cluster should be this one.
    WriteInterest(ClusterRef, Interest),
    /// An object of the management cluster should be like this.
    Project(Projection),
    /// The status of a user's object should say this.
    WriteStatus(ObjectKey, Value),
    /// It must be told how this object of the management cluster is, now and whenever it changes. The namespace of an object
    /// whose kind has none counts for nothing.
    Watch(ObjectKey),
    /// It need not be told any more.
    Unwatch(ObjectKey),
    /// It must be told what is known of this chart, now and whenever that changes.
    Fetch(ChartRequest),
    /// It need not be told any more.
    Unfetch(ChartRequest),
    /// It must be told whether a tenant may read this, as the management cluster says from now on, and whenever that changes. The
    /// number comes back with the answer; asked once more, only answers from then on have the new one.
    Ask(Question, u64),
    /// It need not be told any more.
    Unask(Question),
    /// Everything that this cluster's events lead to has been projected: what else is there is a leftover.
    Projected(ClusterRef),
    /// Something is wrong, or no longer.
    Problem(Problem),
}
