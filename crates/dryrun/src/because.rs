//! Why each object exists: `"because"` of a build in JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_protocol::Row;
use sluice_protocol::rows::Cause;
use sluice_renderer_core::Renderer;

use crate::packed::Packed;

/// Where a build says it of an object.
pub(crate) const FIELD: &str = "because";

/// Reasons by what exists because of them.
#[derive(Debug, Default)]
pub(crate) struct Because {
    /// Of a cluster, a profile and an object as it is written: it may leave its namespace out.
    deployed: BTreeMap<(ClusterRef, String, ObjectKey), Value>,
    /// Of a cluster and a profile.
    profiles: BTreeMap<(ClusterRef, String), Value>,
    /// Of the management cluster.
    projected: BTreeMap<ObjectKey, Value>,
}

// === impl Because ===

impl Because {
    /// The reasons for these rows.
    pub(crate) fn of<'r>(renderer: &mut Renderer, rows: impl Iterator<Item = &'r Row>) -> Self {
        let causes: BTreeSet<&Cause> = rows.filter_map(|row| row.head.meta.cause()).collect();
        let mut because = Self::default();
        for cause in causes {
            let Some(explained) = renderer.explain(cause) else { continue };
            let (reason, profile) = (reason(cause), explained.profile.path());
            for key in explained.projected {
                because.projected.insert(key, reason.clone());
            }
            for origin in explained.origins {
                because.profiles.insert((origin.cluster.clone(), profile.clone()), reason.clone());
                let mut reason = reason.clone();
                reason["reference"] = origin.reference.into();
                reason["key"] = origin.key.into();
                for key in origin.objects {
                    let place = (origin.cluster.clone(), profile.clone(), key);
                    because.deployed.entry(place).or_insert_with(|| reason.clone());
                }
            }
        }
        because
    }

    /// Says of an object of the management cluster why it exists.
    pub(crate) fn explain(&self, packed: &mut Packed) {
        let mut value = packed.value();
        let reason = ObjectKey::of(&value).and_then(|key| self.projected.get(&key).cloned());
        let reason = reason.unwrap_or_else(|| {
            let spec = |field: &str| object::text(&value, &["spec", field]).to_owned();
            let cluster = format!("{}/{}", spec("clusterNamespace"), spec("clusterName"));
            json!({"source": spec("eventSourceName"), "cluster": cluster})
        });
        value[FIELD] = reason;
        *packed = Packed::of(&value);
    }

    /// Says of the objects of a cluster why they exist.
    pub(crate) fn explain_all(&self, cluster: &ClusterRef, objects: &mut [Packed]) {
        for packed in objects {
            let mut value = packed.value();
            if let Some(reason) = self.reason(cluster, &value) {
                value[FIELD] = reason;
                *packed = Packed::of(&value);
            }
        }
    }

    fn reason(&self, cluster: &ClusterRef, object: &Value) -> Option<Value> {
        let owner = object::annotation(object, "projectsveltos.io/owner-name")?.to_owned();
        let written = ObjectKey::of(object)?;
        let bare = ObjectKey { namespace: String::new(), ..written.clone() };
        let found = [written, bare]
            .into_iter()
            .find_map(|key| self.deployed.get(&(cluster.clone(), owner.clone(), key)));
        // A patch may have given it another name: then only the profile is known.
        found.or_else(|| self.profiles.get(&(cluster.clone(), owner.clone()))).cloned()
    }
}

fn reason(cause: &Cause) -> Value {
    match cause {
        Cause::Profile(id) => json!({"profile": id.to_string()}),
        Cause::Event(event) => {
            let mut reason = json!({
                "trigger": event.trigger.described(),
                "source": event.source,
                "cluster": event.cluster.path(),
            });
            if let Some(item) = &event.item {
                reason["event"] = item.to_string().into();
            }
            reason
        }
    }
}
