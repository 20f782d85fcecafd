//! Whether the working connection of the process is there, and answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use sluice_tasks::End;
use tokio::sync::watch;

use crate::clock::mono_micros;

/// Without an answer for this long the process counts as stuck: more than a busy one ever needs, and its leases lapse.
const STUCK: Duration = Duration::from_secs(15);
/// How often the server is asked for an answer.
const PERIOD: Duration = Duration::from_secs(1);
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// A silence that is worth a line in the log: longer than leaving a node that does not answer takes.
const NOTABLE: i64 = 5_000_000;

/// Of one connection. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionHealth {
    answered: Arc<AtomicI64>,
    /// How often the connection was lost.
    losses: Arc<watch::Sender<u64>>,
}

/// Waits for the connection to be lost.
pub(crate) struct ConnectionWatch(watch::Receiver<u64>);

impl ConnectionHealth {
    /// A connection that is there and answered now.
    pub(crate) fn new() -> Self {
        Self { answered: Arc::new(AtomicI64::new(mono_micros())), losses: Arc::new(watch::Sender::new(0)) }
    }

    /// The connection was lost.
    pub(crate) fn lost(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }

    /// Watches for the next loss.
    pub(crate) fn watch(&self) -> ConnectionWatch {
        ConnectionWatch(self.losses.subscribe())
    }

    /// Whether the server answered of late.
    pub(crate) fn is_well(&self) -> bool {
        let ago = mono_micros() - self.answered.load(Ordering::Relaxed);
        u128::try_from(ago).unwrap_or(0) < STUCK.as_micros()
    }

    fn note_answer(&self, now: i64) {
        let silence = now - self.answered.swap(now, Ordering::Relaxed);
        if silence > NOTABLE {
            tracing::warn!(seconds = silence / 1_000_000, "the bus had not answered for a while");
        }
    }

    /// Asks the server again and again whether messages come through, until the client cannot ask any more.
    pub(crate) async fn follow(self, client: async_nats::Client) -> End {
        let inbox = client.new_inbox();
        let Ok(mut echo) = client.subscribe(inbox.clone()).await else { return End::Early };
        loop {
            if client.publish(inbox.clone(), bytes::Bytes::new()).await.is_err() {
                return End::Early;
            }
            if let Ok(answer) = tokio::time::timeout(PATIENCE, echo.next()).await {
                if answer.is_none() {
                    return End::Early;
                }
                self.note_answer(mono_micros());
            }
            tokio::time::sleep(PERIOD).await;
        }
    }
}

impl ConnectionWatch {
    /// Waits until the connection is lost.
    pub(crate) async fn lost(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_well_until_the_server_is_silent_for_too_long() {
        let health = ConnectionHealth::new();
        assert!(health.is_well());
        health.answered.store(i64::MIN / 2, Ordering::Relaxed);
        assert!(!health.is_well());
    }

    #[tokio::test]
    async fn a_loss_is_told_to_who_waits() {
        let health = ConnectionHealth::new();
        health.lost();
        let mut watch = health.watch();
        let early = tokio::time::timeout(Duration::ZERO, watch.lost()).await;
        assert!(early.is_err(), "what was before is over");
        health.lost();
        watch.lost().await;
    }

    #[test]
    fn it_is_well_again_as_soon_as_the_server_answers() {
        let health = ConnectionHealth::new();
        health.answered.store(i64::MIN / 2, Ordering::Relaxed);
        health.clone().note_answer(mono_micros());
        assert!(health.is_well(), "whoever holds a clone sees the same connection");
    }

    #[tokio::test]
    async fn everybody_who_waits_hears_of_the_same_loss() {
        let health = ConnectionHealth::new();
        let (mut one, mut other) = (health.watch(), health.watch());
        health.lost();
        one.lost().await;
        other.lost().await;
    }
}
