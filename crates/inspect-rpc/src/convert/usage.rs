//! What is used where.

use sluice_inspect::{Usage, UsageFilter};
use sluice_proto::inspect::v1 as proto;

pub(crate) fn question(filter: &UsageFilter) -> proto::ListUsageRequest {
    let UsageFilter { kind, namespace, name } = filter.clone();
    proto::ListUsageRequest {
        kind: kind.unwrap_or_default(),
        namespace: namespace.unwrap_or_default(),
        name: name.unwrap_or_default(),
    }
}

pub(crate) fn message(usage: Usage) -> proto::Usage {
    let Usage { kind, namespace, name, clusters, used_by } = usage;
    proto::Usage { kind, namespace, name, clusters, used_by }
}

pub(crate) fn answer(usage: proto::Usage) -> Usage {
    let proto::Usage { kind, namespace, name, clusters, used_by } = usage;
    Usage { kind, namespace, name, clusters, used_by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_comes_back_as_it_was() {
        let usage = Usage {
            kind: "Secret".into(),
            namespace: "n".into(),
            name: "s".into(),
            clusters: vec!["n/c".into()],
            used_by: vec!["Profile/n/p".into()],
        };
        assert_eq!(answer(message(usage.clone())), usage);
    }
}
