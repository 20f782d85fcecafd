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
/// A member is live while its row was refreshed within `ttl`, by this replica's own clock. Times are
/// microseconds of one monotonic clock.
#[derive(Debug)]
pub struct Members {
    own: String,
    ttl: i64,
    seen: BTreeMap<String, i64>,
    lease: Option<i64>,
}

impl Members {
    /// A replica called `own` that has not joined yet.
    pub fn new(own: impl Into<String>, ttl: i64) -> Self {
        Self { own: own.into(), ttl, seen: BTreeMap::new(), lease: None }
    }

    /// The row of `member` was refreshed, or first seen, at `now`.
    pub fn refreshed(&mut self, member: &str, now: i64) {
        self.seen.insert(member.to_owned(), now);
    }

    /// The row of `member` was deleted: it left.
    pub fn left(&mut self, member: &str) {
        self.seen.remove(member);
    }

    /// The server confirmed this replica's own row, which was sent at `sent`.
    pub fn confirmed(&mut self, sent: i64) {
        self.lease = Some(self.lease.map_or(sent, |lease| lease.max(sent)));
    }

    /// Whether others must still take this replica for live. When not, it must not write anything.
    pub fn holds_lease(&self, now: i64) -> bool {
        self.lease.is_some_and(|sent| now - sent < self.ttl)
    }

    /// Whether this replica owns `key` now.
    pub fn owns(&self, key: &str, now: i64) -> bool {
        let live =
            self.seen.iter().filter(|(_, seen)| now - **seen < self.ttl).map(|(member, _)| member.as_str());
        let others = live.filter(|member| *member != self.own);
        self.holds_lease(now) && owner(key, others.chain([self.own.as_str()])) == Some(self.own.as_str())
    }

    /// How many members are live, this one included.
    pub fn live(&self, now: i64) -> usize {
        let others =
            self.seen.iter().filter(|(member, seen)| **member != self.own && now - **seen < self.ttl);
        others.count() + 1
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

    #[test]
    fn who_lost_its_lease_owns_nothing() {
        let mut members = Members::new("a", 3);
        assert!(!members.owns("0", 0));
        members.confirmed(10);
        assert!(members.owns("0", 12) && !members.owns("0", 13));
    }

    #[test]
    fn silent_members_are_forgotten() {
        let mut members = Members::new("a", 3);
        members.refreshed("b", 10);
        members.confirmed(12);
        let theirs =
            (0..64).map(|shard| shard.to_string()).find(|key| owner(key, ["a", "b"]) == Some("b")).unwrap();
        assert!(!members.owns(&theirs, 12) && members.owns(&theirs, 13));
        assert_eq!((members.live(12), members.live(13)), (2, 1));
    }

    proptest! {
        #[test]
        fn exactly_one_member_owns_a_key(names in proptest::collection::btree_set("[a-z]{1,6}", 1..6), key in "[0-9]{1,3}") {
            let owners = names.iter().filter(|own| {
                let mut members = Members::new((*own).clone(), 10);
                names.iter().for_each(|name| members.refreshed(name, 0));
                members.confirmed(0);
                members.owns(&key, 1)
            });
            prop_assert_eq!(owners.count(), 1);
        }
    }
}
