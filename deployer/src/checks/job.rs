//! Running the Job of a check: it is made, a watch shows how it ends, and it goes when nobody asks any more.

use std::time::Duration;

use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::model::JobCheck;
use sluice_deployer_core::Outcome;
use sluice_health::job_outcome;
use sluice_kube::{only, watch};
use sluice_tasks::End;

use super::Asking;
use super::pending::{News, Pending};
use crate::api::Site;
use crate::tenants::Caller;

/// After how long a Job that has failed is run again. Until then its pods can be looked at.
const AGAIN: Duration = Duration::from_secs(60);
/// How much longer than its cluster a deployer waits for the end of a Job.
const GRACE: Duration = Duration::from_secs(30);

/// A Job in a cluster, for who asks.
pub(super) struct JobRun<'a> {
    asking: &'a Asking,
    site: &'a Site,
    caller: &'a Caller,
    job: &'a Value,
    key: ObjectKey,
    timeout: Duration,
}

// === impl JobRun ===

impl<'a> JobRun<'a> {
    /// The Job of a check.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn of(
        check: &'a JobCheck,
        asking: &'a Asking,
        (site, caller): (&'a Site, &'a Caller),
    ) -> Result<Self, String> {
        let job = check.job.as_ref().map_err(|why| format!("{}: {why}", check.reference))?;
        let key = ObjectKey::of(job).ok_or_else(|| format!("{}: it has no name", check.reference))?;
        let timeout = Duration::from_secs(u64::try_from(check.timeout).unwrap_or_default());
        Ok(Self { asking, site, caller, job, key, timeout })
    }

    /// Runs it until it passes, and again while it fails. One that has ended is as it was found: nobody runs it twice because somebody
    /// has crashed.
    pub(super) async fn run(&self) -> End {
        let make_namespace = !self.asking.check.point.is_of_removal();
        loop {
            if !self.asking.lease.is_held() {
                return End::Done;
            }
            let (why, pause) = match self.site.make_job(self.job, make_namespace, self.caller).await {
                Err(why) => (why, super::AGAIN),
                Ok(()) => match self.ended().await {
                    Ok(()) => return self.asking.end(Ok(())),
                    Err(why) => (why, AGAIN),
                },
            };
            if !self.tell(&format!("{why}; it is run again in {} s", pause.as_secs())) {
                return End::Done;
            }
            tokio::time::sleep(pause).await;
            if pause == AGAIN && self.asking.lease.is_held() {
                self.site.take_job(&self.key, self.caller).await;
            }
        }
    }

    /// Waits for its end.
    async fn ended(&self) -> Outcome {
        let pending = Pending::default();
        let config = watcher::Config::default().streaming_lists().fields(&only(&self.key.name));
        let (gvk, namespace) = (self.key.gvk.clone(), self.key.namespace.clone());
        let watching = watch(self.caller.client.clone(), gvk, namespace, config, |event| pending.note(event));
        let limit = self.timeout + GRACE;
        tokio::select! {
            () = watching => Err("its watch has ended".to_owned()),
            outcome = self.judge(&pending) => outcome,
            () = tokio::time::sleep(limit) => {
                Err(format!("Job {}/{} has not ended within {} s", self.key.namespace, self.key.name, limit.as_secs()))
            }
        }
    }

    async fn judge(&self, pending: &Pending) -> Outcome {
        loop {
            let News { listed, changes, trouble } = pending.next().await;
            if let Some(error) = trouble {
                self.tell(&format!(
                    "it cannot be asked: {error}; it is tried again{}",
                    self.caller.remedy(&error)
                ));
            }
            let newest = match changes.into_values().next_back() {
                None => listed.map(|mut listed| listed.pop()),
                changed => changed,
            };
            match newest {
                None => {}
                Some(None) => {
                    let ObjectKey { namespace, name, .. } = &self.key;
                    return Err(format!("Job {namespace}/{name} was deleted before it had ended"));
                }
                Some(Some(job)) => {
                    if let Some(outcome) = job_outcome(&job) {
                        return outcome;
                    }
                }
            }
        }
    }

    fn tell(&self, why: &str) -> bool {
        self.asking.tell(Err(format!("{}: {why}", self.asking.check.title())))
    }
}
