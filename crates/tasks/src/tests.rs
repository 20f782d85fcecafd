//! What becomes of a task that panics or ends early, for each fate.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{End, Fate, How, Kept, Once, TaskFailed, Tasks};

/// What a test's task does when it ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Early,
    Panic,
}

use Ending::{Early, Panic};

impl Ending {
    fn label(self) -> &'static str {
        if let Early = self { "early" } else { "panicked" }
    }

    fn end(self) -> End {
        match self {
            Early => End::Early,
            Panic => panic!("of a test"),
        }
    }

    fn how(self) -> How {
        match self {
            Early => How::Early,
            Panic => How::Panicked("of a test".to_owned()),
        }
    }
}

/// A task that works until it is dropped, and what is closed then.
fn mk_endless() -> (impl Future<Output = End> + Send + 'static, mpsc::Receiver<()>) {
    let (alive, closed) = mpsc::channel(1);
    let work = async move {
        let _alive = alive;
        std::future::pending().await
    };
    (work, closed)
}

#[tokio::test]
async fn what_is_kept_ends_without_a_word_when_nobody_needs_it() {
    let tasks = Tasks::default();
    let kept = tasks.keep(Kept::Feed, || async {
        std::future::pending::<()>().await;
        End::Early
    });
    tasks.end_kept().await;
    assert!(kept.is_finished());
    assert!(tasks.ends().is_empty());
}

/// Else what they serve could go while they look at it, and they would say so.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_is_kept_or_of_a_group_is_left_once_nobody_needs_it() {
    let tasks = Tasks::default();
    let (of_group, of_dropped) = (tasks.group("03"), tasks.group("04"));
    let mut closed = Vec::new();
    for number in 0..60 {
        let (work, ended) = mk_endless();
        closed.push(ended);
        match number % 3 {
            0 => drop(of_group.spawn(Once::Input, work)),
            1 => drop(of_dropped.spawn(Once::Input, work)),
            _ => {
                let mut work = Some(work);
                tasks.keep(Kept::Feed, move || {
                    let work = work.take();
                    async move { if let Some(work) = work { work.await } else { End::Done } }
                });
            }
        }
    }
    drop(of_dropped);
    tasks.end_kept().await;
    for ended in &mut closed {
        assert_eq!(ended.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
    }
    assert!(tasks.ends().is_empty());
}

#[tokio::test]
async fn what_is_kept_is_started_again_until_it_is_done() {
    for ending in [Early, Panic] {
        let (tasks, runs) = (Tasks::default(), Arc::new(AtomicUsize::new(0)));
        let counted = runs.clone();
        let make = move || {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            async move { if run < 2 { ending.end() } else { End::Done } }
        };
        tasks.keep(Kept::Feed, make).await.unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 3, "{ending:?}");
        assert_eq!(tasks.ends(), [(("feed", ending.label()), 2)].into());
        assert!(!tasks.stop().is_cancelled() && tasks.verdict().is_ok());
    }
}

#[tokio::test]
async fn a_panic_before_the_first_wait_is_one_of_the_task() {
    let (tasks, mut begins) = (Tasks::default(), 0);
    let make = move || {
        begins += 1;
        assert!(begins > 1, "of a test");
        async { End::Done }
    };
    tasks.keep(Kept::Feed, make).await.unwrap();
    assert_eq!(tasks.ends(), [(("feed", "panicked"), 1)].into());
}

#[tokio::test]
async fn the_end_of_a_shards_task_ends_the_shard_and_nothing_else() {
    for ending in [Early, Panic] {
        let tasks = Tasks::default();
        let (group, other) = (tasks.group("03"), tasks.group("04"));
        let (work, mut closed) = mk_endless();
        group.spawn(Once::Input, work);
        group.spawn(Once::Claim, async move { ending.end() });
        group.lost().await;
        assert_eq!(tasks.ends(), [(("claim", ending.label()), 1)].into());
        assert!(closed.try_recv() == Err(mpsc::error::TryRecvError::Empty), "its owner decides when it ends");
        drop(group);
        assert_eq!(closed.recv().await, None, "a task outlives its group");
        assert!(futures::FutureExt::now_or_never(other.lost()).is_none());
        assert!(!tasks.stop().is_cancelled() && tasks.verdict().is_ok());
    }
}

#[tokio::test]
async fn the_end_of_a_task_that_a_process_needs_stops_it_with_an_error() {
    // A task that has no group belongs to the process.
    for (task, name) in [(Once::Incarnations, "incarnations"), (Once::Replay, "replay")] {
        for ending in [Early, Panic] {
            let stop = CancellationToken::new();
            let tasks = Tasks::new(stop.clone());
            tasks.spawn(task, async move { ending.end() });
            stop.cancelled().await;
            assert_eq!(tasks.verdict(), Err(TaskFailed { task: name, how: ending.how() }));
            assert_eq!(tasks.ends(), [((name, ending.label()), 1)].into());
        }
    }
}

#[tokio::test]
async fn a_task_in_a_group_may_be_one_that_the_process_needs() {
    let tasks = Tasks::default();
    let group = tasks.group("03");
    group.spawn(Once::Audit, async { Panic.end() });
    tasks.stop().cancelled().await;
    let error = tasks.verdict().unwrap_err().to_string();
    assert_eq!(error, "the process cannot go on without its task \"audit\", which panicked: of a test");
}

#[tokio::test]
async fn the_first_reason_to_stop_is_the_one_that_is_told() {
    let tasks = Tasks::default();
    tasks.run(Once::Membership, async { End::Early }).await;
    tasks.run(Once::Problems, async { Panic.end() }).await;
    assert_eq!(tasks.verdict(), Err(TaskFailed { task: "membership", how: How::Early }));
}

#[tokio::test]
async fn a_task_that_is_done_is_no_news() {
    let tasks = Tasks::default();
    tasks.spawn(Once::Problems, async { End::Done }).await.unwrap();
    assert!(tasks.ends().is_empty() && !tasks.stop().is_cancelled());
}

#[tokio::test]
async fn while_the_process_stops_only_panics_are_told_and_nothing_begins_again() {
    let tasks = Tasks::default();
    tasks.stop().cancel();
    tasks.spawn(Once::Admin, async { End::Early }).await.unwrap();
    tasks.keep(Kept::Feed, || async { Panic.end() }).await.unwrap();
    assert!(tasks.ends().is_empty() && tasks.verdict().is_ok());
    tasks.spawn(Once::Admin, async { Panic.end() }).await.unwrap();
    assert_eq!(tasks.ends(), [(("admin", "panicked"), 1)].into());
}

/// The documented table is the one of the code.
#[test]
fn the_documented_table_is_complete() {
    let text = include_str!("../../../docs/design/07-tasks.md");
    let row = |fate: &str| text.lines().find(|line| line.starts_with(fate)).unwrap_or_default();
    let kept = Kept::ALL.iter().map(|task| task.kind());
    for kind in kept.chain(Once::ALL.iter().map(|task| task.kind())) {
        let row = row(match kind.fate {
            Fate::Restart => "| it is started again",
            Fate::StopOwner => "| its shard ends",
            Fate::StopProcess => "| the process ends",
        });
        assert!(row.contains(&format!("`{}`", kind.name)), "{kind:?} is not in the row {row:?}");
    }
}
