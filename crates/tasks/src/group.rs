//! Tasks that end together.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::end::End;
use crate::kinds::{Kept, Once, TaskRow};
use crate::tasks::Tasks;
use crate::watched::Watched;

/// The tasks of one shard, or of a part of it. They end when it is dropped.
#[derive(Debug)]
pub struct Group {
    tasks: Tasks,
    of: Arc<str>,
    /// Cancelled by a task whose end stops the group.
    lost: CancellationToken,
    /// Cancelled when the group is dropped.
    over: CancellationToken,
}

impl Group {
    pub(crate) fn new(tasks: Tasks, of: &str) -> Self {
        Self { tasks, of: of.into(), lost: CancellationToken::new(), over: CancellationToken::new() }
    }

    /// As [`Tasks::spawn`]. The task may end at any point where it waits.
    pub fn spawn(&self, task: Once, work: impl Future<Output = End> + Send + 'static) -> JoinHandle<()> {
        self.start(self.watched(task.kind()).once(Box::pin(work)))
    }

    /// As [`Tasks::keep`]. The task may end at any point where it waits.
    pub fn keep<W>(&self, task: Kept, make: impl FnMut() -> W + Send + 'static) -> JoinHandle<()>
    where
        W: Future<Output = End> + Send + 'static,
    {
        self.start(self.watched(task.kind()).kept(make))
    }

    /// Waits until a task has ended without which the group is of no use.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        self.lost.clone().cancelled_owned()
    }

    fn start(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let over = self.over.clone();
        self.tasks.until_over(async move { over.run_until_cancelled(work).await.unwrap_or_default() })
    }

    fn watched(&self, kind: TaskRow) -> Watched {
        let (of, lost) = (Some(self.of.clone()), Some(self.lost.clone()));
        Watched { tasks: self.tasks.clone(), kind, of, lost }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
