//! Reading a directory of manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::{ObjectKey, object, string_data, yaml};
use sluice_chart::Capabilities;
use sluice_protocol::subject::is_channel;

use crate::capabilities;
use crate::pipeline::Former;
use crate::sources::{self, Sources};

/// What a directory holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// Objects of the management cluster.
    pub management: Vec<Value>,
    /// Objects of managed clusters, and CloudEvents in the order in which they are sent there, by `(namespace, name)` of their registration.
    pub clusters: BTreeMap<(String, String), Vec<Value>>,
    /// What managed clusters can do, where a file says so, in the same way.
    pub capabilities: BTreeMap<(String, String), Capabilities>,
    /// Charts that lie in `sources/`: nothing else is fetched.
    pub sources: Sources,
    /// What was there before, where this is to take its place.
    pub former: Former,
}

/// A file that cannot be read as manifests.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct InputError {
    path: PathBuf,
    reason: String,
}

impl InputError {
    pub(crate) fn of(path: &Path, reason: String) -> Self {
        Self { path: path.to_owned(), reason }
    }
}

/// The files of a directory that hold manifests of the management cluster, in order.
///
/// # Errors
/// The folder that cannot be read.
pub fn manifests_in(dir: &Path) -> Result<Vec<PathBuf>, InputError> {
    if !dir.is_dir() {
        return Err(failed(dir, "is not a directory"));
    }
    files(dir, &[&dir.join("clusters"), &dir.join(sources::FOLDER)])
}

impl Input {
    /// Reads every YAML and JSON file below `dir`.
    ///
    /// # Errors
    /// The first file that cannot be read, with its document and field.
    pub fn read(dir: &Path) -> Result<Self, InputError> {
        let manifests = manifests_in(dir)?;
        let mut input = Self { sources: Sources::read(&dir.join(sources::FOLDER))?, ..Self::default() };
        let clusters = dir.join("clusters");
        for file in manifests {
            let objects = objects(&file)?;
            if objects.iter().any(CloudEvent::is_meant) {
                let reason = "a CloudEvent is sent to a cluster: put it below clusters/<namespace>/<name>";
                return Err(failed(&file, reason));
            }
            input.management.extend(objects);
        }
        for namespace in folders(&clusters)? {
            for cluster in folders(&namespace)? {
                let (place, mut held) = ((last(&namespace), last(&cluster)), Vec::new());
                let said = cluster.join(capabilities::FILE);
                for file in files(&cluster, &[&said])? {
                    held.extend(objects(&file)?);
                }
                if said.exists() {
                    input.capabilities.insert(place.clone(), capabilities::read(&said)?);
                }
                input.clusters.insert(place, held);
            }
        }
        Ok(input)
    }
}

fn failed(path: &Path, reason: impl ToString) -> InputError {
    InputError::of(path, reason.to_string())
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, InputError> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let read = std::fs::read_dir(dir).map_err(|error| failed(dir, error))?;
    let mut paths = read
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed(dir, error))?;
    paths.sort();
    Ok(paths)
}

fn folders(dir: &Path) -> Result<Vec<PathBuf>, InputError> {
    Ok(entries(dir)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn files(dir: &Path, without: &[&Path]) -> Result<Vec<PathBuf>, InputError> {
    let mut found = Vec::new();
    for path in entries(dir)? {
        if path.is_dir() {
            if !without.contains(&path.as_path()) {
                found.extend(files(&path, &[])?);
            }
            continue;
        }
        let is_manifest =
            matches!(path.extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json"));
        if is_manifest && !without.contains(&path.as_path()) {
            found.push(path);
        }
    }
    Ok(found)
}

/// What an object of a cluster, or a CloudEvent that is sent to it, is called.
pub(crate) fn key_of(object: &Value) -> Option<ObjectKey> {
    if CloudEvent::is_meant(object) { event(object).ok() } else { ObjectKey::of(object) }
}

fn event(object: &Value) -> Result<ObjectKey, String> {
    let event = CloudEvent::read(object.clone())?;
    let channel = event.channel()?;
    if !is_channel(channel) {
        return Err(format!(
            "natssubject: {channel:?} is no subject of a message; write one, as orders.created"
        ));
    }
    Ok(event.key(channel)?.object_key())
}

/// The objects in a file, each with kind and name, and the CloudEvents.
///
/// # Errors
/// What cannot be read, with its document and field.
pub fn objects(file: &Path) -> Result<Vec<Value>, InputError> {
    let text = std::fs::read_to_string(file).map_err(|error| failed(file, error))?;
    objects_in(file, &text)
}

/// The same for what a file holds; its name is for errors.
///
/// # Errors
/// As [`objects`].
pub fn objects_in(file: &Path, text: &str) -> Result<Vec<Value>, InputError> {
    let mut objects = yaml::documents(text).map_err(|error| failed(file, error))?;
    for (index, object) in objects.iter_mut().enumerate() {
        let place = format!("document {}", index + 1);
        if CloudEvent::is_meant(object) {
            event(object).map_err(|error| failed(file, format!("{place} (CloudEvent): {error}")))?;
            continue;
        }
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        for field in ["apiVersion", "kind"] {
            if text(field).is_empty() {
                return Err(failed(file, format!("{place}: {field} is missing or no text")));
            }
        }
        if object::name(object).is_empty() {
            return Err(failed(
                file,
                format!("{place} ({}): metadata.name is missing or no text", text("kind")),
            ));
        }
        let described = object::describe(object);
        string_data::fold(object).map_err(|error| failed(file, format!("{place} ({described}): {error}")))?;
    }
    Ok(objects)
}
