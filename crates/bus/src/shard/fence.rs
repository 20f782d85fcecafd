//! Fence rows: who may write to a stream, with the row's sequence as the proof.
//!
//! A fence row names its owner, so that whoever is refused knows who took the shard, and an owner recognises a claim of
//! its own to which no answer came.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::stream::DirectGetErrorKind;
use serde::{Deserialize, Serialize};
use sluice_protocol::json::{self, Wire};
use sluice_protocol::{Claim, Sequence, Stop};

use crate::bus::{Bus, random};
use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::shard::publish_outcome::PublishOutcome;
use crate::shard::writer::{TTL, ttl};

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// Tries to take a fence row this often while others do the same.
const ATTEMPTS: usize = 8;
// D-0310: in a stream that lost rows, a fence row is written a random number of times.
/// In a stream that gives sequences again a fence row is written up to so many times: the former owner's fence may have been
/// lost, and what that owner sent, and gave up, must not come through under a new one of the same sequence.
const TIMES: u64 = 64;
/// Pause after another conditional message was in process, or a replica of the stream lags behind.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the server may take to answer a claim.
const PATIENCE: Duration = Duration::from_secs(2);

// D-0207: a fence row names its owner.
/// Body of a fence row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// Name of the replica.
    pub(crate) member: String,
    /// Of one life of one shard's owner, different for each.
    pub(crate) life: u64,
    /// Which claim of this owner it is.
    pub(crate) number: u32,
}

impl Wire for Holder {}

/// A fence row of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    pub(crate) stream: String,
    pub(crate) subject: String,
    /// Whether it goes by itself as tombstones do: its owner takes everything else of its away.
    pub(crate) expires: bool,
}

/// What became of a claim.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The fence row is the claimer's, with this sequence.
    At(Sequence),
    /// It may be, or may become so.
    Unanswered,
    /// Somebody else's, with the name of the replica where it is known.
    Refused(Stop, Option<String>),
}

// D-0206: the server decides between two owners.
/// Demands that `sequence` is still the last one of the fence row.
pub(crate) fn demand(headers: &mut HeaderMap, sequence: Sequence, subject: &str) {
    headers.insert(EXPECTED, sequence.to_string());
    headers.insert(EXPECTED_SUBJECT, subject);
}

impl Fence {
    /// Takes the fence row for `holder`: from whoever has it, or only where it is the claimer's own former one.
    pub(crate) async fn claim(&self, bus: &Bus, holder: &Holder, claim: &Claim) -> Claimed {
        let mut expected = claim.former;
        let mut again = if bus.has_lost(&self.stream) { random() % TIMES } else { 0 };
        for _ in 0..ATTEMPTS as u64 + again {
            let last = match expected {
                Some(sequence) => sequence,
                None => match self.last(bus).await {
                    Ok(found) => found.map_or(Sequence::NONE, |(sequence, _)| sequence),
                    Err(_) => return Claimed::Unanswered,
                },
            };
            match self.publish(bus, holder, last).await {
                PublishOutcome::Stored(sequence) if again > 0 => {
                    (again, expected) = (again - 1, Some(sequence))
                }
                PublishOutcome::Stored(sequence) => {
                    bus.ledger.note(&self.stream, sequence, &self.subject, self.expires);
                    return Claimed::At(sequence);
                }
                PublishOutcome::NotStored(_) => tokio::time::sleep(PAUSE).await,
                PublishOutcome::Unanswered(_) => return Claimed::Unanswered,
                PublishOutcome::Replaced(now) => match self.after_refusal(bus, holder, claim, now).await {
                    Some(claimed) => return claimed,
                    None => expected = (now > Sequence::NONE).then_some(now),
                },
            }
        }
        Claimed::Unanswered
    }

