//! Who answers the questions of the commands: a server, or the same code in this process.

use std::path::PathBuf;
use std::time::Duration;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_dryrun::Sources;
use sluice_inspect::{
    Addon, AddonFilter, Difference, Events, EventsFilter, Explained, InspectError, Inspector, JournalFilter,
    Line, Listed, Meant, ProblemFilter, Question, Resource, ResourceFilter, Rollout, Shard, Shown, Target,
    Told, Trace, Usage, UsageFilter,
};
use sluice_inspect_rpc::{Access, Client, Lines};
use sluice_protocol::ProblemRow;
use sluice_protocol::{JournalEntry, Role};
use sluice_tasks::Tasks;

use crate::reach::{Management, Reach};

/// How long the bus may take to be reached.
const PATIENCE: Duration = Duration::from_secs(10);
/// Lines of the journal that are taken together.
const TOGETHER: usize = 100;

/// A server that answers in place of this process.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Served {
    /// Ask this `sluice inspect` in place of bus and management cluster: http://host:port or https://host:port.
    #[arg(long, env = "SLUICE_SERVER", value_name = "URL")]
    server: Option<String>,
    /// File with the token that the server wants.
    #[arg(long, env = "SLUICE_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificates of who signs the server's. Without it those count whom this machine trusts.
    #[arg(long, env = "SLUICE_SERVER_CA", value_name = "FILE")]
    server_ca: Option<PathBuf>,
}

/// What this process asks where there is no server: the bus, as who, and the management cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Here<'a> {
    pub(crate) bus: Option<(&'a Reach, Role)>,
    pub(crate) management: Option<&'a Management>,
}

/// Who answers.
#[derive(Debug)]
pub(crate) enum Answers {
    Here(Inspector),
    There(Client),
}

/// Manifests for a difference: as a server takes them, and as this process does.
pub(crate) enum Manifests {
    Files(Vec<(String, String)>, Sources),
    Read(Meant),
}

/// Lines of the journal, from wherever they come.
pub(crate) enum Journal {
    Here(Told),
    There(Box<Lines>),
}

type Answered<T> = Result<T, InspectError>;

// === impl Served ===

impl Served {
    /// Whether a server is named.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some()
    }

    /// The server that is named; else what this process can reach itself.
    pub(crate) async fn answers(&self, here: Here<'_>, tasks: &Tasks) -> Answered<Answers> {
        self.answers_within(PATIENCE, here, tasks).await
    }

    /// The same, where the bus may take this long to be reached.
    pub(crate) async fn answers_within(
        &self,
        patience: Duration,
        here: Here<'_>,
        tasks: &Tasks,
    ) -> Answered<Answers> {
        match self.server.clone() {
            Some(url) => {
                let access = Access { url, token_file: self.token_file.clone(), ca: self.server_ca.clone() };
                Ok(Answers::There(Client::connect(&access).await?))
            }
            None => Ok(Answers::Here(here.inspector(patience, tasks).await)),
        }
    }
}

// === impl Here ===

impl Here<'_> {
    async fn inspector(self, patience: Duration, tasks: &Tasks) -> Inspector {
        let bus = async {
            match self.bus {
                None => Err("the bus is not asked".to_owned()),
                Some((reach, role)) => match tokio::time::timeout(patience, reach.bus(role, tasks)).await {
                    Ok(bus) => bus.map_err(|error| format!("{error:#}")),
                    Err(_) => Err("the bus does not answer".to_owned()),
                },
            }
        };
        let management = async {
            match self.management {
                None => Err("the management cluster is not asked".to_owned()),
                Some(management) => management.client().await.map_err(|error| format!("{error:#}")),
            }
        };
        let (bus, management) = tokio::join!(Box::pin(bus), Box::pin(management));
        let onboarding = self.management.map(Management::onboarding).unwrap_or_default();
        Inspector::new(bus, management).with_onboarding(onboarding)
    }
}

// === impl Answers ===

impl Answers {
    pub(crate) async fn trace(&self, target: &Target) -> Answered<Vec<Trace>> {
        match self {
            Self::Here(inspector) => inspector.trace(target).await,
            Self::There(client) => client.trace(target).await,
        }
    }

    pub(crate) async fn explain(&self, question: &Question) -> Answered<Explained> {
        match self {
            Self::Here(inspector) => inspector.explain(question).await,
            Self::There(client) => client.explain(question).await,
        }
    }

