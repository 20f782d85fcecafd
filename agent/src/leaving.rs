//! The end of a cluster that is no longer registered: its rows go, and last of all the interest row that said so.

use std::sync::Arc;
use std::time::Duration;

use sluice_agent_core::{Agent, Effect};
use sluice_api::ClusterRef;
use sluice_bus::{Bus, Effects, InterestRemover};
use sluice_protocol::Revision;
use sluice_runtime::Reporter;
use tokio::sync::{Notify, watch};

/// Pause before an interest row that could not be taken away is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Hears that nothing else is left of a cluster, and takes its interest row away. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Leaving {
    remover: InterestRemover,
    cluster: ClusterRef,
    /// The revision of the row.
    left: Arc<watch::Sender<Option<Revision>>>,
}

/// The agent of a cluster that nobody can reach and of which nothing is wanted.
pub(crate) struct Leaver {
    pub(crate) leaving: Leaving,
    pub(crate) reporter: Reporter,
    /// Something is wanted after all.
    pub(crate) wanted: Arc<Notify>,
}

impl Leaving {
    pub(crate) fn new(bus: &Bus, cluster: &ClusterRef) -> Self {
        let left = Arc::new(watch::Sender::new(None));
        Self { remover: InterestRemover::new(bus), cluster: cluster.clone(), left }
    }

    /// Nothing is left but the interest row of this revision.
    pub(crate) fn left(&self, revision: Revision) {
        self.left.send_replace(Some(revision));
    }

    /// Until that row is gone too. Of a cluster that is registered again meanwhile there is another one, which stays.
    pub(crate) async fn done(&self) {
        let mut left = self.left.subscribe();
        let Ok(Some(revision)) = left.wait_for(Option::is_some).await.map(|revision| *revision) else {
            return;
        };
        while let Err(error) = self.remover.remove(&self.cluster, revision).await {
            tracing::info!(cluster = %self.cluster, %error, "the interest row of a cluster that has gone stays for now");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Effects<Agent> for Leaver {
    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Left(revision) => self.leaving.left(revision),
            Effect::Watch(..) | Effect::Listen(_) => self.wanted.notify_one(),
            Effect::Problem(problem) => self.reporter.problem(problem),
            Effect::Unwatch(_) | Effect::Unlisten | Effect::Refused => {}
        }
    }
}
