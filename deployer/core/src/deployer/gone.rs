//! Clusters that are no longer registered: what is said of them goes, what they hold stays.
//!
//! That a registration is gone is a fact that the management cluster tells; a pause, a missing Secret or a restart is none. Whoever
//! deletes a registration may be about to write it again, so everything stays for a while. Then go: status rows, ClusterSummaries,
//! the ClusterConfiguration and problems. Rows of profiles that somebody still wants there are kept in memory, for the case that the
//! cluster comes back before their makers have heard of it. And their makers may have heard of the end first.

// D-0513: a deployer remembers what is still wanted on a cluster that is gone.

// D-0503: what the cluster holds stays.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::{About, ProblemKey, Publish, Row, Shard, Step, Subject};

use super::Deployer;
use super::rows::is_of_unregistered;
use super::shown::Display;
use crate::configuration::Configuration;
use crate::job::{MakerRow, Target};
use crate::messages::Effect;
use crate::summary::Summary;

/// Which clusters are registered, and which have not been for how long. Times are of the clock that nobody sets.
#[derive(Debug, Default)]
pub(super) struct Registered {
    clusters: BTreeSet<ClusterRef>,
    /// Whether all of them have been told.
    listed: bool,
    due: BTreeMap<ClusterRef, i64>,
    /// Of these nothing is said any more.
    over: BTreeSet<ClusterRef>,
    /// Profiles that are not wanted since their cluster is not registered, as their renderers say, and it is here; with the times of their
    /// tombstones.
    aside: BTreeMap<(ClusterRef, ProfileId, Shard), i64>,
    /// What a deployer that is in its cluster has said since that is registered.
    said: HashSet<Subject>,
}

impl Registered {
    /// It is registered, whether or not it can be reached.
    pub(super) fn note(&mut self, cluster: &ClusterRef) {
        self.due.remove(cluster);
        self.over.remove(cluster);
        if !self.clusters.contains(cluster) {
            self.clusters.insert(cluster.clone());
        }
    }

    /// Whether it is known not to be registered.
    pub(super) fn is_gone(&self, cluster: &ClusterRef) -> bool {
        self.listed && !cluster.is_management() && !self.clusters.contains(cluster)
    }

    fn is_over(&self, cluster: &ClusterRef) -> bool {
        self.over.contains(cluster)
    }

    /// Whether nothing is put aside.
    #[cfg(test)]
    pub(super) fn is_calm(&self) -> bool {
        self.aside.is_empty()
    }

    /// Clusters that are not registered, of which something was put aside before that was known.
    fn never_told(&self) -> BTreeSet<ClusterRef> {
        let clusters = self.aside.keys().map(|(cluster, ..)| cluster);
        clusters.filter(|cluster| self.is_gone(cluster)).cloned().collect()
    }

    fn take_aside(&mut self, cluster: &ClusterRef) -> Vec<((ClusterRef, ProfileId, Shard), i64)> {
        self.aside.extract_if(.., |(of, ..), _| of == cluster).collect()
    }
}

impl Deployer {
    /// Its registration is gone.
    pub(super) fn unregistered(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.registered.clusters.remove(cluster);
        self.registered.said.clear();
        self.expect_end(cluster, step);
        self.let_aside_count(cluster, step);
    }

    /// Who is in a cluster says everything once since that is registered, also what it seems to have said: deployers outside may have taken
    /// that back while it was not.
    pub(super) fn aloud(&mut self, row: Publish) -> Publish {
        let is_new = self.config.serves.only.is_some() && self.registered.said.insert(row.subject.clone());
        if is_new { row.forced() } else { row }
    }

    /// A cluster is not registered, as was said of what has been put aside: nobody wants that there.
    fn let_aside_count(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let now = step.steady;
        for ((_, profile, origin), time) in self.registered.take_aside(cluster) {
            let nothing = Ok(MakerRow { target: Target::Unknown, time });
            self.with(cluster, step, |state, next_id| {
                state.retarget(&profile, origin, nothing, now, next_id)
            });
        }
    }

