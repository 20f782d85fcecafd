//! `sluice diff`: what manifests of a folder would change in which cluster, before anybody applies them.
//!
//! ```text
//! manifests that are there, objects of clusters ─► build ─► objects before ┐
//!        └── with those of the folder over them ─► build ─► objects after ─┴─► difference
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use similar::TextDiff;
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_dryrun::{Input, Options, Output, build_with};
use sluice_inspect::{held, manifests};
use sluice_protocol::Role;
use sluice_renderer_core::generated_for;
use sluice_tasks::Tasks;
use sluice_tera::Workers;

use crate::fetch::Fetching;
use crate::reach::{Management, Reach, cluster};

/// How long the bus, and the management cluster, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What Sluice writes onto objects begins so: it follows from the rest.
const MARKS: &str = "projectsveltos.io/";

/// Arguments of `sluice diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice diff manifests/
  sluice diff manifests/ --cluster default/cluster-1

Values of Secrets are masked. Objects of kinds that no EventSource selected so far are not known, and CloudEvents are left out; charts
are taken from `sources/` in the folder, or fetched. Exit code: 0 nothing would change, 1 something would, 2 it cannot be told.")]
pub(crate) struct Args {
    /// Management manifests, as `sluice build` takes them.
    dir: PathBuf,
    /// Only this cluster.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = cluster)]
    cluster: Option<ClusterRef>,
    #[command(flatten)]
    fetching: Fetching,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    reach: Reach,
}

impl Args {
    pub(crate) fn run(self) -> ExitCode {
        let mut changes = false;
        let done = crate::blocking(async {
            let text = Box::pin(self.difference()).await?;
            changes = !text.is_empty();
            print!("{text}");
            Ok(())
        });
        match (done == ExitCode::SUCCESS, changes) {
            (false, _) => ExitCode::from(2),
            (true, true) => ExitCode::from(1),
            (true, false) => ExitCode::SUCCESS,
        }
    }

    async fn difference(self) -> anyhow::Result<String> {
        let only = self.cluster.as_ref().map(ClusterRef::path);
        let local = Input::read(&self.dir)?;
        let client = self.management.client().await?;
        let there = tokio::time::timeout(PATIENCE, manifests(&client)).await;
        let there =
            there.context("the management cluster does not answer")?.context("reading what is there")?;
        let tasks = Tasks::default();
        let on_bus = async { anyhow::Ok(held(&self.reach.bus(Role::Operator, &tasks).await?).await?) };
        let clusters = tokio::time::timeout(PATIENCE, on_bus).await.context("the bus does not answer")??;
        let before = Input {
            management: written(there),
            clusters,
            sources: local.sources.clone(),
            ..Input::default()
        };
        let after = Input { management: over(&before.management, local.management), ..before.clone() };
        let repositories = self.fetching.repositories()?;
        let options = Options { tera: Arc::new(Workers::new()), repositories, ..Options::default() };
        Ok(difference(&build_with(&before, &options), &build_with(&after, &options), only.as_deref()))
    }
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

/// The objects that are there, with others over them.
fn over(there: &[Value], others: Vec<Value>) -> Vec<Value> {
    let places: BTreeSet<_> = others.iter().filter_map(place).collect();
    let kept = there.iter().filter(|object| place(object).is_none_or(|place| !places.contains(&place)));
    kept.cloned().chain(others).collect()
}

/// The difference of two results, as text; empty where there is none.
fn difference(before: &Output, after: &Output, only: Option<&str>) -> String {
    let (mut text, nothing) = (String::new(), Vec::new());
    let names: BTreeSet<&String> = before.clusters.keys().chain(after.clusters.keys()).collect();
    for cluster in names.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
        let before = by_key(before.clusters.get(cluster).unwrap_or(&nothing));
        let after = by_key(after.clusters.get(cluster).unwrap_or(&nothing));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (before, after) = shown(before.get(key).copied(), after.get(key).copied());
            if before != after {
                let place = format!("cluster {cluster}: {key}");
                let diff = TextDiff::from_lines(&before, &after);
                text.push_str(&diff.unified_diff().header(&place, &place).to_string());
            }
        }
    }
    let known: BTreeSet<String> = before.problems.iter().map(Value::to_string).collect();
    for problem in after.problems.iter().filter(|problem| !known.contains(&problem.to_string())) {
        let part = |name: &str| object::text(problem, &[name]);
        let cluster = part("cluster");
        if only.is_none_or(|only| cluster.is_empty() || cluster == only) {
            // Writing into a text does not fail.
            writeln!(text, "! {} {cluster} {}: {}", part("stage"), part("object"), part("error"))
                .unwrap_or_default();
        }
    }
    text
}

fn by_key(objects: &[Value]) -> BTreeMap<String, &Value> {
    let key = |object: &Value| {
        ObjectKey::of(object).map_or_else(|| object::describe(object), |key| key.to_string())
    };
    objects.iter().map(|object| (key(object), object)).collect()
}

