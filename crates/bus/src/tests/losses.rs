//! A bus that has lost what it had acknowledged.

use std::path::Path;

use sluice_api::ClusterRef;
use sluice_protocol::{Incarnation, Role, Shard};

use super::*;

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Server {
    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().parse().unwrap();
        self.child = spawn(&arguments(self.dir.path(), port));
    }
}

async fn incarnation_after(bus: &Bus, before: Incarnation, patience: Duration) -> Incarnation {
    let stream = Table::Desired.stream(Shard::FIRST);
    let changed = async {
        let mut incarnations = bus.incarnations.clone();
        while bus.incarnation(&stream) == before {
            incarnations.changed().await.unwrap();
        }
    };
    if tokio::time::timeout(patience, changed).await.is_err() {
        tracing::debug!("it stays");
    }
    bus.incarnation(&stream)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_that_is_put_back_to_a_backup_is_noticed_and_a_restart_is_not() {
    let mut server = Server::start();
    let bus = bus(&server).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let fence = fence("00");
    let first = claim(&bus, &fence).await;
    let sequence = claim(&bus, &fence).await;
    assert_eq!(sequence, first.next());
    put(&bus, &row("x", Some("1")), &fence, sequence).await.unwrap();
    let before = bus.incarnation(&stream);

    // A server that comes back with everything is the same bus.
    server.stop();
    let backup = tempfile::tempdir().unwrap();
    copy(server.dir.path(), backup.path());
    server.start_again();
    let same = incarnation_after(&bus, before, Duration::from_secs(6)).await;
    assert_eq!(same, before);
    put(&bus, &row("x", Some("2")), &fence, sequence).await.unwrap();

    // The backup does not have the last row. What comes next has a sequence beyond it.
    server.stop();
    std::fs::remove_dir_all(server.dir.path()).unwrap();
    copy(backup.path(), server.dir.path());
    server.start_again();
    for profile in ["y", "z"] {
        while put(&bus, &row(profile, Some("1")), &fence, sequence).await.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let other = incarnation_after(&bus, before, Duration::from_secs(30)).await;
    assert_eq!(other, before.next(), "acknowledged rows are lost: it is another stream");
    let fresh = self::bus(&server).await;
    assert_eq!(fresh.incarnation(&stream), other, "for everybody");

    // Its sequences are given again: no new fence has by chance the one of a fence that was lost.
    let (begin, mut last) = (claim(&fresh, &fence).await, Sequence::NONE);
    for _ in 0..4 {
        last = claim(&fresh, &fence).await;
    }
    assert!(last > begin.after_more(4), "{begin} and {last}: some are left out");
    put(&fresh, &row("x", Some("3")), &fence, last).await.unwrap();
}

/// The agent of one cluster may say that a stream has lost rows as often as it likes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_says_of_losses_makes_a_stream_another_one_once_in_a_while() {
    let server = Server::start();
    let of = async |role: Role| {
        let connection = Connection { role, ..Connection::plain(server.url()) };
        Bus::connect(&BusOptions { connection, ..options(&server) }, &Tasks::default()).await.unwrap()
    };
    let agent = of(Role::Agent(Some(ClusterRef::sveltos("default", "a")))).await;
    let renderer = of(Role::Renderer).await;
    let stream = Table::Desired.stream(Shard::FIRST);
    let before = renderer.incarnation(&stream);
    crate::layout::losses::claim(&agent.js, &stream, "a").await.unwrap();
    let after = incarnation_after(&renderer, before, Duration::from_secs(20)).await;
    assert_eq!(after, before.next());
    assert_eq!(incarnation_after(&agent, before, Duration::from_secs(20)).await, after, "for everybody");
    for _ in 0..20 {
        crate::layout::losses::claim(&agent.js, &stream, "a").await.unwrap();
    }
    assert_eq!(incarnation_after(&renderer, after, Duration::from_secs(5)).await, after, "not again so soon");
}
