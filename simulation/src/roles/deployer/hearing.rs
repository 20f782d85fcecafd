//! What the deployer in a cluster hears of the registration of that cluster.

use std::cell::Cell;

use sluice_api::model::Cluster;
use sluice_protocol::Revision;
use sluice_protocol::interest::Interest;

use crate::world::STEP;

/// After so long the cluster of a row that is missing is gone.
const MISSING: i64 = 600 * STEP;
/// So long an older row than the one that is known does not count: its node lags for less.
const OLDER: i64 = 200 * STEP;

/// What the bus says of the registration of a cluster.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Gone,
    /// That it is served from outside: who is in it reaches nothing.
    Served,
    Pulls(Box<Cluster>),
}

/// The newest of what was heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Hearing {
    heard: Option<(Revision, Heard)>,
    /// An older row that was told since, and when the first was.
    older: Option<(i64, Revision, Heard)>,
    /// Since when the bus has had no row, as far as its process knows.
    missing_since: Cell<Option<i64>>,
}

impl Hearing {
    /// The row of the cluster. One that was lost with its bucket, or taken away, says nothing new for a while; of what comes then nothing
    /// is older.
    pub(super) fn note(&mut self, now: i64, row: Option<&Interest>) {
        let Some(row) = row.filter(|row| !row.is_lost()) else {
            self.note_missing(now);
            self.older = None;
            // A process that has heard of none has begun after a while all the same.
            let heard = self.heard.take().map_or(Heard::Gone, |(_, heard)| heard);
            self.heard = Some((Revision::NONE, heard));
            return;
        };
        self.missing_since.set(None);
        let heard = match row.registration.as_ref().and_then(Cluster::read) {
            _ if row.gone => Heard::Gone,
            Some(cluster) if cluster.pulls => Heard::Pulls(Box::new(cluster)),
            _ => Heard::Served,
        };
        match self.heard.as_ref().is_some_and(|(known, _)| row.revision < *known) {
            true => {
                let since = self.older.as_ref().map_or(now, |(since, ..)| *since);
                self.older = Some((since, row.revision, heard));
            }
            false => (self.heard, self.older) = (Some((row.revision, heard)), None),
        }
    }

    /// What was newer than the row that is told is lost when it has not come for long.
    pub(super) fn pass(&mut self, now: i64) {
        if let Some((_, revision, heard)) = self.older.take_if(|(since, ..)| now - *since >= OLDER) {
            self.heard = Some((revision, heard));
        }
    }

    pub(super) fn note_missing(&self, now: i64) {
        self.missing_since.set(self.missing_since.get().or(Some(now)));
    }

    /// Whether there has been no row for so long that the cluster is gone.
    pub(super) fn is_missing(&self, now: i64) -> bool {
        self.missing_since.get().is_some_and(|since| now - since > MISSING)
    }

    pub(super) fn heard(&self) -> Option<&Heard> {
        self.heard.as_ref().map(|(_, heard)| heard)
    }
}
