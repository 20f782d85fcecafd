//! Which reasons to withdraw there are, and which there were when deployers were told what they act upon.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_deployer_core::Live;
use sluice_protocol::Subject;

use super::{LATE, NEVER};
use crate::management::{Addon, CLUSTERS};

/// When the management cluster last gave a reason to withdraw each add-on from, or because of, each cluster.
#[derive(Clone)]
pub(super) struct Reasons([[i64; CLUSTERS.len()]; Addon::ALL.len()]);

/// The rows of `desired` that were there lately, by the cluster and the profile, and what the reasons were when each was written.
#[derive(Default)]
pub(super) struct Told(BTreeMap<RowName, Vec<Written>>);

/// A cluster, and the kind and the path of a profile there.
type RowName = (String, String, String);

struct Written {
    at: i64,
    reasons: Reasons,
    /// Whether a stream had lost rows so lately then that nobody need have known better.
    excused: bool,
    replaced_at: Option<i64>,
}

/// What may give a reason for a write to a cluster: the reasons of now, and those of the rows that it may follow from.
pub(super) struct Grounds<'a>(Vec<(i64, &'a Reasons)>);

impl Default for Reasons {
    fn default() -> Self {
        Self([[NEVER; CLUSTERS.len()]; Addon::ALL.len()])
    }
}

impl Reasons {
    pub(super) fn give(&mut self, addon: Addon, cluster: usize, now: i64) {
        self.0[addon as usize][cluster] = now;
    }
}

impl Told {
    /// A row is written.
    pub(super) fn note(&mut self, subject: &Subject, (reasons, excused): (&Reasons, bool), now: i64) {
        let Subject::Desired { cluster, profile, .. } = subject else { return };
        let place = (cluster.name.clone(), profile.kind().to_owned(), profile.path());
        let rows = self.0.entry(place).or_default();
        if let Some(last) = rows.last_mut() {
            last.replaced_at = Some(now);
        }
        rows.retain(|row| row.is_there_lately(now));
        rows.push(Written { at: now, reasons: reasons.clone(), excused, replaced_at: None });
    }

    /// Whether a write to this object may follow from a row that was written when nobody need have known better. The renderer that
    /// wrote it may be gone since, and the next one not know enough to write another: what stands is what was told.
    pub(super) fn is_excused(&self, cluster: &str, object: (&Value, Option<&Value>), now: i64) -> bool {
        self.about(cluster, object, now).any(|row| row.excused)
    }

    /// The rows that a write to this object may follow from. A user may have taken the marks off what was there before.
    fn about<'a>(
        &'a self,
        cluster: &str,
        (old, new): (&Value, Option<&Value>),
        now: i64,
    ) -> impl Iterator<Item = &'a Written> {
        let owner = Live::of(old).owner.or_else(|| Live::of(new?).owner);
        let place = owner.map(|owner| (cluster.to_owned(), owner.kind.clone(), owner.name.clone()));
        let rows = place.and_then(|place| self.0.get(&place)).into_iter().flatten();
        rows.filter(move |row| row.is_there_lately(now))
    }
}

impl Written {
    /// Deployers learn late that there is another.
    fn is_there_lately(&self, now: i64) -> bool {
        self.replaced_at.is_none_or(|at| now - at <= LATE)
    }
}

impl<'a> Grounds<'a> {
    /// For a write to an object of a cluster, as it was before and is afterwards.
    pub(super) fn new(
        (told, reasons): (&'a Told, &'a Reasons),
        cluster: &str,
        object: (&Value, Option<&Value>),
        now: i64,
    ) -> Self {
        let rows = told.about(cluster, object, now).map(|row| (row.at, &row.reasons));
        Self(rows.chain([(now, reasons)]).collect())
    }

    /// Whether neither the management cluster gives a reason for a withdrawal, nor did when deployers were told of it: the
    /// renderer that told them may be gone since, and the next one not know enough to tell them anything else.
    pub(super) fn has_none(&self, addon: Addon, cluster: &str) -> bool {
        let Some(index) = CLUSTERS.iter().position(|known| *known == cluster) else { return false };
        self.0.iter().all(|(at, reasons)| at - reasons.0[addon as usize][index] > LATE)
    }
}
