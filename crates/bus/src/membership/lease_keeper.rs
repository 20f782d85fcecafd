//! What keeps a replica's lease: it says every second that it lives, and hears itself and the others.
//!
//! That goes over core NATS, which needs no leader: an election of the bus takes longer than a lease lives. It goes over
//! a connection to each server, so that no server's end is anybody's. And it has a thread of its own: work may keep the
//! threads and the connection of the process busy for longer than a lease, and a replica that lost its leases because
//! there is much to do would begin everything again, which is more to do. So it lives as long as the working
//! connection is answered at all.
//!
//! ```text
//! beat <session> <time> <claims> <key>…    I live. Heard by itself, it is the proof that the server passes it on
//! join <session> <time> <claims> <key>…    the same, and everybody answers with a beat
//! leave <session> <time> <claims> <key>…   I do not
//! ```
//!
//! Who asks who lives, for people, is answered with a beat.
//!
//! Before the keys there is `@<format>`, the newest row format that the sender reads and writes, where that is not the first.
//!
//! Each says how many shards this replica has claimed since it began, and the keys of those that it has not said yet:
//! who owns one of them, too, begins it again.

use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures::StreamExt;
use futures::stream::pending;
use sluice_protocol::Role;
use sluice_protocol::members::{Claims, Members};
use sluice_protocol::subject::{ROLL_CALL, members_subject};
use sluice_tasks::{End, Kept, Once};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::clock::mono_micros;
use crate::codec::ROW_FORMAT;
use crate::connection::Connection;
use crate::error::BusError;
use crate::membership::Membership;

// D-0202: heartbeats go over core NATS, over every server, from a thread of their own.
/// How often a replica says that it lives.
const BEAT: Duration = Duration::from_millis(750);
/// The least time between two answers to who asks who lives.
const ANSWER_AGAIN: Duration = Duration::from_millis(100);
/// Pause before a server that refuses this replica is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// What replicas that do not say their format have.
const FIRST_FORMAT: u16 = 1;

/// One group's voice and ear: what its thread needs, until `stop`.
#[derive(Clone)]
pub(crate) struct LeaseKeeper {
    bus: Bus,
    membership: Membership,
    group: String,
    stop: CancellationToken,
}

/// What a replica says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    what: What,
    /// Of the process: two replicas of one name are told apart by it.
    session: u64,
    /// By the sender's own clock.
    sent: i64,
    /// The newest row format that the sender reads and writes.
    format: u16,
    claims: Claims,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Beat,
    Join,
    Leave,
}

impl Membership {
    /// Joins: says that it lives until `stop`, and then that it leaves.
    ///
    /// # Errors
    /// When the name cannot be part of a key, or the system has no thread to spare.
    pub fn join(bus: &Bus, stage: &str, name: &str, stop: CancellationToken) -> Result<Self, BusError> {
        let good =
            !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        if !good {
            return Err(BusError::Unsuitable(format!(
                "--name {name:?}: use letters, digits, '-' and '_' only"
            )));
        }
        let membership = Self::new(name);
        LeaseKeeper::new(bus, membership.clone(), stage, stop).start()?;
        Ok(membership)
    }
}

impl LeaseKeeper {
    /// Of a replica in a group of them.
    pub(crate) fn new(bus: &Bus, membership: Membership, group: &str, stop: CancellationToken) -> Self {
        Self { bus: bus.clone(), membership, group: group.to_owned(), stop }
    }

    /// Begins, and goes on until it is stopped.
    pub(crate) fn start(self) -> Result<(), BusError> {
        let named = || format!("join {} as {}", self.group, self.membership.name());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(BusError::request(named()))?;
        let thread = std::thread::Builder::new().name("membership".to_owned());
        let failed = BusError::request(named());
        let tasks = self.bus.tasks.clone();
        let work = move || runtime.block_on(tasks.run(Once::Membership, self.run()));
        thread.spawn(work).map(drop).map_err(failed)
    }

