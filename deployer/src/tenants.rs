//! Clients that write objects for tenants.

use dashmap::DashMap;
use kube::Client;
use sluice_api::ServiceAccount;
use sluice_deployer_core::{Class, Failure};
use sluice_kube::impersonating;

use crate::failure::{self, Rights};

/// Clients that are kept for one cluster. They share its connections, so that making one anew costs little.
const KEPT: usize = 256;

/// Who writes objects.
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// For which tenant.
    pub(crate) acting: Option<Acting>,
    /// Whether in the management cluster.
    is_management: bool,
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
    pub(crate) fn caller(
        &self,
        client: &Client,
        acting: Option<Acting>,
        is_management: bool,
    ) -> Result<Caller, Failure> {
        let Some(Acting { account: tenant, there }) = &acting else {
            return Ok(Caller { client: client.clone(), acting, is_management });
        };
        if let Some(known) = self.0.get(tenant).map(|known| known.clone()) {
            return Ok(Caller { client: known, acting, is_management });
        }
        let made =
            impersonating(client, &there.user()).map_err(|error| Failure::new(Class::Refused, error))?;
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        self.0.insert(tenant.clone(), made.clone());
        Ok(Caller { client: made, acting, is_management })
    }
}

/// The rights of the deployer itself.
pub(crate) fn own<'a>(is_management: bool) -> Rights<'a> {
    if is_management { Rights::Stage } else { Rights::Kubeconfig }
}

impl Caller {
    /// What an error of its call means.
    pub(crate) fn failure(&self, error: &kube::Error, planned: bool) -> Failure {
        failure::of(error, planned, self.rights())
    }

    /// What to do about an error of a watch, if it is that something is not allowed.
    pub(crate) fn remedy(&self, error: &str) -> String {
        if error.contains(" is forbidden") {
            failure::remedy_of_403(error, self.rights())
        } else {
            String::new()
        }
    }

    fn rights(&self) -> Rights<'_> {
        match &self.acting {
            Some(acting) => Rights::Tenant(acting),
            None => own(self.is_management),
        }
    }
}
