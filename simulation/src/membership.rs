//! What replicas say and hear of each other, and the shell of one replica's [`Members`] around it.

use rand::Rng as _;
use sluice_protocol::members::{Claims, Members};

use crate::coverage::Fault;
use crate::role::Seat;
use crate::world::{STEP, World};

/// A replica of which nothing was heard for so long is gone.
pub(crate) const MEMBER_TTL: i64 = 60 * STEP;
/// How often a replica says that it lives.
const BEAT: i64 = MEMBER_TTL / 4;
/// The replicas of a role are called by their index.
const NAMES: [&str; 2] = ["0", "1"];

/// Everything that was ever said, by role. Who does not listen misses it.
pub(crate) struct Air(Vec<Vec<Word>>);

#[derive(Clone)]
struct Word {
    index: usize,
    /// Of the replica.
    life: u64,
    sent: i64,
    /// Of the rows that it writes.
    format: u16,
    left: bool,
    /// What it had not said yet.
    claims: Claims,
}

impl Air {
    /// Where the replicas of so many roles meet.
    pub(crate) fn new(roles: usize) -> Self {
        Self((0..roles).map(|_| Vec::new()).collect())
    }
}

/// One replica of a role.
pub(crate) struct Membership {
    seat: Seat,
    /// The role: what the replicas share.
    key: String,
    /// Of the rows that it writes.
    format: u16,
    members: Members,
    /// How much of what was said it has heard or missed; `None` while it does not listen.
    position: Option<usize>,
    beat_at: i64,
    /// How many of its claims it has said.
    said: u64,
    /// What it said, and when it will be heard.
    flying: Vec<(i64, Word)>,
    deaf_until: i64,
    /// Whether it owned the role when it heard something last.
    chosen: bool,
    life: u64,
}

impl Membership {
    /// A replica that has not joined yet.
    pub(crate) fn new(seat: Seat, key: String, newer: bool) -> Self {
        let format = u16::from(newer);
        Self {
            seat,
            key,
            format,
            members: Members::new(NAMES[seat.index], MEMBER_TTL, format),
            position: None,
            beat_at: 0,
            said: 0,
            flying: Vec::new(),
            deaf_until: 0,
            chosen: false,
            life: 0,
        }
    }

    /// It has lost its memory; what it said is still under way. From now on it is of the newer version, or of the older one.
    pub(crate) fn restart(&mut self, newer: bool) {
        let (flying, key) = (std::mem::take(&mut self.flying), std::mem::take(&mut self.key));
        *self = Self { flying, life: self.life + 1, ..Self::new(self.seat, key, newer) };
    }

    /// It leaves in good order.
    pub(crate) fn leave(&mut self, world: &mut World) {
        let word = self.word(world.now, true);
        world.air.0[self.seat.role].push(word);
        self.restart(self.format > 0);
    }

    fn word(&mut self, sent: i64, left: bool) -> Word {
        let claims = self.members.claims_since(self.said);
        self.said = claims.total;
        Word { index: self.seat.index, life: self.life, sent, format: self.format, left, claims }
    }

    /// The replica has claimed its role, and says so at once.
    pub(crate) fn claimed(&mut self) {
        self.members.claimed(&self.key);
        self.beat_at = 0;
    }

    /// Hears nothing until then, while what it says is heard.
    pub(crate) fn deafen(&mut self, until: i64) {
        self.deaf_until = until;
    }

    /// The other replica has written where this one would.
    pub(crate) fn proved(&mut self, index: usize, now: i64) {
        self.members.proved(NAMES[index], now);
        self.chosen = self.members.owns(&self.key, now);
    }

    /// Whether the replica owns its role, as far as it knows.
    pub(crate) fn owns(&self, now: i64) -> bool {
        self.chosen && self.members.holds_lease(now)
    }

    /// Whether a lease that began at this lease epoch is held.
    pub(crate) fn holds(&self, lease_epoch: u64, now: i64) -> bool {
        self.members.lease_epoch(&self.key) == lease_epoch && self.members.holds_lease(now)
    }

    /// Grows with every new lease of its role.
    pub(crate) fn lease_epoch(&self) -> u64 {
        self.members.lease_epoch(&self.key)
    }

    /// What it said is heard, whatever it does itself.
    pub(crate) fn arrive(&mut self, world: &mut World) {
        while let Some(index) = self.flying.iter().position(|(at, _)| *at <= world.now) {
            let (_, word) = self.flying.swap_remove(index);
            world.air.0[self.seat.role].push(word);
        }
    }

    /// Time passes for a replica that is awake: it says that it lives, and hears the others.
    pub(crate) fn keep(&mut self, world: &mut World, online: bool) {
        if online && self.beat_at <= world.now {
            self.beat_at = world.now + BEAT;
            let delay =
                if world.mishap(Fault::Delay, 0.02) { world.random.random_range(1..30) * STEP } else { 0 };
            let word = self.word(world.now, false);
            // Nobody says that a word was not heard.
            if !world.mishap(Fault::Lost, 0.01) {
                self.flying.push((world.now + delay, word));
            }
            self.arrive(world);
        }
        let said = &world.air.0[self.seat.role];
        if !online || self.deaf_until > world.now {
            self.position = None;
        } else if let Some(heard) = self.position {
            for word in &said[heard..] {
                hear(&mut self.members, self.seat, self.life, word, world.now);
            }
            if heard < said.len() {
                self.chosen = self.members.owns(&self.key, world.now);
            }
            self.position = Some(said.len());
        } else {
            self.position = Some(said.len());
        }
    }
}

fn hear(members: &mut Members, seat: Seat, life: u64, word: &Word, now: i64) {
    if word.index != seat.index {
        members.heard_format(NAMES[word.index], word.format);
        members.heard_claims(NAMES[word.index], word.life, &word.claims);
        match word.left {
            true => members.left(NAMES[word.index]),
            false => members.heard(NAMES[word.index], now),
        }
    } else if word.life == life && !word.left {
        members.confirmed(word.sent, now);
    }
}
