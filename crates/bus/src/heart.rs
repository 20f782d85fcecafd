//! What keeps a replica's membership alive: a thread and a connection of its own.
//!
//! A lease is a few seconds, and work may keep the process's threads and its connection busy for longer. A replica that
//! lost its leases because there is much to do would begin everything again, which is more to do. So its row is refreshed
//! and those of others are heard beside the work, as long as the working connection is answered at all.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::mono_micros;
use crate::error::BusError;
use crate::layout::{Bus, MEMBERS};
use crate::membership::{MEMBER_TTL, Membership};
use crate::reader::{Load, ReadEvent, read};

/// How often a row is refreshed.
const REFRESH: Duration = Duration::from_secs(1);
/// Pause before the rows of others are read again.
const AGAIN: Duration = Duration::from_millis(200);

/// Whose heart it is.
pub(crate) struct Heart {
    pub(crate) membership: Membership,
    /// Subject of all rows of the stage, up to the name of the member.
    pub(crate) prefix: String,
    pub(crate) name: String,
    pub(crate) stop: CancellationToken,
}

impl Heart {
    /// Beats until it is stopped; then the row is deleted.
    pub(crate) fn start(self, bus: Bus) -> Result<(), BusError> {
        let named = || format!("join as {}{}", self.prefix, self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(BusError::request(named()))?;
        let thread = std::thread::Builder::new().name("membership".to_owned());
        let failed = BusError::request(named());
        thread.spawn(move || runtime.block_on(self.beat(bus))).map(drop).map_err(failed)
    }

    async fn beat(self, bus: Bus) {
        let bus = tokio::select! {
            bus = bus.beside() => bus,
            () = self.stop.cancelled() => return self.membership.has_left(),
        };
        match bus {
            Ok(bus) => tokio::select! {
                () = self.refresh(&bus) => {}
                () = self.follow(&bus) => {}
            },
            Err(error) => tracing::error!(%error, "this replica cannot be a member"),
        }
        self.membership.has_left();
    }

    async fn refresh(&self, bus: &Bus) {
        loop {
            let sent = mono_micros();
            if bus.pulse.is_felt() {
                match self.write(bus, "Nats-TTL", &format!("{}s", MEMBER_TTL.as_secs())).await {
                    Ok(()) => self.membership.with(|members| members.confirmed(sent, mono_micros())),
                    Err(error) => tracing::warn!(%error, "the membership row cannot be refreshed"),
                }
            }
            tokio::select! {
                () = tokio::time::sleep(REFRESH) => {}
                () = self.stop.cancelled() => break,
            }
        }
        if let Err(error) = self.write(bus, "KV-Operation", "DEL").await {
            tracing::debug!(%error, "the membership row stays until it expires");
        }
    }

    async fn write(&self, bus: &Bus, header: &str, value: &str) -> Result<(), BusError> {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(header, value);
        let subject = format!("{}{}", self.prefix, self.name);
        let sent = bus.js.publish_with_headers(subject, headers, bytes::Bytes::new()).await;
        let ack = tokio::time::timeout(REFRESH, sent.map_err(BusError::request("join"))?.into_future()).await;
        ack.map_err(BusError::request("join"))?.map_err(BusError::request("join")).map(drop)
    }

    async fn follow(&self, bus: &Bus) {
        let filters = vec![format!("{}>", self.prefix)];
        let load = Load { stream: format!("KV_{MEMBERS}"), filters, heads_only: false };
        loop {
            if let Ok(mut reader) = read(bus, &load).await {
                while let Some(event) = reader.next().await {
                    self.heard(event);
                }
            }
            self.membership.with(|members| members.deaf());
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn heard(&self, event: ReadEvent) {
        let now = mono_micros();
        let (subject, head) = match event {
            ReadEvent::Entry(subject, head, ..) => (subject, head),
            ReadEvent::CaughtUp(_) => return self.membership.with(|members| members.caught_up(now)),
            _ => return,
        };
        match subject.strip_prefix(&self.prefix) {
            Some(member) if head.tombstone => self.membership.with(|members| members.left(member)),
            Some(member) => self.membership.with(|members| members.refreshed(member, now)),
            None => {}
        }
    }
}
