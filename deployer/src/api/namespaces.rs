//! Namespaces that objects need.

use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use sluice_api::object;
use sluice_deployer_core::{Failure, MANAGER};
use sluice_kube::{Raw, segment};

use super::Site;
use crate::tenants::Caller;

impl Site {
    /// Makes one, where there is none.
    pub(super) async fn make_namespace(&self, name: &str, caller: &Caller) -> Result<(), Failure> {
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "Namespace".into(),
            plural: "namespaces".into(),
        };
        let api: Api<Raw> = Api::all_with(caller.client.clone(), &resource);
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let made = api.patch(&segment(name), &PatchParams::apply(MANAGER), &Patch::Apply(&body)).await;
        made.map(drop).map_err(|error| caller.failure(&error, false))
    }
}

/// Whether the server has no namespace for the object.
pub(super) fn is_lacking(error: &kube::Error, body: &Value) -> bool {
    let namespace = object::namespace(body);
    matches!(error, kube::Error::Api(status) if status.code == 404
        && !namespace.is_empty()
        && status.message.contains(&format!("namespaces \"{namespace}\" not found")))
}
