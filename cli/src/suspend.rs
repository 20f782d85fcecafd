//! `sluice suspend` and `sluice resume`: what is there stays as it is, until it is resumed.

use anyhow::bail;
use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_api::model::{CONFIG_GROUP, LIB_GROUP, PAUSED, PAUSED_UNTIL, SUSPEND};

use crate::print::say;
use crate::reach::Management;

/// Arguments of `sluice suspend` and `sluice resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice suspend trigger network-policies
  sluice suspend cluster shop --namespace eu
  sluice suspend cluster shop --namespace eu --until 2026-12-24T18:00:00Z

While a trigger or profile is suspended nothing of it is rendered anew and nothing goes; while a cluster is, nothing is changed
there. `sluice resume` catches up.")]
pub(crate) struct Args {
    /// What it is.
    kind: Suspendable,
    /// What it is called.
    name: String,
    /// Namespace of a cluster's registration, or of a Profile; without one, the profile is a ClusterProfile.
    #[arg(short, long)]
    namespace: Option<String>,
    /// When a cluster is resumed by itself, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    #[command(flatten)]
    management: Management,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suspendable {
    Trigger,
    Profile,
    Cluster,
}

impl Args {
    /// Suspends it, or resumes it.
    pub(crate) async fn run(self, suspended: bool) -> anyhow::Result<()> {
        let client = self.management.client().await?;
        if self.until.is_some() && (self.kind != Suspendable::Cluster || !suspended) {
            bail!("--until is when a suspended cluster is resumed; leave it out here");
        }
        let (kinds, patch) = (self.kinds(), patch(self.kind, suspended, self.until));
        let kind =
            crate::patched::patch(&client, &kinds, self.namespace.as_deref(), &self.name, &patch).await?;
        say!("{kind} {} is {}", self.name, if suspended { "suspended" } else { "resumed" });
        Ok(())
    }

    /// The kinds that it may be of.
    fn kinds(&self) -> Vec<Gvk> {
        match (self.kind, &self.namespace) {
            (Suspendable::Trigger, _) => {
                ["EventTrigger", "EventBasedAddOn"].map(|kind| Gvk::new(LIB_GROUP, "v1beta1", kind)).into()
            }
            (Suspendable::Profile, None) => vec![Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterProfile")],
            (Suspendable::Profile, Some(_)) => vec![Gvk::new(CONFIG_GROUP, "v1beta1", "Profile")],
            (Suspendable::Cluster, _) => vec![Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster")],
        }
    }
}

/// What changes in the object.
fn patch(kind: Suspendable, suspended: bool, until: Option<Timestamp>) -> Value {
    let annotation = |name: &str| {
        let value = if suspended { json!("true") } else { Value::Null };
        json!({"metadata": {"annotations": {name: value}}})
    };
    match kind {
        Suspendable::Trigger => annotation(SUSPEND),
        Suspendable::Profile => annotation(PAUSED),
        Suspendable::Cluster => match until {
            Some(until) => json!({"metadata": {"annotations": {PAUSED_UNTIL: until.to_string()}}}),
            None if suspended => json!({"spec": {"paused": true}}),
            None => {
                json!({"spec": {"paused": false}, "metadata": {"annotations": {PAUSED_UNTIL: Value::Null}}})
            }
        },
    }
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
        let with = |kind: Suspendable, mut object: Value| {
            json_patch::merge(&mut object, &patch(kind, true, None));
            object
        };
        let trigger = json!({"kind": "EventTrigger", "metadata": {"name": "t"}, "spec": {
            "sourceClusterSelector": {"matchLabels": {"a": "b"}}, "eventSourceName": "s"}});
        assert!(Trigger::read(&with(Suspendable::Trigger, trigger)).unwrap().pace.suspended);
        let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {}});
        assert!(Profile::read(&with(Suspendable::Profile, profile)).unwrap().paused);
        let cluster =
            json!({"kind": "SveltosCluster", "metadata": {"name": "c", "namespace": "d"}, "spec": {}});
        let mut cluster = with(Suspendable::Cluster, cluster);
        let is_paused = |cluster: &Value| {
            let cluster = Cluster::read(&Arc::new(cluster.clone())).unwrap();
            cluster.pause.at(Timestamp::UNIX_EPOCH.as_microsecond()).is_some()
        };
        assert!(is_paused(&cluster));
        json_patch::merge(&mut cluster, &patch(Suspendable::Cluster, false, None));
        assert!(!is_paused(&cluster));
        let until = Some("2026-12-24T18:00:00Z".parse().unwrap());
        json_patch::merge(&mut cluster, &patch(Suspendable::Cluster, true, until));
        assert!(is_paused(&cluster));
        json_patch::merge(&mut cluster, &patch(Suspendable::Cluster, false, None));
        assert!(!is_paused(&cluster));
        assert_eq!(patch(Suspendable::Trigger, false, None)["metadata"]["annotations"][SUSPEND], Value::Null);
    }
}
