//! Who answers: every question that the command line and the Inspect service know, over a bus and a management cluster that
//! may be away.

mod addons;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use sluice_api::model::{Cluster, Onboarding};
use sluice_api::{ClusterKind, ClusterRef, object};
use sluice_bus::{Bus, journal, owners};
use sluice_protocol::ProblemRow;
use sluice_protocol::Table;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::diff::{Difference, Meant, difference};
use crate::error::InspectError;
use crate::explain::{Explained, Question, explain, gather, instead};
use crate::fleet::{held, manifests};
use crate::journal::{JournalFilter, Told};
use crate::objects::{Line, Shown, lines};
use crate::problems::{ProblemFilter, problems, said_by_objects};
use crate::shards::{Shard, shards};
use crate::trace::{Target, Trace, TraceError, trace};

/// How long bus and management cluster may take for one answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long they may take for everything there is.
pub(crate) const LONG_PATIENCE: Duration = Duration::from_secs(30);
/// How long it is looked whether a cluster exists, before it is waited for what happens there.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// Differences that are built at the same time: each takes a processor.
const BUILDS: usize = 2;

/// A bus or a management cluster, or why it cannot be used.
pub type Reached<T> = watch::Receiver<Result<T, String>>;

/// Something that was found, and what could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    /// What was found, in order.
    pub found: Vec<T>,
    /// What is not among it, and why.
    pub missing: Vec<String>,
}

// D-1103: half an answer is better than none.
/// Answers questions. Cheap to clone; it holds nothing between two answers.
#[derive(Clone)]
pub struct Inspector {
    bus: Reached<Bus>,
    management: Reached<Client>,
    builds: Arc<Semaphore>,
    pub(crate) onboarding: Onboarding,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

// === impl Inspector ===

impl Inspector {
    /// Over what is there now, or why it is not.
    pub fn new(bus: Result<Bus, String>, management: Result<Client, String>) -> Self {
        Self::following(watch::channel(bus).1, watch::channel(management).1)
    }

    /// Over what may come and go.
    pub fn following(bus: Reached<Bus>, management: Reached<Client>) -> Self {
        let builds = Arc::new(Semaphore::new(BUILDS));
        Self { bus, management, builds, onboarding: Onboarding::default() }
    }

    /// The same where these clusters of Cluster API are managed clusters.
    #[must_use]
    pub fn with_onboarding(self, onboarding: Onboarding) -> Self {
        Self { onboarding, ..self }
    }

    /// How an add-on came to be.
    ///
    /// # Errors
    /// When the bus is away, or no profile deploys it.
    pub async fn trace(&self, target: &Target) -> Result<Vec<Trace>, InspectError> {
        let bus = self.bus()?;
        match tokio::time::timeout(PATIENCE, Box::pin(trace(&bus, target))).await {
            Ok(Err(TraceError::Nothing { empty: true, wanted, .. })) => {
                self.is_known(Some(&target.cluster)).await?;
                let says =
                    format!("no profile deploys {wanted} to {}, nor anything else", target.cluster.path());
                Err(InspectError::NotFound(says))
            }
            Ok(traced) => Ok(traced?),
            Err(_) => Err(silent("the bus")),
        }
    }

    /// Why something is deployed, or why not, as far as bus and management cluster say.
    ///
    /// # Errors
    /// When both are away.
    pub async fn explain(&self, question: &Question) -> Result<Explained, InspectError> {
        let (bus, management) = (self.bus.borrow().clone(), self.management.borrow().clone());
        if let (Err(bus), Err(management)) = (&bus, &management) {
            return Err(InspectError::Away(format!("the bus: {bus}; the management cluster: {management}")));
        }
        let mut facts = Box::pin(gather(bus.as_ref().map_err(Clone::clone), management, question)).await;
        if let Ok(there) = &mut facts.management {
            there.retain(|object| self.onboarding.lets_in(object));
        }
        match (&facts.on_bus, &facts.management) {
            (Err(bus), Err(management)) => Err(InspectError::Away(format!("{bus}; {management}"))),
            _ => Ok(explain(&facts, question)),
        }
    }

