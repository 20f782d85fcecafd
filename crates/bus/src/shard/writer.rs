//! Storing a group of rows under a fence, in one go.
//!
//! To a replicated stream a group is an atomic batch: the server admits one conditional message in process for each
//! fence, and a batch counts as one. To a stream of one replica the rows are pipelined, each with the fence: there a
//! batch costs a write to the disk, and nothing is refused. Where too many batches are open, which anybody may have left
//! so, the rows go one after another: slower, but they go.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use sluice_api::Digest;
use sluice_protocol::{Body, Group, Outgoing, Sequence};

use crate::buckets::contents::{BodyLocation, LARGE};
use crate::bus::{BatchTurn, Bus};
use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::seal::SealedRow;
use crate::shard::fence::{self, Fence};
use crate::shard::publish_outcome::PublishOutcome;

pub(crate) const TTL: &str = "Nats-TTL";
const BATCH_ID: &str = "Nats-Batch-Id";
const BATCH_SEQUENCE: &str = "Nats-Batch-Sequence";
const BATCH_COMMIT: &str = "Nats-Batch-Commit";

/// How long the server may take to answer a group: longer than it does under any load, and shorter than an election.
const PATIENCE: Duration = Duration::from_secs(3);
/// And this much more for each of its rows.
const PATIENCE_EACH: Duration = Duration::from_millis(5);

/// What became of a group.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Of all rows that a message can hold; `None` without any.
    pub(crate) answer: Option<PublishOutcome>,
    /// For each row: the name of its body, when that is stored apart; or why no message can hold the row.
    pub(crate) rows: Vec<RowSent>,
}

type RowSent = Result<Option<Digest>, String>;

/// A row as it is sent.
struct Message {
    subject: String,
    headers: HeaderMap,
    body: Bytes,
    tombstone: bool,
}

