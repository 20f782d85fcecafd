//! Claims and groups of one shard on their way, and what they come back with.

use std::time::{Duration, Instant};

use sluice_api::Digest;
use sluice_protocol::{Body, Claim, Event, Group, Stop, Subject};

use crate::bus::Bus;
use crate::membership::Lease;
use crate::shard::fence::{Claimed, Fence, Holder};
use crate::shard::publish_outcome::PublishOutcome;
use crate::shard::writer;

/// Who ships, and where to. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shipping {
    pub(crate) bus: Bus,
    pub(crate) lease: Lease,
    /// Of this owner, different for each.
    pub(crate) life: u64,
}

/// What a group came back with.
pub(crate) struct Delivery<S> {
    pub(crate) event: Event<S>,
    /// Rows of the group; none unless all that can be are stored.
    pub(crate) rows: Vec<Delivered>,
    /// How long it was on its way.
    pub(crate) took: Duration,
}

/// A row that was sent.
pub(crate) struct Delivered {
    pub(crate) subject: Subject,
    /// When its cause happened, microseconds since 1970.
    pub(crate) time: i64,
    /// Bytes of its body, as the core made it.
    pub(crate) bytes: usize,
    /// The name of its body when that is stored apart, or why no message can hold it.
    pub(crate) outcome: Result<Option<Digest>, String>,
}

impl Shipping {
    /// Replaces the fence row.
    pub(crate) async fn claim<S>(self, fence: Fence, claim: Claim) -> Event<S> {
        pause(claim.delay).await;
        let output = claim.output;
        if !self.lease.is_held() {
            return Event::Ended(Stop::Lease);
        }
        let holder = Holder { member: self.lease.member().to_owned(), life: self.life, number: claim.number };
        match fence.claim(&self.bus, &holder, &claim).await {
            Claimed::At(sequence) => Event::Claimed { output, sequence },
            Claimed::Unanswered => Event::Unanswered(output),
            Claimed::Refused(reason, by) => self.refused(&fence, reason, by),
        }
    }

    /// Stores a group.
    pub(crate) async fn send<S>(self, fence: Fence, group: Group) -> Delivery<S> {
        pause(group.delay).await;
        let sent_at = Instant::now();
        let prepared = writer::prepare(&self.bus, &fence, &group).await;
        let _turn = prepared.turn(&self.bus, &fence).await;
        // A replica whose lease lapsed must not write, whatever the fence says: its successor is at work.
        if !self.lease.is_held() {
            let event = Event::Ended(Stop::Lease);
            return Delivery { event, rows: Vec::new(), took: sent_at.elapsed() };
        }
        let output = group.output;
        let sent = prepared.send(&self.bus, &fence, &group).await;
        let event = match sent.answer {
            None => Event::Stored { output, sequence: None },
            Some(PublishOutcome::Stored(sequence)) => Event::Stored { output, sequence: Some(sequence) },
            Some(PublishOutcome::NotStored(why)) => {
                tracing::debug!(why, stream = fence.stream, "a group waits");
                Event::NotStored(output)
            }
            Some(PublishOutcome::Unanswered(why)) => {
                tracing::debug!(why, stream = fence.stream, "a group was not answered");
                Event::Unanswered(output)
            }
            Some(PublishOutcome::Replaced(_)) => self.replaced(&fence, output).await,
        };
        let stored = matches!(event, Event::Stored { .. });
        let delivered = group.rows.iter().zip(sent.rows).map(|(sent, outcome)| Delivered {
            subject: sent.row.subject.clone(),
            time: sent.head.time,
            bytes: if let Body::Value(bytes) = &sent.row.body { bytes.len() } else { 0 },
            outcome,
        });
        let rows = if stored { delivered.collect() } else { Vec::new() };
        Delivery { event, rows, took: sent_at.elapsed() }
    }

    /// The fence row is not the expected one any more.
    async fn replaced<S>(&self, fence: &Fence, output: usize) -> Event<S> {
        match fence.last(&self.bus).await {
            // A claim of this owner that was not answered; it is found when it is claimed again.
            Ok(Some((_, Some(holder)))) if holder.life == self.life => Event::Unanswered(output),
            Ok(Some((_, holder))) => self.refused(fence, Stop::Deposed, holder.map(|holder| holder.member)),
            Ok(None) => self.refused(fence, Stop::Lost, None),
            Err(_) => Event::Unanswered(output),
        }
    }

    fn refused<S>(&self, fence: &Fence, reason: Stop, by: Option<String>) -> Event<S> {
        tracing::info!(stream = fence.stream, reason = reason.name(), by, "the fence was replaced");
        if let Some(member) = &by {
            self.lease.proved(member);
        }
        Event::Ended(reason)
    }
}

/// Around `micros`, so that not all come at once.
async fn pause(micros: i64) {
    if let Ok(micros @ 1..) = u64::try_from(micros) {
        let around = micros / 2 + crate::bus::random() % micros;
        tokio::time::sleep(Duration::from_micros(around)).await;
    }
}
