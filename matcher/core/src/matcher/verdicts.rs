//! Objects of which nobody can tell whether they are events. What was reported of them stays, and of a source with one that
//! was not reported the matcher does not say that everything is known.

// D-0807: a failing script keeps the last verdict.

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::Step;

use super::{Effect, Matcher};

impl Matcher {
    /// The object's row cannot be read, or a source cannot judge it: the last verdict stays, as it is on the bus.
    pub(super) fn keep_verdict(
        &mut self,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        step: &mut Step<Effect>,
    ) {
        step.leave(self.report_subject(cluster, key, source));
        if !self.reported.confirm(cluster, key, source)
            && let Some(live) = self.clusters.get_mut(cluster)
        {
            live.cannot_tell(key, source);
        }
    }

    /// There is a verdict on the object. When it was the last that was missing, the source is known completely.
    pub(super) fn has_verdict(
        &mut self,
        cluster: &ClusterRef,
        key: &ObjectKey,
        source: &str,
        step: &mut Step<Effect>,
    ) {
        if self.clusters.get_mut(cluster).is_some_and(|live| live.can_tell(key, source)) {
            self.withdraw_absent(cluster, step);
        }
    }
}
