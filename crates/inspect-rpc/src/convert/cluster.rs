//! Registered clusters.

use sluice_inspect::Line;
use sluice_proto::inspect::v1 as proto;

pub(crate) fn message(line: Line) -> proto::Cluster {
    let Line { kind, namespace, name, of: version, ready, message, labels, .. } = line;
    proto::Cluster { kind, namespace, name, version, ready, message, labels }
}

pub(crate) fn answer(cluster: proto::Cluster) -> Line {
    let proto::Cluster { kind, namespace, name, version: of, ready, message, labels } = cluster;
    Line { kind, namespace, name, of, clusters: 0, ready, message, labels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_comes_back_as_it_was() {
        let line = Line {
            kind: "SveltosCluster".into(),
            namespace: "n".into(),
            name: "c".into(),
            of: "v1.33.0".into(),
            clusters: 0,
            ready: "yes".into(),
            message: "said".into(),
            labels: [("env".to_owned(), "fv".to_owned())].into(),
        };
        assert_eq!(answer(message(line.clone())), line);
    }
}
