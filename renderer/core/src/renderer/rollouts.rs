//! What goes to few clusters at a time.

use sluice_api::Digest;
use sluice_api::model::{Approval, Cluster};
use sluice_protocol::Step;
use sluice_protocol::rows::Cause;

use super::{Effect, Renderer};
use crate::planning::rollouts::Candidate;
use crate::planning::row_ledger::Place;
use crate::rendering::part::PolicySource;
use crate::rendering::rendered::Rendered;
use crate::rendering::row::DestinationRow;

impl Renderer {
    /// Takes out of these rows those that wait for their turn, and says whose they are. What is for the management cluster because of
    /// all destinations does not wait.
    pub(super) fn hold_back(
        &mut self,
        cause: &Cause,
        rendered: &Rendered,
        rows: &mut Vec<DestinationRow>,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Vec<Place> {
        let common = self.knowledge.common(cause).ok().filter(|_| !self.planning.rollouts.is_off());
        let Some(rollout) = common.and_then(|common| common.rollout.clone()) else {
            self.planning.rollouts.forget(cause);
            return Vec::new();
        };
        let clusters = self.knowledge.catalog.fleet.clusters();
        let now = step.now;
        let is_away = |cluster: &Cluster| cluster.pause.at(now).is_some() || cluster.is_down();
        let (mut candidates, mut turns) = (Vec::with_capacity(rows.len()), None::<i64>);
        for (cluster, body) in rows.iter().filter(|(cluster, _)| !cluster.is_management()) {
            let row = self.row(cause, cluster, &rendered.id, body.bytes.clone(), time).secret(body.secret);
            let registered = clusters.get(cluster);
            let pause = registered.and_then(|registered| registered.pause.next(now));
            turns = turns.into_iter().chain(pause).min();
            candidates.push(Candidate {
                row: step.digest(&row),
                is_away: registered.is_none_or(|cluster| is_away(cluster)),
                cluster: cluster.clone(),
            });
        }
        let called = match rollout.approval {
            Approval::NotNeeded => String::new(),
            Approval::Of(_) => self.called(rendered),
        };
        let mut turn = self.planning.rollouts.turn(&rollout, &rendered.id, &candidates, &called, step.steady);
        // Who is passed over may be back by itself.
        turns.into_iter().for_each(|at| turn.wake_at(step.steady.saturating_add(at - now)));
        let waits = |place: &Place| !place.0.is_management() && !turn.go.contains(&place.0);
        let place = |(cluster, _): &DestinationRow| (cluster.clone(), rendered.id.clone());
        let held_back = rows.iter().map(place).filter(waits).collect();
        rows.retain(|row| !waits(&place(row)));
        let go = candidates.into_iter().filter(|candidate| turn.go.contains(&candidate.cluster));
        let go = go.map(|candidate| ((candidate.cluster, rendered.id.clone()), candidate.row)).collect();
        if self.planning.rollouts.give(cause, &rollout, go) {
            step.hear_when_stored();
        }
        self.planning.rollouts.set(cause, Some(turn));
        self.planning.rollouts.next().into_iter().for_each(|at| step.wake_at_steady(at));
        held_back
    }

    /// What that is called which its users have written. What templates read besides is not in it: it changes by itself.
    fn called(&self, rendered: &Rendered) -> String {
        let mut texts: Vec<Vec<u8>> = vec![serde_json::to_vec(&rendered.spec).unwrap_or_default()];
        let mut add = |source: &PolicySource| {
            texts.push(format!("{}/{}/{}", source.kind, source.namespace, source.name).into_bytes());
            texts.extend(
                source.texts.iter().flat_map(|(key, text)| [key.clone().into(), text.clone().into()]),
            );
        };
        for part in &rendered.parts {
            part.all().for_each(&mut add);
        }
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        Digest::of(&[&self.config.salt.seed(None, &texts)[..]]).short()
    }

    /// A deployer has said something of a row of this cause: others may have their turn, together with those of which it is said
    /// soon.
    pub(super) fn next_turn(&mut self, cause: &Cause, step: &mut Step<Effect>) {
        if !self.outgoing.is_started() || !self.planning.rollouts.is_waiting(cause) {
            return;
        }
        let size = self.planning.ledger.places(cause).len();
        match self.planning.agenda.changed(cause, size, step.now, step.now) {
            Some(due) => step.wake_at(due),
            None => self.act(cause, step.now, step),
        }
    }

    /// A cluster has gone away or come back: who waits for its turn may have it.
    pub(super) fn pass_over(&mut self, step: &mut Step<Effect>) {
        for cause in self.planning.rollouts.waiting() {
            self.act(&cause, step.now, step);
        }
    }

    /// Forgets which rows have been found, but for those that go to few clusters at a time, or may.
    pub(super) fn forget_rows(&mut self) {
        let (ledger, knowledge) = (&self.planning.ledger, &self.knowledge);
        let is_staged =
            |cause: &Cause| knowledge.common(cause).map_or(true, |common| common.rollout.is_some());
        self.planning.rollouts.keep_only(|place| ledger.user(place).is_some_and(is_staged));
    }
}