/// An object before and after, as people read it.
fn shown(before: Option<&Value>, after: Option<&Value>) -> (String, String) {
    let bare = |object: Option<&Value>| object.map(without_marks);
    let (mut before, mut after) = (bare(before), bare(after));
    mask(&mut before, &mut after);
    let text =
        |object: Option<Value>| object.map(|object| sluice_template::to_yaml(&object)).unwrap_or_default();
    (text(before), text(after))
}

/// What Sluice writes onto it is left out: where it differs, something else does.
fn without_marks(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with(MARKS));
        if annotations.is_empty()
            && let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    object
}

/// Takes the values of Secrets away; those that differ say so.
fn mask(before: &mut Option<Value>, after: &mut Option<Value>) {
    for field in ["data", "stringData"] {
        let values = |object: &Option<Value>| -> Map<String, Value> {
            let secret = object.as_ref().filter(|object| object["kind"] == "Secret");
            secret.and_then(|object| object[field].as_object()).cloned().unwrap_or_default()
        };
        let (old, new) = (values(before), values(after));
        let hide = |object: &mut Option<Value>, other: &Map<String, Value>, differs: &str| {
            let secret = object.as_mut().filter(|object| object["kind"] == "Secret");
            let Some(values) = secret.and_then(|object| object.get_mut(field)).and_then(Value::as_object_mut)
            else {
                return;
            };
            for (key, value) in values {
                let same = other.get(key).is_none_or(|other| other == value);
                *value = json!(if same { "(masked)" } else { differs });
            }
        };
        hide(before, &new, "(masked, before)");
        hide(after, &old, "(masked, after)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(objects: Vec<Value>) -> Output {
        Output { clusters: [("default/a".to_owned(), objects)].into(), ..Output::default() }
    }

    fn config_map(name: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": name,
            "annotations": {"projectsveltos.io/hash": format!("of {value}")}}, "data": {"k": value}})
    }

    #[test]
    fn what_changes_comes_and_goes_is_shown_and_nothing_else() {
        let before =
            output(vec![config_map("same", "1"), config_map("changed", "1"), config_map("gone", "1")]);
        let after = output(vec![config_map("same", "1"), config_map("changed", "2"), config_map("new", "1")]);
        let text = difference(&before, &after, None);
        let marked = |sign: char| -> Vec<&str> {
            text.lines()
                .filter(|line| line.starts_with(sign) && !line.starts_with(&sign.to_string().repeat(3)))
                .collect()
        };
        assert!(text.contains("--- cluster default/a: ConfigMap n/changed\n"), "{text}");
        assert!(marked('-').contains(&"-  k: \"1\"") && marked('+').contains(&"+  k: \"2\""), "{text}");
        assert!(marked('-').contains(&"-  name: gone") && marked('+').contains(&"+  name: new"), "{text}");
        assert!(!text.contains("same") && !text.contains(MARKS), "{text}");
        assert_eq!(difference(&before, &before, None), "");
        assert_eq!(difference(&before, &after, Some("default/b")), "");
    }

    #[test]
    fn values_of_secrets_are_masked_and_say_whether_they_differ() {
        let secret = |value: &str| {
            output(vec![json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"same": "c2FtZQ==", "other": value}})])
        };
        let text = difference(&secret("b25l"), &secret("dHdv"), None);
        assert!(text.contains("-  other: (masked, before)\n+  other: (masked, after)"), "{text}");
        assert!(!["c2FtZQ", "b25l", "dHdv"].iter().any(|value| text.contains(value)), "{text}");
    }

    #[test]
    fn new_problems_are_told_and_known_ones_are_not() {
        let with = |errors: &[&str]| {
            let problem = |error: &&str| json!({"stage": "renderer", "cluster": "default/a", "object": "EventTrigger t", "error": error});
            Output { problems: errors.iter().map(problem).collect(), ..Output::default() }
        };
        let text = difference(&with(&["old"]), &with(&["old", "new"]), None);
        assert_eq!(text, "! renderer default/a EventTrigger t: new\n");
    }

    #[test]
    fn manifests_of_the_folder_go_over_those_that_are_there_in_any_version() {
        let trigger = |version: &str, source: &str| {
            json!({"apiVersion": format!("lib.projectsveltos.io/{version}"), "kind": "EventTrigger",
            "metadata": {"name": "t"}, "spec": {"eventSourceName": source}})
        };
        let there = [trigger("v1beta1", "old"), config_map("kept", "1")];
        let both = over(&there, vec![trigger("v1alpha1", "new")]);
        assert_eq!(both, [config_map("kept", "1"), trigger("v1alpha1", "new")]);
        let content = |namespace: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}});
        assert_eq!(over(&[content(json!("default"))], vec![content(Value::Null)]).len(), 1);
    }
}
