//! Keeping a [`Feed`] in step with a small stream, also when the stream is lost and made again.

use std::collections::BTreeSet;
use std::time::Duration;

use sluice_tasks::{End, Kept};
use tokio_util::sync::CancellationToken;

use crate::buckets::feed::Feed;
use crate::bus::Bus;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// Pause before a stream whose reader has ended is read again.
const AGAIN: Duration = Duration::from_millis(200);

/// What a stream means for its feed.
pub trait Follower: Send + Sync + 'static {
    /// Keys of the feed.
    type Key: Ord + Clone + Send;
    /// Values of the feed.
    type Value: Clone + Send;

    /// Whether the whole stream counts as read where the server estimates its end: for who concludes nothing from absence.
    const ESTIMATED: bool = false;

    /// Takes an event of the stream; the key of which there is a value.
    fn take(feed: &Feed<Self::Key, Self::Value>, event: ReadEvent) -> Option<Self::Key>;

    /// The whole stream has been read, and there is no value of this key although the feed has one.
    fn lost(feed: &Feed<Self::Key, Self::Value>, key: &Self::Key);
}

/// Follows those rows of a stream whose subject matches one of `filters`, or all, until `stop`.
pub fn follow<F: Follower>(
    bus: &Bus,
    stream: String,
    filters: Vec<String>,
    stop: CancellationToken,
) -> Feed<F::Key, F::Value> {
    let feed = Feed::new();
    let spec = ReadSpec { estimated: F::ESTIMATED, ..ReadSpec::some(stream, filters) };
    let (tasks, out) = (bus.tasks.clone(), feed.clone());
    let bus = bus.clone();
    tasks.keep(Kept::Feed, move || {
        let (bus, spec, out, stop) = (bus.clone(), spec.clone(), out.clone(), stop.clone());
        async move {
            stop.run_until_cancelled(again_and_again::<F>(&bus, &spec, &out)).await;
            End::Done
        }
    });
    feed
}

async fn again_and_again<F: Follower>(bus: &Bus, spec: &ReadSpec, feed: &Feed<F::Key, F::Value>) {
    loop {
        // Boxed, since it is large and what surrounds it would hold it more than once.
        Box::pin(once::<F>(bus, spec, feed)).await;
        tokio::time::sleep(AGAIN).await;
    }
}

/// Reads the stream until its reader ends.
async fn once<F: Follower>(bus: &Bus, spec: &ReadSpec, feed: &Feed<F::Key, F::Value>) {
    let Ok(mut reader) = read(bus, spec).await else { return };
    let mut seen = Some(BTreeSet::new());
    while let Some(event) = reader.next().await {
        if !matches!(event, ReadEvent::CaughtUp(_)) {
            let key = F::take(feed, event);
            if let (Some(seen), Some(key)) = (&mut seen, key) {
                seen.insert(key);
            }
            continue;
        }
        if let Some(seen) = seen.take() {
            feed.keys().iter().filter(|key| !seen.contains(*key)).for_each(|key| F::lost(feed, key));
        }
        feed.set_synced();
    }
}
