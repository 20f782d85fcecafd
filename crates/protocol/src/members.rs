//! Who owns what: rendezvous hashing of shards over the live members of a stage.

// D-1405: no leader election and no coordinator.

use std::collections::{BTreeMap, VecDeque};

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

// D-0201: shards are owned by hash, without a leader.
/// The member that owns `key`; `None` without members. Every replica computes the same.
pub fn owner<'a>(key: &str, members: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    members.into_iter().max_by_key(|member| (fnv(&[key, member]), *member))
}

/// The members of one stage as this replica sees them, and its own lease.
///
/// Every member says once in a while that it lives, and hears itself and the others. A member is live until nothing was
/// heard of it for `ttl`, by this replica's own clock, while this replica heard anything at all: who hears nothing takes
/// nobody for dead. Times are microseconds of one monotonic clock.
///
/// While versions are mixed, only members of the newest row format own anything: another one cannot read all of its input,
/// and what it would conclude from the rest is older than what is known already.
#[derive(Debug)]
pub struct Members {
    own: String,
    ttl: i64,
    /// The newest row format that this replica reads and writes.
    format: u16,
    /// The same of others, as they said it last.
    formats: BTreeMap<String, u16>,
    seen: BTreeMap<String, i64>,
    /// Members that have written something although nothing is heard of them, and until when they count as live.
    proven: BTreeMap<String, i64>,
    /// When something was heard last.
    heard: Option<i64>,
    lease: Option<i64>,
    /// How often the lease had lapsed when it was held again.
    lease_epoch: u64,
    /// How many shards this replica has claimed, and the newest of them.
    claims: u64,
    claimed: VecDeque<String>,
    /// Of every member: its session, and how many of its claims are known.
    known: BTreeMap<String, (u64, u64)>,
    /// How often others have claimed a shard.
    taken: BTreeMap<String, u64>,
}

/// Shards that a member has claimed. It says so to the others: one of them may own the shard, and may have nothing to
/// write by which it would notice that its fence was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// How many there were since the member began.
    pub total: u64,
    /// The newest of them, in order.
    pub newest: Vec<String>,
}

/// So many of its own claims a member can say again.
const KEPT: usize = 10_000;

/// So many times the time to live counts the proof that a member lives of which nothing is heard: long, since the two
/// would depose each other as often.
const PROOF: i64 = 20;