    /// What cannot be done. While the bus is away, what triggers and profiles say of themselves.
    ///
    /// # Errors
    /// When the bus is away, and so is the management cluster; or the cluster that is asked for is not known.
    pub async fn problems(&self, filter: &ProblemFilter) -> Result<Listed<ProblemRow>, InspectError> {
        let on_bus = async {
            let bus = self.bus()?;
            let open = tokio::time::timeout(PATIENCE, problems(&bus)).await;
            open.map_err(|_| silent("the bus"))
        };
        match on_bus.await {
            Ok(open) => {
                let found = filter.choose(open);
                if found.is_empty() {
                    self.is_known(filter.cluster.as_ref()).await?;
                }
                Ok(Listed { found, missing: Vec::new() })
            }
            Err(error) => {
                let Ok(client) = self.management() else { return Err(error) };
                let said = in_time("the management cluster", said_by_objects(&client)).await;
                let Ok(said) = said else { return Err(error) };
                let missing = format!(
                    "what only the bus tells, of single clusters and objects, and since when ({error}): these are \
                     triggers and profiles that say themselves that they are not ready"
                );
                Ok(Listed { found: filter.choose(said), missing: vec![missing] })
            }
        }
    }

    /// The registered clusters. While the management cluster is away, those that agents tell of.
    ///
    /// # Errors
    /// When both are away.
    pub async fn clusters(&self, namespace: Option<&str>) -> Result<Listed<Line>, InspectError> {
        let listed = async {
            let client = self.management()?;
            in_time("the management cluster", lines(&client, Shown::Clusters, namespace)).await
        };
        let error = match listed.await {
            Ok(found) => return Ok(Listed { found, missing: Vec::new() }),
            Err(error) => error,
        };
        let Ok(told) = self.told_of(PATIENCE).await else { return Err(error) };
        let told = told.into_iter().filter(|cluster| !cluster.is_management());
        let told = told.filter(|cluster| namespace.is_none_or(|of| of == cluster.namespace));
        let line = |cluster: ClusterRef| Line {
            kind: match cluster.kind {
                ClusterKind::Sveltos => "SveltosCluster".to_owned(),
                ClusterKind::Capi => "Cluster".to_owned(),
                ClusterKind::Management => String::new(),
            },
            namespace: cluster.namespace,
            name: cluster.name,
            ..Line::default()
        };
        let missing = format!(
            "version, labels and readiness, and clusters that no agent has reached yet ({error}): these are those that \
             agents tell of"
        );
        let mut found: Vec<Line> = told.map(line).collect();
        found.sort();
        Ok(Listed { found, missing: vec![missing] })
    }

    /// Who works on what, of one stage or of all.
    ///
    /// # Errors
    /// When the bus is away.
    pub async fn shards(&self, stage: Option<&str>) -> Result<Vec<Shard>, InspectError> {
        let bus = self.bus()?;
        in_time("the bus", Box::pin(shards(&bus, stage))).await
    }

    /// What manifests would change, in one cluster or in all. Values of Secrets are not part of the answer.
    ///
    /// # Errors
    /// When bus or management cluster are away, or the cluster is not known.
    pub async fn diff(
        &self,
        meant: impl FnOnce() -> Result<Meant, InspectError> + Send + 'static,
        only: Option<ClusterRef>,
    ) -> Result<Difference, InspectError> {
        let turn = self.builds.clone().try_acquire_owned();
        let turn = turn.map_err(|_| {
            InspectError::TooMuch(format!("{BUILDS} differences are built already; ask again a little later"))
        })?;
        // Each step has the turn with it: who has asked may have gone while it works.
        let (meant, turn) = in_a_thread(move || (meant(), turn)).await?;
        let (mut meant, client, bus) = (meant?, self.management()?, self.bus()?);
        let work = manifests(&client);
        let mut there = in_time_of(LONG_PATIENCE, "the management cluster", work).await?;
        for objects in [&mut there, &mut meant.management] {
            objects.retain(|object| self.onboarding.lets_in(object));
        }
        is_registered(only.as_ref(), &there)?;
        let held = in_time_of(LONG_PATIENCE, "the bus", held(&bus)).await?;
        let built = in_a_thread(move || (difference(there, held, meant, only.as_ref()), turn)).await?;
        Ok(built.0)
    }

