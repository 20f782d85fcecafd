//! The methods: each checks its question, waits for its turn, and asks the [`Inspector`].

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sluice_inspect::{InspectError, Inspector, Listed, Meant};
use sluice_proto::inspect::v1 as proto;
use sluice_proto::inspect::v1::inspect_server::Inspect;
use sluice_tasks::Tasks;
use sluice_template::Engine;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use crate::answer::{Answer, Terms, late};
use crate::auth::Caller;
use crate::convert;
use crate::deadline::Deadline;
use crate::questions;
use crate::status::status;

/// Answers that are made at the same time, and streams that are open.
const AT_ONCE: usize = 32;
const STREAMS: usize = 256;
/// How long an answer may take for which no deadline is given.
const LONGEST: Duration = Duration::from_secs(120);
/// Entries of a list in one message, and lines of the journal.
const TOGETHER: usize = 100;
/// The largest answer that is one message.
pub(crate) const LARGEST: usize = 32 << 20;

/// The service.
#[derive(Debug)]
pub(crate) struct Service {
    inspector: Inspector,
    tera: Arc<dyn Engine>,
    tasks: Tasks,
    turns: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    patience: Duration,
}

type Answered<M> = Result<Response<M>, Status>;

// === impl Service ===

impl Service {
    pub(crate) fn new(
        inspector: Inspector,
        tera: Arc<dyn Engine>,
        patience: Duration,
        tasks: &Tasks,
    ) -> Self {
        let (turns, streams) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Semaphore::new(STREAMS)));
        Self { inspector, tera, tasks: tasks.clone(), turns, streams, patience }
    }

    /// Makes an answer in its turn and in time.
    async fn make<T>(
        &self,
        deadline: Option<Deadline>,
        work: impl Future<Output = Result<T, InspectError>>,
    ) -> Result<T, Status> {
        let _turn = turn(&self.turns, "answers are made")?;
        let until = deadline.map_or_else(|| Instant::now() + LONGEST, |Deadline(at)| at);
        match tokio::time::timeout_at(until, Box::pin(work)).await {
            Ok(made) => made.map_err(|error| status(&error)),
            Err(_) => Err(late()),
        }
    }

    /// The terms of one more stream.
    fn terms(&self, deadline: Option<Deadline>) -> Result<Terms, Status> {
        Ok(Terms { turn: turn(&self.streams, "streams are open")?, deadline, patience: self.patience })
    }

    /// A list as a stream. What is missing is in the first message.
    async fn list<T, M>(
        &self,
        deadline: Option<Deadline>,
        work: impl Future<Output = Result<Listed<T>, InspectError>>,
        message: impl Fn(Vec<T>, Vec<String>) -> M + Send + 'static,
    ) -> Answered<Answer<M>>
    where
        T: Send + 'static,
        M: Send + 'static,
    {
        let terms = self.terms(deadline)?;
        let Listed { found, mut missing } = self.make(deadline, work).await?;
        let answer = Answer::start(&self.tasks, terms, |sender| async move {
            let mut rest = found.into_iter();
            loop {
                let some: Vec<T> = rest.by_ref().take(TOGETHER).collect();
                if some.is_empty() && missing.is_empty() {
                    return Ok(());
                }
                sender.send(message(some, std::mem::take(&mut missing))).await?;
            }
        });
        Ok(Response::new(answer))
    }
}

fn turn(turns: &Arc<Semaphore>, what: &str) -> Result<OwnedSemaphorePermit, Status> {
    let turn = turns.clone().try_acquire_owned();
    turn.map_err(|_| {
        Status::resource_exhausted(format!("too many {what} at the same time; ask again a little later"))
    })
}

/// The question, and until when its answer counts.
fn asked<Q>(request: Request<Q>) -> (Q, Option<Deadline>) {
    let deadline = request.extensions().get::<Deadline>().copied();
    (request.into_inner(), deadline)
}

fn checked<T>(checked: Result<T, InspectError>) -> Result<T, Status> {
    checked.map_err(|error| status(&error))
}

#[tonic::async_trait]
impl Inspect for Service {
    async fn trace(&self, request: Request<proto::TraceRequest>) -> Answered<proto::TraceResponse> {
        let (asked, deadline) = asked(request);
        let target = checked(questions::trace(asked))?;
        let traces = self.make(deadline, self.inspector.trace(&target)).await?;
        let traces = traces.into_iter().map(convert::trace::message).collect();
        Ok(Response::new(proto::TraceResponse { traces, missing: Vec::new() }))
    }

