//! The bucket of members, and the shell of one replica's [`Members`] around it.

use rand::Rng as _;
use sluice_protocol::members::Members;

use crate::coverage::Fault;
use crate::role::Seat;
use crate::world::{STEP, World};

/// A replica whose row was not refreshed for so long is gone.
pub(crate) const MEMBER_TTL: i64 = 60 * STEP;
/// How often a row is refreshed.
const REFRESH: i64 = MEMBER_TTL / 3;
/// The replicas of a role are called by their index.
const NAMES: [&str; 2] = ["0", "1"];

/// Every row that was written since the bucket was made, by role.
#[derive(Default)]
pub(crate) struct Bucket {
    roles: Vec<Vec<Row>>,
    life: u64,
}

struct Row {
    index: usize,
    at: i64,
    left: bool,
}

impl Bucket {
    /// Where the replicas of so many roles meet.
    pub(crate) fn new(roles: usize) -> Self {
        Self { roles: (0..roles).map(|_| Vec::new()).collect(), life: 0 }
    }

    fn write(&mut self, seat: Seat, at: i64, left: bool) {
        self.roles[seat.role].push(Row { index: seat.index, at, left });
    }

    /// Deletes the bucket and makes it anew.
    pub(crate) fn wipe(&mut self) {
        self.roles.iter_mut().for_each(Vec::clear);
        self.life += 1;
    }
}

/// A row on its way to the bucket, or its confirmation on the way back.
struct Refresh {
    sent: i64,
    at: i64,
    /// Of the replica: what a former life sent is confirmed to nobody.
    life: u64,
}

/// One replica of a role.
pub(crate) struct Membership {
    seat: Seat,
    /// The role: what the replicas share.
    key: String,
    members: Members,
    /// The life of the bucket that is followed, and how much of it has been heard; `None` while nothing is heard.
    position: Option<(u64, usize)>,
    refresh_at: i64,
    flying: Vec<Refresh>,
    confirmed: Vec<Refresh>,
    deaf_until: i64,
    /// Whether it owned the role when it heard something last.
    chosen: bool,
    life: u64,
}

impl Membership {
    /// A replica that has not joined yet.
    pub(crate) fn new(seat: Seat, key: String) -> Self {
        Self {
            seat,
            key,
            members: Members::new(NAMES[seat.index], MEMBER_TTL),
            position: None,
            refresh_at: 0,
            flying: Vec::new(),
            confirmed: Vec::new(),
            deaf_until: 0,
            chosen: false,
            life: 0,
        }
    }

    /// It has lost its memory; what it sent is still under way.
    pub(crate) fn restart(&mut self) {
        let flying = std::mem::take(&mut self.flying);
        *self = Self { flying, life: self.life + 1, ..Self::new(self.seat, std::mem::take(&mut self.key)) };
    }

    /// It leaves in good order.
    pub(crate) fn leave(&mut self, world: &mut World) {
        world.members.write(self.seat, world.now, true);
        self.restart();
    }

    /// Hears nothing until then, while what it says is heard.
    pub(crate) fn deafen(&mut self, until: i64) {
        self.deaf_until = until;
    }

    /// Whether the replica owns its role, as far as it knows.
    pub(crate) fn owns(&self, now: i64) -> bool {
        self.chosen && self.members.holds_lease(now)
    }

    /// Whether a lease that began at this count of lapses is held.
    pub(crate) fn holds(&self, lapses: u64, now: i64) -> bool {
        self.members.lapses() == lapses && self.members.holds_lease(now)
    }

    /// How often its lease had lapsed when it was renewed.
    pub(crate) fn lapses(&self) -> u64 {
        self.members.lapses()
    }

    /// What it said arrives, whatever it does itself.
    pub(crate) fn arrive(&mut self, world: &mut World) {
        while let Some(index) = self.flying.iter().position(|refresh| refresh.at <= world.now) {
            let refresh = self.flying.swap_remove(index);
            world.members.write(self.seat, world.now, false);
            if refresh.life == self.life && !world.mishap(Fault::Unanswered, 0.002) {
                self.confirmed.push(refresh);
            }
        }
    }

    /// Time passes for a replica that is awake: it refreshes its row and hears of others.
    pub(crate) fn keep(&mut self, world: &mut World, online: bool) {
        if online && self.refresh_at <= world.now {
            self.refresh_at = world.now + REFRESH;
            let delay =
                if world.mishap(Fault::Delay, 0.02) { world.random.random_range(1..30) * STEP } else { 0 };
            self.flying.push(Refresh { sent: world.now, at: world.now + delay, life: self.life });
            self.arrive(world);
        }
        for refresh in self.confirmed.drain(..) {
            self.members.confirmed(refresh.sent, world.now);
            self.chosen = self.members.owns(&self.key, world.now);
        }
        let listening = online && self.deaf_until <= world.now;
        match self.position {
            Some((life, _)) if !listening || life != world.members.life => {
                self.position = None;
                self.members.deaf();
            }
            Some((life, heard)) => self.follow(world, life, heard),
            None if listening => self.listen(world),
            None => {}
        }
    }

    /// Hears every row that is there.
    fn listen(&mut self, world: &World) {
        let rows = &world.members.roles[self.seat.role];
        let newest = |index: usize| rows.iter().enumerate().rev().find(|(_, row)| row.index == index);
        let mut present: Vec<_> = (0..NAMES.len()).filter_map(newest).collect();
        present.retain(|(_, row)| !row.left && row.at + MEMBER_TTL > world.now);
        present.sort_by_key(|(place, _)| *place);
        present.iter().for_each(|(_, row)| self.members.refreshed(NAMES[row.index], world.now));
        self.members.caught_up(world.now);
        self.position = Some((world.members.life, rows.len()));
        self.chosen = self.members.owns(&self.key, world.now);
    }

    fn follow(&mut self, world: &World, life: u64, heard: usize) {
        let Some(row) = world.members.roles[self.seat.role].get(heard) else { return };
        if row.left {
            self.members.left(NAMES[row.index]);
        } else {
            self.members.refreshed(NAMES[row.index], world.now);
        }
        self.position = Some((life, heard + 1));
        self.chosen = self.members.owns(&self.key, world.now);
    }
}
