//! Rows of `desired` that come.

// D-0408: an old tombstone is asked for once more.

use std::collections::BTreeSet;

use sluice_api::ProfileId;
use sluice_protocol::rows::{NoContent, UNRENDERED};
use sluice_protocol::{About, Meta, ProblemKey, Row, Shard, Step, Subject};

use super::Deployer;
use crate::error::Error;
use crate::job::{Goal, MakerRow, Target};
use crate::messages::Effect;

impl Deployer {
    pub(super) fn desired(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Desired { cluster, origin, profile, .. } = &row.subject else { return };
        if self.puts_aside(cluster, profile, *origin, row) {
            return;
        }
        // A tombstone that was there is of former times. What it is about may be wanted again by now, and its row on its
        // way: of what the cluster holds, renderers say it once more.
        let target = match (row.head.tombstone, self.caught_up) {
            (true, true) if is_of_unregistered(row) => Ok(Target::Unknown),
            (true, true) => departure(row).map(Target::Gone),
            (true, false) => Ok(Target::Unknown),
            (false, _) => Goal::read(row, profile).map(Target::Value),
        };
        if let Err(error) = &target
            && *row.body != *UNRENDERED
        {
            // Also where the cluster cannot be reached. Of a row without content its maker says what is wrong.
            let key = ProblemKey::on(cluster, About::Profile(profile.clone()));
            self.note(key, Some(error.into()), step);
        }
        if matches!(target, Ok(Target::Value(_))) {
            self.begun(cluster, profile, step);
        } else {
            self.slow.end(cluster, profile);
        }
        if row.head.tombstone && self.registered.is_gone(cluster) && !self.clusters.contains_key(cluster) {
            return;
        }
        let (time, now) = (row.head.time, step.steady);
        let maker = target.map(|target| MakerRow { target, time });
        if maker.is_err() && !self.caught_up {
            // A copy that lags has shown what this row replaces: a former owner may have applied what cannot be read.
            let unknown = Ok(MakerRow { target: Target::Unknown, time });
            self.with(cluster, step, |state, next_id| {
                state.retarget(profile, *origin, unknown, now, next_id)
            });
        }
        self.with(cluster, step, |state, next_id| state.retarget(profile, *origin, maker, now, next_id));
        self.mind_registration(cluster, step);
    }

    /// A renderer says that all its rows are there. Once all have said so nobody is missed who may want what another one
    /// withdraws.
    pub(super) fn all_desired(&mut self, origin: Shard, row: &Row, step: &mut Step<Effect>) {
        let of_this_life =
            row.head.meta.complete().is_some_and(|complete| complete.incarnation == self.config.input);
        if of_this_life && !self.is_all_said() {
            self.said.insert(origin);
            if self.is_all_said() {
                let now = step.steady;
                self.each(step, |state, next_id| state.all_said(now, next_id));
            }
            self.report_deferred(step);
        }
    }
}

/// Whether a tombstone says that the cluster is not registered.
pub(super) fn is_of_unregistered(row: &Row) -> bool {
    row.head.meta.departure().is_some_and(|departure| departure.unregistered)
}

/// After whom what a tombstone withdraws goes. One that says so in a form of later does not count.
fn departure(row: &Row) -> Result<BTreeSet<ProfileId>, Error> {
    match &row.head.meta {
        Meta::Departure(departure) => Ok(departure.after.clone()),
        Meta::Unknown(text) => Err(Error::Row(NoContent::Unreadable(format!("its meta data are {text:?}")))),
        _ => Ok(BTreeSet::new()),
    }
}
