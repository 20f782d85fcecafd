//! An answer that is a stream. Whoever makes it waits for its reader, but not for long: what waits is a few messages, and a
//! reader that takes none for ten seconds is sent away.
//!
//! ```text
//! maker (task `answer`) ─► 16 messages ─► stream ─► reader
//!        └── how it ended ───────────────────┘
//! ```

// D-1108: a panic ends one answer.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use sluice_tasks::{End, Group, Once, Tasks};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::deadline::Deadline;

// D-1107: a slow reader is sent away.
/// Messages that wait for a reader.
const WAITING: usize = 16;
/// How long a reader may take none.
pub(crate) const SLOW: Duration = Duration::from_secs(10);

/// How an answer ended.
type Ended = Arc<OnceLock<Option<Status>>>;

/// What every stream has.
#[derive(Debug)]
pub(crate) struct Terms {
    /// One of those that may be open.
    pub(crate) turn: OwnedSemaphorePermit,
    /// Until when it counts.
    pub(crate) deadline: Option<Deadline>,
    /// How long its reader may take nothing.
    pub(crate) patience: Duration,
}

/// The stream; its maker ends when it is dropped.
#[derive(Debug)]
pub struct Answer<M> {
    messages: mpsc::Receiver<M>,
    ended: Ended,
    deadline: Option<Pin<Box<Sleep>>>,
    over: bool,
    _maker: Group,
    _turn: OwnedSemaphorePermit,
}

/// Where a maker puts its messages.
#[derive(Debug)]
pub(crate) struct Sender<M> {
    messages: mpsc::Sender<M>,
    patience: Duration,
    stop: CancellationToken,
}

// === impl Answer ===

impl<M: Send + 'static> Answer<M> {
    /// An answer that `make` makes. It takes one of the turns for as long as there is the stream.
    pub(crate) fn start<F>(tasks: &Tasks, terms: Terms, make: impl FnOnce(Sender<M>) -> F) -> Self
    where
        F: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let (sender, messages) = mpsc::channel(WAITING);
        let (maker, ended) = (tasks.group("inspect"), Ended::default());
        // The channel is open until it is known how it ended.
        let (open, how) = (sender.clone(), ended.clone());
        let Terms { turn, deadline, patience } = terms;
        let work = make(Sender { messages: sender, patience, stop: tasks.stop().clone() });
        maker.spawn(Once::Answer, async move {
            let end = work.await.err();
            how.get_or_init(|| end);
            drop(open);
            End::Done
        });
        let deadline = deadline.map(|Deadline(at)| Box::pin(tokio::time::sleep_until(at)));
        Self { messages, ended, deadline, over: false, _maker: maker, _turn: turn }
    }
}

impl<M> Answer<M> {
    /// The last word of an answer.
    fn end(&mut self, with: Option<Status>) -> Poll<Option<Result<M, Status>>> {
        self.over = true;
        self.messages.close();
        Poll::Ready(with.map(Err))
    }
}

impl<M> Stream for Answer<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        if self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(cx).is_ready()) {
            return self.end(Some(late()));
        }
        match self.messages.poll_recv(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(message)) => Poll::Ready(Some(Ok(message))),
            Poll::Ready(None) => {
                // Without a word it has panicked.
                let end = self.ended.get().cloned();
                self.end(end.unwrap_or_else(|| Some(Status::internal("making the answer ended in a panic"))))
            }
        }
    }
}

// === impl Sender ===

impl<M> Sender<M> {
    /// Sends a message, when the reader takes it in time.
    pub(crate) async fn send(&self, message: M) -> Result<(), Status> {
        let sent =
            self.stop.run_until_cancelled(tokio::time::timeout(self.patience, self.messages.send(message)));
        match sent.await {
            None => Err(stopping()),
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(_))) => Err(Status::cancelled("the reader has gone")),
            Some(Err(_)) => Err(Status::resource_exhausted(format!(
                "nothing was read for {:?}, and what was not sent yet is given up; ask again and read as it comes",
                self.patience
            ))),
        }
    }

    /// Waits until the reader has gone, or the process stops.
    pub(crate) async fn unwanted(&self) -> Status {
        tokio::select! {
            () = self.messages.closed() => Status::cancelled("the reader has gone"),
            () = self.stop.cancelled() => stopping(),
        }
    }
}

/// What is said when the time is over that the client gave.
pub(crate) fn late() -> Status {
    Status::deadline_exceeded("the time that was given for the answer is over")
}

fn stopping() -> Status {
    Status::unavailable("the server stops; ask again")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::StreamExt as _;
    use tokio::sync::Semaphore;
    use tokio::time::Instant;
    use tonic::Code;

    use super::*;

    async fn terms(deadline: Option<Deadline>) -> Terms {
        let turn = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        Terms { turn, deadline, patience: SLOW }
    }

    /// An answer of so many messages.
    async fn numbers(count: usize, deadline: Option<Deadline>) -> Answer<usize> {
        Answer::start(&Tasks::default(), terms(deadline).await, |sender| async move {
            for number in 0..count {
                sender.send(number).await?;
            }
            Ok(())
        })
    }

    #[tokio::test]
    async fn who_reads_gets_all_and_no_error() {
        let all: Vec<_> = numbers(100, None).await.collect().await;
        assert_eq!(all.into_iter().map(Result::unwrap).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_told_so_after_what_waited() {
        let mut answer = numbers(100, None).await;
        tokio::time::sleep(SLOW * 2).await;
        let read: Vec<_> = answer.by_ref().collect().await;
        assert_eq!(read.len(), WAITING + 1);
        assert_eq!(read[WAITING].as_ref().unwrap_err().code(), Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_ends_at_its_deadline() {
        let deadline = Deadline(Instant::now() + Duration::from_secs(1));
        let answer =
            Answer::<usize>::start(&Tasks::default(), terms(Some(deadline)).await, |sender| async move {
                Err(sender.unwanted().await)
            });
        let read: Vec<_> = answer.collect().await;
        assert_eq!(read[0].as_ref().unwrap_err().code(), Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn a_panic_is_the_end_of_one_answer_and_is_said() {
        let tasks = Tasks::default();
        let answer = Answer::<usize>::start(&tasks, terms(None).await, |_| async { panic!("of a test") });
        let read: Vec<_> = answer.collect().await;
        assert_eq!(read[0].as_ref().unwrap_err().code(), Code::Internal);
        assert!(!tasks.stop().is_cancelled());
    }

    #[tokio::test]
    async fn a_maker_ends_with_its_reader() {
        let (alive, mut ended) = mpsc::channel::<()>(1);
        let answer = Answer::<usize>::start(&Tasks::default(), terms(None).await, |sender| async move {
            let _alive = alive;
            Err(sender.unwanted().await)
        });
        drop(answer);
        assert_eq!(ended.recv().await, None);
    }

    #[tokio::test]
    async fn a_process_that_stops_ends_its_answers() {
        let tasks = Tasks::default();
        let answer = Answer::<usize>::start(&tasks, terms(None).await, |sender| async move {
            Err(sender.unwanted().await)
        });
        tasks.stop().cancel();
        let read: Vec<_> = answer.collect().await;
        assert_eq!(read[0].as_ref().unwrap_err().code(), Code::Unavailable);
    }
}
