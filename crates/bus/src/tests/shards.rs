//! What becomes of shards whose tasks end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_tasks::Once;
use tokio::sync::mpsc;

use super::*;
use crate::membership::Lease;
use crate::shard::supervisor::{Supervisor, Tally};

/// A shard that panics, or loses a task that it needs, ends as a failed one and restarts. Nothing else does.
#[tokio::test]
async fn a_shard_that_panics_or_loses_a_task_begins_again_alone() {
    let server = Server::start();
    let tasks = Tasks::default();
    let bus = Bus::connect(&options(&server), &tasks).await.unwrap();
    let membership = member(&bus, tasks.stop()).await;
    let (tally, begins) = (Tally::default(), Arc::new(AtomicUsize::new(0)));
    let (began, mut well) = mpsc::unbounded_channel();
    let (inner, counted) = (tasks.clone(), begins.clone());
    let work = move |key: String, _| {
        let (tasks, begins, began) = (inner.clone(), counted.clone(), began.clone());
        async move {
            if key == "steady" {
                began.send(key).unwrap();
                return std::future::pending().await;
            }
            match begins.fetch_add(1, Ordering::Relaxed) {
                0 => panic!("of a test"),
                1 => {
                    let group = tasks.group(&key);
                    group.spawn(Once::Claim, async { panic!("of a test") });
                    group.lost().await;
                    Some(Stop::Failed)
                }
                _ => {
                    began.send(key).unwrap();
                    std::future::pending().await
                }
            }
        }
    };
    let supervisor = Supervisor::new(&tasks, membership, tally.clone());
    let keys = || vec!["steady".to_owned(), "shaky".to_owned()];
    let both = async {
        let mut seen = [well.recv().await.unwrap(), well.recv().await.unwrap()];
        seen.sort();
        assert_eq!(seen, ["shaky", "steady"]);
        assert_eq!(tally.restarts(), [("failed", 2)].into());
        assert_eq!(tasks.ends(), [(("shard", "panicked"), 1), (("claim", "panicked"), 1)].into());
        assert!(!tasks.stop().is_cancelled());
        tasks.stop().cancel();
    };
    // It ends when the process stops, and leaves.
    let ended = async { tokio::join!(supervisor.run(keys, work), both) };
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
    assert!(well.try_recv().is_err(), "a shard began more often than it had to");
    assert!(tasks.verdict().is_ok());
}

/// Without it nobody would notice that a stream is another one.
#[tokio::test]
async fn the_end_of_what_a_bus_does_by_itself_is_noticed() {
    let server = Server::start();
    let tasks = Tasks::default();
    let bus = Bus::connect(&options(&server), &tasks).await.unwrap();
    // Nobody can ask over a connection that has been closed.
    bus.js.client().drain().await.unwrap();
    let told = async {
        while !tasks.ends().contains_key(&("echo", "early")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert!(!tasks.stop().is_cancelled(), "it is asked for again");
}

/// A shard whose lease another member has taken over restarts under a new one, and is counted; one that is not asked for
/// any more ends.
#[tokio::test]
async fn a_shard_restarts_under_another_lease_and_ends_when_it_is_not_asked_for() {
    let server = Server::start();
    let tasks = Tasks::default();
    let bus = Bus::connect(&options(&server), &tasks).await.unwrap();
    let membership = member(&bus, tasks.stop()).await;
    let (tally, wanted) = (Tally::default(), Arc::new(AtomicUsize::new(2)));
    let (began, mut news) = mpsc::unbounded_channel();
    let work = move |key: String, lease: Lease| {
        let began = began.clone();
        async move {
            began.send((key, lease)).unwrap();
            std::future::pending::<Option<Stop>>().await
        }
    };
    let asked = wanted.clone();
    let keys = move || ["0", "1"][..asked.load(Ordering::Relaxed)].iter().map(ToString::to_string).collect();
    let supervisor = Supervisor::new(&tasks, membership.clone(), tally.clone());
    let story = async {
        let first = [news.recv().await.unwrap(), news.recv().await.unwrap()];
        assert_eq!(first.each_ref().map(|(key, _)| key.as_str()), ["0", "1"]);
        let claims = sluice_protocol::members::Claims { total: 1, newest: vec!["0".to_owned()] };
        membership.with(|members| members.heard_claims("b", 1, &claims));
        let (key, lease) = news.recv().await.unwrap();
        assert!(key == "0" && lease.is_held() && !first[0].1.is_current() && first[1].1.is_held());
        assert_eq!((tally.restarts(), tally.get()), ([("lease", 1)].into(), 2));
        wanted.store(1, Ordering::Relaxed);
        crate::kit::until(|| tally.get() == 1).await;
        tasks.stop().cancel();
    };
    let ended = async { tokio::join!(supervisor.run(keys, work), story) };
    tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap();
    assert!(news.try_recv().is_err(), "nothing else began");
}
