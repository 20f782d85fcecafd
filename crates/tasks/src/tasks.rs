//! The tasks of a process: the one way to spawn, and what has become of them.

// D-0702: there is one way to spawn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::end::{End, How, TaskFailed};
use crate::group::Group;
use crate::kinds::{Kept, Once, TaskRow};
use crate::watched::Watched;

/// Ends that should not have been, by name of the task and [`How::name`].
type Ends = BTreeMap<(&'static str, &'static str), u64>;

/// How long tasks get to end that may end wherever they wait: what works on for longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tasks of one process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    process: Arc<Process>,
    /// Whose they are, in logs.
    stage: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Process {
    stop: CancellationToken,
    /// Cancelled when nobody needs the tasks any more that may end wherever they wait.
    over: CancellationToken,
    /// These tasks, until nothing of them is left.
    endless: TaskTracker,
    ends: Mutex<Ends>,
    failed: OnceLock<TaskFailed>,
}

impl Tasks {
    /// Those of a process that ends once `stop` is cancelled; [`crate::Fate::StopProcess`] cancels it.
    pub fn new(stop: CancellationToken) -> Self {
        Self { process: Arc::new(Process { stop, ..Process::default() }), stage: None }
    }

    /// The same, of a stage: logs say so.
    #[must_use]
    pub fn of_stage(&self, stage: &'static str) -> Self {
        Self { process: self.process.clone(), stage: Some(stage) }
    }

    pub(crate) fn stage(&self) -> Option<&'static str> {
        self.stage
    }

    /// Cancelled when the process should end.
    pub fn stop(&self) -> &CancellationToken {
        &self.process.stop
    }

    /// Spawns a task that runs once. The handle is for who waits for its end, and may be dropped.
    pub fn spawn(&self, task: Once, work: impl Future<Output = End> + Send + 'static) -> JoinHandle<()> {
        start(self.watched(task.kind()).once(Box::pin(work)))
    }

    /// Spawns a task that is started again when it ends early or panics: `make` makes each. The handle is for who waits
    /// until it is done, and may be dropped.
    pub fn keep<W>(&self, task: Kept, make: impl FnMut() -> W + Send + 'static) -> JoinHandle<()>
    where
        W: Future<Output = End> + Send + 'static,
    {
        self.until_over(self.watched(task.kind()).kept(make))
    }

    /// Ends the tasks that are kept and those of groups, at any point where they wait, and returns once nothing of them is left:
    /// when everybody who needed them has ended, what they serve may go without a word.
    pub async fn end_kept(&self) {
        self.process.over.cancel();
        self.process.endless.close();
        // What does not wait anywhere for so long ends with the process.
        tokio::time::timeout(PATIENCE, self.process.endless.wait()).await.ok();
    }

    /// Runs what may end wherever it waits.
    pub(crate) fn until_over(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let over = self.process.over.clone();
        let work = async move { over.run_until_cancelled(work).await.unwrap_or_default() };
        start(self.process.endless.track_future(work))
    }

    /// Runs a task in place, with the same care: for one that has a thread of its own.
    pub async fn run(&self, task: Once, work: impl Future<Output = End>) {
        self.watched(task.kind()).once(Box::pin(work)).await;
    }

    /// A group of tasks that end together; `of` says in logs whose they are.
    pub fn group(&self, of: &str) -> Group {
        Group::new(self.clone(), of)
    }

    /// How many tasks have ended although they should not have, by name of the task and by [`How::name`].
    pub fn ends(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.process.ends.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For the end of `main`: whether the process stopped because it was asked to.
    ///
    /// # Errors
    /// When it stopped because it cannot go on without a task that has ended.
    pub fn verdict(&self) -> Result<(), TaskFailed> {
        self.process.failed.get().map_or(Ok(()), |failed| Err(failed.clone()))
    }

    pub(crate) fn count(&self, kind: TaskRow, how: &How) {
        let mut ends = self.process.ends.lock().unwrap_or_else(PoisonError::into_inner);
        *ends.entry((kind.name, how.name())).or_default() += 1;
    }

    /// Stops the process; the first reason is the one that it ends with.
    pub(crate) fn fail(&self, kind: TaskRow, how: How) {
        self.process.failed.get_or_init(|| TaskFailed { task: kind.name, how });
        self.process.stop.cancel();
    }

    fn watched(&self, kind: TaskRow) -> Watched {
        Watched { tasks: self.clone(), kind, of: None, lost: None }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place: what is spawned here is watched")]
fn start(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}
