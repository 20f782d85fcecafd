//! What is written onto objects about their owner, and how it is taken off what stays when the owner goes.

// D-1046: nothing that is deployed has an ownerReference.

use serde_json::{Map, Value, json};
use sluice_api::marks::{ANNOTATIONS, EXTRA, LABELS, PREFIX};
use sluice_api::object;

use crate::prepare::DEFINITION;

/// What an object says of its content; `None` when it was not deployed.
pub(crate) fn content_of(object: &Value) -> Option<String> {
    let hash = object::annotation(object, "projectsveltos.io/hash")?;
    Some(match object::annotation(object, EXTRA) {
        Some(extra) => format!("{hash} {extra}"),
        None => hash.to_owned(),
    })
}

/// The release that Helm has installed an object with, as `namespace/name`.
pub(crate) fn installed_by(object: &Value) -> Option<Box<str>> {
    let says = |name: &str| object::annotation(object, &format!("meta.helm.sh/release-{name}"));
    Some(format!("{}/{}", says("namespace")?, says("name")?).into())
}

/// Whether an object says that it stays when nobody wants it any more.
pub(crate) fn keeps(object: &Value) -> bool {
    object::annotation(object, "helm.sh/resource-policy")
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

/// Why the kind is not served yet that a definition defines, as its server says; `None` where it is, where that is not said, and of
/// everything else.
pub(crate) fn unserved(object: &Value) -> Option<Box<str>> {
    if object::text(object, &["kind"]) != DEFINITION {
        return None;
    }
    let conditions = object.get("status")?.get("conditions").and_then(Value::as_array);
    let of = |name: &str| {
        conditions.into_iter().flatten().find(|condition| object::text(condition, &["type"]) == name)
    };
    ["NamesAccepted", "Established"].into_iter().find_map(|name| match of(name) {
        Some(condition) if object::text(condition, &["status"]) == "True" => None,
        Some(condition) => Some(format!("{name} is False: {}", object::text(condition, &["message"])).into()),
        None => Some(format!("{name} is not said yet").into()),
    })
}

/// The merge patch that takes all of it off an object.
pub fn without_marks() -> Value {
    let nothing = |names: &[&str]| -> Map<String, Value> {
        names.iter().map(|name| (format!("{PREFIX}{name}"), Value::Null)).collect()
    };
    let mut annotations = nothing(&ANNOTATIONS);
    annotations.insert(EXTRA.into(), Value::Null);
    json!({"metadata": {"labels": nothing(&LABELS), "annotations": annotations}})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use sluice_api::ProfileId;
    use sluice_protocol::rows::{Cause, Desired, Policy};

    use super::*;
    use crate::prepare::prepare;

    #[test]
    fn a_definition_says_why_its_kind_is_not_served_yet() {
        let definition = |conditions: Value| json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": conditions}});
        let says =
            |name: &str, status: &str| json!({"type": name, "status": status, "message": "it is taken"});
        let reason = |conditions: Value| unserved(&definition(conditions)).map(String::from);
        assert_eq!(reason(Value::Null).unwrap(), "NamesAccepted is not said yet");
        assert_eq!(
            reason(json!([says("NamesAccepted", "False")])).unwrap(),
            "NamesAccepted is False: it is taken"
        );
        assert_eq!(reason(json!([says("NamesAccepted", "True")])).unwrap(), "Established is not said yet");
        assert_eq!(reason(json!([says("Established", "True"), says("NamesAccepted", "True")])), None);
        assert_eq!(
            unserved(&json!({"kind": "CustomResourceDefinition"})),
            None,
            "only its metadata was read"
        );
        assert_eq!(unserved(&json!({"kind": "Pod", "status": {}})), None);
    }

    #[test]
    fn everything_that_is_written_onto_an_object_can_be_taken_off() {
        let mine = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n",
            "labels": {"mine": "1"}, "annotations": {"mine": "1"}}});
        let policy = Policy {
            kind: "ConfigMap".into(),
            namespace: "n".into(),
            name: "c".into(),
            tier: 100,
            objects: vec![mine.clone()],
            ..Policy::default()
        };
        let desired = Desired {
            owner_kind: "ClusterProfile".into(),
            owner_namespace: String::new(),
            owner_name: "p".into(),
            tier: 100,
            leave: false,
            dry_run: false,
            one_time: false,
            staged: false,
            hidden: false,
            allow_prune: String::new(),
            succeeds: std::collections::BTreeSet::new(),
            lacks: std::collections::BTreeMap::new(),
            jobs: Vec::new(),
            redeploy: std::collections::BTreeSet::new(),
            extra_labels: BTreeMap::from([("mine".to_owned(), "1".to_owned())]),
            extra_annotations: BTreeMap::from([("mine".to_owned(), "1".to_owned())]),
            account: None,
            cause: Cause::Profile(ProfileId::cluster("p")),
            spec: Map::new(),
            policies: vec![policy],
        };
        let mut object = (*prepare(&desired).0[0].object).clone();
        let marks = without_marks();
        for map in ["labels", "annotations"] {
            let added = |map: &Value| map.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            let mut expected = added(&marks["metadata"][map]);
            expected.push("mine".into());
            expected.sort();
            assert_eq!(added(&object["metadata"][map]), expected);
        }
        sluice_api::marks::take(&mut object);
        assert_eq!(object, mine);
    }
}
