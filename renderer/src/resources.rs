//! Objects of the management cluster that templates read: one watch for each in this process, however many shards and causes read
//! it, and one for all of a kind and namespace where there would be many.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Client;
use kube::runtime::watcher;
use serde_json::Value;
use sluice_api::{Gvk, ObjectKey, object};
use sluice_kube::{WatchEvent, only, remedy_of_denial, watch};
use sluice_protocol::{About, Problem, Shard};
use sluice_renderer_core::{ExternalInput, Resource};
use sluice_runtime::{Context, Reporter};
use sluice_tasks::{End, Group, Kept};
use tokio::sync::mpsc;

/// More objects of one kind and namespace than this are watched together.
const MANY: usize = 32;

/// Unbounded, as every input of a shard: the core only updates its memory.
type Sender = mpsc::UnboundedSender<ExternalInput>;

/// All watches of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Registry {
    client: Client,
    context: Context,
    places: Arc<Mutex<BTreeMap<CollectionKey, Collection>>>,
}

/// What one shard reads. It ends when this is dropped.
pub(crate) struct Reading {
    registry: Registry,
    shard: Shard,
    sender: Sender,
}

/// Kind and namespace.
type CollectionKey = (Gvk, String);

/// The objects of one kind and namespace that somebody reads.
#[derive(Default)]
struct Collection {
    objects: BTreeMap<String, Watched>,
    together: Option<Together>,
}

/// One watch for all objects of a place.
struct Together {
    _watch: Group,
    /// Everything that is there, once it has been listed.
    present: Option<BTreeMap<String, Arc<Value>>>,
}

/// One object.
#[derive(Default)]
struct Watched {
    readers: HashMap<Shard, Sender>,
    known: Option<Resource>,
    watch: Option<Group>,
}

/// Whether a watch is in trouble: what it has told is still believed, and may be old.
#[derive(Clone)]
struct Troubles {
    reporter: Reporter,
    about: About,
    are_there: bool,
}

// === impl Troubles ===

impl Troubles {
    fn of(context: &Context, (gvk, namespace): &CollectionKey, name: Option<&str>) -> Self {
        let about = About::ManagementWatch(format!("{gvk} {namespace}/{}", name.unwrap_or("*")));
        Self { reporter: Reporter::new(context, "management"), about, are_there: false }
    }

    fn note(&mut self, event: &WatchEvent) {
        let were_there = std::mem::replace(&mut self.are_there, matches!(event, WatchEvent::Trouble(_)));
        if let WatchEvent::Trouble(error) = event {
            let text = format!("{error}; it is tried again{}", remedy(error));
            self.reporter.problem(Problem::open("renderer", "", self.about.clone(), text));
        } else if were_there {
            self.reporter.problem(Problem::resolved("renderer", "", self.about.clone()));
        }
    }
}

// === impl Registry ===

impl Registry {
    pub(crate) fn new(client: Client, context: &Context) -> Self {
        Self { client, context: context.clone(), places: Arc::default() }
    }

    /// What `shard` will read; it is told of it through `sender`.
    pub(crate) fn reading(&self, shard: Shard, sender: Sender) -> Reading {
        Reading { registry: self.clone(), shard, sender }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CollectionKey, Collection>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches one object of a place, or without a name all of them, until what is returned is dropped.
    fn begin(&self, place: &CollectionKey, name: Option<&str>) -> Group {
        let (gvk, namespace) = place;
        let group = self.context.tasks.group(&format!("{gvk} {namespace}/{}", name.unwrap_or("*")));
        let config = watcher::Config::default();
        let config = match name {
            Some(name) => config.fields(&only(name)),
            None => config,
        };
        let (registry, place, name) = (self.clone(), place.clone(), name.map(str::to_owned));
        // What it has told is taken back with the watch.
        let watched = Troubles::of(&self.context, &place, name.as_deref());
        group.keep(Kept::Resource, move || {
            let (registry, place, name, config) =
                (registry.clone(), place.clone(), name.clone(), config.clone());
            let mut troubles = watched.clone();
            async move {
                let (gvk, namespace) = place.clone();
                let tell = |event| {
                    troubles.note(&event);
                    registry.tell(&place, name.as_deref(), event)
                };
                watch(registry.client.clone(), gvk, namespace, config, tell).await;
                End::Done
            }
        });
        group
    }

    /// Takes what a watch says; whether anybody still listens.
    fn tell(&self, place: &CollectionKey, name: Option<&str>, event: WatchEvent) -> bool {
        let mut places = self.lock();
        let Some(found) = places.get_mut(place) else { return false };
        match name {
            Some(name) => found.tell_one(place, name, event),
            None => found.tell_all(place, event),
        }
    }
}

// === impl Collection ===

impl Collection {
    fn tell_one(&mut self, place: &CollectionKey, name: &str, event: WatchEvent) -> bool {
        // Its successor knows better.
        if self.together.is_some() {
            return false;
        }
        let Some(watched) = self.objects.get_mut(name) else { return false };
        let resource = match event {
            WatchEvent::Listed(objects) => {
                objects.into_iter().find(|found| object::name(found) == name).map_or(Resource::Absent, there)
            }
            WatchEvent::Applied(object) => there(object),
            WatchEvent::Deleted(_) => Resource::Absent,
            WatchEvent::Trouble(error) if watched.known.is_none() => unavailable(&error),
            WatchEvent::Trouble(_) | WatchEvent::Version(_) | WatchEvent::Well => return true,
        };
        watched.set(&key(place, name), resource);
        true
    }

