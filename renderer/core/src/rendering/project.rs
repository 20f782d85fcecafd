//! What is written to the management cluster so that people see what happens. Never in the path of an event.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sluice_api::cloud_event::{is_event, source_and_subject};
use sluice_api::model::{
    CONFIG_GROUP, Cluster, LIB_GROUP, MADE_OF_EVENTS, NAMESPACE, PolicyRef, SECRET_TYPE,
};
use sluice_api::{ClusterRef, Gvk, ObjectKey, names};
use sluice_protocol::rows::EventCause;

use crate::knowledge::sets::{Set, in_order};
use crate::rendering::part::PolicySource;
use crate::rendering::projection::Projection;

/// Bytes of references and collected objects that fit into one EventReport; etcd refuses requests above 1.5 MiB, and in base64
/// objects are a third larger.
const REPORT_BYTES: usize = 700 * 1024;

/// Sets a label of the family, when the value can be one.
pub(crate) fn label(labels: &mut Map<String, Value>, key: &str, value: &str) {
    if names::is_label_value(value) {
        labels.insert(format!("{MADE_OF_EVENTS}{key}"), value.into());
    }
}

/// The labels of everything that an event leads to.
pub(crate) fn cause_labels(cause: &EventCause, trigger: &str) -> Map<String, Value> {
    let mut labels = Map::new();
    label(&mut labels, "eventtriggername", trigger);
    label(&mut labels, "clusterNamespace", &cause.cluster.namespace);
    label(&mut labels, "clustername", &cause.cluster.name);
    label(&mut labels, "clustertype", cause.cluster.kind.title());
    label(&mut labels, "eventreportname", &cause.source);
    label(&mut labels, "eventsourcename", &cause.source);
    if let Some((source, subject)) = cause.item.as_ref().and_then(source_and_subject) {
        label(&mut labels, "cesource", &source.replace('/', "-"));
        label(&mut labels, "cesubject", &subject.replace('/', "-"));
    } else if let Some(item) = &cause.item {
        label(&mut labels, "resourcename", &item.name);
        label(&mut labels, "resourcenamespace", &item.namespace);
    }
    labels
}

/// The generated ClusterProfile.
pub(crate) fn cluster_profile(
    name: &str,
    spec: &Map<String, Value>,
    labels: Map<String, Value>,
) -> Projection {
    let key = ObjectKey {
        gvk: Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterProfile"),
        namespace: String::new(),
        name: name.to_owned(),
    };
    Projection::of(key, json!({"spec": spec}), labels)
}

/// A generated ConfigMap or Secret. The source's annotations go along, but not kubectl's copy of the source.
pub(crate) fn content(
    kind: &str,
    name: &str,
    data: Map<String, Value>,
    annotations: Option<Value>,
    labels: Map<String, Value>,
) -> Projection {
    let key = ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: NAMESPACE.into(), name: name.to_owned() };
    let mut object = json!({"data": data});
    if let Some(Value::Object(mut annotations)) = annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        object["metadata"]["annotations"] = annotations.into();
    }
    if kind == "Secret" {
        object["type"] = SECRET_TYPE.into();
    }
    Projection::of(key, object, labels)
}

/// A reference in the generated spec: everything the user wrote, pointing to what was made of it.
pub(crate) fn policy_ref(item: &PolicyRef, source: &PolicySource) -> Value {
    let mut value = item.raw.clone();
    let place = [("kind", &source.kind), ("namespace", &source.namespace), ("name", &source.name)];
    value.extend(place.map(|(field, text)| (field.to_owned(), text.clone().into())));
    value.insert("deploymentType".to_owned(), item.deployment.title().into());
    value.into()
}

/// A reference to a cluster, as `clusterRefs` has it.
pub(crate) fn cluster_reference(cluster: &Cluster) -> Value {
    let field = |name: &str| cluster.object.get(name).cloned().unwrap_or_default();
    json!({"apiVersion": field("apiVersion"), "kind": field("kind"), "namespace": cluster.id.namespace, "name": cluster.id.name})
}

