//! What a cluster holds, and the two primitive changes: put and remove.

use std::collections::HashMap;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::collection::{Collection, ObjectKey};
use super::list::Snapshots;
use super::owners::Owners;
use crate::fields::{Applier, Manager};
use crate::kinds::{Endpoint, Registry, ResourceDef};
use crate::object::{Json, Object};

/// What a cluster holds.
#[derive(Debug)]
pub struct State {
    resource_version: u64,
    /// Older changes are forgotten, also those of resources that nobody has used yet.
    floor: u64,
    registry: Registry,
    generation: u64,
    collections: HashMap<Arc<str>, Collection>,
    pub(super) owners: Owners,
    pub(super) snapshots: Snapshots,
    rng: SmallRng,
}

/// How a write treats fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// Drop them.
    Ignore,
    /// Drop them and warn.
    #[default]
    Warn,
    /// Refuse the write.
    Strict,
}

/// Query parameters that all writes share.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Compute the answer and change nothing.
    pub dry_run: bool,
    /// Name of the writer in `managedFields`.
    pub field_manager: String,
    /// What to do with unknown fields.
    pub validation: Validation,
    /// Take conflicting fields of other appliers.
    pub force: bool,
}

/// One write: where and how.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// The resource.
    pub endpoint: &'a Endpoint,
    /// The namespace of the path.
    pub namespace: &'a str,
    /// The name of the path; empty for a create.
    pub name: &'a str,
    /// The subresource of the path; empty for the object itself.
    pub subresource: &'a str,
    /// Query parameters.
    pub options: &'a WriteOptions,
}

/// The answer to a write.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object afterwards.
    pub object: Arc<Object>,
    /// Whether it did not exist before.
    pub created: bool,
    /// Fields that were dropped.
    pub warnings: Vec<String>,
}

// === impl State ===

impl State {
    /// The state of a new cluster.
    pub fn new(id: &str) -> Self {
        let seed = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Mixing in the time keeps the uids of two runs apart, as those of two clusters are.
        let now = jiff::Timestamp::now().as_nanosecond().unsigned_abs() as u64;
        let mut state = Self {
            resource_version: 1,
            floor: 0,
            registry: Registry::default(),
            generation: 0,
            collections: HashMap::new(),
            owners: Owners::default(),
            snapshots: Snapshots::default(),
            rng: SmallRng::seed_from_u64(seed ^ now),
        };
        state.bootstrap();
        state
    }

    /// Which resources are served.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counts changes of the registry, for caches of discovery documents.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Which resources are served, to be changed.
    pub(super) fn registry_mut(&mut self) -> &mut Registry {
        self.generation += 1;
        &mut self.registry
    }

    /// The version of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// Goes on at a later version.
    pub(super) fn skip_to(&mut self, resource_version: u64) {
        self.resource_version = resource_version;
    }

    /// The objects of a resource, when there ever were some.
    pub fn collection(&self, key: &str) -> Option<&Collection> {
        self.collections.get(key)
    }

    /// The objects of a resource.
    pub(super) fn collection_mut(&mut self, def: &ResourceDef) -> &mut Collection {
        self.collections.entry(def.key.clone()).or_insert_with(|| Collection::new(self.floor))
    }

    /// Starts the collection of a resource that is served again, so that watches of its former
    /// life list again.
    pub(super) fn restart_collection(&mut self, key: &str) {
        if let Some(former) = self.collections.get_mut(key).filter(|former| former.has_ended()) {
            *former = Collection::new(self.resource_version);
        }
    }

    /// Ends the watches of a resource that is no longer served.
    pub(super) fn end_collection(&mut self, key: &str) {
        if let Some(collection) = self.collections.get_mut(key) {
            collection.end();
        }
    }

    /// One object.
    pub fn find(&self, def: &ResourceDef, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.collections.get(&*def.key)?.get(&ObjectKey::new(namespace, name))
    }

    /// Forgets the change logs.
    pub(super) fn compact(&mut self) {
        // One version is skipped, so that even a watch that has seen everything is too old.
        self.resource_version += 1;
        let resource_version = self.resource_version;
        self.floor = resource_version;
        self.collections.values_mut().for_each(|collection| collection.compact(resource_version));
        self.snapshots.clear();
    }

    /// Stores a new state of an object.
    pub(super) fn put(&mut self, def: &ResourceDef, body: Json, managers: Vec<Manager>) -> Arc<Object> {
        self.resource_version += 1;
        let object = Arc::new(Object::new(body, managers.into(), self.resource_version));
        let key = ObjectKey::new(object.namespace(), object.name());
        if let Some(former) = self.collections.get(&*def.key).and_then(|collection| collection.get(&key)) {
            self.owners.forget(&def.key, former);
        }
        self.owners.record(&def.key, &object);
        self.collection_mut(def).put(key, object.clone());
        object
    }

    /// Removes an object; returns its last state.
    pub(super) fn remove(&mut self, def: &ResourceDef, object: &Object) -> Arc<Object> {
        self.resource_version += 1;
        let last = Arc::new(object.at(self.resource_version));
        self.owners.forget(&def.key, object);
        let key = ObjectKey::new(object.namespace(), object.name());
        self.collection_mut(def).remove(&key, last.clone());
        last
    }

    /// Everything of every resource in a namespace, as `(resource, object)`.
    pub(super) fn contents(&self, namespace: &str) -> Vec<(Arc<ResourceDef>, Arc<Object>)> {
        let defs = self.registry.iter().filter(|def| def.namespaced);
        defs.filter_map(|def| Some((def, self.collections.get(&*def.key)?)))
            .flat_map(|(def, collection)| {
                collection.iter(namespace).map(|object| (def.clone(), object.clone()))
            })
            .collect()
    }

    /// A new `metadata.uid`.
    pub(super) fn new_uid(&mut self) -> String {
        let bits: u128 = self.rng.random();
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Five characters to make a generated name unique.
    pub(super) fn name_suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..5).map(|_| char::from(LETTERS[self.rng.random_range(0..LETTERS.len())])).collect()
    }

    /// A cluster IP that is very likely free.
    pub(super) fn cluster_ip(&mut self) -> String {
        format!("10.96.{}.{}", self.rng.random_range(0..=255_u8), self.rng.random_range(2..=254_u8))
    }
}

// === impl Write ===

impl<'a> Write<'a> {
    /// The bookkeeping identity of this write.
    pub(super) fn applier(&self, time: &'a str) -> Applier<'a> {
        Applier {
            manager: &self.options.field_manager,
            api_version: self.endpoint.api_version(),
            subresource: self.subresource,
            has_status: self.endpoint.version().status,
            time,
            schema: self.endpoint.schema(),
        }
    }

    /// Whether it writes `/status`.
    pub fn is_status(&self) -> bool {
        self.subresource == "status"
    }
}

// === impl Written ===

impl Written {
    /// The answer to a write that changes nothing.
    pub(super) fn unchanged(live: &Arc<Object>) -> Self {
        Self { object: live.clone(), created: false, warnings: Vec::new() }
    }
}

/// Now, as the API writes it.
pub(super) fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