impl Members {
    /// A replica called `own` that has not joined yet, and reads and writes rows up to this format.
    pub fn new(own: impl Into<String>, ttl: i64, format: u16) -> Self {
        Self {
            own: own.into(),
            ttl,
            format,
            formats: BTreeMap::new(),
            seen: BTreeMap::new(),
            proven: BTreeMap::new(),
            heard: None,
            lease: None,
            lease_epoch: 0,
            claims: 0,
            claimed: VecDeque::new(),
            known: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    // D-0203: a replica that hears nothing takes nobody for dead.
    /// `member` says at `now` that it lives.
    pub fn heard(&mut self, member: &str, now: i64) {
        self.hear(now);
        self.proven.remove(member);
        self.seen.insert(member.to_owned(), now);
    }

    /// This replica hears at `now` itself, what it said at `sent`.
    pub fn confirmed(&mut self, sent: i64, now: i64) {
        self.hear(now);
        self.note_lapse(now);
        self.lease = Some(self.lease.map_or(sent, |lease| lease.max(sent)));
    }

    /// The newest row format that `member` reads and writes.
    pub fn heard_format(&mut self, member: &str, format: u16) {
        if self.formats.get(member) != Some(&format) {
            self.formats.insert(member.to_owned(), format);
        }
    }

    /// `member` has left.
    pub fn left(&mut self, member: &str) {
        self.seen.remove(member);
        self.proven.remove(member);
    }

    /// The server refuses this replica because of what `member` wrote: it lives, whether it is heard or not.
    pub fn proved(&mut self, member: &str, now: i64) {
        if member != self.own && !self.is_heard(member) {
            self.proven.insert(member.to_owned(), now + PROOF * self.ttl);
        }
    }

    fn hear(&mut self, now: i64) {
        let silence = self.heard.map_or(0, |heard| now - heard);
        if silence >= self.ttl / 2 {
            // It may have missed as much of everybody.
            self.seen.values_mut().for_each(|seen| *seen += silence);
        }
        self.note_lapse(now);
        self.heard = Some(now);
        self.proven.retain(|_, until| now < *until);
    }

    /// Before the lease is held again.
    fn note_lapse(&mut self, now: i64) {
        let held_once = self.lease.is_some() && self.heard.is_some();
        self.lease_epoch += u64::from(held_once && !self.holds_lease(now));
    }

    // D-0204: a replica without a lease writes nothing.
    /// Whether others must still take this replica for live, and it would know of a newcomer that has taken some of its
    /// keys. When not, it must not write anything.
    pub fn holds_lease(&self, now: i64) -> bool {
        let recent = |at: i64| now - at < self.ttl;
        self.lease.is_some_and(recent) && self.heard.is_some_and(recent)
    }

    /// Grows whenever the lease is held again after it had lapsed, and when another member has claimed the shard `key`:
    /// in between others may have done this replica's work, and what it knew is worth nothing.
    pub fn lease_epoch(&self, key: &str) -> u64 {
        self.lease_epoch + self.taken.get(key).copied().unwrap_or(0)
    }

    /// Grows whenever the whole lease becomes another one.
    pub fn lapses(&self) -> u64 {
        self.lease_epoch
    }

    /// How long ago at `now` it was that this replica said what it heard last of itself.
    pub fn silence(&self, now: i64) -> i64 {
        self.lease.map_or(0, |lease| now - lease)
    }

    /// This replica has claimed the shard `key`.
    pub fn claimed(&mut self, key: &str) {
        self.claims += 1;
        self.claimed.push_back(key.to_owned());
        if self.claimed.len() > KEPT {
            self.claimed.pop_front();
        }
    }

    /// What this replica has claimed after its first `said` claims.
    pub fn claims_since(&self, said: u64) -> Claims {
        let new = usize::try_from(self.claims.saturating_sub(said)).unwrap_or(usize::MAX);
        let skipped = self.claimed.len().saturating_sub(new);
        Claims { total: self.claims, newest: self.claimed.iter().skip(skipped).cloned().collect() }
    }

    /// `member`, which began as `session`, says what it has claimed. It may say so again.
    pub fn heard_claims(&mut self, member: &str, session: u64, claims: &Claims) {
        let known =
            self.known.get(member).filter(|(former, _)| *former == session).map_or(0, |(_, known)| *known);
        let new = usize::try_from(claims.total.saturating_sub(known)).unwrap_or(usize::MAX);
        // Nobody knows what the claims were that were not heard.
        self.lease_epoch += u64::from(new > claims.newest.len());
        for key in claims.newest.iter().rev().take(new) {
            *self.taken.entry(key.clone()).or_default() += 1;
        }
        self.known.insert(member.to_owned(), (session, known.max(claims.total)));
    }

    // D-0205: while versions are mixed, only the newest row format owns shards.
    /// Whether this replica owns `key` now.
    pub fn owns(&self, key: &str, now: i64) -> bool {
        let format = |member: &str| match self.formats.get(member) {
            Some(format) if member != self.own => *format,
            _ => self.format,
        };
        let members = || self.others().chain([self.own.as_str()]);
        let newest = members().map(format).max();
        let able = members().filter(|member| Some(format(member)) == newest);
        self.holds_lease(now) && owner(key, able) == Some(self.own.as_str())
    }

    /// The other members that are live.
    pub fn live_others(&self) -> impl Iterator<Item = &str> {
        self.others()
    }

    /// How many members are live, this one included.
    pub fn live(&self) -> usize {
        self.others().count() + 1
    }

    fn others(&self) -> impl Iterator<Item = &str> {
        let heard = self.seen.keys().filter(|member| self.is_heard(member));
        let proven = self.proven.keys().filter(|member| !self.is_heard(member));
        heard.chain(proven).map(String::as_str).filter(|member| *member != self.own)
    }

    /// Whether `member` was heard of lately, as long as anything is heard.
    fn is_heard(&self, member: &str) -> bool {
        let recent = |seen: i64| self.heard.is_none_or(|heard| heard - seen < self.ttl);
        self.seen.get(member).is_some_and(|seen| recent(*seen))
    }
}

#[cfg(test)]
mod tests;
