//! Clusters as people write them.

use sluice_api::names::is_object_name;
use sluice_api::{ClusterRef, MANAGEMENT};

/// A cluster as people write it: `namespace/name`, or with its kind and a colon before it.
///
/// # Errors
/// How to write it.
pub fn cluster(text: &str) -> Result<ClusterRef, String> {
    let full = if text.contains(':') { text.to_owned() } else { format!("sveltos:{text}") };
    let read = full.parse::<ClusterRef>().ok();
    let named = read.filter(|cluster| is_object_name(&cluster.namespace) && is_object_name(&cluster.name));
    named.ok_or_else(|| "write namespace/name, as the cluster is registered".to_owned())
}

/// A cluster that is deployed to: a registered one, or `management`.
///
/// # Errors
/// How to write it.
pub fn destination(text: &str) -> Result<ClusterRef, String> {
    if text == MANAGEMENT {
        return Ok(ClusterRef::management());
    }
    cluster(text).map_err(|error| format!("{error}, or {MANAGEMENT} for the management cluster"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_management_cluster_is_a_destination_and_no_cluster_that_is_registered() {
        assert_eq!(destination("management"), Ok(ClusterRef::management()));
        assert_eq!(destination("n/c"), Ok(ClusterRef::sveltos("n", "c")));
        assert!(cluster("management").is_err() && destination("other").is_err());
    }

    #[test]
    fn a_cluster_is_written_with_and_without_its_kind() {
        let sveltos = ClusterRef::sveltos("n", "c");
        assert_eq!(cluster("n/c"), Ok(sveltos.clone()));
        assert_eq!(cluster("sveltos:n/c"), Ok(sveltos));
        assert_eq!(cluster("capi:n/c").map(|cluster| cluster.to_string()), Ok("capi:n/c".to_owned()));
    }

    /// What means something in a subject, or in a server's configuration, is in no name.
    #[test]
    fn only_names_of_clusters_are_taken() {
        for text in
            ["", "a", "a/", "/b", "A/b", "a/b c", "a/*", "a/b\"", "a/>", "a/b/c", "a/.b", "other:a/b", ":a/b"]
        {
            assert!(cluster(text).is_err(), "{text}");
        }
    }
}