    async fn run(self) -> End {
        let servers = self.bus.to_each_server();
        let only = servers.len() == 1;
        let link = |server: Connection| {
            let (keeper, tasks) = (self.clone(), &self.bus.tasks);
            tasks.keep(Kept::Link, move || keeper.clone().link(server.clone(), only))
        };
        let links: Vec<_> = servers.into_iter().map(link).collect();
        // A link is done when this replica has been stopped.
        futures::future::join_all(links).await;
        self.membership.has_left();
        if self.stop.is_cancelled() { End::Done } else { End::Early }
    }

    /// Over one server, whenever it is there; over any that can be found, where it is the only one that is known.
    async fn link(self, server: Connection, only: bool) -> End {
        while !self.stop.is_cancelled() {
            let name = format!("{}-lease", self.membership.name());
            let connect =
                async || if only { server.client(&name).await } else { server.staying(&name).await };
            let connected = tokio::select! {
                client = connect() => client,
                () = self.stop.cancelled() => return End::Done,
            };
            match connected {
                Ok(client) => self.talk(&client).await,
                Err(error) => {
                    tracing::error!(%error, "this replica cannot be a member over one of the servers");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        End::Done
    }

    async fn talk(&self, client: &Client) {
        let Ok(mut others) = client.subscribe(members_subject(&self.group, None)).await else { return };
        // Who serves one cluster alone has an account of its own, in which nobody is heard who asks: it says by itself that it lives.
        let only = Role::cluster_of_group(&self.group).or_else(|| Role::cluster_of_deployers(&self.group));
        let asked = match only {
            None => client.subscribe(ROLL_CALL).await.ok(),
            Some(_) => None,
        };
        let mut asked = asked.map_or_else(|| pending().boxed(), StreamExt::boxed);
        let mut answered: Option<Instant> = None;
        let mut claims = self.membership.claims();
        // Who joins has missed what was said before, and asks nobody for it.
        let mut said = self.membership.with(|members| members.claims_since(u64::MAX)).total;
        self.say(client, What::Join, &mut said).await;
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = beat.tick() => if self.bus.health.is_well() {
                    self.say(client, What::Beat, &mut said).await;
                },
                Ok(()) = claims.changed() => self.say(client, What::Beat, &mut said).await,
                heard = others.next() => match heard {
                    Some(message) => self.hear(client, &message, &mut said).await,
                    None => return,
                },
                Some(_) = asked.next() => {
                    let recently = answered.is_some_and(|at| at.elapsed() < ANSWER_AGAIN);
                    if !recently && self.bus.health.is_well() {
                        answered = Some(Instant::now());
                        self.say(client, What::Beat, &mut said).await;
                    }
                },
                () = self.stop.cancelled() => return self.leave(client, others, said).await,
            }
        }
    }

    async fn leave(&self, client: &Client, mut others: Subscriber, mut said: u64) {
        self.say(client, What::Leave, &mut said).await;
        if let Err(error) = others.unsubscribe().await {
            tracing::debug!(%error, "the connection of the membership has ended");
        }
        if let Err(error) = client.flush().await {
            tracing::debug!(%error, "the others must find out that this replica has left");
        }
    }

    /// Says it, with the claims after the first `said` ones.
    async fn say(&self, client: &Client, what: What, said: &mut u64) {
        let claims = self.membership.with(|members| members.claims_since(*said));
        let total = claims.total;
        let word = Word { what, session: self.bus.session, sent: mono_micros(), format: ROW_FORMAT, claims };
        let subject = members_subject(&self.group, Some(self.membership.name()));
        match client.publish(subject, word.to_string().into()).await {
            Ok(()) => *said = total,
            Err(error) => tracing::debug!(%error, "nobody hears that this replica lives"),
        }
    }

    /// Changes what is known of the members, and tells when that makes every lease of this replica another one.
    fn note(&self, change: impl FnOnce(&mut Members)) {
        let (lapsed, silence) = self.membership.with(|members| {
            let (before, silence) = (members.lapses(), members.silence(mono_micros()));
            change(members);
            (members.lapses() != before, silence)
        });
        if lapsed {
            let milliseconds = silence / 1_000;
            tracing::warn!(
                group = self.group,
                milliseconds,
                "shards restart: for so long this replica had not heard itself"
            );
        }
    }

    async fn hear(&self, client: &Client, message: &Message, said: &mut u64) {
        let Some(member) = message.subject.rsplit('.').next() else { return };
        let Some(word) = Word::parse(&String::from_utf8_lossy(&message.payload)) else {
            return tracing::debug!(subject = %message.subject, "what a member says cannot be read");
        };
        let now = mono_micros();
        if member == self.membership.name() {
            if word.session == self.bus.session && word.what != What::Leave {
                self.note(|members| members.confirmed(word.sent, now));
            } else if word.session != self.bus.session {
                tracing::error!(name = member, group = self.group, "another replica has the same --name");
            }
            return;
        }
        self.note(|members| {
            members.heard_format(member, word.format);
            members.heard_claims(member, word.session, &word.claims);
            match word.what {
                What::Leave => members.left(member),
                What::Beat | What::Join => members.heard(member, now),
            }
        });
        if word.what == What::Join && self.bus.health.is_well() {
            self.say(client, What::Beat, said).await;
        }
    }
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.what {
            What::Beat => "beat",
            What::Join => "join",
            What::Leave => "leave",
        };
        write!(f, "{what} {:x} {} {}", self.session, self.sent, self.claims.total)?;
        if self.format > FIRST_FORMAT {
            write!(f, " @{}", self.format)?;
        }
        self.claims.newest.iter().try_for_each(|key| write!(f, " {key}"))
    }
}

