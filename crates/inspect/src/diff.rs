//! What manifests would change in which cluster, before anybody applies them.
//!
//! ```text
//! manifests that are there, objects of clusters ─► build ─► objects before ┐
//!        └── with the given ones over them ──────► build ─► objects after ─┴─► difference
//! ```
//!
//! The second build knows the rows of the first: as in a renderer, what cannot be rendered any more stays as it was. What a deployer
//! is refused stays too, with all that its profile has there.
//!
//! Values of Secrets are replaced before anything is built: who may ask for a difference may say what templates do with them.

// D-1104: a difference is built twice, without values of Secrets.

mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sluice_api::model::{OWNER_KIND, OWNER_NAME};
use sluice_api::{ClusterRef, MANAGEMENT, ObjectKey, object};
use sluice_difference::{Hide, shown};
use sluice_dryrun::{
    Input, InputError, NoRepositories, Options, Output, Repositories, Sources, as_served, build_over,
    is_note, objects_in,
};
use sluice_protocol::Severity;
use sluice_renderer_core::{Veil, generated_for};
use sluice_template::Engine;

use self::stand_ins::StandIns;
use crate::fleet::ObjectsOfClusters;

/// Manifests that somebody means to apply, and what is needed to render them.
#[derive(Clone, Debug)]
pub struct Meant {
    /// Objects of the management cluster.
    pub management: Vec<Value>,
    /// Charts that come with them.
    pub sources: Sources,
    /// Where other charts come from.
    pub repositories: Arc<dyn Repositories>,
    /// Renders what is written in Tera.
    pub tera: Arc<dyn Engine>,
}

/// What would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// By cluster and object.
    pub changes: Vec<Change>,
    /// What could be done before, and not after.
    pub problems: Vec<NewProblem>,
}

/// What would change in one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `namespace/name` of the cluster.
    pub cluster: String,
    /// The object.
    pub object: String,
    /// The difference of its YAML in the unified form.
    pub diff: String,
}

/// What could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewProblem {
    /// The stage that would meet it.
    pub stage: String,
    /// The cluster; empty for all.
    pub cluster: String,
    /// The object.
    pub object: String,
    /// Whether anything is wrong.
    #[serde(skip_serializing_if = "Severity::is_error")]
    pub severity: Severity,
    /// What is wrong.
    pub error: String,
}

// === impl Meant ===

impl Meant {
    /// Manifests in files, by their names and contents, with the charts that came with them. No other chart is fetched.
    ///
    /// # Errors
    /// The first file that cannot be read, with its document and field.
    pub fn of_files<'f>(
        files: impl IntoIterator<Item = (&'f str, &'f str)>,
        sources: Sources,
        tera: Arc<dyn Engine>,
    ) -> Result<Self, InputError> {
        let mut management = Vec::new();
        for (name, content) in files {
            management.extend(objects_in(Path::new(name), content)?);
        }
        Ok(Self { management, sources, repositories: Arc::new(NoRepositories), tera })
    }
}

// === impl Difference ===

impl Difference {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.problems.is_empty()
    }
}

/// What would change in all clusters, or in one, when `meant` were applied over what is `there`.
pub(crate) fn difference(
    there: Vec<Value>,
    held: ObjectsOfClusters,
    meant: Meant,
    only: Option<&ClusterRef>,
) -> Difference {
    let stand_ins = Arc::new(StandIns::default());
    let management = as_served(meant.management, &there);
    let hidden = |objects: Vec<Value>| objects.into_iter().map(|object| stand_ins.hide(object)).collect();
    let before = Input {
        management: hidden(written(there)),
        clusters: held.into_iter().map(|(cluster, objects)| (cluster, hidden(objects))).collect(),
        sources: meant.sources,
        ..Input::default()
    };
    let (tera, repositories, veil) =
        (meant.tera, meant.repositories, Some(stand_ins.clone() as Arc<dyn Veil>));
    let options = Options { tera, repositories, veil, ..Options::default() };
    let only = only.map(ClusterRef::path);
    let (built, former) = build_over(&before, &options);
    let kept = without(&before.management, built.clusters.get(MANAGEMENT).map_or(&[], Vec::as_slice));
    let after = Input { management: over(&kept, hidden(management)), former, ..before };
    between(&built, &build_over(&after, &options).0, only.as_deref())
}

