//! Creating Services without waiting for what becomes of them.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use bytes::Bytes;
use http::Method;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use sluice_testbed::manifests;
use sluice_testbed::{Connection, KubeContext};

/// Connections that create at the same time: enough that none of them holds the schedule up.
const CONNECTIONS: usize = 48;

/// Takes Services to create; never waits.
#[derive(Debug)]
pub struct Sender {
    queue: mpsc::UnboundedSender<Job>,
    failures: Arc<Mutex<Vec<String>>>,
    /// Dropped with the sender, and every worker with it.
    _workers: JoinSet<()>,
}

#[derive(Debug)]
struct Job {
    target: Arc<KubeContext>,
    name: String,
    label: &'static str,
}

type Queue = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Job>>>;

// === impl Sender ===

impl Sender {
    /// Connects to the simulated clusters, which share one address.
    ///
    /// # Errors
    /// When they cannot be reached.
    pub async fn connect(authority: &str) -> anyhow::Result<Self> {
        let (queue, receiver) = mpsc::unbounded_channel();
        let receiver: Queue = Arc::new(tokio::sync::Mutex::new(receiver));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let mut workers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let connection = Connection::open(authority).await?;
            #[expect(clippy::disallowed_methods, reason = "a change that is not sent fails the measurement")]
            workers.spawn(work(connection, receiver.clone(), failures.clone()));
        }
        Ok(Self { queue, failures, _workers: workers })
    }

    /// Creates a Service called `name` with the label that makes it an event of one kind.
    pub fn create(&self, target: &Arc<KubeContext>, name: String, label: &'static str) {
        let job = Job { target: target.clone(), name, label };
        if self.queue.send(job).is_err() {
            self.fail("nobody takes Services any more".into());
        }
    }

    /// The first failure since the last call, as an error.
    ///
    /// # Errors
    /// How many Services could not be created, and why the first one could not.
    pub fn check(&self) -> anyhow::Result<()> {
        let failures = std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner));
        match failures.first() {
            None => Ok(()),
            Some(first) => bail!("{} Services could not be created; the first: {first}", failures.len()),
        }
    }

    fn fail(&self, reason: String) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
    }
}

async fn work(mut connection: Connection, queue: Queue, failures: Arc<Mutex<Vec<String>>>) {
    loop {
        let job = queue.lock().await.recv().await;
        let Some(Job { target, name, label }) = job else { return };
        let path = format!("{}/api/v1/namespaces/default/services", target.prefix);
        let body = Bytes::from(manifests::service(&name, label));
        let answer = connection.call(Method::POST, &path, &target.token, "application/json", body).await;
        if let Err(error) = answer.and_then(|answer| answer.success()) {
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{name}: {error:#}"));
        }
    }
}
