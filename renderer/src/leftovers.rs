//! Generated objects that nothing leads to any more: made by a former owner that ended before it could delete
//! them.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_renderer_core::{Change, generated_for};

use crate::management::Management;

/// The generated objects of `cluster` that are not among `wanted`.
pub(crate) fn of_cluster(
    generated: &Management,
    cluster: &ClusterRef,
    wanted: &BTreeSet<ObjectKey>,
) -> Vec<ObjectKey> {
    let unwanted = |change: Change| match change {
        Change::Upsert(object) if generated_for(&object).as_ref() == Some(cluster) => {
            ObjectKey::of(&object).filter(|key| !wanted.contains(key))
        }
        _ => None,
    };
    generated.values().into_iter().filter_map(unwanted).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn only_unwanted_objects_of_the_cluster_are_leftovers() {
        let generated = Management::new();
        for (name, cluster) in [("wanted", "c"), ("left", "c"), ("other", "d")] {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {
                "eventtrigger.lib.projectsveltos.io/clustertype": "Sveltos",
                "eventtrigger.lib.projectsveltos.io/clusterNamespace": "default",
                "eventtrigger.lib.projectsveltos.io/clustername": cluster}}});
            let key = ObjectKey::of(&object).expect("it has a name");
            generated.put(key, Change::Upsert(Arc::new(object)));
        }
        let wanted = generated.keys().into_iter().filter(|key| key.name == "wanted").collect();
        let left = of_cluster(&generated, &ClusterRef::sveltos("default", "c"), &wanted);
        assert_eq!(left.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["left"]);
    }
}
