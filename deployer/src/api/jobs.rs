//! Jobs of checks.

use kube::api::{DeleteParams, PostParams};
use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_deployer_core::MANAGER;
use sluice_kube::{Raw, segment};

use super::{Site, TIMEOUT, namespaces};
use crate::failure;
use crate::tenants::Caller;

impl Site {
    /// Makes a Job, unless it is there.
    ///
    /// # Errors
    /// Why it cannot be made, and what to do.
    pub(crate) async fn make_job(
        &self,
        job: &Value,
        make_namespace: bool,
        caller: &Caller,
    ) -> Result<(), String> {
        let made = tokio::time::timeout(TIMEOUT, self.create_job(job, make_namespace, caller)).await;
        made.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
            .map_err(|why| format!("its Job cannot be made: {why}"))
    }

    async fn create_job(&self, job: &Value, make_namespace: bool, caller: &Caller) -> Result<(), String> {
        let key = ObjectKey::of(job).ok_or("it has no name")?;
        let found = self.api(&key, &caller.client).await.map_err(|failure| failure.message)?;
        let Some((api, _)) = found else { return Err(failure::no_kind(&key.gvk).message) };
        let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
        let body = Raw::from(job.clone());
        let mut made = api.create(&params, &body).await;
        if let Err(error) = &made
            && make_namespace
            && namespaces::is_lacking(error, job)
        {
            let namespace = object::namespace(job);
            self.make_namespace(namespace, caller).await.map_err(|failure| failure.message)?;
            made = api.create(&params, &body).await;
        }
        match made {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(caller.failure(&error, false).message),
        }
    }

    /// Takes a Job away, and its pods with it. One that stays goes by itself.
    pub(crate) async fn take_job(&self, key: &ObjectKey, caller: &Caller) {
        let taken = tokio::time::timeout(TIMEOUT, async {
            let found = self.api(key, &caller.client).await.map_err(|failure| failure.message)?;
            let Some((api, _)) = found else { return Ok(()) };
            let taken = api.delete(&segment(&key.name), &DeleteParams::background()).await;
            taken.map(drop).map_err(|error| caller.failure(&error, false).message)
        });
        let why = match taken.await {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::debug!(job = %key, why, "a Job of a check stays until its time is over");
    }
}
