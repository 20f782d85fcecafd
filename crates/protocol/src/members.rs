//! Who owns what: rendezvous hashing of shards over the live members of a stage.

use std::collections::BTreeMap;

/// FNV-1a (64 bit) of the parts with a separator, finished so that close inputs are far apart.
pub fn fnv(parts: &[&str]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// The member that owns `key`; `None` without members. Every replica computes the same.
pub fn owner<'a>(key: &str, members: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    members.into_iter().max_by_key(|member| (fnv(&[key, member]), *member))
}

/// The members of one stage as this replica sees them, and its own lease.
///
/// A member is live until its row was not refreshed for `ttl`, by this replica's own clock, while this replica was
/// listening: silence says nothing about others to who hears nothing at all, its own echo neither. Times are
/// microseconds of one monotonic clock.
#[derive(Debug)]
pub struct Members {
    own: String,
    ttl: i64,
    seen: BTreeMap<String, i64>,
    /// Whether every row that was there has been heard, and none was missed since.
    listening: bool,
    /// When a row was heard last while listening.
    heard: Option<i64>,
    lease: Option<i64>,
    /// How often the lease had lapsed when it was renewed.
    lapses: u64,
}

impl Members {
    /// A replica called `own` that has not joined yet.
    pub fn new(own: impl Into<String>, ttl: i64) -> Self {
        Self {
            own: own.into(),
            ttl,
            seen: BTreeMap::new(),
            listening: false,
            heard: None,
            lease: None,
            lapses: 0,
        }
    }

    /// The row of `member` was refreshed, or first seen, at `now`.
    pub fn refreshed(&mut self, member: &str, now: i64) {
        self.seen.insert(member.to_owned(), now);
        self.hear(now);
    }

    /// The row of `member` was deleted: it left.
    pub fn left(&mut self, member: &str) {
        self.seen.remove(member);
    }

    /// Every row that is there has been told.
    pub fn caught_up(&mut self, now: i64) {
        self.listening = true;
        self.hear(now);
    }

    /// Rows may be missed from now on, until everything has been told again.
    pub fn deaf(&mut self) {
        self.listening = false;
    }

    fn hear(&mut self, now: i64) {
        if self.listening {
            self.note_lapse(now);
            self.heard = Some(now);
        }
    }

    /// Before the lease is held again.
    fn note_lapse(&mut self, now: i64) {
        let held_once = self.lease.is_some() && self.heard.is_some();
        self.lapses += u64::from(held_once && !self.holds_lease(now));
    }

    /// The server confirmed at `now` this replica's own row, which was sent at `sent`.
    pub fn confirmed(&mut self, sent: i64, now: i64) {
        self.note_lapse(now);
        self.lease = Some(self.lease.map_or(sent, |lease| lease.max(sent)));
    }

    /// Whether others must still take this replica for live, and it would know of a newcomer that has taken some of its
    /// keys. When not, it must not write anything.
    pub fn holds_lease(&self, now: i64) -> bool {
        let recent = |at: i64| now - at < self.ttl;
        self.lease.is_some_and(recent) && self.heard.is_some_and(recent)
    }

    /// Grows whenever the lease is held again after it had lapsed: in between others may have done this replica's
    /// work, and what it knew is worth nothing.
    pub fn lapses(&self) -> u64 {
        self.lapses
    }

    /// Whether this replica owns `key` now.
    pub fn owns(&self, key: &str, now: i64) -> bool {
        let members = self.others().chain([self.own.as_str()]);
        self.holds_lease(now) && owner(key, members) == Some(self.own.as_str())
    }

    /// How many members are live, this one included.
    pub fn live(&self) -> usize {
        self.others().count() + 1
    }

    fn others(&self) -> impl Iterator<Item = &str> {
        let live = |seen: &i64| self.heard.is_none_or(|heard| heard - seen < self.ttl);
        let live = self.seen.iter().filter(move |(_, seen)| live(seen)).map(|(member, _)| member.as_str());
        live.filter(|member| *member != self.own)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shards_spread_and_move_only_to_the_newcomer() {
        let before: Vec<_> = (0..64).map(|shard| owner(&shard.to_string(), ["a", "b"]).unwrap()).collect();
        let after: Vec<_> =
            (0..64).map(|shard| owner(&shard.to_string(), ["a", "b", "c"]).unwrap()).collect();
        assert!(before.iter().filter(|owner| **owner == "a").count() > 16);
        assert!(before.iter().zip(&after).all(|(old, new)| old == new || *new == "c"));
        assert!(after.contains(&"c"));
    }

    /// A replica that has heard everything.
    fn listening(own: &str, ttl: i64) -> Members {
        let mut members = Members::new(own, ttl);
        members.caught_up(0);
        members
    }

    #[test]
    fn who_lost_its_lease_owns_nothing() {
        let mut members = listening("a", 3);
        assert!(!members.owns("0", 0));
        members.confirmed(10, 11);
        members.refreshed("a", 11);
        assert!(members.owns("0", 12) && !members.owns("0", 13));
        members.confirmed(13, 13);
        assert!(members.owns("0", 13) && !members.owns("0", 14), "it hears nothing any more");
    }

    #[test]
    fn a_lease_that_lapsed_is_another_one() {
        let mut members = Members::new("a", 3);
        members.caught_up(9);
        let mut refresh = |sent, now| {
            members.confirmed(sent, now);
            members.refreshed("a", now);
            members.lapses()
        };
        assert_eq!((refresh(10, 10), refresh(12, 12)), (0, 0));
        assert!(refresh(14, 15) > 0, "from 15 on others could take its work over");
        assert!(members.holds_lease(16));
    }

    /// A shard that `b` owns when `a` and `b` are live.
    fn of_b() -> String {
        (0..64).map(|shard| shard.to_string()).find(|key| owner(key, ["a", "b"]) == Some("b")).unwrap()
    }

    #[test]
    fn silent_members_are_forgotten() {
        let mut members = listening("a", 3);
        members.refreshed("b", 10);
        members.refreshed("a", 12);
        members.confirmed(12, 12);
        assert!(!members.owns(&of_b(), 12));
        members.refreshed("a", 13);
        assert!(members.owns(&of_b(), 13));
        assert_eq!(members.live(), 1);
    }

    #[test]
    fn who_hears_nothing_takes_nobody_for_dead() {
        let mut members = Members::new("a", 3);
        members.confirmed(10, 10);
        assert!(!members.owns("0", 10), "it does not know the others yet");
        members.refreshed("b", 10);
        members.caught_up(11);
        members.deaf();
        members.confirmed(20, 20);
        assert!(!members.owns(&of_b(), 20), "b may have been refreshed in silence");
        // What is told again comes in the order of the last refreshes: its own echo may be the first.
        members.refreshed("a", 20);
        assert!(!members.owns(&of_b(), 20));
        members.refreshed("b", 20);
        members.caught_up(20);
        assert!(!members.owns(&of_b(), 20));
        members.deaf();
        members.refreshed("a", 24);
        members.caught_up(24);
        members.confirmed(24, 24);
        assert!(members.owns(&of_b(), 24), "everything was told, and b was not in it");
    }

    proptest! {
        #[test]
        fn exactly_one_member_owns_a_key(names in proptest::collection::btree_set("[a-z]{1,6}", 1..6), key in "[0-9]{1,3}") {
            let owners = names.iter().filter(|own| {
                let mut members = listening(own, 10);
                names.iter().for_each(|name| members.refreshed(name, 0));
                members.confirmed(0, 0);
                members.owns(&key, 1)
            });
            prop_assert_eq!(owners.count(), 1);
        }
    }
}
