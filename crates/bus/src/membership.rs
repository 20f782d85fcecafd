//! Which replicas of a stage live, and the lease of this one.

pub(crate) mod lease_keeper;
pub(crate) mod own_agents;
pub(crate) mod roll_call;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_protocol::members::Members;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::mono_micros;
use crate::codec::ROW_FORMAT;

/// A member that was not heard for this long is gone.
pub const MEMBER_TTL: Duration = Duration::from_secs(3);
/// How long a replica that leaves waits for the server to know it.
const LEAVING: Duration = Duration::from_secs(1);

/// Membership of one replica in one stage. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Membership {
    name: Arc<str>,
    members: Arc<Mutex<Members>>,
    /// Changes when this replica has claimed a shard, which the others are to hear.
    claims: watch::Sender<()>,
    /// Cancelled when this replica does not say any more that it lives.
    gone: CancellationToken,
}

impl Membership {
    /// Of a replica that nobody has heard yet.
    pub(crate) fn new(name: &str) -> Self {
        let ttl = i64::try_from(MEMBER_TTL.as_micros()).unwrap_or(i64::MAX);
        Self {
            name: name.into(),
            members: Arc::new(Mutex::new(Members::new(name, ttl, ROW_FORMAT))),
            claims: watch::Sender::new(()),
            gone: CancellationToken::new(),
        }
    }

    /// The lease of a shard that this replica holds now, or the last one that it held.
    pub fn lease(&self, key: &str) -> Lease {
        let lease_epoch = self.with(|members| members.lease_epoch(key));
        Lease { membership: self.clone(), key: key.into(), lease_epoch }
    }

    /// Whether this replica owns a shard, by its key.
    pub fn owns(&self, key: &str) -> bool {
        self.with(|members| members.owns(key, mono_micros()))
    }

    /// How many replicas are live.
    pub fn live(&self) -> usize {
        self.with(|members| members.live())
    }

    /// After it was stopped: waits until others know that this replica has left, or must find out.
    pub async fn left(&self) {
        if tokio::time::timeout(LEAVING, self.gone.cancelled()).await.is_err() {
            tracing::debug!("the others must find out that this replica has left");
        }
    }

    /// The name of this replica.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes whenever this replica has claimed a shard.
    pub(crate) fn claims(&self) -> watch::Receiver<()> {
        self.claims.subscribe()
    }

    pub(crate) fn has_left(&self) {
        self.gone.cancel();
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Members) -> R) -> R {
        f(&mut self.members.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The right to work on one shard, until the replica's membership lapses or another replica claims the shard: a
/// membership that is confirmed again later is another lease. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lease {
    membership: Membership,
    key: Arc<str>,
    lease_epoch: u64,
}

impl Lease {
    /// Whether this replica may write: others must have taken it for live ever since the lease began.
    pub fn is_held(&self) -> bool {
        self.is_current() && self.membership.with(|members| members.holds_lease(mono_micros()))
    }

    /// Whether it is the newest lease of its shard.
    pub(crate) fn is_current(&self) -> bool {
        self.membership.with(|members| members.lease_epoch(&self.key)) == self.lease_epoch
    }

    /// The replica that holds it.
    pub(crate) fn member(&self) -> &str {
        self.membership.name()
    }

    /// Every fence of the shard is this replica's.
    pub(crate) fn claimed(&self) {
        self.membership.with(|members| members.claimed(&self.key));
        self.membership.claims.send_replace(());
    }

    /// Another member has written where this one would: it lives.
    pub(crate) fn proved(&self, member: &str) {
        self.membership.with(|members| members.proved(member, mono_micros()));
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::members::Claims;

    use super::*;

    /// A replica that has heard itself just now.
    fn confirmed() -> Membership {
        let membership = Membership::new("a");
        membership.with(|members| members.confirmed(mono_micros(), mono_micros()));
        membership
    }

    #[test]
    fn who_has_not_heard_itself_holds_no_lease() {
        let unheard = Membership::new("a").lease("0");
        assert!(!unheard.is_held() && unheard.is_current());
        assert!(confirmed().lease("0").is_held());
    }

    #[test]
    fn a_claim_of_another_ends_the_lease_of_that_shard_and_of_no_other() {
        let membership = confirmed();
        let (claimed, other) = (membership.lease("0"), membership.lease("1"));
        let claims = Claims { total: 1, newest: vec!["0".to_owned()] };
        membership.with(|members| members.heard_claims("b", 1, &claims));
        assert!(!claimed.is_held() && !claimed.is_current() && other.is_held());
        assert!(membership.lease("0").is_current(), "the next one is another lease");
    }

    #[test]
    fn the_others_are_to_hear_what_this_replica_has_claimed() {
        let membership = confirmed();
        let mut claims = membership.claims();
        claims.mark_unchanged();
        membership.lease("0").claimed();
        assert!(claims.has_changed().is_ok_and(|changed| changed));
        assert_eq!(membership.with(|members| members.claims_since(0)).newest, ["0"]);
    }

    #[test]
    fn who_has_written_lives_although_nobody_hears_it() {
        let membership = confirmed();
        assert_eq!(membership.live(), 1);
        membership.lease("0").proved("b");
        assert_eq!(membership.live(), 2);
    }

    #[tokio::test]
    async fn who_has_left_keeps_nobody_waiting() {
        let membership = confirmed();
        membership.clone().has_left();
        let left = tokio::time::timeout(Duration::ZERO, membership.left()).await;
        assert!(left.is_ok());
    }
}
