//! The result of a build, in a fixed order.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use sluice_api::{ClusterRef, MANAGEMENT, ObjectKey};
use sluice_protocol::{Fault, Problem, Severity};

use crate::because::Because;
use crate::packed::Packed;

/// What would exist where, for who prints it: it takes little memory.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    pub(crate) clusters: BTreeMap<String, Vec<Packed>>,
    management: Vec<Packed>,
    pub(crate) problems: Vec<Value>,
}

/// What would exist where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Objects that would be made in the management cluster.
    pub management: Vec<Value>,
    /// Objects that would be applied, as they would be sent, by `namespace/name` of the cluster; those for the management cluster by
    /// `management`, when there are any.
    pub clusters: BTreeMap<String, Vec<Value>>,
    /// What cannot be done: stage, cluster, object, error.
    pub problems: Vec<Value>,
}

// === impl Made ===

impl Made {
    pub(crate) fn new(
        mut management: Vec<Packed>,
        registered: Vec<ClusterRef>,
        objects: BTreeMap<ClusterRef, BTreeMap<ObjectKey, Packed>>,
        problems: Vec<Problem>,
        because: Option<&Because>,
    ) -> Self {
        if let Some(because) = because {
            management.iter_mut().for_each(|object| because.explain(object));
        }
        management.sort_by_cached_key(place);
        let mut clusters: BTreeMap<String, Vec<Packed>> =
            registered.iter().map(|cluster| (cluster.path(), Vec::new())).collect();
        let is_empty_management =
            |(cluster, objects): &(ClusterRef, BTreeMap<_, _>)| cluster.is_management() && objects.is_empty();
        for (cluster, objects) in objects.into_iter().filter(|one| !is_empty_management(one)) {
            let mut objects: Vec<Packed> = objects.into_values().collect();
            if let Some(because) = because {
                because.explain_all(&cluster, &mut objects);
            }
            objects.sort_by_cached_key(place);
            clusters.insert(cluster.path(), objects);
        }
        let mut open = BTreeMap::new();
        for problem in problems {
            let cluster =
                problem.cluster.parse::<ClusterRef>().map_or(problem.cluster, |cluster| cluster.path());
            let key = (problem.stage, cluster, problem.about.to_string());
            match problem.fault {
                Some(fault) => drop(open.insert(key, fault)),
                None => drop(open.remove(&key)),
            }
        }
        type Open = ((&'static str, String, String), Fault);
        let problem = |((stage, cluster, object), fault): Open| value(stage, &cluster, &object, &fault);
        Self { management, clusters, problems: open.into_iter().map(problem).collect() }
    }

    /// Adds what is only to be known.
    pub(crate) fn note(&mut self, notes: Vec<Problem>) {
        let said =
            |note: Problem| Some(value(note.stage, &note.cluster, &note.about.to_string(), &note.fault?));
        self.problems.extend(notes.into_iter().filter_map(said));
    }

    /// Whether nothing is in the way; what is only to be known is not.
    pub fn is_well(&self) -> bool {
        self.problems.iter().all(is_note)
    }

    /// Writes it as one JSON object.
    ///
    /// # Errors
    /// When it cannot be written to `out`.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// Writes it as YAML documents, each with a comment that says where it would be; problems come last, as comments.
    ///
    /// # Errors
    /// When it cannot be written to `out`.
    pub fn write_yaml(&self, out: &mut impl Write) -> io::Result<()> {
        let management = self.management.iter().map(|object| (MANAGEMENT.to_owned(), object));
        let clusters = self.clusters.iter().flat_map(|(cluster, objects)| {
            let place = if cluster == MANAGEMENT {
                format!("{MANAGEMENT}, deployed to it")
            } else {
                format!("cluster {cluster}")
            };
            objects.iter().map(move |object| (place.clone(), object))
        });
        let mut between = "";
        for (place, object) in management.chain(clusters) {
            write!(out, "{between}---\n# {place}\n{}", sluice_template::to_yaml(&object.value()))?;
            between = "\n";
        }
        if !self.problems.is_empty() {
            write!(out, "{between}")?;
        }
        for problem in &self.problems {
            let part = |name: &str| {
                problem.get(name).and_then(Value::as_str).unwrap_or_default().replace('\n', "\n#   ")
            };
            let (stage, cluster) = (part("stage"), part("cluster"));
            let what = if is_note(problem) { "note" } else { "problem" };
            writeln!(out, "# {what}: {stage} {cluster} {}: {}", part("object"), part("error"))?;
        }
        Ok(())
    }
}

/// A problem as it is printed.
fn value(stage: &str, cluster: &str, object: &str, fault: &Fault) -> Value {
    let mut value = json!({"stage": stage, "cluster": cluster, "object": object, "error": fault.text});
    if !fault.severity.is_error() {
        value["severity"] = json!(fault.severity);
    }
    value
}

/// Whether it is only to be known.
pub fn is_note(problem: &Value) -> bool {
    problem.get("severity") == Some(&json!(Severity::Note))
}

fn place(object: &Packed) -> (String, String, String, String) {
    let object = object.value();
    let text = |path: &[&str]| sluice_api::object::text(&object, path).to_owned();
    (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]))
}

// === impl Output ===

impl From<Made> for Output {
    fn from(made: Made) -> Self {
        let values = |objects: Vec<Packed>| objects.iter().map(Packed::value).collect::<Vec<_>>();
        let clusters = made.clusters.into_iter().map(|(cluster, objects)| (cluster, values(objects)));
        Self { clusters: clusters.collect(), management: values(made.management), problems: made.problems }
    }
}
