//! What is deployed.

use sluice_inspect::{Addon, AddonFilter, CHART};
use sluice_proto::inspect::v1 as proto;

pub(crate) fn question(filter: &AddonFilter) -> proto::ListAddonsRequest {
    let AddonFilter { namespace, cluster, profile, charts } = filter.clone();
    let kind = match charts {
        None => proto::AddonType::Unspecified,
        Some(true) => proto::AddonType::HelmChart,
        Some(false) => proto::AddonType::Resource,
    };
    proto::ListAddonsRequest {
        namespace: namespace.unwrap_or_default(),
        cluster: cluster.unwrap_or_default(),
        profile: profile.unwrap_or_default(),
        r#type: kind.into(),
    }
}

pub(crate) fn message(addon: Addon) -> proto::Addon {
    let kind =
        if addon.resource_type == CHART { proto::AddonType::HelmChart } else { proto::AddonType::Resource };
    proto::Addon {
        cluster: addon.cluster,
        resource_type: addon.resource_type,
        namespace: addon.namespace,
        name: addon.name,
        version: addon.version,
        applied: addon.time,
        deployment_type: addon.deployment_type,
        profiles: addon.profiles,
        r#type: kind.into(),
    }
}

pub(crate) fn answer(addon: proto::Addon) -> Addon {
    Addon {
        cluster: addon.cluster,
        resource_type: addon.resource_type,
        namespace: addon.namespace,
        name: addon.name,
        version: addon.version,
        time: addon.applied,
        deployment_type: addon.deployment_type,
        profiles: addon.profiles,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_on_comes_back_as_it_was() {
        for resource_type in [":Secret", CHART] {
            let addon = Addon {
                cluster: "n/c".into(),
                resource_type: resource_type.into(),
                namespace: "a".into(),
                name: "b".into(),
                version: "N/A".into(),
                time: "2025-02-28T13:23:08Z".into(),
                deployment_type: "Remote".into(),
                profiles: vec!["Profile/p".into()],
            };
            assert_eq!(answer(message(addon.clone())), addon);
        }
    }
}
