//! What deployed objects say of who deployed them, in all versions of Sveltos, and what is missing.

use serde_json::{Value, json};
use sluice_api::model::CONFIG_GROUP;
use sluice_api::{ObjectKey, ProfileId, object};

use super::fields::{Writer, sets};

/// Field manager of Sluice.
pub(super) const MANAGER: &str = "sluice";
/// Field manager of Sveltos for everything but charts and definitions.
pub(super) const FORMER: &str = "application/apply-patch";
/// What Helm writes onto everything of a release.
pub(super) const RELEASE: &str = "meta.helm.sh/release-name";

fn mark(name: &str) -> String {
    format!("projectsveltos.io/{name}")
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object::annotation(object, &mark(name))
}

/// Kind and name of the profile that an object names: in annotations, and before 2024 as its owner.
pub(super) fn owner(object: &Value) -> Option<(&str, &str)> {
    if let Some(name) = annotation(object, "owner-name") {
        return Some((annotation(object, "owner-kind").unwrap_or("ClusterProfile"), name));
    }
    let profiles = object::at(object, &["metadata", "ownerReferences"])?.as_array()?;
    let is_profile = |owner: &&Value| {
        object::text(owner, &["apiVersion"]).starts_with(CONFIG_GROUP)
            && ["ClusterProfile", "Profile"].contains(&object::text(owner, &["kind"]))
    };
    let owner = profiles.iter().find(is_profile)?;
    Some((object::text(owner, &["kind"]), object::text(owner, &["name"])))
}

/// Whether it was deployed to the management cluster because that is the management cluster.
pub(super) fn is_local(object: &Value) -> bool {
    annotation(object, "deploymenttype") == Some("Local")
}

/// Whether a chart has it, which is taken over by Helm's record of the release.
pub(super) fn is_of_chart(object: &Value) -> bool {
    object::label(object, &mark("reason")) == Some("Helm")
}

/// `namespace/name` of the release that Helm has installed an object with.
pub(super) fn release_of(object: &Value) -> Option<String> {
    let says = |name: &str| object::annotation(object, &format!("meta.helm.sh/release-{name}"));
    Some(format!("{}/{}", says("namespace")?, says("name")?))
}

/// Whether Sveltos has written an entry of `managedFields`, in making the object.
pub(super) fn is_former(entry: &Value) -> bool {
    let marks = [mark("hash"), mark("owner-name")];
    Writer::of(entry) == Writer::applying(FORMER) || sets(entry, &[&marks[0], &marks[1]])
}

/// Whether Helm has, whoever ran it.
pub(super) fn is_helm(entry: &Value) -> bool {
    sets(entry, &[RELEASE])
}