    pub(crate) async fn rollout(&self, key: &ObjectKey) -> Answered<Rollout> {
        match self {
            Self::Here(inspector) => inspector.rollout(key).await,
            Self::There(client) => client.rollout(key).await,
        }
    }

    pub(crate) async fn problems(&self, filter: &ProblemFilter) -> Answered<Vec<ProblemRow>> {
        told(self.listed_problems(filter).await)
    }

    /// Also what is missing among them, for who asks again and again.
    pub(crate) async fn listed_problems(&self, filter: &ProblemFilter) -> Answered<Listed<ProblemRow>> {
        match self {
            Self::Here(inspector) => inspector.problems(filter).await,
            Self::There(client) => client.problems(filter).await,
        }
    }

    pub(crate) async fn addons(&self, filter: &AddonFilter) -> Answered<Vec<Addon>> {
        told(match self {
            Self::Here(inspector) => inspector.addons(filter).await,
            Self::There(client) => client.addons(filter).await,
        })
    }

    /// Triggers, profiles or clusters. Triggers have no namespace.
    pub(crate) async fn lines(&self, shown: Shown, namespace: Option<&str>) -> Answered<Vec<Line>> {
        told(match (self, shown) {
            (Self::Here(inspector), Shown::Triggers) => inspector.triggers().await,
            (Self::There(client), Shown::Triggers) => client.triggers().await,
            (Self::Here(inspector), Shown::Profiles) => inspector.profiles(namespace).await,
            (Self::There(client), Shown::Profiles) => client.profiles(namespace).await,
            (Self::Here(inspector), Shown::Clusters) => inspector.clusters(namespace).await,
            (Self::There(client), Shown::Clusters) => client.clusters(namespace).await,
        })
    }

    pub(crate) async fn events(&self, filter: &EventsFilter) -> Answered<Vec<Events>> {
        told(match self {
            Self::Here(inspector) => inspector.events(filter).await,
            Self::There(client) => client.events(filter).await,
        })
    }

    pub(crate) async fn usage(&self, filter: &UsageFilter) -> Answered<Vec<Usage>> {
        told(match self {
            Self::Here(inspector) => inspector.usage(filter).await,
            Self::There(client) => client.usage(filter).await,
        })
    }

    /// One by one: there may be very many.
    pub(crate) async fn resources(
        &self,
        filter: &ResourceFilter,
    ) -> Answered<Box<dyn Iterator<Item = Resource>>> {
        Ok(match self {
            Self::Here(inspector) => Box::new(inspector.resources(filter).await?),
            Self::There(client) => Box::new(told(client.resources(filter).await)?.into_iter()),
        })
    }

    pub(crate) async fn shards(&self, stage: Option<&str>) -> Answered<Vec<Shard>> {
        match self {
            Self::Here(inspector) => inspector.shards(stage).await,
            Self::There(client) => client.shards(stage).await,
        }
    }

    /// What manifests would change. A server takes files, and this process what was read of them.
    pub(crate) async fn diff(&self, manifests: Manifests, only: Option<ClusterRef>) -> Answered<Difference> {
        match (self, manifests) {
            (Self::Here(inspector), Manifests::Read(meant)) => inspector.diff(move || Ok(meant), only).await,
            (Self::There(client), Manifests::Files(files, charts)) => {
                client.diff(files, &charts, only.as_ref()).await
            }
            _ => {
                Err(InspectError::Failed("the manifests have another form than who answers takes".to_owned()))
            }
        }
    }

    pub(crate) async fn journal(&self, filter: JournalFilter) -> Answered<Journal> {
        Ok(match self {
            Self::Here(inspector) => Journal::Here(inspector.journal(filter).await?),
            Self::There(client) => Journal::There(Box::new(client.journal(&filter).await?)),
        })
    }
}

// === impl Journal ===

impl Journal {
    /// The next lines; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Answered<Vec<JournalEntry>> {
        match self {
            Self::Here(told) => Ok(told.next(TOGETHER).await),
            Self::There(lines) => lines.next().await,
        }
    }
}

/// What was found; what is missing is said beside it.
fn told<T>(listed: Answered<Listed<T>>) -> Answered<Vec<T>> {
    let Listed { found, missing } = listed?;
    for missing in missing {
        eprintln!("sluice: missing: {missing}");
    }
    Ok(found)
}
