//! `sluice redeploy`: what is deployed is applied once more, also where nothing differs.

use anyhow::bail;
use kube::Client;
use serde_json::{Value, json};
use sluice_api::model::{LIB_GROUP, MADE_OF_EVENTS, REDEPLOY, capi_cluster};
use sluice_api::{ClusterKind, ClusterRef, Gvk, ObjectKey};

use crate::maker::profile;
use crate::patched;
use crate::print::say;
use crate::reach::{Management, cluster};

/// Arguments of `sluice redeploy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Everything that profiles deploy to a cluster.
    #[command(after_help = "Examples:
  sluice redeploy cluster default/cluster-1
  sluice redeploy cluster capi:team/workload

It writes the annotation sluice.dev/redeploy onto the registration. Each object is applied once, and not again after a restart.")]
    Cluster {
        /// The cluster, as it is registered; a Cluster of Cluster API has capi: before it.
        #[arg(value_name = "NAMESPACE/NAME", value_parser = cluster)]
        cluster: ClusterRef,
        #[command(flatten)]
        management: Management,
    },
    /// What a profile that a user wrote deploys, in all clusters.
    #[command(after_help = "Examples:
  sluice redeploy profile ClusterProfile/admission-policies
  sluice redeploy profile Profile/shop/quota

It writes the annotation sluice.dev/redeploy onto the profile. Each object is applied once, and not again after a restart. What
another profile has of the same objects is left to that one. With syncMode OneTime the present content is deployed once more.")]
    Profile {
        /// The profile: ClusterProfile/name or Profile/namespace/name.
        #[arg(value_name = "KIND/NAME", value_parser = profile)]
        profile: ObjectKey,
        #[command(flatten)]
        management: Management,
    },
    /// What a trigger deploys because of events, in all clusters.
    #[command(after_help = "Examples:
  sluice redeploy trigger network-policies
  sluice redeploy trigger network-policies --kubeconfig mgmt.kubeconfig")]
    Trigger {
        /// What it is called.
        name: String,
        #[command(flatten)]
        management: Management,
    },
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let patch = patch(&jiff::Timestamp::now().to_string());
        let (kind, name) = match self.what {
            What::Cluster { cluster, management } => {
                let client = management.client().await?;
                let gvk = match cluster.kind {
                    ClusterKind::Capi => capi_cluster(),
                    _ => Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster"),
                };
                let ClusterRef { namespace, name, .. } = &cluster;
                let kind = patched::patch(&client, &[gvk], Some(namespace), name, &patch).await?;
                (kind, cluster.path())
            }
            What::Profile { profile: ObjectKey { gvk, namespace, name }, management } => {
                let client = management.client().await?;
                let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
                is_users(&client, &gvk, namespace, &name).await?;
                (patched::patch(&client, &[gvk], namespace, &name, &patch).await?, name)
            }
            What::Trigger { name, management } => {
                let client = management.client().await?;
                let kinds =
                    ["EventTrigger", "EventBasedAddOn"].map(|kind| Gvk::new(LIB_GROUP, "v1beta1", kind));
                (patched::patch(&client, &kinds, None, &name, &patch).await?, name)
            }
        };
        say!("{kind} {name}: what is deployed is applied once more");
        Ok(())
    }
}

/// What triggers made is written anew from the trigger: an annotation there would ask for nothing.
async fn is_users(client: &Client, gvk: &Gvk, namespace: Option<&str>, name: &str) -> anyhow::Result<()> {
    let Some(api) = patched::api(client, gvk, namespace).await? else { return Ok(()) };
    let labels = match api.get_metadata_opt(name).await? {
        Some(found) => found.metadata.labels.unwrap_or_default(),
        None => return Ok(()),
    };
    match labels.get(&format!("{MADE_OF_EVENTS}eventtriggername")) {
        Some(trigger) => {
            bail!("{} {name} was made by a trigger; write: sluice redeploy trigger {trigger}", gvk.kind)
        }
        None => Ok(()),
    }
}

fn patch(token: &str) -> Value {
    json!({"metadata": {"annotations": {REDEPLOY: token}}})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use sluice_api::model::{Cluster, Profile, Trigger};

    use super::*;

    /// What the readers of the stages make of an object with the patch in it.
    #[test]
    fn what_is_patched_is_what_the_stages_look_at() {
        let with = |mut object: Value| {
            json_patch::merge(&mut object, &patch("now"));
            object
        };
        let trigger = json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": {
            "sourceClusterSelector": {"matchLabels": {"a": "b"}}, "eventSourceName": "s"}});
        assert_eq!(Trigger::read(&with(trigger)).unwrap().common.redeploy, "now");
        let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {}});
        assert_eq!(Profile::read(&with(profile)).unwrap().common.redeploy, "now");
        let cluster =
            json!({"kind": "SveltosCluster", "metadata": {"name": "c", "namespace": "d"}, "spec": {}});
        assert_eq!(Cluster::read(&Arc::new(with(cluster))).unwrap().redeploy(), "now");
    }
}
