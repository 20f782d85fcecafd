//! Generated objects that nothing leads to any more: made by a former owner that ended before it could delete
//! them.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, ObjectKey};

use crate::management::Generated;

/// The generated objects of `cluster` that are not among `wanted`.
pub(crate) fn of_cluster(
    generated: &Generated,
    cluster: &ClusterRef,
    wanted: &BTreeSet<ObjectKey>,
) -> Vec<ObjectKey> {
    generated.keys_where(|key, made| made.cluster == *cluster && !wanted.contains(key))
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

    use super::*;
    use crate::management::Made;

    #[test]
    fn only_unwanted_objects_of_the_cluster_are_leftovers() {
        let generated = Generated::new();
        let key = |name: &str| ObjectKey {
            gvk: Gvk::new("", "v1", "ConfigMap"),
            namespace: "projectsveltos".into(),
            name: name.into(),
        };
        for (name, cluster) in [("wanted", "c"), ("left", "c"), ("other", "d")] {
            generated
                .put(key(name), Made { cluster: ClusterRef::sveltos("default", cluster), profile: None });
        }
        let wanted = BTreeSet::from([key("wanted")]);
        assert_eq!(of_cluster(&generated, &ClusterRef::sveltos("default", "c"), &wanted), [key("left")]);
    }
}
