//! Which Cluster API clusters count as managed clusters.

use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use super::Cluster;
use crate::names::is_label_key;
use crate::object;

// D-1067: an annotation may be needed for a Cluster API cluster to count.
/// The annotation that a `Cluster` of Cluster API must have, whatever its value, to be a managed cluster. By default all are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onboarding(Option<Arc<str>>);

// === impl Onboarding ===

impl Onboarding {
    /// Whether the object may count: what is no `Cluster` of Cluster API always does.
    pub fn lets_in(&self, object: &Value) -> bool {
        let Some(annotation) = &self.0 else { return true };
        object::text(object, &["kind"]) != "Cluster" || object::annotation(object, annotation).is_some()
    }

    /// Whether the cluster can be worked with.
    pub fn registers(&self, cluster: &Cluster) -> bool {
        cluster.is_registered() && self.lets_in(&cluster.object)
    }
}

/// The name of the annotation; an empty one asks for none.
impl FromStr for Onboarding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || is_label_key(text) {
            return Ok(Self(Some(text).filter(|text| !text.is_empty()).map(Arc::from)));
        }
        Err("is no name of an annotation; write the name alone, without a value, such as example.com/onboard"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn cluster(kind: &str, annotations: &Value) -> Cluster {
        let object = json!({"kind": kind, "metadata": {"namespace": "n", "name": "c", "annotations": annotations},
            "status": {"controlPlaneReady": true}});
        Cluster::read(&Arc::new(object)).unwrap()
    }

    #[test]
    fn where_an_annotation_is_needed_a_cluster_of_cluster_api_has_it_with_any_value() {
        let (all, some) = (Onboarding::default(), "onboard-capi".parse::<Onboarding>().unwrap());
        for (annotations, is_in) in [
            (json!(null), false),
            (json!({"other": "onboard-capi"}), false),
            (json!({"onboard-capi": ""}), true),
            (json!({"onboard-capi": "false"}), true),
        ] {
            let capi = cluster("Cluster", &annotations);
            assert_eq!((all.registers(&capi), some.registers(&capi)), (true, is_in), "{annotations}");
            assert!(some.registers(&cluster("SveltosCluster", &annotations)), "{annotations}");
        }
        assert!(some.lets_in(&json!({"kind": "ConfigMap"})));
    }

    #[test]
    fn the_annotation_does_not_stand_for_an_initialised_control_plane() {
        let some = "onboard-capi".parse::<Onboarding>().unwrap();
        let object = json!({"kind": "Cluster", "metadata": {"namespace": "n", "name": "c", "annotations": {"onboard-capi": "x"}}});
        assert!(!some.registers(&Cluster::read(&Arc::new(object)).unwrap()));
    }

    #[test]
    fn it_is_the_name_of_an_annotation_and_nothing_else() {
        assert_eq!("".parse(), Ok(Onboarding::default()));
        assert!("example.com/onboard".parse::<Onboarding>().is_ok());
        for text in ["a=b", "a b", "/a", "a/b/c", "-a"] {
            let error = text.parse::<Onboarding>().unwrap_err();
            assert!(error.contains("without a value"), "{text}: {error}");
        }
    }
}