/// What users wrote; the rest is made anew.
fn written(objects: Vec<Value>) -> Vec<Value> {
    objects.into_iter().filter(|object| generated_for(object).is_none()).collect()
}

/// What tells objects of the management cluster apart, whatever version they are written in.
fn place(object: &Value) -> Option<(String, String, String, String)> {
    let key = ObjectKey::of(object)?;
    let is_content = matches!(key.gvk.kind.as_str(), "ConfigMap" | "Secret");
    let default = is_content && key.namespace.is_empty();
    let namespace = if default { "default".to_owned() } else { key.namespace };
    Some((key.gvk.group, key.gvk.kind, namespace, key.name))
}

/// What is there and not deployed there: that is made anew.
fn without(there: &[Value], deployed: &[Value]) -> Vec<Value> {
    let places: BTreeSet<_> = deployed.iter().filter_map(place).collect();
    let is_deployed = |object: &&Value| place(object).is_some_and(|place| places.contains(&place));
    there.iter().filter(|object| !is_deployed(object)).cloned().collect()
}

/// The objects that are there, with others over them.
fn over(there: &[Value], others: Vec<Value>) -> Vec<Value> {
    let places: BTreeSet<_> = others.iter().filter_map(place).collect();
    let kept = there.iter().filter(|object| place(object).is_none_or(|place| !places.contains(&place)));
    kept.cloned().chain(others).collect()
}

/// The difference of two results.
fn between(before: &Output, after: &Output, only: Option<&str>) -> Difference {
    let (mut changes, nothing, holding) = (Vec::new(), Vec::new(), holding(after));
    let names: BTreeSet<&String> = before.clusters.keys().chain(after.clusters.keys()).collect();
    for cluster in names.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
        let before = by_key(before.clusters.get(cluster).unwrap_or(&nothing));
        let after = by_key(after.clusters.get(cluster).unwrap_or(&nothing));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let goes = before.get(key).filter(|_| !after.contains_key(key));
            let owner = goes.and_then(|object| owner(object));
            if owner.is_some_and(|owner| holding.contains(&(cluster.as_str(), owner))) {
                continue;
            }
            let place = format!("cluster {cluster}: {key}");
            let (before, after) = (before.get(key).copied(), after.get(key).copied());
            let diff = shown((&place, &place), before, after, Hide::OfSecrets);
            let (cluster, object) = (cluster.clone(), key.clone());
            changes.extend(diff.map(|diff| Change { cluster, object, diff }));
        }
    }
    Difference { changes, problems: new_problems(before, after, only) }
}

/// The profiles that withdraw nothing from a cluster, because something of them is refused there.
fn holding(output: &Output) -> BTreeSet<(&str, String)> {
    let part = |problem: &'_ Value, name: &str| object::text(problem, &[name]).to_owned();
    let refused = output.problems.iter().filter(|problem| part(problem, "stage") == "deployer");
    let refused = refused.filter(|problem| !is_note(problem));
    refused.map(|problem| (object::text(problem, &["cluster"]), part(problem, "object"))).collect()
}

/// The profile that deploys an object, as problems call it.
fn owner(object: &Value) -> Option<String> {
    let annotation = |name: &str| object::annotation(object, name);
    Some(format!("{} {}", annotation(OWNER_KIND)?, annotation(OWNER_NAME)?))
}

fn new_problems(before: &Output, after: &Output, only: Option<&str>) -> Vec<NewProblem> {
    let known: BTreeSet<String> = before.problems.iter().map(Value::to_string).collect();
    let new = after.problems.iter().filter(|problem| !known.contains(&problem.to_string()));
    let part = |problem: &Value, name: &str| object::text(problem, &[name]).to_owned();
    let new = new.map(|problem| NewProblem {
        stage: part(problem, "stage"),
        cluster: part(problem, "cluster"),
        object: part(problem, "object"),
        severity: if is_note(problem) { Severity::Note } else { Severity::Error },
        error: part(problem, "error"),
    });
    let is_near =
        |problem: &NewProblem| only.is_none_or(|only| problem.cluster.is_empty() || problem.cluster == only);
    new.filter(is_near).collect()
}

fn by_key(objects: &[Value]) -> BTreeMap<String, &Value> {
    let key = |object: &Value| {
        ObjectKey::of(object).map_or_else(|| object::describe(object), |key| key.to_string())
    };
    objects.iter().map(|object| (key(object), object)).collect()
}

#[cfg(test)]
mod tests;
