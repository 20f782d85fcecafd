//! Who listens to what, for who asks: by the catalog and the bindings that renderers decide by.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, TriggerId};
use sluice_template::Limits;

use crate::error::{Error, Result};
use crate::knowledge::catalog::{Catalog, Change};
use crate::planning::bindings;
use crate::rendering::salt::Salt;
use crate::rendering::templates::{Caches, Templates};

/// What a trigger has to do with the events of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Whether events of the cluster count for it, or which cluster set cannot be read.
    pub selects: Result<bool>,
    /// The EventSource that it names for the cluster, or why that cannot be told.
    pub source: Result<String>,
}

/// The EventSource that a trigger listens to on each cluster whose events count for it, or why its name cannot be told: as
/// a renderer decides that knows these objects of the management cluster.
pub fn listens(objects: &[Arc<Value>], trigger: &TriggerId) -> BTreeMap<ClusterRef, Result<String>> {
    let (catalog, templates) = known(objects);
    let bound = |(id, cluster): (&ClusterRef, &Arc<sluice_api::model::Cluster>)| {
        Some((id.clone(), bindings::bound(trigger, cluster, &catalog, &templates, None)?))
    };
    catalog.fleet.clusters().iter().filter_map(bound).collect()
}

/// What each trigger that can be read has to do with the events of a cluster, decided in the same way. Nothing of a cluster that
/// is not registered.
pub fn listeners(objects: &[Arc<Value>], cluster: &ClusterRef) -> BTreeMap<TriggerId, Listener> {
    let (catalog, templates) = known(objects);
    let Some(cluster) = catalog.fleet.clusters().get(cluster) else { return BTreeMap::new() };
    let readable = catalog.triggers.values().filter_map(|trigger| trigger.as_ref().as_ref().ok());
    let listener = |trigger: &sluice_api::model::Trigger| Listener {
        selects: trigger.selects(cluster, &catalog.fleet).map_err(Error::Unsure),
        source: bindings::named(trigger, cluster, &templates),
    };
    readable.map(|trigger| (trigger.id(), listener(trigger))).collect()
}

/// What a renderer knows from these objects.
fn known(objects: &[Arc<Value>]) -> (Catalog, Templates) {
    let mut catalog = Catalog::default();
    for object in objects {
        catalog.apply(&Change::Upsert(object.clone()));
    }
    (catalog, Templates::new(&Limits::default(), &Salt::default(), &Caches::default()))
}
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn trigger(name: &str, env: &str, source: &str) -> Value {
        json!({"kind": "EventTrigger", "metadata": {"name": name},
            "spec": {"sourceClusterSelector": {"matchLabels": {"env": env}}, "eventSourceName": source}})
    }

    fn objects() -> Vec<Arc<Value>> {
        let cluster = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c", "labels": {"env": "fv"}}, "spec": {}});
        let mut in_no_set = trigger("d", "other", "s");
        in_no_set["spec"]["clusterSetRefs"] = json!(["none"]);
        let objects = [
            cluster,
            trigger("a", "fv", "{{ .Cluster.metadata.labels.env }}-events"),
            trigger("b", "other", "s"),
            trigger("c", "fv", "{{ .Cluster.nothing.at }}"),
            in_no_set,
            json!({"kind": "EventTrigger", "metadata": {"name": "broken"}, "spec": {"eventSourceName": 1}}),
        ];
        objects.into_iter().map(Arc::new).collect()
    }

    #[test]
    fn who_does_not_select_a_cluster_names_an_event_source_for_it_all_the_same() {
        let (objects, cluster) = (objects(), ClusterRef::sveltos("n", "c"));
        let found = listeners(&objects, &cluster);
        let of = |name: &str| found[&TriggerId::new("EventTrigger", name)].clone();
        assert_eq!(of("a"), Listener { selects: Ok(true), source: Ok("fv-events".into()) });
        assert_eq!(of("b"), Listener { selects: Ok(false), source: Ok("s".into()) });
        assert!(of("c").source.unwrap_err().to_string().starts_with("spec.eventSourceName: "));
        assert!(of("d").selects.unwrap_err().to_string().contains("ClusterSet none does not exist"));
        assert_eq!(found.len(), 4, "one cannot be read");
        for (id, Listener { selects, source }) in found {
            let here = listens(&objects, &id).remove(&cluster);
            let expected = match selects {
                Ok(selects) => selects.then_some(source),
                Err(error) => Some(Err(error)),
            };
            assert_eq!(here, expected, "{id:?}");
        }
        assert!(listeners(&objects, &ClusterRef::sveltos("n", "other")).is_empty());
    }
}