    fn tell_all(&mut self, place: &CollectionKey, event: WatchEvent) -> bool {
        let Some(together) = &mut self.together else { return false };
        match event {
            WatchEvent::Listed(objects) => {
                let present: BTreeMap<_, _> = objects.into_iter().map(named).collect();
                for (name, watched) in &mut self.objects {
                    watched.set(&key(place, name), found(&present, name));
                }
                together.present = Some(present);
            }
            WatchEvent::Applied(object) => {
                let (name, object) = named(object);
                if let Some(watched) = self.objects.get_mut(&name) {
                    watched.set(&key(place, &name), Resource::There(object.clone()));
                }
                together.present.get_or_insert_default().insert(name, object);
            }
            WatchEvent::Deleted(object) => {
                let (name, _) = named(object);
                if let Some(watched) = self.objects.get_mut(&name) {
                    watched.set(&key(place, &name), Resource::Absent);
                }
                together.present.get_or_insert_default().remove(&name);
            }
            WatchEvent::Trouble(error) => {
                for (name, watched) in &mut self.objects {
                    if watched.known.is_none() {
                        watched.set(&key(place, name), unavailable(&error));
                    }
                }
            }
            WatchEvent::Version(_) | WatchEvent::Well => {}
        }
        true
    }

    /// This shard reads the object no more; whoever reads it last ends its watch.
    fn leave(&mut self, name: &str, shard: Shard) {
        let Some(watched) = self.objects.get_mut(name) else { return };
        watched.readers.remove(&shard);
        if watched.readers.is_empty() {
            self.objects.remove(name);
        }
    }

    fn has_many(&self) -> bool {
        self.objects.len() > MANY
    }
}

// === impl Watched ===

impl Watched {
    fn set(&mut self, key: &ObjectKey, resource: Resource) {
        if self.known.as_ref() == Some(&resource) {
            return;
        }
        self.known = Some(resource.clone());
        self.readers.values().for_each(|reader| send(reader, key, resource.clone()));
    }
}

// === impl Reading ===

impl Reading {
    /// Begins to tell of this object.
    pub(crate) fn watch(&self, key: &ObjectKey) {
        let place = (key.gvk.clone(), key.namespace.clone());
        let mut places = self.registry.lock();
        let found_place = places.entry(place.clone()).or_default();
        let present = found_place.together.as_ref().and_then(|together| together.present.as_ref());
        let known = present.map(|present| found(present, &key.name));
        let alone = found_place.together.is_none();
        let watched = found_place.objects.entry(key.name.clone()).or_default();
        watched.readers.insert(self.shard, self.sender.clone());
        match watched.known.clone().or(known) {
            Some(known) => {
                watched.known = Some(known.clone());
                send(&self.sender, key, known);
            }
            None if alone && watched.watch.is_none() => {
                watched.watch = Some(self.registry.begin(&place, Some(&key.name)));
            }
            None => {}
        }
        if alone && found_place.has_many() {
            found_place.objects.values_mut().for_each(|watched| watched.watch = None);
            found_place.together =
                Some(Together { _watch: self.registry.begin(&place, None), present: None });
        }
    }

    /// Tells of this object no more.
    pub(crate) fn unwatch(&self, key: &ObjectKey) {
        let place = (key.gvk.clone(), key.namespace.clone());
        let mut places = self.registry.lock();
        let Some(found) = places.get_mut(&place) else { return };
        found.leave(&key.name, self.shard);
        if found.objects.is_empty() {
            places.remove(&place);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.registry.lock().retain(|_, place| {
            let names: Vec<String> = place.objects.keys().cloned().collect();
            names.iter().for_each(|name| place.leave(name, self.shard));
            !place.objects.is_empty()
        });
    }
}

fn send(reader: &Sender, key: &ObjectKey, resource: Resource) {
    if reader.send(ExternalInput::Resource(key.clone(), resource)).is_err() {
        tracing::debug!(%key, "a shard that read this has ended");
    }
}

fn key((gvk, namespace): &CollectionKey, name: &str) -> ObjectKey {
    ObjectKey { gvk: gvk.clone(), namespace: namespace.clone(), name: name.to_owned() }
}

fn there(object: Value) -> Resource {
    Resource::There(named(object).1)
}

/// The object without what only API servers read, and its name.
fn named(mut object: Value) -> (String, Arc<Value>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    (object::name(&object).to_owned(), Arc::new(object))
}

fn found(present: &BTreeMap<String, Arc<Value>>, name: &str) -> Resource {
    present.get(name).cloned().map_or(Resource::Absent, Resource::There)
}

fn unavailable(error: &str) -> Resource {
    Resource::Unavailable(format!(
        "it cannot be read from the management cluster ({error}); it is tried again{}",
        remedy(error)
    ))
}

/// Which kinds beside ConfigMaps and Secrets templates may read is for users to say.
fn remedy(error: &str) -> String {
    let remedy = remedy_of_denial(error);
    let values = if remedy.is_empty() {
        ""
    } else {
        " (other kinds than ConfigMaps and Secrets: with `rbac.read` of the chart)"
    };
    format!("{remedy}{values}")
}

#[cfg(test)]
mod tests;