    /// What happens from now on.
    ///
    /// # Errors
    /// When the bus is away, or the cluster that is asked for is not known.
    pub async fn journal(&self, filter: JournalFilter) -> Result<Told, InspectError> {
        let bus = self.bus()?;
        let lines = in_time("the bus", journal(&bus)).await?;
        self.is_known(filter.cluster.as_ref()).await?;
        Ok(Told { lines, filter })
    }

    pub(crate) fn bus(&self) -> Result<Bus, InspectError> {
        self.bus.borrow().clone().map_err(InspectError::Away)
    }

    pub(crate) fn management(&self) -> Result<Client, InspectError> {
        self.management.borrow().clone().map_err(InspectError::Away)
    }

    /// The clusters that agents have told of.
    pub(crate) async fn told_of(&self, patience: Duration) -> Result<Vec<ClusterRef>, InspectError> {
        let bus = self.bus()?;
        if !bus.shows_tables() {
            return Err(InspectError::Away("people have no right to the tables of this bus".to_owned()));
        }
        let owners = in_time_of(patience, "the bus", owners(&bus, Table::Changes)).await?;
        Ok(owners.iter().filter_map(|owner| owner.key.parse().ok()).collect())
    }

    /// Nothing will ever happen on a cluster that does not exist. Where nobody tells of any cluster, it may exist.
    pub(crate) async fn is_known(&self, cluster: Option<&ClusterRef>) -> Result<(), InspectError> {
        let Some(cluster) = cluster.filter(|cluster| !cluster.is_management()) else { return Ok(()) };
        let Ok(told) = self.told_of(SHORT_PATIENCE).await else { return Ok(()) };
        let known = told.iter().any(|other| other.path() == cluster.path());
        if known || told.is_empty() {
            Ok(())
        } else {
            Err(no_cluster("no agent tells of a cluster", cluster, &told))
        }
    }
}

/// Does what takes a processor for a while, apart from those who wait for the bus.
async fn in_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, InspectError> {
    let (done, made) = oneshot::channel();
    let thread = std::thread::Builder::new().name("difference".to_owned());
    // Nobody may wait for it any more.
    let thread = thread.spawn(move || drop(done.send(work())));
    thread.map_err(|error| InspectError::Failed(format!("no thread can be started: {error}")))?;
    made.await.map_err(|_| InspectError::Failed("building the difference ended in a panic".to_owned()))
}

/// Whether the management cluster has a registration of this cluster.
fn is_registered(cluster: Option<&ClusterRef>, there: &[Value]) -> Result<(), InspectError> {
    let Some(cluster) = cluster.filter(|cluster| !cluster.is_management()) else { return Ok(()) };
    let registers = |object: &&Value| matches!(object::text(object, &["kind"]), "SveltosCluster" | "Cluster");
    let registered =
        there.iter().filter(registers).filter_map(|object| Cluster::read(&Arc::new(object.clone())));
    let registered: Vec<ClusterRef> = registered.map(|found| found.id).collect();
    let is_there = registered.iter().any(|other| other.path() == cluster.path());
    if is_there { Ok(()) } else { Err(no_cluster("there is no cluster", cluster, &registered)) }
}

fn no_cluster(says: &str, cluster: &ClusterRef, others: &[ClusterRef]) -> InspectError {
    let others: Vec<String> = others.iter().map(ClusterRef::path).collect();
    let others = instead(&cluster.path(), others.iter().map(String::as_str));
    InspectError::NotFound(format!("{says} {}; {others}", cluster.path()))
}

fn silent(who: &str) -> InspectError {
    InspectError::Away(format!("{who} does not answer; ask again"))
}

pub(crate) async fn in_time<T, E: ToString>(
    who: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, InspectError> {
    in_time_of(PATIENCE, who, work).await
}

pub(crate) async fn in_time_of<T, E: ToString>(
    patience: Duration,
    who: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, InspectError> {
    match tokio::time::timeout(patience, Box::pin(work)).await {
        Ok(done) => done.map_err(|error| InspectError::Away(format!("{who}: {}", error.to_string()))),
        Err(_) => Err(silent(who)),
    }
}

#[cfg(test)]
mod tests;
