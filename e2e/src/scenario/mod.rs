//! Scenarios: stories in files, played through `sluice build`, `sluice up` and real API servers.
//!
//! ```text
//! input/ ─► State ─┬─ files ──► sluice build ──► objects ─┐
//! steps/ ─► Step ──┤                                      ├─► Expected::differences
//!                  └─ Player ─► clusters ──────► objects ─┘
//! ```
//!
//! `e2e/scenarios/README.md` says what the files mean.

mod expected;
mod explained;
mod player;
mod said;
mod state;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;
use sluice_api::{Gvk, ObjectKey, object, yaml};
use sluice_dryrun::Sources;

pub use expected::{Expected, difference, differences};
pub use explained::{Examiner, untold};
pub use player::Player;
pub use state::{Build, MANAGEMENT, State};

/// Kinds that Sluice's objects may have in any scenario, besides those that are expected.
const KINDS: [(&str, &str); 6] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "Endpoints"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("networking.k8s.io/v1", "Ingress"),
];

/// A folder of objects: a start, changes in order, and what the clusters must hold after each.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of its folder.
    pub name: String,
    /// What is there at the start.
    pub start: State,
    /// What happens then, in order.
    pub steps: Vec<Step>,
    /// What must be true: at the start, and after each step.
    pub expected: Vec<Expected>,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Step {
    /// Name of its folder.
    pub name: String,
    /// Objects to create or to replace, each with its place.
    pub apply: Vec<(String, Value)>,
    /// Objects to delete, each with its place.
    pub delete: Vec<(String, Value)>,
}

// === impl Scenario ===

impl Scenario {
    /// The folder of all scenarios.
    pub fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
    }

    /// The names of all scenarios, in order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names() -> anyhow::Result<Vec<String>> {
        folders(&Self::folder())
    }

    /// The folder of a scenario's charts. Few have one.
    pub fn sources(name: &str) -> PathBuf {
        Self::folder().join(name).join("input/sources")
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The file that is missing or wrong.
    pub fn load(name: &str) -> anyhow::Result<Self> {
        let folder = Self::folder().join(name);
        let mut start = State::with(Sources::read(&Self::sources(name))?);
        for (place, object) in input(&folder.join("input"))? {
            start.apply(&place, object)?;
        }
        let steps = folders(&folder.join("steps"))?;
        let steps = steps.into_iter().map(|name| step(&folder.join("steps").join(&name), name));
        let steps = steps.collect::<anyhow::Result<Vec<Step>>>()?;
        let expected = (0..=steps.len())
            .map(|number| Expected::read(&folder.join(format!("expected/{number:02}.json"))))
            .collect::<anyhow::Result<Vec<Expected>>>()?;
        Ok(Self { name: name.to_owned(), start, steps, expected })
    }

    /// The kinds in which an object of Sluice's may be found.
    pub fn kinds(&self) -> Vec<Gvk> {
        let mut kinds: Vec<Gvk> = KINDS.iter().map(|(version, kind)| Gvk::parse(version, kind)).collect();
        kinds.extend(
            self.expected.iter().flat_map(Expected::objects).filter_map(ObjectKey::of).map(|key| key.gvk),
        );
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// The places that it speaks of.
    pub fn places(&self) -> BTreeSet<String> {
        let changed = self.steps.iter().flat_map(|step| step.apply.iter().chain(&step.delete));
        let expected = self.expected.iter().flat_map(|expected| {
            expected.clusters.keys().chain(expected.kept.keys()).chain(expected.pending.keys()).cloned()
        });
        let places = self.start.places().map(str::to_owned).chain(changed.map(|(place, _)| place.clone()));
        places.chain(expected).collect()
    }

    /// The state after each step, beginning with the start.
    ///
    /// # Errors
    /// When a step deletes what is not there.
    pub fn states(&self) -> anyhow::Result<Vec<State>> {
        let mut states = vec![self.start.clone()];
        for step in &self.steps {
            let mut state = states.last().cloned().unwrap_or_default();
            step.change(&mut state).with_context(|| format!("{}, step {}", self.name, step.name))?;
            states.push(state);
        }
        Ok(states)
    }
}

// === impl Step ===

impl Step {
    fn change(&self, state: &mut State) -> anyhow::Result<()> {
        for (place, object) in &self.apply {
            state.apply(place, object.clone())?;
        }
        self.delete.iter().try_for_each(|(place, object)| state.delete(place, object))
    }
}

/// Everything below `input/`, with its place.
fn input(folder: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_file() {
            found.extend(documents(&path)?.into_iter().map(|object| (MANAGEMENT.to_owned(), object)));
        }
    }
    let clusters = folder.join("clusters");
    for namespace in folders(&clusters)? {
        for name in folders(&clusters.join(&namespace))? {
            let place = format!("{namespace}/{name}");
            let objects = everything(&clusters.join(&place))?;
            found.extend(objects.into_iter().map(|object| (place.clone(), object)));
        }
    }
    Ok(found)
}

fn step(folder: &Path, name: String) -> anyhow::Result<Step> {
    Ok(Step { name, apply: change(&folder.join("apply"))?, delete: change(&folder.join("delete"))? })
}

/// The objects of `apply/` or `delete/`, with their places.
fn change(folder: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for first in folders(folder)? {
        if first == MANAGEMENT {
            let objects = everything(&folder.join(&first))?;
            found.extend(objects.into_iter().map(|object| (MANAGEMENT.to_owned(), object)));
            continue;
        }
        for name in folders(&folder.join(&first))? {
            let place = format!("{first}/{name}");
            let objects = everything(&folder.join(&place))?;
            found.extend(objects.into_iter().map(|object| (place.clone(), object)));
        }
    }
    Ok(found)
}

/// The names of the folders in a folder, sorted; none where it does not exist.
fn folders(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.path().is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The objects of all files below a folder, those first that others need.
fn everything(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let (mut objects, mut rest) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = rest.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                rest.push(path);
            } else {
                objects.extend(documents(&path)?);
            }
        }
    }
    objects.sort_by_key(|object| !comes_first(object));
    Ok(objects)
}

/// Whether other objects cannot be without this one.
pub(crate) fn comes_first(value: &Value) -> bool {
    matches!(object::text(value, &["kind"]), "Namespace" | "CustomResourceDefinition")
}

fn documents(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    match yaml::documents(&text) {
        Ok(objects) => Ok(objects),
        Err(error) => bail!("{}: {error}", path.display()),
    }
}