    async fn explain(&self, request: Request<proto::ExplainRequest>) -> Answered<proto::ExplainResponse> {
        let (asked, deadline) = asked(request);
        let question = checked(questions::explain(asked))?;
        let explained = self.make(deadline, self.inspector.explain(&question)).await?;
        Ok(Response::new(convert::explain::message(explained)))
    }

    async fn rollout(&self, request: Request<proto::RolloutRequest>) -> Answered<proto::RolloutResponse> {
        let (asked, deadline) = asked(request);
        let key = checked(questions::rollout(asked))?;
        let rollout = self.make(deadline, self.inspector.rollout(&key)).await?;
        Ok(Response::new(convert::rollout::message(rollout)))
    }

    type WatchJournalStream = Answer<proto::WatchJournalResponse>;

    async fn watch_journal(
        &self,
        request: Request<proto::WatchJournalRequest>,
    ) -> Answered<Self::WatchJournalStream> {
        let caller = request.extensions().get::<Caller>().cloned();
        let (asked, deadline) = asked(request);
        let filter = checked(questions::journal(asked))?;
        let terms = self.terms(deadline)?;
        let mut told = self.make(deadline, self.inspector.journal(filter)).await?;
        let answer = Answer::start(&self.tasks, terms, |sender| async move {
            let mut expires = pin!(Caller::expires(caller.as_ref()));
            loop {
                let lines = tokio::select! {
                    lines = told.next(TOGETHER) => lines,
                    unwanted = sender.unwanted() => return Err(unwanted),
                    () = &mut expires => return Err(Status::unauthenticated("this token has expired")),
                };
                if lines.is_empty() {
                    return Err(Status::unavailable("the bus tells no more; ask again"));
                }
                let lines = lines.into_iter().map(convert::journal::message).collect();
                sender.send(proto::WatchJournalResponse { lines }).await?;
            }
        });
        Ok(Response::new(answer))
    }

    type ListProblemsStream = Answer<proto::ListProblemsResponse>;

    async fn list_problems(
        &self,
        request: Request<proto::ListProblemsRequest>,
    ) -> Answered<Self::ListProblemsStream> {
        let (asked, deadline) = asked(request);
        let filter = checked(questions::problems(asked))?;
        self.list(deadline, Box::pin(self.inspector.problems(&filter)), |found, missing| {
            let problems = found.into_iter().map(convert::problem::message).collect();
            proto::ListProblemsResponse { problems, missing }
        })
        .await
    }

    type ListAddonsStream = Answer<proto::ListAddonsResponse>;

    async fn list_addons(
        &self,
        request: Request<proto::ListAddonsRequest>,
    ) -> Answered<Self::ListAddonsStream> {
        let (asked, deadline) = asked(request);
        let filter = checked(questions::addons(asked))?;
        self.list(deadline, Box::pin(self.inspector.addons(&filter)), |found, missing| {
            let addons = found.into_iter().map(convert::addon::message).collect();
            proto::ListAddonsResponse { addons, missing }
        })
        .await
    }

    type ListClustersStream = Answer<proto::ListClustersResponse>;

    async fn list_clusters(
        &self,
        request: Request<proto::ListClustersRequest>,
    ) -> Answered<Self::ListClustersStream> {
        let (asked, deadline) = asked(request);
        let namespace = questions::text(asked.namespace);
        self.list(deadline, Box::pin(self.inspector.clusters(namespace.as_deref())), |found, missing| {
            let clusters = found.into_iter().map(convert::cluster::message).collect();
            proto::ListClustersResponse { clusters, missing }
        })
        .await
    }

    type ListTriggersStream = Answer<proto::ListTriggersResponse>;

    async fn list_triggers(
        &self,
        request: Request<proto::ListTriggersRequest>,
    ) -> Answered<Self::ListTriggersStream> {
        let (_, deadline) = asked(request);
        self.list(deadline, Box::pin(self.inspector.triggers()), |found, missing| {
            let triggers = found.into_iter().map(convert::written::trigger_message).collect();
            proto::ListTriggersResponse { triggers, missing }
        })
        .await
    }

    type ListProfilesStream = Answer<proto::ListProfilesResponse>;

    async fn list_profiles(
        &self,
        request: Request<proto::ListProfilesRequest>,
    ) -> Answered<Self::ListProfilesStream> {
        let (asked, deadline) = asked(request);
        let namespace = questions::text(asked.namespace);
        self.list(deadline, Box::pin(self.inspector.profiles(namespace.as_deref())), |found, missing| {
            let profiles = found.into_iter().map(convert::written::profile_message).collect();
            proto::ListProfilesResponse { profiles, missing }
        })
        .await
    }

