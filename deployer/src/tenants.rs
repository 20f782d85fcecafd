//! Clients that write objects for tenants.

use dashmap::DashMap;
use kube::Client;
use sluice_api::ServiceAccount;
use sluice_deployer_core::{Class, Failure};
use sluice_kube::impersonating;

use crate::failure;

/// Clients that are kept for one cluster. They share its connections, so that making one anew costs little.
const KEPT: usize = 256;

/// Who writes objects.
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// For which tenant.
    pub(crate) acting: Option<Acting>,
}

/// A tenant, and who it is in the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Acting {
    pub(crate) account: ServiceAccount,
    pub(crate) there: ServiceAccount,
}

/// The clients of one cluster. Entries are copied out.
#[derive(Default)]
pub(crate) struct Tenants(DashMap<ServiceAccount, Client>);

impl Tenants {
    /// The one for this tenant; `client` is the deployer's own.
    pub(crate) fn caller(&self, client: &Client, acting: Option<Acting>) -> Result<Caller, Failure> {
        let Some(Acting { account: tenant, there }) = &acting else {
            return Ok(Caller { client: client.clone(), acting });
        };
        if let Some(known) = self.0.get(tenant).map(|known| known.clone()) {
            return Ok(Caller { client: known, acting });
        }
        let made =
            impersonating(client, &there.user()).map_err(|error| Failure::new(Class::Refused, error))?;
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        self.0.insert(tenant.clone(), made.clone());
        Ok(Caller { client: made, acting })
    }
}

impl Caller {
    /// What an error of its call means.
    pub(crate) fn failure(&self, error: &kube::Error, planned: bool) -> Failure {
        failure::of_acting(error, planned, self.acting.as_ref())
    }
}
