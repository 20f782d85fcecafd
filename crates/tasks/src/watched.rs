//! What surrounds every task: it notices the end, says it, counts it, and carries out the fate.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::end::{End, How};
use crate::kinds::{Fate, TaskRow};
use crate::rests::Rests;
use crate::tasks::Tasks;

/// A task, before it runs.
pub(crate) struct Watched {
    pub(crate) tasks: Tasks,
    pub(crate) kind: TaskRow,
    /// Whose it is, for logs.
    pub(crate) of: Option<Arc<str>>,
    /// Of its group; without one its owner is the process.
    pub(crate) lost: Option<CancellationToken>,
}

impl Watched {
    /// Runs it to its end. It is boxed, since each layer around a future may hold it once more, and shards are large.
    pub(crate) async fn once(self, work: Pin<Box<impl Future<Output = End>>>) {
        let span = self.span();
        let carried_out = async {
            let Some(how) = self.end_of(work).await else { return };
            match (self.kind.fate, &self.lost) {
                (Fate::StopOwner, Some(lost)) => lost.cancel(),
                _ => self.tasks.fail(self.kind, how),
            }
        };
        carried_out.instrument(span).await;
    }

    /// Runs what `make` makes until one is done, or the process stops.
    pub(crate) async fn kept<W>(self, mut make: impl FnMut() -> W)
    where
        W: Future<Output = End>,
    {
        let (span, mut rests) = (self.span(), Rests::default());
        let again_and_again = async {
            while !self.tasks.stop().is_cancelled() {
                let began = Instant::now();
                // Within the watched part: to make it may panic as well.
                if self.end_of(async { Box::pin(make()).await }).await.is_none() {
                    return;
                }
                tokio::time::sleep(rests.after(began.elapsed())).await;
            }
        };
        again_and_again.instrument(span).await;
    }

    /// Runs one; how it ended, said and counted, or `None` when its end is in order.
    ///
    /// A panic leaves behind whatever it was changing. Locks are taken in spite of that everywhere, and what a fate
    /// restarts reads its truth from the bus or a cluster.
    async fn end_of(&self, work: impl Future<Output = End>) -> Option<How> {
        let how = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(End::Done) => return None,
            Ok(End::Early) if self.tasks.stop().is_cancelled() => return None,
            Ok(End::Early) => How::Early,
            Err(payload) => How::panicked(payload.as_ref()),
        };
        let (task, of, fate) = (self.kind.name, self.of.as_deref(), self.kind.fate);
        tracing::error!(task, of, %how, ?fate, "a task has ended that should not");
        self.tasks.count(self.kind, &how);
        Some(how)
    }

    fn span(&self) -> tracing::Span {
        let (of, shard, cluster) = place(self.of.as_deref());
        tracing::info_span!(parent: None, "task", name = self.kind.name, stage = self.tasks.stage(), shard, cluster, of)
    }
}

/// What of a group's name is the number of a shard, or a cluster with its kind; else the name itself.
fn place(of: Option<&str>) -> (Option<&str>, Option<&str>, Option<&str>) {
    let Some(of) = of else { return (None, None, None) };
    let (first, rest) = of.split_once(' ').map_or((of, None), |(first, rest)| (first, Some(rest)));
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let is_cluster = first.contains(':') && first.contains('/') && !first.contains("://");
    match (is_number, is_cluster) {
        (true, _) => (rest, Some(first), None),
        (_, true) => (rest, None, Some(first)),
        _ => (Some(of), None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_say_whose_a_task_is_by_shard_or_cluster() {
        assert_eq!(place(Some("03")), (None, Some("03"), None));
        assert_eq!(place(Some("sveltos:a/b v1 Service")), (Some("v1 Service"), None, Some("sveltos:a/b")));
        for other in ["rights", "v1 Secret a/b", "https://charts.example web", ""] {
            assert_eq!(place(Some(other)), (Some(other), None, None));
        }
    }
}
