//! What a cluster can do, as its agent says it: one row of `changes` for each cluster, of a kind that no cluster has. So its
//! writer is fenced as that of every other row, and who reads it reads the first shard alone.

// D-0815: the capabilities of a cluster are a row of changes.

use serde::{Deserialize, Serialize};
use sluice_api::{ClusterRef, Gvk, ObjectKey};

use crate::{Shard, Subject, Table};

/// Group of the kind.
const GROUP: &str = "capabilities.sluice.dev";
/// The shard that these rows are in.
const SHARD: Shard = Shard::FIRST;

/// The body of the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The server's version, `v1.33.4` for example.
    pub version: String,
    /// The major version as the server says it.
    pub major: String,
    /// The minor version as the server says it; some add a `+`.
    pub minor: String,
    /// `group/version` and `group/version/Kind` of everything that it serves, sorted.
    pub api_versions: Vec<String>,
}

impl Capabilities {
    /// Where a cluster's row is.
    pub fn subject(cluster: &ClusterRef) -> Subject {
        let object = ObjectKey {
            gvk: Gvk::new(GROUP, "v1", "Capabilities"),
            namespace: String::new(),
            name: "cluster".to_owned(),
        };
        Subject::Change { shard: SHARD, cluster: cluster.clone(), viewer: String::new(), object }
    }

    /// The stream that holds them, and the filter that selects them there.
    pub fn rows() -> (String, String) {
        let of_one = Self::subject(&ClusterRef::sveltos("a", "b")).to_string();
        let mut tokens: Vec<_> = of_one.split('.').collect();
        tokens[2] = "*";
        (Table::Changes.stream(SHARD), tokens.join("."))
    }

    /// Whether a row with this key says what its cluster can do.
    pub fn is_key(object: &ObjectKey) -> bool {
        object.gvk.group == GROUP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_has_one_row_and_a_filter_selects_them_all() {
        let subject = Capabilities::subject(&ClusterRef::sveltos("default", "c.1"));
        let text = "changes.00.sveltos:default/c%2E1.-.capabilities%2Esluice%2Edev.v1.Capabilities.-.cluster";
        assert_eq!(subject.to_string(), text);
        let filter = "changes.00.*.-.capabilities%2Esluice%2Edev.v1.Capabilities.-.cluster";
        assert_eq!(Capabilities::rows(), ("CHANGES-00".to_owned(), filter.to_owned()));
        assert!(matches!(subject, Subject::Change { object, .. } if Capabilities::is_key(&object)));
    }

    #[test]
    fn no_object_of_a_cluster_is_taken_for_its_capabilities() {
        let of = |group: &str| ObjectKey {
            gvk: Gvk::new(group, "v1", "Capabilities"),
            namespace: String::new(),
            name: "cluster".into(),
        };
        assert!(
            Capabilities::is_key(&of(GROUP))
                && !Capabilities::is_key(&of(""))
                && !Capabilities::is_key(&of("sluice.dev"))
        );
    }

    #[test]
    fn they_are_read_as_they_were_written() {
        let written = Capabilities {
            version: "v1.33.4".into(),
            major: "1".into(),
            minor: "33+".into(),
            api_versions: vec!["apps/v1".into(), "apps/v1/Deployment".into()],
        };
        let text = crate::json::text(&written);
        assert!(text.contains(r#""apiVersions":["apps/v1","apps/v1/Deployment"]"#), "{text}");
        assert_eq!(serde_json::from_str::<Capabilities>(&text).unwrap(), written);
    }
}
