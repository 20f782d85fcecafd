//! The result of a build, in a fixed order.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::Problem;

/// What would exist where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Objects that would be made in the management cluster.
    pub management: Vec<Value>,
    /// Objects that would be applied, as they would be sent, by `namespace/name` of the cluster.
    pub clusters: BTreeMap<String, Vec<Value>>,
    /// What cannot be done: stage, cluster, object, error.
    pub problems: Vec<Value>,
}

impl Output {
    pub(crate) fn new(
        mut management: Vec<Value>,
        registered: Vec<ClusterRef>,
        objects: BTreeMap<ClusterRef, BTreeMap<ObjectKey, Value>>,
        problems: Vec<Problem>,
    ) -> Self {
        management.sort_by_key(place);
        let mut clusters: BTreeMap<String, Vec<Value>> =
            registered.iter().map(|cluster| (cluster.path(), Vec::new())).collect();
        for (cluster, objects) in objects {
            let mut objects: Vec<Value> = objects.into_values().collect();
            objects.sort_by_key(place);
            clusters.insert(cluster.path(), objects);
        }
        let mut open = BTreeMap::new();
        for problem in problems {
            let cluster =
                problem.cluster.parse::<ClusterRef>().map_or(problem.cluster, |cluster| cluster.path());
            let key = (problem.stage, cluster, problem.object);
            match problem.error {
                Some(error) => drop(open.insert(key, error)),
                None => drop(open.remove(&key)),
            }
        }
        let problem = |((stage, cluster, object), error)| json!({"stage": stage, "cluster": cluster, "object": object, "error": error});
        Self { management, clusters, problems: open.into_iter().map(problem).collect() }
    }

    fn value(&self) -> Value {
        let clusters: Map<String, Value> =
            self.clusters.iter().map(|(name, objects)| (name.clone(), objects.clone().into())).collect();
        json!({"management": self.management, "clusters": clusters, "problems": self.problems})
    }

    /// As one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.value()).unwrap_or_default()
    }

    /// As YAML documents, each with a comment that says where it would be; problems come last, as comments.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        let mut add = |place: &str, object: &Value| {
            text.push_str(&format!("---\n# {place}\n{}\n", sluice_template::to_yaml(object)))
        };
        self.management.iter().for_each(|object| add("management", object));
        for (cluster, objects) in &self.clusters {
            objects.iter().for_each(|object| add(&format!("cluster {cluster}"), object));
        }
        for problem in &self.problems {
            let part = |name: &str| {
                problem.get(name).and_then(Value::as_str).unwrap_or_default().replace('\n', "\n#   ")
            };
            text.push_str(&format!(
                "# problem: {} {} {}: {}\n",
                part("stage"),
                part("cluster"),
                part("object"),
                part("error")
            ));
        }
        text
    }
}

fn place(object: &Value) -> (String, String, String, String) {
    let text = |path: &[&str]| sluice_api::object::text(object, path).to_owned();
    (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]))
}
