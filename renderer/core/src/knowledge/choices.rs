//! What scripts choose among all matches of an EventSource on a cluster, and make of them: `aggregatedSelection`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::is_event;
use sluice_api::model::EventSource;
use sluice_api::secrets::{is_secret, without_message};
use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_script::{Limits, Script};

use crate::error::{Error, Result};
use crate::knowledge::sets::{Match, Set, in_order};

/// The chosen objects.
pub(crate) type Chosen = BTreeMap<ObjectKey, Choice>;

/// An object as the script returned it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Its place in the order of the script.
    pub(crate) place: usize,
    pub(crate) object: Arc<Value>,
    /// Of the set from which it was first returned like this.
    pub(crate) version: u64,
}

/// The last choice from each set.
#[derive(Default)]
pub(crate) struct Choices {
    by_cluster: HashMap<ClusterRef, BTreeMap<String, Made>>,
}

/// A choice, and what it was made of.
struct Made {
    /// Of the set.
    version: u64,
    manifest: Arc<Value>,
    chosen: Result<Chosen>,
}

// === impl Choices ===

impl Choices {
    /// What was chosen from the set as it is now; nothing when that is not known, or the script failed.
    pub(crate) fn get(
        &self,
        cluster: &ClusterRef,
        source: &str,
        version: u64,
        manifest: &Arc<Value>,
    ) -> Option<&Chosen> {
        let made = self.by_cluster.get(cluster)?.get(source)?;
        made.chosen.as_ref().ok().filter(|_| made.is_of(version, manifest))
    }

    /// Whether the script was asked about the set as it is now.
    pub(crate) fn is_made(
        &self,
        cluster: &ClusterRef,
        source: &str,
        version: u64,
        manifest: &Arc<Value>,
    ) -> bool {
        let made = self.by_cluster.get(cluster).and_then(|sources| sources.get(source));
        made.is_some_and(|made| made.is_of(version, manifest))
    }

    /// Lets the script choose; why it failed.
    pub(crate) fn make(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        version: u64,
        manifest: &Arc<Value>,
        set: &Set,
    ) -> Option<Error> {
        let sources = self.by_cluster.entry(cluster.clone()).or_default();
        let former = sources.get(source).and_then(|made| made.chosen.as_ref().ok());
        let chosen = choose(manifest, set, version, former);
        let error = chosen.as_ref().err().cloned();
        sources.insert(source.to_owned(), Made { version, manifest: manifest.clone(), chosen });
        error
    }

    /// Whether the script was ever asked.
    pub(crate) fn has(&self, cluster: &ClusterRef, source: &str) -> bool {
        self.by_cluster.get(cluster).is_some_and(|sources| sources.contains_key(source))
    }

    /// Whether there was one.
    pub(crate) fn forget(&mut self, cluster: &ClusterRef, source: &str) -> bool {
        self.by_cluster.get_mut(cluster).is_some_and(|sources| sources.remove(source).is_some())
    }
}

impl Made {
    fn is_of(&self, version: u64, manifest: &Arc<Value>) -> bool {
        self.version == version && self.manifest == *manifest
    }
}

/// The script of an EventSource that chooses among all matches, if it has one.
pub(crate) fn script_of(manifest: &Value) -> Option<&str> {
    let text = object::text(manifest, &["spec", EventSource::AGGREGATE]);
    (!text.trim().is_empty()).then_some(text)
}

/// What the script of an EventSource chooses among these matches, or makes of them, in its order. Each comes with the indexes of
/// the selectors that select it. Nothing where the EventSource has no such script.
///
/// # Errors
/// Why the script failed, with the EventSource and the field.
pub fn chosen_among(
    manifest: &Value,
    matches: impl IntoIterator<Item = (ObjectKey, Vec<u16>, Value)>,
) -> Result<Option<Vec<ObjectKey>>> {
    if script_of(manifest).is_none() {
        return Ok(None);
    }
    let of_match = |(key, selectors, object): (ObjectKey, Vec<u16>, Value)| {
        (key, Match { selectors, object: Some(Arc::new(object)), ..Match::default() })
    };
    let chosen = choose(manifest, &matches.into_iter().map(of_match).collect(), 0, None)?;
    let mut chosen: Vec<_> = chosen.into_iter().map(|(key, choice)| (choice.place, key)).collect();
    chosen.sort_unstable();
    Ok(Some(chosen.into_iter().map(|(_, key)| key).collect()))
}

fn choose(manifest: &Value, set: &Set, version: u64, former: Option<&Chosen>) -> Result<Chosen> {
    let place = || format!("{}: spec.{}", object::describe(manifest), EventSource::AGGREGATE);
    let named = |error: Error| error.within(place());
    let script = Script::compile(script_of(manifest).unwrap_or_default());
    let script = script.map_err(|error| named(error.into()))?;
    let (mut given, mut seen) = (Vec::new(), BTreeSet::new());
    for (key, found) in in_order(set).into_iter().filter(|(key, _)| !is_event(key)) {
        // What two selectors select is there once.
        given.extend(found.object.as_deref().filter(|_| seen.insert(key)));
    }
    let told = |error: Error| error.covered_if(given.iter().any(|one| is_secret(one)), without_message);
    let returned = script.choose(&given, &Limits::default()).map_err(|error| named(told(error.into())))?;
    let mut chosen = Chosen::new();
    for (at, object) in returned.into_iter().enumerate() {
        let key =
            key_of(&object).map_err(|wrong| named(Error::value(format!("resources[{}]", at + 1), wrong)))?;
        let known = former.and_then(|former| former.get(&key)).filter(|known| *known.object == object);
        let (object, version) =
            known.map_or_else(|| (Arc::new(object), version), |known| (known.object.clone(), known.version));
        chosen.entry(key).or_insert(Choice { place: at, object, version });
    }
    Ok(chosen)
}

/// The identity of what a script returns.
fn key_of(object: &Value) -> Result<ObjectKey, &'static str> {
    match ObjectKey::of(object) {
        None => Err("has no apiVersion, kind or metadata.name; give it one that no other has"),
        Some(key) if is_event(&key) => Err("has the kind of CloudEvents; give it another one"),
        Some(key) => Ok(key),
    }
}
