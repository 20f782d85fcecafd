//! Clusters go back to the last content that was good.

// D-0933: what fails goes back to the last content that was good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use sluice_api::ClusterRef;
use sluice_api::model::Rollout;
use sluice_protocol::rows::{Cause, GoBack};
use sluice_protocol::{Meta, Step};

use super::held_back::HeldBack;
use super::{Effect, Renderer};
use crate::planning::progress::Progress;
use crate::planning::rollbacks::Content;
use crate::planning::rollouts::Candidate;
use crate::rendering::rendered::Rendered;
use crate::rendering::row::{DestinationRow, RowBody};

/// What may be gone back from.
pub(super) struct Back<'a> {
    pub(super) cause: &'a Cause,
    pub(super) rendered: &'a Rendered,
    pub(super) rollout: &'a Rollout,
    pub(super) candidates: &'a [Candidate],
    pub(super) content: &'a Content,
}

/// What a row says of how it is to be deployed, whatever its content.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
    allow_prune: String,
    redeploy: BTreeSet<String>,
}

impl Renderer {
    /// Which content goes out, where that can be gone back from.
    pub(super) fn content(
        &self,
        cause: &Cause,
        rendered: &Rendered,
        rollout: &Rollout,
        called: &str,
        (rows, now): (&[DestinationRow], i64),
    ) -> Option<Content> {
        if !rollout.goes_back {
            return None;
        }
        let mut places = self.planning.ledger.places(cause);
        places.retain(|(_, profile)| *profile == rendered.id);
        let clusters = rows.iter().map(|(cluster, _)| cluster).filter(|cluster| !cluster.is_management());
        let place =
            |cluster: &ClusterRef| ((cluster.clone(), rendered.id.clone()), self.is_away(cluster, now));
        let clusters: Vec<_> = clusters.map(place).collect();
        Some(self.planning.rollouts.content(cause, called, rollout, &places, &clusters))
    }

    /// Lets clusters go back, where they should: their rows say so instead of having a content, and all others stay as they are.
    pub(super) fn go_back(
        &mut self,
        back: &Back<'_>,
        progress: &Progress,
        rows: &mut Vec<DestinationRow>,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Option<HeldBack> {
        let Back { cause, rendered, rollout, candidates, content } = back;
        let why = content.why(rollout, progress)?;
        let (mut go, mut bodies) = (Vec::new(), BTreeMap::new());
        for (cluster, body) in rows.iter().filter(|(cluster, _)| !cluster.is_management()) {
            let place = (cluster.clone(), rendered.id.clone());
            let Some(staged) = self.planning.rollouts.goes_back(&place, content, &why) else { continue };
            let Some(good) = &staged.good else { continue };
            let Asked { allow_prune, redeploy } = serde_json::from_slice(&body.bytes).unwrap_or_default();
            let bytes: Arc<[u8]> = GoBack { to: good.row, allow_prune, redeploy }.bytes();
            let row = self.row(cause, cluster, &rendered.id, bytes.clone(), time);
            let row = step.digest(&row.meta(Meta::Staged(staged.clone())));
            bodies.insert(cluster.clone(), bytes);
            go.push((place, row, Some(staged)));
        }
        if go.is_empty() && !content.is_gone_back_from() {
            return None;
        }
        let held_back = HeldBack::of(&rendered.id, rows, &go);
        for (cluster, body) in rows.iter_mut() {
            if let Some(bytes) = bodies.remove(cluster) {
                *body = RowBody { bytes, secret: false };
            }
        }
        // What is told of them is of the rows that they get now.
        if self.planning.rollouts.give(cause, rollout, go) {
            step.hear_when_stored();
        }
        let turn = self.planning.rollouts.turn_back(&rendered.id, candidates, content, &why);
        self.give(cause, rollout, (Vec::new(), turn), step);
        Some(held_back)
    }
}
