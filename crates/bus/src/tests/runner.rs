//! Running an owner against the server.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_protocol::subject::own_rows;
use sluice_protocol::{Core, Head, JournalEntry, Row, Sequence, Shard, Step, View};
use tokio::sync::mpsc;

use super::*;
use crate::shard::observer::{Effects, Observer, Span};
use crate::shard::runner::drive;
use crate::shard::shard_spec::{Outputs, ShardSpec};

/// More than the publishes that any connection allows in flight.
const ROWS: usize = 10_000;

/// Publishes everything it has when it starts.
struct AllAtOnce;

impl Core for AllAtOnce {
    type External = ();
    type Effect = ();

    fn found(&mut self, _: &Subject, _: &Head) {}

    fn view(&self) -> View {
        View::default()
    }

    fn external(&mut self, (): (), _: &mut Step<()>) {}

    fn start(&mut self, step: &mut Step<()>) {
        (0..ROWS).for_each(|number| step.publish(row(&number.to_string(), Some("{}"))));
        step.publish(row("last", Some("{}")).after_all());
    }

    fn row(&mut self, _: &Row, _: &mut Step<()>) {}

    fn caught_up(&mut self, _: Sequence, _: &mut Step<()>) {}

    fn tick(&mut self, _: &mut Step<()>) {}
}

struct Nothing;

impl Effects<AllAtOnce> for Nothing {
    fn effect(&mut self, (): ()) {}
}

#[derive(Default)]
struct Count {
    published: AtomicUsize,
    spans: Mutex<BTreeSet<Span>>,
}

impl Observer for Count {
    fn malformed(&self, _: &str, _: &str) {}
    fn unreadable(&self, _: &str, _: &str) {}
    fn read(&self, _: u64) {}
    fn tell(&self, _: JournalEntry) {}
    fn behind(&self, _: Option<&str>) {}
    fn published(&self, bytes: usize) {
        assert_eq!(bytes, 2);
        self.published.fetch_add(1, Ordering::Relaxed);
    }
    fn took(&self, span: Span, _: Duration) {
        self.spans.lock().unwrap().insert(span);
    }
    fn too_large(&self, _: &str, _: Option<&str>) {}
}

#[tokio::test]
async fn one_step_may_publish_more_than_may_be_in_flight() {
    let server = Server::start();
    let bus = bus(&server).await;
    let stop = CancellationToken::new();
    let membership = member(&bus, &stop).await;
    let outputs = Outputs {
        table: Table::Desired,
        owner: own_rows::shard_token(Shard::FIRST),
        own_rows: vec!["desired.{}.*.*.*".into()],
        leaves: false,
    };
    let spec = ShardSpec { outputs, input: None };
    let (_sides, receiver) = mpsc::unbounded_channel();
    let (lease, count, mut effects) = (membership.lease("0"), Count::default(), Nothing);
    let stored = async {
        // The last row is sent when the server has all others.
        while count.published.load(Ordering::Relaxed) <= ROWS {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        stopped = drive(&bus, &lease, &spec, AllAtOnce, receiver, &mut effects, &count) => panic!("{stopped:?}"),
        done = tokio::time::timeout(Duration::from_secs(60), stored) => done.expect("all rows are published"),
    }
    assert_eq!(*count.spans.lock().unwrap(), [Span::Publish, Span::Takeover].into());
    stop.cancel();
}
