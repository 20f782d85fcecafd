//! The Jobs of checks that are asked, so that they go when nobody asks any more.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_api::model::Check;
use sluice_api::{ClusterRef, ObjectKey, ServiceAccount};
use sluice_bus::Lease;
use sluice_deployer_core::CheckId;
use sluice_tasks::{End, Group, Once};
use tokio::task::JoinHandle;

use crate::api::Site;

/// See the module. Where a cluster is reached in another way nothing goes: who asks then finds its Job.
#[derive(Default)]
pub(crate) struct Jobs {
    asked: HashMap<(ClusterRef, CheckId), Asked>,
    /// Those that are being taken away.
    going: HashMap<(ClusterRef, ObjectKey), JoinHandle<()>>,
}

struct Asked {
    site: Arc<Site>,
    account: Option<ServiceAccount>,
    key: ObjectKey,
}

// === impl Jobs ===

impl Jobs {
    /// A check is asked from now on. Who runs its Job waits until the one that had its name has gone.
    pub(crate) fn begin(
        &mut self,
        (cluster, id): (&ClusterRef, CheckId),
        check: &Check,
        account: Option<&ServiceAccount>,
        site: &Arc<Site>,
    ) -> Option<JoinHandle<()>> {
        let job = check.job.as_ref().and_then(|check| check.job.as_ref().ok())?;
        let key = ObjectKey::of(job)?;
        let asked = Asked { site: site.clone(), account: account.cloned(), key: key.clone() };
        self.asked.insert((cluster.clone(), id), asked);
        self.going.remove(&(cluster.clone(), key))
    }

    /// It is not asked any more: its Job goes.
    pub(crate) fn end(&mut self, cluster: &ClusterRef, id: CheckId, tasks: &Group, lease: &Lease) {
        let Some(Asked { site, account, key }) = self.asked.remove(&(cluster.clone(), id)) else { return };
        let (lease, job) = (lease.clone(), key.clone());
        let going = tasks.spawn(Once::Call, async move {
            if let Ok(caller) = site.caller(account)
                && lease.is_held()
            {
                site.take_job(&job, &caller).await;
            }
            End::Done
        });
        self.going.retain(|_, going| !going.is_finished());
        self.going.insert((cluster.clone(), key), going);
    }

    /// Nothing is asked of a cluster any more.
    pub(crate) fn forget(&mut self, cluster: &ClusterRef) {
        self.asked.retain(|(of, _), _| of != cluster);
    }
}
