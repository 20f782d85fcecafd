//! What happened: small messages for people. Losing them loses no work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde_json::Value;
use sluice_protocol::subject::token;
use sluice_protocol::{JournalEntry, json};
use sluice_tasks::{End, Kept, Once};
use tokio::sync::{Mutex, mpsc};

use crate::bus::Bus;
use crate::error::BusError;

/// The stage whose lines are told apart by cluster.
const AGENT: &str = "agent";
/// Lines that wait to be sent; more are dropped, nothing waits for the journal.
const QUEUE: usize = 4096;
/// Lines that are sent together at most, and the pause after it: a line alone goes at once, a storm of events is few
/// messages. On three nodes each message costs as much as a row.
const TOGETHER: usize = 1024;
const PAUSE: Duration = Duration::from_millis(200);

/// Sends journal lines of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    sender: mpsc::Sender<JournalEntry>,
}

impl Journal {
    /// Begins to send.
    pub fn start(bus: &Bus) -> Self {
        let (sender, receiver) = mpsc::channel::<JournalEntry>(QUEUE);
        let (client, receiver) = (bus.js.client(), Arc::new(Mutex::new(receiver)));
        let is_alone = bus.role().only().is_some();
        bus.tasks.keep(Kept::Journal, move || send(client.clone(), receiver.clone(), is_alone));
        Self { sender }
    }

    /// Takes a line, when there is room.
    pub fn record(&self, entry: JournalEntry) {
        if self.sender.try_send(entry).is_err() {
            tracing::trace!("the journal is full");
        }
    }
}

/// Sends what is taken, until nobody has anything to say.
async fn send(
    client: async_nats::Client,
    taken: Arc<Mutex<mpsc::Receiver<JournalEntry>>>,
    is_alone: bool,
) -> End {
    let (mut taken, mut lines) = (taken.lock().await, Vec::new());
    while taken.recv_many(&mut lines, TOGETHER).await > 0 {
        for (subject, body) in messages(lines.drain(..), is_alone) {
            if let Err(error) = client.publish(subject, body.into()).await {
                tracing::debug!(%error, "journal lines were not sent");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    End::Done
}

/// Where a line is sent to, by who serves one cluster alone or by others. Rights are given by subjects, and the former has none for
/// other clusters.
fn subject_of(line: &JournalEntry, is_alone: bool) -> String {
    let (stage, what) = (&line.stage, &line.what);
    if is_alone || stage == AGENT {
        format!("journal.{stage}.{}.{what}", token(&line.cluster))
    } else {
        format!("journal.{stage}.{what}")
    }
}

/// Whether who may send there may say this.
fn is_from(line: &JournalEntry, subject: &str) -> bool {
    [true, false].into_iter().any(|is_alone| subject == subject_of(line, is_alone))
}

/// One message for each subject: its lines, each a JSON object.
fn messages(lines: impl Iterator<Item = JournalEntry>, is_alone: bool) -> BTreeMap<String, Vec<u8>> {
    let mut messages: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for line in lines {
        let body = messages.entry(subject_of(&line, is_alone)).or_default();
        body.extend(json::bytes(&line));
        body.push(b'\n');
    }
    messages
}

/// The journal from now on.
///
/// # Errors
/// When the server does not answer.
pub async fn journal(bus: &Bus) -> Result<mpsc::Receiver<JournalEntry>, BusError> {
    let mut lines =
        bus.js.client().subscribe("journal.>").await.map_err(BusError::request("read the journal"))?;
    // Once the server has answered something, it has heard of the subscription before.
    let asked: Result<Value, _> = bus.js.request("INFO", &()).await;
    asked.map_err(BusError::request("read the journal"))?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    bus.tasks.spawn(Once::JournalReader, async move {
        loop {
            let message = tokio::select! {
                message = lines.next() => message,
                // Nothing may happen for long, and who has listened may be gone.
                () = sender.closed() => return End::Done,
            };
            let Some(message) = message else { return End::Early };
            for line in serde_json::Deserializer::from_slice(&message.payload).into_iter() {
                let Ok(line) = line else { break };
                // Whoever speaks for others is not heard.
                if !is_from(&line, message.subject.as_str()) {
                    continue;
                }
                if sender.send(line).await.is_err() {
                    return End::Done;
                }
            }
        }
    });
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn line(what: &str, object: &str) -> JournalEntry {
        JournalEntry::new("matcher", what, "c", object, 10, 4)
    }

    #[test]
    fn lines_of_one_kind_are_one_message_in_their_order() {
        let lines = [line("matched", "x"), line("unmatched", "x"), line("matched", "y\nz")];
        let messages = messages(lines.clone().into_iter(), false);
        assert_eq!(
            messages.keys().collect::<Vec<_>>(),
            ["journal.matcher.matched", "journal.matcher.unmatched"]
        );
        let read: Vec<JournalEntry> =
            serde_json::Deserializer::from_slice(&messages["journal.matcher.matched"])
                .into_iter()
                .collect::<Result<_, _>>()
                .unwrap();
        assert_eq!(read, [lines[0].clone(), lines[2].clone()]);
    }

    #[test]
    fn who_is_in_a_cluster_says_of_which_and_nobody_speaks_for_another() {
        let line = JournalEntry::new("deployer", "applied", "sveltos:default/a", "x", 10, 4);
        assert_eq!(subject_of(&line, false), "journal.deployer.applied");
        let own = subject_of(&line, true);
        assert_eq!(own, format!("journal.deployer.{}.applied", token("sveltos:default/a")));
        assert!(is_from(&line, &own) && is_from(&line, "journal.deployer.applied"));
        assert!(!is_from(&line, &own.replace("default/a", "default/b")));
    }

    #[test]
    fn an_agent_speaks_of_its_cluster() {
        let line = JournalEntry::new("agent", "problem", "sveltos:default/a", "x", 10, 4);
        assert_eq!(subject_of(&line, false), format!("journal.agent.{}.problem", token("sveltos:default/a")));
    }

    #[test]
    fn a_line_tells_how_long_it_took_where_that_is_known() {
        let micros = |now, time| JournalEntry::new("matcher", "matched", "c", "x", now, time).micros;
        assert_eq!(
            (micros(10, 4), micros(10, 0), micros(4, 10)),
            (6, 0, 0),
            "a clock may have been set back"
        );
    }

    #[test]
    fn lines_of_different_agents_are_messages_of_their_own() {
        let of = |cluster: &str| JournalEntry::new("agent", "problem", cluster, "x", 10, 4);
        let all = messages([of("sveltos:default/a"), of("sveltos:default/b")].into_iter(), false);
        assert_eq!(all.len(), 2, "{:?}", all.keys());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_full_journal() {
        let (sender, mut receiver) = mpsc::channel(2);
        let journal = Journal { sender };
        ["a", "b", "c"].iter().for_each(|object| journal.record(line("matched", object)));
        drop(journal);
        let mut kept = Vec::new();
        assert_eq!(receiver.recv_many(&mut kept, 9).await, 2);
        assert_eq!(kept, [line("matched", "a"), line("matched", "b")], "the first ones");
    }
}
