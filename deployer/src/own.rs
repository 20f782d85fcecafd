//! What a profile may have in the management cluster, as far as only its server knows.

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_deployer_core::{Class, Failure, own};
use sluice_kube::remedy_of_denial;
use sluice_protocol::{About, Problem};
use sluice_runtime::Reporter;

/// Whether a profile may deploy this to the management cluster, where the server says that it is in this namespace.
///
/// # Errors
/// Why not, and what to do.
pub(crate) fn check(key: &ObjectKey, object: &Value, namespace: Option<&str>) -> Result<(), Failure> {
    // That the kind has no namespace only the server knows.
    let owner = object::annotation(object, "projectsveltos.io/owner-kind");
    if namespace.is_none() && owner == Some("Profile") {
        let text = format!(
            "{key}: {} is in no namespace, and a Profile deploys to its own only in the management cluster; use a ClusterProfile",
            key.gvk.kind
        );
        return Err(Failure::new(Class::Refused, text));
    }
    Ok(())
}

/// Says whether definitions of kinds can be watched in the management cluster. In others that is for their owners to say: what a call
/// is told of its kind is seen all the same.
pub(crate) fn tell_definitions(reporter: &Reporter, cluster: &ClusterRef, trouble: Option<String>) {
    if !cluster.is_management() {
        return;
    }
    let about = About::ManagementWatch("CustomResourceDefinition".to_owned());
    reporter.problem(match trouble {
        Some(error) => {
            let remedy = remedy_of_denial(&error);
            let text =
                format!("{error}; that a kind goes or comes is noticed late; it is tried again{remedy}");
            Problem::open(reporter.stage(), "", about, text)
        }
        None => Problem::resolved(reporter.stage(), "", about),
    });
}

/// An object that is there and Sluice's own.
pub(crate) fn refused(key: &ObjectKey) -> Failure {
    Failure::new(Class::Refused, own(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_has_nothing_that_is_in_no_namespace() {
        let with = |kind: &str| {
            let owner = json!({"projectsveltos.io/owner-kind": kind});
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "annotations": owner}})
        };
        let checked = |object: Value, namespace| {
            ObjectKey::of(&object).map(|key| check(&key, &object, namespace).is_ok())
        };
        assert_eq!(checked(with("Profile"), None), Some(false));
        assert_eq!(checked(with("Profile"), Some("team")), Some(true));
        assert_eq!(checked(with("ClusterProfile"), None), Some(true));
    }
}
