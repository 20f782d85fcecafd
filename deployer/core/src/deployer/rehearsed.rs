//! What dry runs have found out.

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::Step;

use super::Deployer;
use super::shown::Display;
use crate::messages::Effect;
use crate::report::Report;

impl Deployer {
    /// A profile is only tried, or no longer: its report says so.
    pub(super) fn rehearsed(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        let Some(job) = self.clusters.get_mut(cluster).and_then(|known| known.jobs.get_mut(profile)) else {
            return;
        };
        let is_tried = job.target.decoded().is_some_and(|desired| desired.dry_run);
        if !is_tried {
            return self.end_report(cluster, profile, step);
        }
        if let Some(lines) = job.take_report() {
            let (cluster, profile) = (cluster.clone(), profile.clone());
            self.display(Display::Report(Report { cluster, profile, lines: Some(lines) }), step);
        }
    }

    /// Nothing of a profile is tried on a cluster any more: its report goes, where there is one.
    pub(super) fn end_report(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        let job = self.clusters.get_mut(cluster).and_then(|known| known.jobs.get_mut(profile));
        if job.is_some_and(|job| job.ends_rehearsal()) {
            self.display(Display::Report(Report::gone(cluster, profile)), step);
        }
    }
}
