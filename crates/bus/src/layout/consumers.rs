//! The consumers that the server keeps for the readers of this process: counted, and deleted when a reader ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_nats::jetstream::Context;
use sluice_tasks::{End, Kept, Tasks};
use tokio::sync::{Mutex, mpsc};

/// Counts consumers, and deletes those whose [`Consumer`] was dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Consumers {
    count: Arc<AtomicUsize>,
    /// Unbounded: whoever drops a reader cannot wait. Each is one request.
    ended: mpsc::UnboundedSender<(String, String)>,
}

/// One consumer. The server forgets it after this is dropped.
#[derive(Debug)]
pub(crate) struct Consumer {
    consumers: Consumers,
    stream: String,
    name: String,
}

impl Consumers {
    /// Begins to delete what ends.
    pub(crate) fn start(js: Context, tasks: &Tasks) -> Self {
        let (ended, receiver) = mpsc::unbounded_channel::<(String, String)>();
        let receiver = Arc::new(Mutex::new(receiver));
        tasks.keep(Kept::Consumers, move || delete(js.clone(), receiver.clone()));
        Self { count: Arc::default(), ended }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A consumer that was made.
    pub(crate) fn note(&self, stream: &str, name: &str) -> Consumer {
        self.count.fetch_add(1, Ordering::Relaxed);
        Consumer { consumers: self.clone(), stream: stream.to_owned(), name: name.to_owned() }
    }
}

/// Deletes what ends, until nobody has a consumer any more.
async fn delete(js: Context, ended: Arc<Mutex<mpsc::UnboundedReceiver<(String, String)>>>) -> End {
    let mut ended = ended.lock().await;
    while let Some((stream, name)) = ended.recv().await {
        // Where it cannot be deleted the server forgets it by itself, a while later.
        if let Err(error) = js.delete_consumer_from_stream(&name, &stream).await {
            tracing::debug!(%error, stream, "a consumer was not deleted");
        }
    }
    End::Done
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.consumers.count.fetch_sub(1, Ordering::Relaxed);
        let (stream, name) = (std::mem::take(&mut self.stream), std::mem::take(&mut self.name));
        if self.consumers.ended.send((stream, name)).is_err() {
            tracing::trace!("the process ends");
        }
    }
}
