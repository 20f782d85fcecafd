//! Who listens to what, for who asks: by the catalog and the bindings that renderers decide by.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, TriggerId};
use sluice_template::Limits;

use crate::bindings;
use crate::catalog::{Catalog, Change};
use crate::renderer::Config;
use crate::salt::Salt;
use crate::templates::{Caches, Templates};

/// The EventSource that a trigger listens to on each cluster whose events count for it, or why its name cannot be told: as
/// a renderer decides that knows these objects of the management cluster.
pub fn listens(objects: &[Arc<Value>], trigger: &TriggerId) -> BTreeMap<ClusterRef, Result<String, String>> {
    let mut catalog = Catalog::default();
    for object in objects {
        catalog.apply(&Change::Upsert(object.clone()));
    }
    let (limits, outputs) = (Limits::default(), Vec::new());
    let config = Config {
        shard: 0,
        shards: 1,
        input: 0,
        outputs,
        tombstone_ttl: 1,
        limits,
        salt: Salt::default(),
        forget_after: i64::MAX,
        mark: 0,
    };
    let templates = Templates::new(&config, &Caches::default());
    let bound = |(id, cluster): (&ClusterRef, &Arc<sluice_api::model::Cluster>)| {
        Some((id.clone(), bindings::bound(trigger, cluster, &catalog, &templates, None)?))
    };
    catalog.clusters.iter().filter_map(bound).collect()
}
