//! For tests of this crate and of the shells: a nats-server of their own, rows written as their owner writes them, and the
//! rows that come of it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures::StreamExt as _;
use sluice_protocol::{Claim, Group, Outgoing, Publish, Row, Subject};

use crate::bus::Bus;
use crate::codec::{self, Limit};
use crate::shard::fence::{Claimed, Fence, Holder};
use crate::shard::publish_outcome::PublishOutcome;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};
use crate::shard::writer;

/// What has not come by now will not.
const PATIENCE: Duration = Duration::from_secs(60);

/// A real server with JetStream; it ends with the value.
#[derive(Debug)]
pub struct Server {
    pub(crate) child: Child,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is deleted with the server"))]
    pub(crate) dir: tempfile::TempDir,
    pub(crate) url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        assert!(ended.is_ok(), "nats-server did not end");
    }
}

impl Server {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// When there is no nats-server on `PATH`.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = spawn(&arguments(dir.path(), port));
        Self { child, dir, url: format!("nats://127.0.0.1:{port}") }
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }
}

pub(crate) fn arguments(dir: &Path, port: u16) -> Vec<String> {
    let text = ["-a", "127.0.0.1", "-js", "-sd"].map(str::to_owned);
    text.into_iter().chain([dir.display().to_string(), "-p".into(), port.to_string()]).collect()
}

pub(crate) fn spawn(arguments: &[String]) -> Child {
    let program = std::env::var("SLUICE_NATS_SERVER").unwrap_or_else(|_| "nats-server".into());
    let server = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    server.expect("nats-server 2.12 or newer must be on PATH; `make test` puts it there")
}

/// Writes rows as an owner does: under a fence of its own in each stream.
///
/// # Panics
/// When the server does not take one.
pub async fn write(bus: &Bus, rows: impl IntoIterator<Item = Publish>) {
    write_as(bus, "test", rows).await;
}

/// The same, as the owner of this shard, or as the agent of this cluster.
///
/// # Panics
/// When they are not stored.
pub async fn write_as(bus: &Bus, owner: &str, rows: impl IntoIterator<Item = Publish>) {
    let mut streams = BTreeMap::<_, Vec<Outgoing>>::new();
    for row in rows {
        let place =
            (row.subject.table().stream(row.subject.shard()), row.subject.table(), row.subject.shard());
        streams.entry(place).or_default().push(Outgoing {
            id: 0,
            head: row.head_by(bus.sealing.digest_key().as_ref()),
            row,
        });
    }
    for ((stream, table, shard), rows) in streams {
        let subject = Subject::fence(table, shard.index(), owner).to_string();
        let fence = Fence { stream, subject, expires: false };
        let holder = Holder { member: "test".into(), life: 1, number: 1 };
        let first = Claim { output: 0, number: 1, former: None, delay: 0 };
        let claimed = fence.claim(bus, &holder, &first).await;
        let Claimed::At(sequence) = claimed else { panic!("{claimed:?}") };
        let group = Group { output: 0, fence: sequence, rows: rows.into(), delay: 0 };
        let sent = writer::prepare(bus, &fence, &group).await.send(bus, &fence, &group).await;
        assert!(matches!(sent.answer, Some(PublishOutcome::Stored(_))), "{sent:?}");
    }
}

/// A message as it lies on a disk of the bus.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Where it was sent.
    pub subject: String,
    /// Headers and body as they are, and after these the body unpacked, where it is packed.
    pub bytes: Vec<u8>,
}

/// Every message of every stream.
///
/// # Panics
/// When the bus cannot be read.
pub async fn dump(url: &str) -> Vec<Stored> {
    let js = crate::connection::Connection::plain(url).jetstream("dump").await.unwrap();
    let names: Vec<String> = js.stream_names().map(Result::unwrap).collect().await;
    let mut found = Vec::new();
    for name in names {
        let mut stream = js.get_stream(&name).await.unwrap();
        let left = stream.info().await.unwrap().state.messages;
        let consumer = stream.create_consumer(unacknowledged()).await.unwrap();
        let mut messages = consumer.messages().await.unwrap();
        for _ in 0..left {
            // Rows are replaced while they are read: then fewer come.
            let next = tokio::time::timeout(Duration::from_secs(1), messages.next()).await;
            let Ok(Some(message)) = next else { break };
            let message = message.unwrap();
            let mut bytes = format!("{:?} ", message.headers).into_bytes();
            bytes.extend_from_slice(&message.payload);
            bytes.extend(codec::decode(&message.payload, Limit::LARGEST).iter().flat_map(|body| body.iter()));
            found.push(Stored { subject: message.subject.to_string(), bytes });
        }
    }
    found
}

fn unacknowledged() -> pull::Config {
    pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() }
}

/// The subjects of the messages in which these words are.
pub fn with_words<'d>(dump: &'d [Stored], words: &str) -> Vec<&'d str> {
    let has = |bytes: &[u8]| bytes.windows(words.len()).any(|part| part == words.as_bytes());
    dump.iter().filter(|stored| has(&stored.bytes)).map(|stored| stored.subject.as_str()).collect()
}

/// Waits for a row of the stream: the first, of those that are there and those that come, that is wanted.
///
/// # Panics
/// When none comes.
pub async fn row(bus: &Bus, stream: &str, wanted: impl Fn(&Row) -> bool) -> Row {
    let found = async {
        loop {
            let Ok(mut reader) = read(bus, &ReadSpec::all(stream.to_owned())).await else { continue };
            while let Some(event) = reader.next().await {
                match event {
                    ReadEvent::Row(row, _) if wanted(&row) => return row,
                    _ => {}
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("the row that is waited for")
}

/// Waits until something holds that nobody tells.
///
/// # Panics
/// When it does not come to hold.
pub async fn until(holds: impl Fn() -> bool) {
    let again = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("what is waited for");
}

/// Waits for a value that is wanted among those that are told.
///
/// # Panics
/// When none comes.
pub async fn told<T>(news: &mut tokio::sync::mpsc::UnboundedReceiver<T>, wanted: impl Fn(&T) -> bool) -> T {
    let found = async {
        loop {
            let value = news.recv().await.expect("more to be told");
            if wanted(&value) {
                return value;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("the news that is waited for")
}
