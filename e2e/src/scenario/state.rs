//! What all clusters hold, without a cluster: the input of `sluice build`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;
use sluice_api::ObjectKey;
use sluice_api::cloud_event::CloudEvent;
use sluice_dryrun::{Input, Options, Sources, as_served, build_with};

pub use sluice_dryrun::Output as Build;

/// The place of objects of the management cluster; others are called `namespace/name`.
pub const MANAGEMENT: &str = "management";

/// Objects by place and identity, and the charts that lie beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    objects: BTreeMap<String, BTreeMap<ObjectKey, Value>>,
    /// CloudEvents by place, in the order in which they are sent.
    events: BTreeMap<String, Vec<Value>>,
    sources: Sources,
}

/// Where an object says since when it is being deleted.
const DELETED_AT: &str = "/metadata/deletionTimestamp";

/// Whether finalizers hold an object.
fn is_held(object: &Value) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|held| !held.is_empty())
}

/// As a server stores it: a namespace that its kind does not have is dropped, one that is missing is completed.
fn served(object: Value) -> Value {
    as_served(vec![object], &[]).pop().unwrap_or_default()
}

// === impl State ===

impl State {
    /// Nothing but charts.
    pub fn with(sources: Sources) -> Self {
        Self { sources, ..Self::default() }
    }

    /// Creates or replaces an object, or sends a CloudEvent. An object that is being deleted goes with its last finalizer.
    ///
    /// # Errors
    /// When it has no kind or name.
    pub fn apply(&mut self, place: &str, object: Value) -> anyhow::Result<()> {
        if CloudEvent::is_meant(&object) {
            self.events.entry(place.to_owned()).or_default().push(object);
            return Ok(());
        }
        let mut object = served(object);
        let key =
            ObjectKey::of(&object).with_context(|| format!("{place}: an object without kind or name"))?;
        let objects = self.objects.entry(place.to_owned()).or_default();
        let deleted_at = objects.get(&key).and_then(|known| known.pointer(DELETED_AT)).cloned();
        match deleted_at {
            Some(_) if !is_held(&object) => drop(objects.remove(&key)),
            deleted_at => {
                if let Some(time) = deleted_at {
                    object["metadata"]["deletionTimestamp"] = time;
                }
                objects.insert(key, object);
            }
        }
        Ok(())
    }

    /// Deletes an object. One with finalizers stays, and is being deleted.
    ///
    /// # Errors
    /// When it is not there.
    pub fn delete(&mut self, place: &str, object: &Value) -> anyhow::Result<()> {
        let key = ObjectKey::of(&served(object.clone()))
            .with_context(|| format!("{place}: an object without kind or name"))?;
        let objects = self.objects.get_mut(place);
        let known = objects.and_then(|objects| Some((objects.remove(&key)?, objects)));
        let (mut object, objects) =
            known.with_context(|| format!("{place}: {key} is to be deleted and is not there"))?;
        if is_held(&object) {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            objects.insert(key, object);
        }
        Ok(())
    }

    /// The objects of a place, and then the CloudEvents that were sent there.
    pub fn at(&self, place: &str) -> impl Iterator<Item = &Value> {
        let objects = self.objects.get(place).into_iter().flat_map(BTreeMap::values);
        objects.chain(self.events.get(place).into_iter().flatten())
    }

    /// All places that hold something.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let places: BTreeSet<_> = self.objects.keys().chain(self.events.keys()).collect();
        places.into_iter().map(String::as_str)
    }

    /// What `sluice build` makes of it.
    ///
    /// # Errors
    /// When it cannot be written or read.
    pub fn build(&self) -> anyhow::Result<Build> {
        self.build_as(&Options::default())
    }

    /// The same, and each object says why it exists.
    ///
    /// # Errors
    /// When it cannot be written or read.
    pub fn explained(&self) -> anyhow::Result<Build> {
        self.build_as(&Options { because: true, ..Options::default() })
    }

    fn build_as(&self, options: &Options) -> anyhow::Result<Build> {
        let dir = tempfile::tempdir()?;
        self.write(dir.path())?;
        match Input::read(dir.path()) {
            Ok(input) => Ok(build_with(&Input { sources: self.sources.clone(), ..input }, options)),
            Err(error) => bail!("sluice build: {error}"),
        }
    }

    /// Writes it as a directory for `sluice build`.
    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        for place in self.places() {
            let folder =
                if place == MANAGEMENT { dir.to_path_buf() } else { dir.join("clusters").join(place) };
            std::fs::create_dir_all(&folder)?;
            for (index, object) in self.at(place).enumerate() {
                std::fs::write(folder.join(format!("{index:04}.json")), object.to_string())?;
            }
        }
        Ok(())
    }
}