impl Word {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let what = match parts.next()? {
            "beat" => What::Beat,
            "join" => What::Join,
            "leave" => What::Leave,
            _ => return None,
        };
        let session = u64::from_str_radix(parts.next()?, 16).ok()?;
        let sent = parts.next()?.parse().ok()?;
        let total = parts.next()?.parse().ok()?;
        let mut keys = parts.peekable();
        let format = match keys.next_if(|part| part.starts_with('@')) {
            Some(format) => format[1..].parse().ok()?,
            None => FIRST_FORMAT,
        };
        let claims = Claims { total, newest: keys.map(str::to_owned).collect() };
        Some(Self { what, session, sent, format, claims })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_anything_else_is_nothing() {
        let keys = ["00", "fleet/edge-1"].map(str::to_owned);
        for (what, format, newest) in [
            (What::Beat, 1, keys.to_vec()),
            (What::Join, 2, Vec::new()),
            (What::Leave, u16::MAX, keys.to_vec()),
        ] {
            let word =
                Word { what, session: u64::MAX, sent: 17, format, claims: Claims { total: 5, newest } };
            assert_eq!(Word::parse(&word.to_string()), Some(word));
        }
        for text in
            ["", "beat", "beat x 1 0", "beat 1 x 0", "beat 1 1", "beat 1 1 x", "beat 1 1 0 @x", "dance 1 1 0"]
        {
            assert_eq!(Word::parse(text), None, "{text}");
        }
    }

    /// Replicas of every version hear it.
    #[test]
    fn a_word_is_said_in_this_form() {
        let claims = || Claims { total: 5, newest: vec!["00".into(), "fleet/edge-1".into()] };
        let word = Word { what: What::Beat, session: 255, sent: 17, format: ROW_FORMAT, claims: claims() };
        assert_eq!(word.to_string(), format!("beat ff 17 5 @{ROW_FORMAT} 00 fleet/edge-1"));
        let first = Word { format: FIRST_FORMAT, ..word };
        assert_eq!(first.to_string(), "beat ff 17 5 00 fleet/edge-1", "who knew no other said none");
    }
}
