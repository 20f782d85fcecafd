//! Objects of managed clusters.

use sluice_inspect::{Resource, ResourceFilter};
use sluice_proto::inspect::v1 as proto;

/// What the group without a name is called in a question, where an empty text does not restrict.
pub(crate) const CORE: &str = "core";

pub(crate) fn question(filter: &ResourceFilter) -> proto::ListResourcesRequest {
    let ResourceFilter { group, kind, namespace, cluster_namespace, cluster, full } = filter.clone();
    let group = group.map(|group| if group.is_empty() { CORE.to_owned() } else { group });
    proto::ListResourcesRequest {
        group: group.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        namespace: namespace.unwrap_or_default(),
        cluster_namespace: cluster_namespace.unwrap_or_default(),
        cluster: cluster.unwrap_or_default(),
        full,
    }
}

pub(crate) fn message(resource: Resource) -> proto::Resource {
    let Resource { cluster, gvk, namespace, name, message, object } = resource;
    let object = object.map(|object| object.to_string()).unwrap_or_default();
    proto::Resource { cluster, gvk, namespace, name, message, object }
}

pub(crate) fn answer(resource: proto::Resource) -> Resource {
    let proto::Resource { cluster, gvk, namespace, name, message, object } = resource;
    Resource { cluster, gvk, namespace, name, message, object: serde_json::from_str(&object).ok() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_comes_back_as_it_was() {
        for object in [None, Some(json!({"kind": "Secret"}))] {
            let resource = Resource {
                cluster: "n/c".into(),
                gvk: "v1/Secret".into(),
                namespace: "a".into(),
                name: "b".into(),
                message: "said".into(),
                object,
            };
            assert_eq!(answer(message(resource.clone())), resource);
        }
    }

    #[test]
    fn the_group_without_a_name_has_one_in_a_question() {
        let of = |group: Option<&str>| {
            question(&ResourceFilter { group: group.map(str::to_owned), ..ResourceFilter::default() }).group
        };
        assert_eq!([of(None), of(Some("")), of(Some("apps"))], ["", CORE, "apps"]);
    }
}
