//! What a deployer learns, and what it wants done.

use std::sync::Arc;

use sluice_api::model::{Check, ClusterCheck, Guards};
use sluice_api::{ClusterRef, Gvk, ServiceAccount};
use sluice_protocol::{CallId, JournalEntry, Problem};

use crate::checks::{CheckId, Outcome};
use crate::configuration::Configuration;
use crate::departures::Left;
use crate::drift::Shown;
use crate::drift_event::DriftEvent;
use crate::reload::Glimpse;
use crate::report::Report;
use crate::request::{Reply, Request};
use crate::summary::Summary;

/// What a deployer learns besides `desired`.
#[derive(Debug)]
pub enum ExternalInput {
    /// A cluster of this shard can be reached, or is reached in another way from now on: over another kubeconfig. Its registration asks
    /// this of it.
    Reachable(ClusterRef, Guards),
    /// A cluster is paused, or nobody knows how to reach it.
    Unreachable(ClusterRef),
    /// The registration of a cluster goes as soon as nothing is left there: [`Effect::Left`] is wanted until it has.
    Leaving(ClusterRef),
    /// A cluster is no longer registered.
    Unregistered(ClusterRef),
    /// Every registered cluster has been told by one of the two first.
    Listed,
    /// Kinds of this group came or went in a cluster.
    Kinds(ClusterRef, String),
    /// The answer to [`Effect::Call`].
    Reply(ClusterRef, CallId, Reply),
    /// What a watch of [`Effect::Watch`] shows.
    Shown(ClusterRef, Shown),
    /// What a watch of [`Effect::WatchSources`] shows.
    Glimpse(ClusterRef, Glimpse),
    /// What comes of a check that [`Effect::Check`] or [`Effect::ClusterCheck`] asks for, whenever that is something else than before.
    Checked(ClusterRef, CheckId, Outcome),
}

/// What a deployer wants done.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Calls to this cluster go from now on over the way that the last [`ExternalInput::Reachable`], [`ExternalInput::Unreachable`] or
    /// [`ExternalInput::Unregistered`] was about; there is one for each of them.
    Switch(ClusterRef),
    /// Profiles have objects of kinds that can come and go in this cluster: [`ExternalInput::Kinds`] is wanted from now on, until the
    /// next switch.
    FollowKinds(ClusterRef),
    /// A call to a cluster's API server; answered by [`ExternalInput::Reply`].
    Call(ClusterRef, CallId, Request),
    /// Ask this check in the cluster for this tenant, until the end is said or the next switch; answered by
    /// [`ExternalInput::Checked`].
    Check(ClusterRef, CheckId, Arc<Check>, Option<ServiceAccount>),
    /// Ask this check of the cluster as a whole, as the last one.
    ClusterCheck(ClusterRef, CheckId, Arc<ClusterCheck>),
    /// It need not be asked any more.
    EndCheck(ClusterRef, CheckId),
    /// Watch the metadata of everything of a kind that profiles have deployed, until the end is said or the next switch; answered by
    /// [`ExternalInput::Shown`].
    Watch(ClusterRef, Gvk),
    /// It need not be watched any more.
    EndWatch(ClusterRef, Gvk),
    /// Watch the versions of all objects of a kind that pods can read, until the end is said or the next switch; answered by
    /// [`ExternalInput::Glimpse`].
    WatchSources(ClusterRef, Gvk),
    /// They need not be watched any more.
    EndWatchSources(ClusterRef, Gvk),
    /// The ClusterSummary should say this.
    Summary(Summary),
    /// The ClusterConfiguration should say this.
    Configuration(Configuration),
    /// The ClusterReport should say this.
    Report(Report),
    /// This is left on a cluster that leaves.
    Left(ClusterRef, Left),
    /// Something is wrong, or no longer.
    Problem(Problem),
    /// Something happened.
    Journal(JournalEntry),
    /// Somebody else has changed an object: people may be told in a Kubernetes Event.
    Drifted(DriftEvent),
}
