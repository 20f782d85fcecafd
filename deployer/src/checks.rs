//! Asking checks: a watch shows what each looks at, and its program says whether that is healthy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use kube::runtime::watcher;
use sluice_api::model::{Check, CheckedObjects, Metrics};
use sluice_api::{ClusterRef, ServiceAccount};
use sluice_bus::Lease;
use sluice_deployer_core::{CheckId, ExternalInput, Outcome};
use sluice_health::{Program, Seen};
use sluice_kube::outside::OwnHosts;
use sluice_kube::{resource_of, watch};
use sluice_tasks::End;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::api::Site;
use crate::tenants::Caller;
use job::JobRun;
use pending::{News, Pending};

pub(crate) use cluster::Guard;
pub(crate) use jobs::Jobs;

mod cluster;
mod job;
mod jobs;
mod metrics;
mod pending;

/// Programs of checks that run at the same time in one process: they are untrusted, and each has time limits only.
const TURNS: usize = 2;
/// How often numbers are asked for again while a check fails.
const AGAIN: Duration = Duration::from_secs(10);

/// Turns of the programs of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(TURNS)))
    }
}

impl Turns {
    /// Runs something of a program apart from everything that must not wait.
    #[allow(clippy::disallowed_methods, reason = "its end is waited for")]
    async fn take<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
        let _turn = self.0.acquire().await;
        spawn_blocking(work).await.map_err(|error| format!("its program has failed: {error}"))
    }
}

/// Whom a check is asked for, and who hears of it.
pub(crate) struct Asking {
    pub(crate) cluster: ClusterRef,
    pub(crate) id: CheckId,
    pub(crate) check: Arc<Check>,
    pub(crate) account: Option<ServiceAccount>,
    pub(crate) sender: mpsc::UnboundedSender<ExternalInput>,
    pub(crate) turns: Turns,
    /// A Job of the same name that is being taken away.
    pub(crate) going: Option<JoinHandle<()>>,
    /// Jobs are made and taken away only while it is held.
    pub(crate) lease: Lease,
    /// Hosts of the own network that tenants may name.
    pub(crate) hosts: Arc<OwnHosts>,
    /// Whether it passed when it was told last.
    pub(crate) passes: AtomicBool,
}

// === impl Asking ===

impl Asking {
    /// Asks until it is not to be asked any more.
    pub(crate) async fn run(mut self, site: Arc<Site>) -> End {
        if let Some(going) = self.going.take() {
            // However that has ended: it is looked for.
            going.await.ok();
        }
        let program = match Program::compile(&self.check) {
            Ok(program) => program,
            Err(error) => return self.end(Err(format!("{}: {error}", self.check.title()))),
        };
        let caller = match site.caller(self.account.clone()) {
            Ok(caller) => caller,
            Err(failure) => return self.end(Err(format!("{}: {}", self.check.title(), failure.message))),
        };
        if let Some(check) = &self.check.job {
            return match JobRun::of(check, &self, (&site, &caller)) {
                Ok(run) => run.run().await,
                Err(why) => self.end(Err(format!("{}: {why}", self.check.title()))),
            };
        }
        if let Some(metrics) = &self.check.metrics {
            return self.by_numbers(&program, metrics, &caller).await;
        }
        match &self.check.objects {
            Some(objects) => self.watch(&program, objects, &caller).await,
            None => {
                let outcome = self.alone(program).await;
                self.end(outcome)
            }
        }
    }

    /// Asks a Prometheus, and again while the check fails.
    async fn by_numbers(&self, program: &Program, metrics: &Metrics, caller: &Caller) -> End {
        let (client, hosts, of_tenant) = (&caller.client, &*self.hosts, self.check.of_tenant);
        let asker = metrics::Asker { client, hosts, of_tenant };
        loop {
            let outcome = match asker.fetch(metrics).await {
                Err(error) => Err(format!("{}: {error}{}", self.check.title(), caller.remedy(&error))),
                Ok(numbers) => {
                    let program = program.clone().knowing(numbers);
                    match &self.check.objects {
                        // What it looks at is watched, with these numbers for as long as it passes.
                        Some(objects) => tokio::select! {
                            end = self.watch(&program, objects, caller) => return end,
                            () = self.failing() => continue,
                        },
                        None => self.alone(program).await,
                    }
                }
            };
            if outcome.is_ok() {
                return self.end(outcome);
            }
            if !self.tell(outcome) {
                return End::Done;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Waits until it fails at the time when numbers are to be asked for again.
    async fn failing(&self) {
        loop {
            tokio::time::sleep(AGAIN).await;
            if !self.passes.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Asks the program without an object.
    async fn alone(&self, program: Program) -> Outcome {
        let said = self.turns.take(move || program.ask_alone()).await;
        said.and_then(|said| said.map_or(Ok(()), Err)).map_err(|why| format!("{}: {why}", self.check.title()))
    }

    /// Asks the program of all that a watch shows.
    async fn watch(&self, program: &Program, objects: &CheckedObjects, caller: &Caller) -> End {
        let CheckedObjects { gvk, namespace, labels } = objects;
        let mut config = watcher::Config::default().streaming_lists();
        if !labels.is_empty() {
            config = config.labels(&labels.to_string());
        }
        let pending = Pending::default();
        let tell = |event| pending.note(event);
        let watching = watch(caller.client.clone(), gvk.clone(), namespace.clone(), config, tell);
        tokio::select! {
            () = watching => End::Early,
            end = self.judge(program, &pending, objects, caller) => end,
        }
    }

    async fn judge(
        &self,
        program: &Program,
        pending: &Pending,
        objects: &CheckedObjects,
        caller: &Caller,
    ) -> End {
        let mut seen = Seen::default();
        loop {
            let news = pending.next().await;
            if let Some(error) = news.trouble.as_deref().filter(|_| seen.outcome(&self.check).is_none()) {
                let (title, remedy) = (self.check.title(), caller.remedy(error));
                if !self.tell(Err(format!("{title}: it cannot be asked: {error}; it is tried again{remedy}")))
                {
                    return End::Done;
                }
            }
            if news.is_empty_list() && is_unknown(&caller.client, objects).await {
                // Nothing of a kind can be unhealthy that the cluster does not have.
                if !self.tell(Ok(())) {
                    return End::Done;
                }
                continue;
            }
            let (program, News { listed, changes, .. }) = (program.clone(), news);
            let judged = self.turns.take(move || {
                listed.iter().for_each(|objects| seen.listed(&program, objects));
                for (key, object) in changes {
                    match object {
                        Some(object) => seen.applied(&program, &object),
                        None => seen.deleted(&key),
                    }
                }
                seen
            });
            seen = match judged.await {
                Ok(seen) => seen,
                Err(why) => return self.end(Err(format!("{}: {why}", self.check.title()))),
            };
            if seen.outcome(&self.check).is_some_and(|outcome| !self.tell(outcome)) {
                return End::Done;
            }
        }
    }

    /// Tells the core, which hears of what is new only. Whether anybody listens.
    fn tell(&self, outcome: Outcome) -> bool {
        self.passes.store(outcome.is_ok(), Ordering::Relaxed);
        self.sender.send(ExternalInput::Checked(self.cluster.clone(), self.id, outcome)).is_ok()
    }

    /// There is no more to be said.
    fn end(&self, outcome: Outcome) -> End {
        self.tell(outcome);
        End::Done
    }
}

/// Whether the cluster does not have the kind.
async fn is_unknown(client: &Client, objects: &CheckedObjects) -> bool {
    matches!(resource_of(client, &objects.gvk).await, Ok(None))
}
