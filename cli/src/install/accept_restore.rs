//! `sluice install accept-restore`: the management cluster was restored from a backup, and is as it should be.

use anyhow::Context as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use sluice_api::Gvk;
use sluice_api::model::{ACCEPTED, INVENTORY, MARK, NAMESPACE};
use sluice_kube::{Raw, resource_of};

use crate::print::say;
use crate::reach::Management;

/// Arguments of `sluice install accept-restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice install accept-restore --kubeconfig management.yaml
  sluice install accept-restore

Renderers wait while the management cluster is older than what they have worked with. Make what is missing in it again first:
what is not there when they go on is withdrawn. It writes into ConfigMap projectsveltos/sluice-mark.")]
pub(super) struct Args {
    #[command(flatten)]
    management: Management,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.management.client().await?;
        let kind = Gvk::new("", "v1", "ConfigMap");
        let (resource, _) =
            resource_of(&client, &kind).await?.context("the management cluster has no ConfigMaps")?;
        let api: Api<Raw> = Api::namespaced_with(client, NAMESPACE, &resource);
        // A cluster that was made anew has none.
        let has_mark = api.get_opt(MARK).await?.is_some();
        let data = if has_mark {
            json!({ACCEPTED: "true"})
        } else {
            json!({ACCEPTED: "true", "mark": "0", "time": "0"})
        };
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": MARK, "namespace": NAMESPACE, "labels": {INVENTORY: "mark"}}, "data": data});
        let params = PatchParams::apply("sluice-accept-restore").force();
        api.patch(MARK, &params, &Patch::Apply(&object))
            .await
            .with_context(|| format!("ConfigMap {NAMESPACE}/{MARK}"))?;
        say!("renderers go on with what is in the management cluster now");
        Ok(())
    }
}
