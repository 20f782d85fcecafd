//! That a profile which goes to one cluster at a time does so.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, Digest};
use sluice_protocol::rows::{Cause, Desired, State, Status};
use sluice_protocol::{Body, Outgoing, Subject};

use super::LATE;
use crate::manifests::DEADLINE_OF_ROLLOUTS;

/// Which rows of the user's profile clusters have, and what was ever said of them.
#[derive(Default)]
pub(crate) struct Rollouts {
    /// With the time when it came.
    given: BTreeMap<ClusterRef, (Digest, i64)>,
    said: BTreeSet<(ClusterRef, Digest)>,
    /// When a cluster was last passed over.
    away_at: BTreeMap<ClusterRef, i64>,
}

impl Rollouts {
    /// A cluster is paused, or not registered.
    pub(crate) fn away(&mut self, cluster: ClusterRef, now: i64) {
        self.away_at.insert(cluster, now);
    }

    /// A row has been stored. What is wrong with that, if anything is.
    pub(crate) fn stored(&mut self, row: &Outgoing, now: i64) -> Option<String> {
        match &row.row.subject {
            Subject::Status { cluster, .. } => {
                let status =
                    body(&row.row.body).and_then(|body| serde_json::from_slice::<Status>(body).ok())?;
                if matches!(status.state, State::Provisioned | State::Failed) {
                    self.said.insert((cluster.clone(), status.row?));
                }
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
                let waits = |(other, (had, since)): (&ClusterRef, &(Digest, i64))| {
                    other != cluster
                        && *had == digest
                        && now - since < DEADLINE_OF_ROLLOUTS / 2
                        && !self.said.contains(&(other.clone(), digest))
                        && self.away_at.get(other).is_none_or(|at| now - at > LATE)
                };
                let other = self.given.iter().find(|one| waits(*one)).map(|(other, _)| other.clone())?;
                Some(format!("{cluster} got a new content of the profile before {other} had it"))
            }
            _ => None,
        }
    }
}

fn body(body: &Body) -> Option<&[u8]> {
    if let Body::Value(bytes) = body { Some(bytes) } else { None }
}
