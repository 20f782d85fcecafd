//! What gives a reason to withdraw.

use super::{Addon, CLUSTERS, Management};
use crate::manifests::SourceForm;

impl Management {
    /// Of what is not there, everything may go at any time; of what does not select a cluster, in that cluster.
    pub(super) fn look_for_reasons(&self) -> Vec<(Addon, usize)> {
        let missing = |addon: Addon, cluster: usize| {
            let Some(registered) = self.registered[cluster] else {
                return match addon {
                    // What a cluster has stays when it is deregistered; only what its events led to goes.
                    Addon::Own => !self.profile || self.rival,
                    Addon::Team => !self.team,
                    Addon::Back => !self.back.there,
                    Addon::Sent | Addon::Each | Addon::All => true,
                };
            };
            // A source that is not there gives no reason.
            let selecting = self.source != Some(SourceForm::Narrow);
            let left_out = self.leaves_out(addon, cluster);
            match addon {
                // A profile that is paused asks for nothing where it had nothing: what another maker of its name has
                // deployed there goes with that one.
                Addon::Own => {
                    let alone = !self.pauses.has_profile() && registered.tier == "x";
                    !self.profile || left_out || (self.rival && !alone)
                }
                Addon::Sent => registered.env != "fv",
                Addon::Team => !self.team || left_out,
                Addon::Back => !self.back.there || registered.tier != "x",
                Addon::Each => !self.triggers[0] || !selecting || left_out,
                Addon::All => {
                    !self.triggers[1] || !selecting || registered.env != "fv" || registered.tier != "x"
                }
            }
        };
        let pairs =
            Addon::ALL.into_iter().flat_map(|addon| (0..CLUSTERS.len()).map(move |cluster| (addon, cluster)));
        pairs.filter(|(addon, cluster)| missing(*addon, *cluster)).collect()
    }
}