/// The messages of a group, and for each row what [`Sent`] says of it; or why nothing can be sent now.
async fn messages(bus: &Bus, fence: &Fence, group: &Group) -> Result<(Vec<RowSent>, Vec<Message>), String> {
    let (mut rows, mut messages) =
        (Vec::with_capacity(group.rows.len()), Vec::with_capacity(group.rows.len()));
    for row in group.rows.iter() {
        match message(bus, fence, row).await {
            Ok((message, content)) => {
                messages.push(message);
                rows.push(Ok(content));
            }
            Err(BusError::TooLarge(reason)) => rows.push(Err(reason)),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok((rows, messages))
}

/// A group that is ready to be sent: its messages are made, and the bodies that they name are stored.
pub(crate) struct Prepared {
    /// Or why nothing can be sent now.
    made: Result<(Vec<RowSent>, Vec<Message>), String>,
}

/// Prepares a group, which needs nobody's turn.
pub(crate) async fn prepare(bus: &Bus, fence: &Fence, group: &Group) -> Prepared {
    Prepared { made: messages(bus, fence, group).await }
}

/// Whether so many rows go to a stream as one batch.
fn is_batch(bus: &Bus, fence: &Fence, rows: usize) -> bool {
    rows > 1 && bus.is_replicated(&fence.stream)
}

impl Prepared {
    /// Waits until it may be sent: of batches as many as the server can answer soon. What waits for its turn is on nobody's way, so
    /// its patience has not begun.
    pub(crate) async fn turn(&self, bus: &Bus, fence: &Fence) -> Option<BatchTurn> {
        let count = self.made.as_ref().map_or(0, |(_, messages)| messages.len());
        if is_batch(bus, fence, count) { bus.batch_turn(&fence.stream, count).await } else { None }
    }

    /// Stores the rows of the group while its fence holds, once it is its turn.
    pub(crate) async fn send(self, bus: &Bus, fence: &Fence, group: &Group) -> Sent {
        match self.made {
            Ok((rows, messages)) => send(bus, fence, group, (rows, messages)).await,
            Err(why) => Sent { answer: Some(PublishOutcome::NotStored(why)), rows: Vec::new() },
        }
    }
}

async fn send(
    bus: &Bus,
    fence: &Fence,
    group: &Group,
    (rows, messages): (Vec<RowSent>, Vec<Message>),
) -> Sent {
    let Some(last) = messages.last() else { return Sent { answer: None, rows } };
    let (subject, tombstone) = (last.subject.clone(), last.tombstone);
    let patience = PATIENCE + PATIENCE_EACH * u32::try_from(messages.len()).unwrap_or(u32::MAX);
    let mut connection = bus.health.watch();
    let sent = async {
        if is_batch(bus, fence, messages.len()) {
            match batch(bus, fence, group.fence, messages).await {
                answer if answer.is_unopened_batch() => one_by_one(bus, fence, group).await,
                answer => answer,
            }
        } else {
            pipeline(bus, fence, group.fence, messages).await
        }
    };
    let answer = tokio::select! {
        answer = tokio::time::timeout(patience, sent) => {
            answer.unwrap_or_else(|_| PublishOutcome::Unanswered("no answer in time".to_owned()))
        }
        () = connection.lost() => PublishOutcome::Unanswered("the connection was lost".to_owned()),
    };
    match &answer {
        PublishOutcome::Stored(sequence) => bus.ledger.note(&fence.stream, *sequence, &subject, tombstone),
        answer if answer.is_in_process() => bus.note_replicated(&fence.stream),
        _ => {}
    }
    Sent { answer: Some(answer), rows }
}

/// A row as a message, and the name of its body when that is large and stored apart.
async fn message(
    bus: &Bus,
    fence: &Fence,
    Outgoing { head, row, .. }: &Outgoing,
) -> Result<(Message, Option<Digest>), BusError> {
    let (mut headers, mut content, tombstone) = (codec::headers(head), None, row.body == Body::Tombstone);
    if let Body::Value(bytes) = &row.body
        && let Some(reason) = Limit::from(row.subject.table()).refuse(bytes.len())
    {
        return Err(BusError::TooLarge(reason));
    }
    let sealed = match &row.body {
        Body::Value(bytes) if row.secret => bus.sealing.seal(&fence.subject, (&row.subject, head), bytes)?,
        _ => None,
    };
    if let Some(SealedRow { payload, apart, ids }) = sealed {
        headers.insert(codec::SEALED_FOR, ids);
        if let Some((name, bytes)) = apart {
            bus.contents.put(&BodyLocation::of(&row.subject, name), &bytes).await?;
            headers.insert(codec::CONTENT, name.to_string());
            content = Some(name);
        }
        return Ok((
            Message { subject: row.subject.to_string(), headers, body: payload, tombstone },
            content,
        ));
    }
    let body = match &row.body {
        Body::Value(bytes) if bytes.len() > LARGE => {
            let digest = Digest::of(&[bytes]);
            bus.contents.put(&BodyLocation::of(&row.subject, digest), bytes).await?;
            headers.insert(codec::CONTENT, digest.to_string());
            content = Some(digest);
            Bytes::new()
        }
        Body::Value(bytes) => codec::encode(bytes),
        Body::Tombstone => {
            headers.insert(TTL, ttl(bus));
            Bytes::new()
        }
    };
    Ok((Message { subject: row.subject.to_string(), headers, body, tombstone }, content))
}

/// How long a tombstone lives.
pub(crate) fn ttl(bus: &Bus) -> String {
    format!("{}s", bus.tombstone_ttl.as_secs().max(1))
}

/// All or nothing, the fence compared once.
async fn batch(bus: &Bus, fence: &Fence, sequence: Sequence, messages: Vec<Message>) -> PublishOutcome {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("{:x}-{:x}", bus.session, NEXT.fetch_add(1, Ordering::Relaxed));
    let (client, count) = (bus.js.client(), messages.len());
    for (number, message) in (1..).zip(messages) {
        let Message { subject, mut headers, body, .. } = message;
        headers.insert(BATCH_ID, id.as_str());
        headers.insert(BATCH_SEQUENCE, number.to_string());
        if number == 1 {
            fence::demand(&mut headers, sequence, &fence.subject);
        }
        if number < count {
            // Only the last one is answered.
            if let Err(error) = client.publish_with_headers(subject, headers, body).await {
                return PublishOutcome::NotStored(error.to_string());
            }
            continue;
        }
        headers.insert(BATCH_COMMIT, "1");
        return match bus.js.publish_with_headers(subject, headers, body).await {
            Ok(ack) => PublishOutcome::from(ack.await),
            Err(error) => PublishOutcome::of(&error),
        };
    }
    PublishOutcome::NotStored("an empty batch".to_owned())
}

// D-0303: where no batch can be opened, rows go one after another.
/// Each once the one before is stored, the fence compared for each: of a replicated stream the server admits one at a time.
async fn one_by_one(bus: &Bus, fence: &Fence, group: &Group) -> PublishOutcome {
    let mut answer = PublishOutcome::NotStored("no row".to_owned());
    let messages = match messages(bus, fence, group).await {
        Ok((_, messages)) => messages,
        Err(why) => return PublishOutcome::NotStored(why),
    };
    tracing::debug!(
        stream = fence.stream,
        rows = messages.len(),
        "no batch can be opened: one row after another"
    );
    for message in messages {
        answer = pipeline(bus, fence, group.fence, vec![message]).await;
        if !matches!(answer, PublishOutcome::Stored(_)) {
            break;
        }
    }
    answer
}

// D-0302: a stream with one copy gets its rows pipelined.
/// Each by itself, in order, the fence compared for each.
async fn pipeline(bus: &Bus, fence: &Fence, sequence: Sequence, messages: Vec<Message>) -> PublishOutcome {
    let mut acks = Vec::with_capacity(messages.len());
    let mut answer = PublishOutcome::Stored(Sequence::NONE);
    for Message { subject, mut headers, body, .. } in messages {
        fence::demand(&mut headers, sequence, &fence.subject);
        match bus.js.publish_with_headers(subject, headers, body).await {
            Ok(ack) => acks.push(ack),
            Err(error) => {
                answer = PublishOutcome::of(&error);
                break;
            }
        }
    }
    for ack in acks {
        answer = worse(answer, PublishOutcome::from(ack.await));
    }
    answer
}

/// Of two messages of a group: what is unknown counts most, then what ends the owner, then what is tried again.
fn worse(one: PublishOutcome, other: PublishOutcome) -> PublishOutcome {
    let rank = |answer: &PublishOutcome| match answer {
        PublishOutcome::Unanswered(_) => 3,
        PublishOutcome::Replaced(_) => 2,
        PublishOutcome::NotStored(_) => 1,
        PublishOutcome::Stored(_) => 0,
    };
    if rank(&one) > rank(&other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_group_the_answer_counts_that_has_the_gravest_consequence() {
        let stored = || PublishOutcome::Stored(Sequence::new(7));
        let held = || PublishOutcome::NotStored("no leader".to_owned());
        let replaced = || PublishOutcome::Replaced(Sequence::new(9));
        let unanswered = || PublishOutcome::Unanswered("late".to_owned());
        let order: [fn() -> PublishOutcome; 4] = [stored, held, replaced, unanswered];
        for (place, better) in order.iter().enumerate() {
            for grave in &order[place..] {
                assert_eq!(worse(better(), grave()), grave());
                assert_eq!(worse(grave(), better()), grave());
            }
        }
        assert_eq!(
            worse(PublishOutcome::Stored(Sequence::new(7)), PublishOutcome::Stored(Sequence::new(8))),
            PublishOutcome::Stored(Sequence::new(8)),
            "the last sequence is the group's"
        );
    }
}