    type ListEventsStream = Answer<proto::ListEventsResponse>;

    async fn list_events(
        &self,
        request: Request<proto::ListEventsRequest>,
    ) -> Answered<Self::ListEventsStream> {
        let (asked, deadline) = asked(request);
        let filter = checked(questions::events(asked))?;
        self.list(deadline, Box::pin(self.inspector.events(&filter)), |found, missing| {
            let events = found.into_iter().map(convert::events::message).collect();
            proto::ListEventsResponse { events, missing }
        })
        .await
    }

    type ListUsageStream = Answer<proto::ListUsageResponse>;

    async fn list_usage(&self, request: Request<proto::ListUsageRequest>) -> Answered<Self::ListUsageStream> {
        let (asked, deadline) = asked(request);
        let filter = questions::usage(asked);
        self.list(deadline, Box::pin(self.inspector.usage(&filter)), |found, missing| {
            let usages = found.into_iter().map(convert::usage::message).collect();
            proto::ListUsageResponse { usages, missing }
        })
        .await
    }

    type ListResourcesStream = Answer<proto::ListResourcesResponse>;

    async fn list_resources(
        &self,
        request: Request<proto::ListResourcesRequest>,
    ) -> Answered<Self::ListResourcesStream> {
        let (asked, deadline) = asked(request);
        let filter = questions::resources(asked);
        let terms = self.terms(deadline)?;
        let found = self.make(deadline, Box::pin(self.inspector.resources(&filter))).await?;
        let answer = Answer::start(&self.tasks, terms, |sender| async move {
            let mut rest = found.map(convert::resource::message).peekable();
            while rest.peek().is_some() {
                let resources = rest.by_ref().take(TOGETHER).collect();
                sender.send(proto::ListResourcesResponse { resources, missing: Vec::new() }).await?;
            }
            Ok(())
        });
        Ok(Response::new(answer))
    }

    async fn list_shards(
        &self,
        request: Request<proto::ListShardsRequest>,
    ) -> Answered<proto::ListShardsResponse> {
        let (asked, deadline) = asked(request);
        let stage = checked(questions::shards(asked))?;
        let shards = self.make(deadline, self.inspector.shards(stage.as_deref())).await?;
        let shards = shards.into_iter().map(convert::shard::message).collect();
        Ok(Response::new(proto::ListShardsResponse { shards, missing: Vec::new() }))
    }

    async fn diff(&self, request: Request<proto::DiffRequest>) -> Answered<proto::DiffResponse> {
        let (asked, deadline) = asked(request);
        let only = checked(questions::diff(&asked))?;
        let tera = self.tera.clone();
        let meant = move || {
            let sources = questions::charts(asked.charts)?;
            let files = asked.files.iter().map(|file| (file.name.as_str(), file.content.as_str()));
            Meant::of_files(files, sources, tera)
                .map_err(|error| InspectError::Invalid(format!("files: {error}")))
        };
        let answer = convert::diff::message(self.make(deadline, self.inspector.diff(meant, only)).await?);
        let size = prost::Message::encoded_len(&answer);
        if size > LARGEST {
            let says = format!(
                "the difference has {size} bytes, and an answer at most {LARGEST}; ask for one cluster"
            );
            return Err(status(&InspectError::TooMuch(says)));
        }
        Ok(Response::new(answer))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_template::NoEngine;
    use tonic::Code;

    use super::*;

    fn service() -> Service {
        let away = || "of a test".to_owned();
        let inspector = Inspector::new(Err(away()), Err(away()));
        Service::new(inspector, Arc::new(NoEngine), Duration::from_secs(1), &Tasks::default())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_longer_than_it_may_is_given_up() {
        for deadline in [None, Some(Deadline(Instant::now() + Duration::from_millis(5)))] {
            let never = std::future::pending::<Result<(), InspectError>>();
            assert_eq!(service().make(deadline, never).await.unwrap_err().code(), Code::DeadlineExceeded);
        }
    }

    #[tokio::test]
    async fn who_comes_when_too_many_are_there_already_is_told_so() {
        let service = service();
        let all = u32::try_from(AT_ONCE).unwrap();
        let _taken = service.turns.clone().acquire_many_owned(all).await.unwrap();
        let refused = service.make(None, async { Ok(()) }).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let all = u32::try_from(STREAMS).unwrap();
        let _taken = service.streams.clone().acquire_many_owned(all).await.unwrap();
        assert_eq!(service.terms(None).unwrap_err().code(), Code::ResourceExhausted);
    }
}