    /// The row is another one than expected, `now` by the server's word: whether it is a former try of this same claim, or
    /// somebody else's who may not be replaced. `None` when it may.
    async fn after_refusal(
        &self,
        bus: &Bus,
        holder: &Holder,
        claim: &Claim,
        now: Sequence,
    ) -> Option<Claimed> {
        for _ in 0..ATTEMPTS {
            match self.last(bus).await {
                Ok(Some((sequence, found))) if sequence >= now => {
                    if found.as_ref() == Some(holder) {
                        return Some(Claimed::At(sequence));
                    }
                    claim.former?;
                    return Some(Claimed::Refused(Stop::Deposed, found.map(|found| found.member)));
                }
                Ok(None) if now == Sequence::NONE => {
                    claim.former?;
                    return Some(Claimed::Refused(Stop::Lost, None));
                }
                // Who answered lags behind.
                Ok(_) => tokio::time::sleep(PAUSE).await,
                Err(_) => return Some(Claimed::Unanswered),
            }
        }
        Some(Claimed::Unanswered)
    }

    async fn publish(&self, bus: &Bus, holder: &Holder, last: Sequence) -> PublishOutcome {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, last.to_string());
        if self.expires {
            headers.insert(TTL, ttl(bus));
        }
        let body = codec::encode(&json::bytes(holder));
        match bus.js.publish_with_headers(self.subject.clone(), headers, body).await {
            Ok(ack) => match tokio::time::timeout(PATIENCE, ack.into_future()).await {
                Ok(answer) => PublishOutcome::from(answer),
                Err(_) => PublishOutcome::Unanswered("no answer in time".to_owned()),
            },
            Err(error) => PublishOutcome::of(&error),
        }
    }

    /// Sequence of the row and who has it; `None` without a row.
    pub(crate) async fn last(&self, bus: &Bus) -> Result<Option<(Sequence, Option<Holder>)>, BusError> {
        let named = || format!("read fence row {}", self.subject);
        let stream = bus.js.get_stream_no_info(&self.stream).await.map_err(BusError::request(named()))?;
        match stream.direct_get_last_for_subject(&self.subject).await {
            Ok(message) => {
                let body = codec::decode(&message.payload, Limit::LARGEST).ok();
                let holder = body.and_then(|body| serde_json::from_slice(&body).ok());
                Ok(Some((Sequence::new(message.sequence), holder)))
            }
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
            Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_write_names_the_fence_row_and_its_sequence() {
        let mut headers = HeaderMap::new();
        demand(&mut headers, Sequence::new(17), "desired.00.owner.03");
        let of = |name: &str| headers.get(name).unwrap().as_str().to_owned();
        assert_eq!((of(EXPECTED), of(EXPECTED_SUBJECT)), ("17".to_owned(), "desired.00.owner.03".to_owned()));
    }

    #[test]
    fn a_later_demand_takes_the_place_of_the_one_before() {
        let mut headers = HeaderMap::new();
        demand(&mut headers, Sequence::new(17), "desired.00.owner.03");
        demand(&mut headers, Sequence::new(18), "desired.00.owner.03");
        let all: Vec<_> = headers.get_all(EXPECTED).map(|value| value.as_str().to_owned()).collect();
        assert_eq!(all, ["18"], "the server would compare the first");
    }

    /// Replicas of another version read it too.
    #[test]
    fn a_fence_row_names_its_holder_in_this_form() {
        let holder = Holder { member: "matcher-1".into(), life: u64::MAX, number: 3 };
        let text = r#"{"member":"matcher-1","life":18446744073709551615,"number":3}"#;
        assert_eq!(String::from_utf8(json::bytes(&holder).to_vec()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Holder>(text).unwrap(), holder);
    }

    #[test]
    fn a_holder_of_a_newer_version_is_known_by_what_this_one_knows() {
        let text = r#"{"member":"a","life":1,"number":2,"since":5}"#;
        let expected = Holder { member: "a".into(), life: 1, number: 2 };
        assert_eq!(serde_json::from_str::<Holder>(text).unwrap(), expected);
    }
}