/// The key of the EventReport of one source and cluster.
pub(crate) fn report_key(cluster: &ClusterRef, source: &str) -> ObjectKey {
    let name = format!("{}--{source}--{}", cluster.kind.lower(), cluster.name);
    ObjectKey {
        gvk: Gvk::new(LIB_GROUP, "v1beta1", "EventReport"),
        namespace: cluster.namespace.clone(),
        name,
    }
}

/// The EventReport: every matching object, with as many whole ones as fit. CloudEvents are not in it.
pub(crate) fn event_report(cluster: &ClusterRef, source: &str, set: &Set) -> Projection {
    let (mut matching, mut resources, mut left_out) = (Vec::new(), String::new(), 0_usize);
    let mut bytes = 0;
    for (key, found) in in_order(set).into_iter().filter(|(key, _)| !is_event(key)) {
        let mut reference =
            json!({"apiVersion": key.gvk.api_version(), "kind": key.gvk.kind, "name": key.name});
        if !key.namespace.is_empty() {
            reference["namespace"] = key.namespace.clone().into();
        }
        let text = found.object.as_ref().map(|object| object.to_string()).unwrap_or_default();
        let more = text.len() + reference.to_string().len();
        if bytes + more > REPORT_BYTES {
            left_out += 1;
            continue;
        }
        bytes += more;
        matching.push(reference);
        if !text.is_empty() {
            resources.push_str(&text);
            resources.push_str("\n---\n");
        }
    }
    let mut spec = json!({
        "clusterNamespace": cluster.namespace,
        "clusterName": cluster.name,
        "clusterType": cluster.kind.title(),
        "eventSourceName": source,
        "matchingResources": matching,
    });
    if !resources.is_empty() {
        spec["resources"] = STANDARD.encode(resources).into();
    }
    let mut object = json!({"spec": spec, "status": {"phase": "Processed"}});
    if left_out > 0 {
        object["status"]["failureMessage"] =
            format!("{left_out} more matches do not fit into one object; they are processed all the same")
                .into();
    }
    let mut labels = Map::new();
    for (key, value) in [
        ("projectsveltos.io/eventsource-name", source),
        ("eventreport.projectsveltos.io/cluster-name", &cluster.name),
        ("eventreport.projectsveltos.io/cluster-type", cluster.kind.lower()),
    ] {
        if names::is_label_value(value) {
            labels.insert(key.into(), value.into());
        }
    }
    Projection::of(report_key(cluster, source), object, labels)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::knowledge::sets::Match;

    fn set(count: usize, size: usize) -> Set {
        let entry = |index: usize| {
            let key = ObjectKey {
                gvk: Gvk::new("", "v1", "Service"),
                namespace: "n".into(),
                name: format!("s{index:04}"),
            };
            let object = Arc::new(json!({"metadata": {"name": key.name}, "text": "x".repeat(size)}));
            (key, Match { selectors: vec![0], object: Some(object), ..Match::default() })
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn reports_hold_references_and_objects() {
        let cluster = ClusterRef::sveltos("default", "c");
        let report = event_report(&cluster, "s", &set(2, 1)).object.unwrap();
        assert_eq!(report["metadata"]["name"], "sveltos--s--c");
        assert_eq!(report["spec"]["matchingResources"][1]["name"], "s0001");
        let resources = STANDARD.decode(report["spec"]["resources"].as_str().unwrap()).unwrap();
        assert_eq!(String::from_utf8(resources).unwrap().matches("\n---\n").count(), 2);
    }

    #[test]
    fn a_report_that_would_not_fit_says_what_is_left_out() {
        let report =
            event_report(&ClusterRef::sveltos("default", "c"), "s", &set(100, 20_000)).object.unwrap();
        assert!(report.to_string().len() < 1_400_000);
        assert!(report["status"]["failureMessage"].as_str().unwrap().contains("more matches"));
    }

    #[test]
    fn a_report_fits_however_long_the_names_of_its_matches_are() {
        let entry = |index: usize| {
            let gvk = Gvk::new("", "v1", "Service");
            let key =
                ObjectKey { gvk, namespace: "n".repeat(63), name: format!("{}{index:04}", "x".repeat(240)) };
            (key, Match { selectors: vec![0], ..Match::default() })
        };
        let set: Set = (0..6_000).map(entry).collect();
        let report = event_report(&ClusterRef::sveltos("default", "c"), "s", &set).object.unwrap();
        assert!(report.to_string().len() < 1_400_000);
        let shown = report["spec"]["matchingResources"].as_array().unwrap().len();
        let text = report["status"]["failureMessage"].as_str().unwrap();
        assert!(text.starts_with(&format!("{} more matches", 6_000 - shown)), "{text}");
    }

    #[test]
    fn what_cannot_be_a_label_is_left_out_alone() {
        let cause = EventCause {
            trigger: sluice_api::TriggerId::new("EventTrigger", "t"),
            cluster: ClusterRef::sveltos("a", "b"),
            source: "s".repeat(64),
            item: Some(set(1, 1).into_keys().next().unwrap()),
        };
        let labels = cause_labels(&cause, "t");
        let names: Vec<_> = labels.keys().filter_map(|key| key.strip_prefix(MADE_OF_EVENTS)).collect();
        let expected = [
            "clusterNamespace",
            "clustername",
            "clustertype",
            "eventtriggername",
            "resourcename",
            "resourcenamespace",
        ];
        assert_eq!(names, expected);
        let report = event_report(&cause.cluster, &cause.source, &Set::new()).object.unwrap();
        assert_eq!(report["metadata"]["labels"].as_object().unwrap().len(), 2);
    }

    #[test]
    fn a_cloud_event_has_labels_of_its_own_and_is_in_no_report() {
        let [source, subject, kind, channel] = ["shop/eu", "order/7", "created", "c"].map(str::to_owned);
        let key = sluice_api::cloud_event::EventKey { source, subject, kind, channel }.object_key();
        let cause = EventCause {
            trigger: sluice_api::TriggerId::new("EventTrigger", "t"),
            cluster: ClusterRef::sveltos("a", "b"),
            source: "s".into(),
            item: Some(sluice_api::cloud_event::item_of(&key)),
        };
        let labels = cause_labels(&cause, "t");
        let label = |name: &str| labels.get(&format!("{MADE_OF_EVENTS}{name}")).and_then(Value::as_str);
        let found = ["cesource", "cesubject", "resourcename"].map(label);
        assert_eq!(found, [Some("shop-eu"), Some("order-7"), None]);
        let mut set = set(1, 1);
        set.insert(key, Match { selectors: vec![0], ..Match::default() });
        let report = event_report(&cause.cluster, "s", &set).object.unwrap();
        assert_eq!(report["spec"]["matchingResources"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn generated_content_has_the_annotations_of_its_source_but_not_kubectls_copy_of_it() {
        let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}", "own": "yes"});
        let secret = content("Secret", "c", Map::new(), Some(annotations), Map::new()).object.unwrap();
        assert_eq!(secret["metadata"]["annotations"], json!({"own": "yes"}));
        assert_eq!((secret["type"].as_str(), secret["kind"].as_str()), (Some(SECRET_TYPE), Some("Secret")));
        let map = content("ConfigMap", "c", Map::new(), None, Map::new()).object.unwrap();
        assert_eq!(map["metadata"], json!({"name": "c", "namespace": NAMESPACE}));
        assert_eq!(map.get("type"), None);
    }

    #[test]
    fn generated_objects_tell_their_cluster() {
        let cause = EventCause {
            trigger: sluice_api::TriggerId::new("EventTrigger", "t"),
            cluster: ClusterRef::sveltos("a", "b"),
            source: "s".into(),
            item: None,
        };
        let profile = cluster_profile("p", &Map::new(), cause_labels(&cause, "t")).object.unwrap();
        assert_eq!(crate::knowledge::labels::generated_for(&profile), Some(cause.cluster));
        assert_eq!(crate::knowledge::labels::generated_for(&json!({"metadata": {}})), None);
    }
}
