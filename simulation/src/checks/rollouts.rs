//! That a profile which goes to one cluster at a time does so.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, Digest};
use sluice_protocol::rows::{Cause, Desired, State, Status};
use sluice_protocol::{Body, Outgoing, Subject};

use super::LATE;
use crate::manifests::DEADLINE_OF_ROLLOUTS;
use crate::world::STEP;

/// Which rows of the user's profile clusters have, and what was ever said of them.
#[derive(Default)]
pub(crate) struct Rollouts {
    /// With the time when it came.
    given: BTreeMap<ClusterRef, (Digest, i64)>,
    said: BTreeSet<(ClusterRef, Digest)>,
    /// What its deployer says of a cluster now: of which row.
    says: BTreeMap<ClusterRef, Digest>,
    /// When its maker first tried to write it: it counts from then on how long nobody says anything.
    tried: BTreeMap<(ClusterRef, Digest), i64>,
    /// Who got it before whom, and when: nothing is wrong where that one's row is withdrawn together with this one.
    early: Vec<(i64, ClusterRef, ClusterRef)>,
    /// When a cluster was last passed over.
    away_at: BTreeMap<ClusterRef, i64>,
}

impl Rollouts {
    /// A cluster is paused, or not registered.
    pub(crate) fn away(&mut self, cluster: ClusterRef, now: i64) {
        self.away_at.insert(cluster, now);
    }

    /// Somebody tries to store a row.
    pub(crate) fn tried(&mut self, row: &Outgoing, now: i64) {
        if let Subject::Desired { cluster, profile, .. } = &row.row.subject
            && profile.name == "own"
        {
            self.tried.entry((cluster.clone(), row.head.digest)).or_insert(now);
        }
    }

    /// A row has been stored. What is wrong with those before, if anything is.
    pub(crate) fn stored(&mut self, row: &Outgoing, now: i64) -> Option<String> {
        self.note(row, now);
        let given = &self.given;
        let mut late = self.early.extract_if(.., |(at, ..)| now - *at > TOGETHER);
        late.find(|(at, _, other)| given.get(other).is_some_and(|(_, since)| since <= at)).map(
            |(_, cluster, other)| format!("{cluster} got a new content of the profile before {other} had it"),
        )
    }

    /// Forgets what was found out of rows that are lost.
    pub(crate) fn excuse(&mut self) {
        self.early.clear();
    }

    fn note(&mut self, row: &Outgoing, now: i64) -> Option<()> {
        match &row.row.subject {
            Subject::Status { cluster, profile, .. } => {
                let status = body(&row.row.body).and_then(|body| serde_json::from_slice::<Status>(body).ok());
                let is_told = |status: &Status| matches!(status.state, State::Provisioned | State::Failed);
                let of = status.filter(is_told).and_then(|status| status.row);
                if profile.name == "own" && profile.namespace.is_empty() {
                    self.says.remove(cluster);
                    self.says.extend(of.map(|row| (cluster.clone(), row)));
                }
                self.said.insert((cluster.clone(), of?));
                None
            }
            Subject::Desired { cluster, profile, .. }
                if profile.name == "own" && profile.namespace.is_empty() =>
            {
                let is_users = matches!(row.row.meta.cause(), Some(Cause::Profile(_)));
                let Some(body) = body(&row.row.body).filter(|_| is_users) else {
                    self.given.remove(cluster);
                    return None;
                };
                let is_staged = serde_json::from_slice::<Desired>(body).is_ok_and(|desired| desired.staged);
                let digest = row.head.digest;
                let has = self.given.get(cluster).is_some_and(|(had, _)| *had == digest);
                if !is_staged || has {
                    return None;
                }
                self.given.insert(cluster.clone(), (digest, now));
                // Its deployer says that it has that content: what it had waits to be removed.
                if self.says.get(cluster) == Some(&digest) {
                    return None;
                }
                let waits = |(other, (had, since)): (&ClusterRef, &(Digest, i64))| {
                    let since = self.tried.get(&(other.clone(), digest)).unwrap_or(since);
                    other != cluster
                        && *had == digest
                        && now - since < DEADLINE_OF_ROLLOUTS / 4
                        && !self.said.contains(&(other.clone(), digest))
                        && self.away_at.get(other).is_none_or(|at| now - at > LATE)
                };
                let other = self.given.iter().find(|one| waits(*one)).map(|(other, _)| other.clone())?;
                self.early.push((now, cluster.clone(), other));
                None
            }
            _ => None,
        }
    }
}

/// So long rows of one decision may be on their way.
const TOGETHER: i64 = 60 * STEP;

fn body(body: &Body) -> Option<&[u8]> {
    if let Body::Value(bytes) = body { Some(bytes) } else { None }
}
