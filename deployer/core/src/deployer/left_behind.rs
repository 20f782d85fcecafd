//! What a profile has left behind because that says that it stays: people are told, for a while.

use std::collections::VecDeque;

use sluice_api::{ClusterRef, ObjectKey, ProfileId};
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::Deployer;
use crate::messages::Effect;

/// For how long, microseconds.
const SHOWN: i64 = 3_600_000_000;
/// So many are told of at most, the newest: profiles of events may leave one each.
const MOST: usize = 200;

/// What is told, the oldest first, and until when by the clock that nobody sets.
#[derive(Debug, Default)]
pub(super) struct LeftBehind(VecDeque<(i64, ClusterRef, ObjectKey)>);

impl Deployer {
    /// Says what the last run of a profile has left behind, and no longer what one has again.
    pub(super) fn tell_left_behind(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        step: &mut Step<Effect>,
    ) {
        let known = self.clusters.get_mut(cluster);
        let Some(job) = known.and_then(|known| known.jobs.get_mut(profile)) else { return };
        let left = std::mem::take(&mut job.left_behind);
        let owned = job.owned();
        let is_back = |(_, at, key): &(i64, ClusterRef, ObjectKey)| {
            at == cluster && owned.as_ref().is_some_and(|owned| owned.objects.contains(key))
        };
        let all = std::mem::take(&mut self.left_behind.0);
        let (back, all) =
            all.into_iter().partition::<VecDeque<_>, _>(|one| is_back(one) || left.contains(&one.2));
        self.left_behind.0 = all;
        self.end_left_behind(back, step);
        for key in left {
            let text = format!(
                "stays here and is nobody's from now on, since it, or something in it, says helm.sh/resource-policy: keep; {profile} \
                 has let it go; delete it by hand when it is not needed"
            );
            self.note(ProblemKey::on(cluster, About::Object(key.clone())), Some(Fault::note(text)), step);
            self.left_behind.0.push_back((step.steady + SHOWN, cluster.clone(), key));
        }
        let too_many = self.left_behind.0.len().saturating_sub(MOST);
        let oldest = self.left_behind.0.drain(..too_many).collect();
        self.end_left_behind(oldest, step);
        self.forget_left_behind(step);
    }

    /// Says no longer what has been said for long enough.
    pub(super) fn forget_left_behind(&mut self, step: &mut Step<Effect>) {
        let old = self.left_behind.0.iter().take_while(|(until, ..)| *until <= step.steady).count();
        let old = self.left_behind.0.drain(..old).collect();
        self.end_left_behind(old, step);
        self.left_behind.0.front().into_iter().for_each(|(until, ..)| step.wake_at_steady(*until));
    }

    fn end_left_behind(&mut self, ended: VecDeque<(i64, ClusterRef, ObjectKey)>, step: &mut Step<Effect>) {
        for (_, cluster, key) in ended {
            self.note(ProblemKey::on(&cluster, About::Object(key)), None, step);
        }
    }
}