/// The entries of `managedFields` of an object.
pub(super) fn entries(object: &Value) -> &[Value] {
    let entries = object::at(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    entries.map_or(&[], Vec::as_slice)
}

/// The version of its kind in which an object was deployed: what inventories name it by.
pub(super) fn version_of(object: &Value) -> Option<&str> {
    let is_deployer = |entry: &&Value| is_former(entry) || object::text(entry, &["manager"]) == MANAGER;
    Some(object::text(entries(object).iter().find(is_deployer)?, &["apiVersion"]))
}

/// What is to be patched so that an object can be found by its label, and names a profile: what names one stays as it is. An annotation
/// more would be a new generation of a Deployment. `None` where nothing is missing.
pub(super) fn missing(object: &Value, profile: &ProfileId) -> Option<Value> {
    let is_named = annotation(object, "owner-name").is_some();
    let named = json!({mark("owner-kind"): profile.kind(), mark("owner-name"): profile.path()});
    label(object, "Resources", if is_named { json!({}) } else { named })
}

/// The same of an object that a chart has: that Helm has made it says whose it is.
pub(super) fn missing_of_chart(object: &Value) -> Option<Value> {
    label(object, "Helm", json!({}))
}

fn label(object: &Value, reason: &str, annotations: Value) -> Option<Value> {
    let is_labelled = object::label(object, &mark("reason")).is_some();
    let labels = if is_labelled { json!({}) } else { json!({mark("reason"): reason}) };
    let is_nothing = labels == json!({}) && annotations == json!({});
    (!is_nothing).then(|| json!({"metadata": {"labels": labels, "annotations": annotations}}))
}

/// What is to be patched so that an object names this profile.
pub(super) fn renamed(object: &Value, kind: &str, name: &str) -> Option<Value> {
    let is_it = owner(object) == Some((kind, name));
    let annotations = json!({mark("owner-kind"): kind, mark("owner-name"): name});
    (!is_it).then(|| json!({"metadata": {"annotations": annotations}}))
}

/// Where an object is, by the kind that it was listed as.
pub(super) fn key(object: &Value, listed: &sluice_api::Gvk) -> ObjectKey {
    let mut gvk = listed.clone();
    if let Some((_, version)) = version_of(object).map(|text| text.rsplit_once('/').unwrap_or(("", text))) {
        version.clone_into(&mut gvk.version);
    }
    ObjectKey { gvk, namespace: object::namespace(object).into(), name: object::name(object).into() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::Gvk;

    use super::*;

    fn deployed() -> Value {
        json!({"metadata": {"name": "a", "namespace": "n", "labels": {"projectsveltos.io/reason": "Resources"},
            "annotations": {"projectsveltos.io/owner-kind": "ClusterProfile", "projectsveltos.io/owner-name": "sveltos-x",
                "projectsveltos.io/owner-tier": "50", "projectsveltos.io/deploymenttype": "Remote"},
            "managedFields": [{"manager": FORMER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {}}]}})
    }

    #[test]
    fn what_names_its_profile_is_left_as_it_is() {
        let object = deployed();
        assert_eq!(owner(&object), Some(("ClusterProfile", "sveltos-x")));
        assert!(!is_local(&object) && !is_of_chart(&object));
        assert_eq!(missing(&object, &ProfileId::cluster("y")), None);
        assert_eq!(renamed(&object, "ClusterProfile", "sveltos-x"), None);
        let annotations =
            json!({"projectsveltos.io/owner-kind": "ClusterProfile", "projectsveltos.io/owner-name": "y"});
        let patch = json!({"metadata": {"annotations": annotations}});
        assert_eq!(renamed(&object, "ClusterProfile", "y"), Some(patch));
        assert_eq!(key(&object, &Gvk::new("apps", "v1beta1", "Deployment")).gvk.version, "v1");
    }

    #[test]
    fn in_2023_the_owner_of_an_object_was_its_profile() {
        let of = |kind: &str| json!({"metadata": {"name": "a", "ownerReferences": [{"apiVersion": "config.projectsveltos.io/v1alpha1", "kind": kind, "name": "p"}]}});
        let old = of("ClusterProfile");
        assert_eq!(owner(&old), Some(("ClusterProfile", "p")));
        assert_eq!(owner(&of("ClusterSummary")), None);
        let patch = missing(&old, &ProfileId::cluster("p")).unwrap();
        assert_eq!(patch["metadata"]["labels"], json!({"projectsveltos.io/reason": "Resources"}));
        assert_eq!(patch["metadata"]["annotations"]["projectsveltos.io/owner-name"], "p");
    }

    #[test]
    fn what_a_chart_has_gets_a_label_and_nothing_else() {
        let annotations =
            json!({"meta.helm.sh/release-namespace": "web", "meta.helm.sh/release-name": "site"});
        let mut object = json!({"metadata": {"name": "a", "annotations": annotations}});
        assert_eq!(release_of(&object).as_deref(), Some("web/site"));
        let patch = missing_of_chart(&object).unwrap();
        assert_eq!(patch["metadata"]["annotations"], json!({}));
        object["metadata"]["labels"] = patch["metadata"]["labels"].clone();
        assert!(is_of_chart(&object) && missing_of_chart(&object).is_none());
    }

    #[test]
    fn an_operator_that_is_called_like_a_controller_of_sveltos_is_none() {
        let entry = |fields: Value| json!({"manager": "manager", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields});
        assert!(!is_former(&entry(json!({"f:spec": {}}))) && !is_helm(&entry(json!({"f:spec": {}}))));
        let definition = json!({"f:metadata": {"f:annotations": {"f:projectsveltos.io/hash": {}}}});
        assert!(is_former(&entry(definition)), "definitions are not applied by it");
        assert!(is_helm(&entry(
            json!({"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}})
        )));
    }
}
