//! What dry runs have found out.

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::Step;

use super::Deployer;
use crate::messages::Effect;
use crate::report::Report;

impl Deployer {
    /// A profile is only tried, or no longer: its report says so.
    pub(super) fn rehearsed(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        let Some(job) = self.clusters.get_mut(cluster).and_then(|known| known.jobs.get_mut(profile)) else {
            return;
        };
        let is_tried = job.target.decoded().is_some_and(|desired| desired.dry_run);
        let report = match is_tried {
            true => job.take_report().map(|lines| Report {
                cluster: cluster.clone(),
                profile: profile.clone(),
                lines: Some(lines),
            }),
            false => job.ends_rehearsal().then(|| Report::gone(cluster, profile)),
        };
        if let Some(report) = report.filter(|_| !profile.is_role_request()) {
            step.effect(Effect::Report(report));
        }
    }
}