    // D-0514: a tombstone says that its cluster is not registered.
    /// Whether a row says that nothing is wanted since the cluster is not registered, of which nobody has heard here: what is there stays
    /// as it is, whatever comes first.
    pub(super) fn puts_aside(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        origin: Shard,
        row: &Row,
    ) -> bool {
        let place = (cluster.clone(), profile.clone(), origin);
        self.registered.aside.remove(&place);
        let is_early = self.caught_up && is_of_unregistered(row) && !self.registered.is_gone(cluster);
        if is_early {
            self.registered.aside.insert(place, row.head.time);
        }
        is_early
    }

    /// Every registered cluster has been told.
    pub(super) fn all_registered(&mut self, step: &mut Step<Effect>) {
        self.registered.listed = true;
        for cluster in self.registered.never_told() {
            self.let_aside_count(&cluster, step);
        }
        self.expect_ends(step);
    }

    /// Looks at every cluster of which something is said: rows of a former owner may be found after all registrations have been told.
    pub(super) fn expect_ends(&mut self, step: &mut Step<Effect>) {
        let known = self.found.keys().chain(self.found_shown.keys()).chain(self.clusters.keys());
        let known: BTreeSet<_> = known.cloned().collect();
        known.iter().for_each(|cluster| self.expect_end(cluster, step));
    }

    /// Of a cluster that is not registered, whatever is said goes after a while.
    fn expect_end(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if !self.registered.is_gone(cluster) || self.registered.is_over(cluster) {
            return;
        }
        let due = step.steady.saturating_add(self.config.forget_after);
        let due = *self.registered.due.entry(cluster.clone()).or_insert(due);
        step.wake_at_steady(due);
    }

    /// A row came for a cluster: of one that is not registered nothing is begun, and what nobody wants there any more is forgotten.
    pub(super) fn mind_registration(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.expect_end(cluster, step);
        if self.registered.is_over(cluster) {
            self.sweep(cluster, step);
        }
    }

    /// Takes back what is said of clusters that have not been registered for long enough.
    pub(super) fn say_farewell(&mut self, step: &mut Step<Effect>) {
        if !self.caught_up {
            return;
        }
        let now = step.steady;
        for (cluster, _) in self.registered.due.extract_if(.., |_, due| *due <= now).collect::<Vec<_>>() {
            self.take_back(&cluster, step);
            self.registered.over.insert(cluster.clone());
            self.sweep(&cluster, step);
        }
        self.registered.due.values().min().into_iter().for_each(|due| step.wake_at_steady(*due));
    }

    fn take_back(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let mut said = self.found.remove(cluster).unwrap_or_default();
        for (profile, job) in self.clusters.get(cluster).into_iter().flat_map(|known| &known.jobs) {
            said.extend(job.origins().map(|origin| (profile.clone(), origin)));
        }
        let profiles: BTreeSet<ProfileId> = said.iter().map(|(profile, _)| profile.clone()).collect();
        for (profile, origin) in said {
            step.publish(self.no_status(cluster, &profile, origin));
        }
        for profile in profiles {
            self.unsay(cluster, &profile, step);
        }
        let about = ProblemKey::on(cluster, About::Cluster);
        self.note(about, None, step);
        let nothing = Configuration { cluster: cluster.clone(), profiles: Vec::new(), of_rows: None };
        self.display(Display::Configuration(nothing), step);
        self.show_nothing(cluster, step);
    }

    /// Nothing is said of a profile on a cluster.
    fn unsay(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        self.end_report(cluster, profile, step);
        self.slow.end(cluster, profile);
        self.tell(cluster, profile, BTreeMap::new(), step);
        self.note(ProblemKey::on(cluster, About::Profile(profile.clone())), None, step);
        if !profile.is_role_request() {
            self.display(Display::Summary(Summary::gone(cluster, profile)), step);
        }
    }

    /// Forgets what nobody wants on a cluster of which nothing is said any more.
    fn sweep(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if let Some(known) = self.clusters.get_mut(cluster) {
            let unwanted: Vec<_> = known.jobs.extract_if(.., |_, job| !job.is_wanted()).collect();
            let is_empty = known.jobs.is_empty();
            for (profile, job) in unwanted {
                for origin in job.origins() {
                    step.publish(self.no_status(cluster, &profile, origin));
                }
                self.note(ProblemKey::on(cluster, About::Profile(profile)), None, step);
            }
            if !is_empty {
                return;
            }
        }
        self.clusters.remove(cluster);
        self.deferred.note(cluster, false, step.steady);
        self.agenda.forget(cluster);
        self.registered.over.remove(cluster);
    }
}
