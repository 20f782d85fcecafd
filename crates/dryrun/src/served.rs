//! What an API server makes of objects: namespaces that are dropped or completed, unknown fields that are removed.
//!
//! ```text
//! built-in kinds, kinds of Sveltos, CRDs in the input ─► scope and schema of a kind ─► the object as it would be stored
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::kinds::{self, Kind};
use sluice_api::{ClusterRef, Gvk, MANAGEMENT, object, structural};
use sluice_protocol::{About, Fault, Problem};

use crate::input::Input;

/// The stage of what is said before anything is decided.
const STAGE: &str = "build";

/// The kinds that definitions among objects define.
#[derive(Clone, Debug, Default)]
pub struct Definitions(BTreeMap<(String, String), Definition>);

#[derive(Clone, Debug)]
struct Definition {
    kind: Kind,
    /// By version.
    schemas: BTreeMap<String, Value>,
}

// === impl Definitions ===

impl Definitions {
    /// Those among these objects.
    pub fn among<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut found = Self::default();
        objects.into_iter().for_each(|object| found.add(object));
        found
    }

    /// Adds the kind that an object defines, if it does.
    pub(crate) fn add(&mut self, object: &Value) {
        let Some(kind) = Kind::of_definition(object) else { return };
        let versions = object.pointer("/spec/versions").and_then(Value::as_array);
        let schema = |version: &Value| {
            let schema = version.pointer("/schema/openAPIV3Schema")?.clone();
            Some((object::text(version, &["name"]).to_owned(), schema))
        };
        let schemas = versions.into_iter().flatten().filter_map(schema).collect();
        self.0.insert((kind.group.clone(), kind.kind.clone()), Definition { kind, schemas });
    }

    /// These, and others where these say nothing.
    pub(crate) fn or(mut self, others: &Self) -> Self {
        for (key, definition) in &others.0 {
            self.0.entry(key.clone()).or_insert_with(|| definition.clone());
        }
        self
    }

    /// The kind as a server knows it, if it does.
    pub fn kind(&self, gvk: &Gvk) -> Option<&Kind> {
        let defined = self.0.get(&(gvk.group.clone(), gvk.kind.clone())).map(|definition| &definition.kind);
        kinds::known(gvk).or(defined)
    }

    fn schema(&self, gvk: &Gvk) -> Option<&Value> {
        self.0.get(&(gvk.group.clone(), gvk.kind.clone()))?.schemas.get(&gvk.version)
    }

    /// Makes of an object what a server would store, and says what is different.
    pub fn serve(&self, object: &mut Value) -> Vec<String> {
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        let mut notes = Vec::new();
        let namespace = object::namespace(object).to_owned();
        // Who has neither apiVersion nor a name is refused elsewhere.
        let is_whole = object.get("metadata").is_some_and(Value::is_object);
        match self.kind(&gvk).filter(|_| is_whole) {
            Some(kind) if kind.is_cluster_scoped && !namespace.is_empty() => {
                object["metadata"].as_object_mut().into_iter().for_each(|metadata| {
                    metadata.remove("namespace");
                });
                notes.push(dropped(&gvk, &namespace));
            }
            Some(kind) if !kind.is_cluster_scoped && namespace.is_empty() => {
                object["metadata"]["namespace"] = "default".into();
            }
            _ => {}
        }
        if let (Some(schema), Some(fields)) = (self.schema(&gvk), object.as_object_mut()) {
            let removed = structural::prune(fields, schema);
            if !removed.is_empty() {
                notes.push(format!(
                    "{} is dropped: the definition of the kind has no such field; remove it",
                    removed.join(", ")
                ));
            }
        }
        notes
    }

    /// The fields of an object that the definition of its kind does not have.
    pub(crate) fn unknown(&self, object: &Value) -> Vec<String> {
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        let mut object = object.clone();
        match (self.schema(&gvk), object.as_object_mut()) {
            (Some(schema), Some(fields)) => structural::prune(fields, schema),
            _ => Vec::new(),
        }
    }

    /// Whether [`serve`](Self::serve) might change it.
    fn concerns(&self, object: &Value) -> bool {
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        let is_elsewhere = |kind: &Kind| kind.is_cluster_scoped != object::namespace(object).is_empty();
        self.schema(&gvk).is_some()
            || self.kind(&gvk).is_some_and(is_elsewhere)
            || lacks_balancer(&gvk, object)
    }
}

/// Whether it is of a kind in which a server always has `status.loadBalancer`, and has none: scripts and templates look into it.
fn lacks_balancer(gvk: &Gvk, object: &Value) -> bool {
    let has_one = matches!((&*gvk.group, &*gvk.kind), ("", "Service") | ("networking.k8s.io", "Ingress"));
    has_one && object.pointer("/status/loadBalancer").is_none()
}

/// Gives an object the empty status that a server writes where there is none.
fn give_status(object: &mut Value) {
    let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
    if lacks_balancer(&gvk, object) && object.get("status").is_none_or(Value::is_object) {
        object["status"]["loadBalancer"] = Value::Object(serde_json::Map::new());
    }
}

/// What is said of a namespace where there is none.
pub(crate) fn dropped(gvk: &Gvk, namespace: &str) -> String {
    format!("metadata.namespace {namespace} is dropped: a {} is in no namespace; leave it out", gvk.kind)
}

/// What is known of the kinds of each cluster: what is defined there, else what is defined anywhere in the input.
pub(crate) struct Kinds {
    management: Definitions,
    clusters: BTreeMap<(String, String), Definitions>,
    anywhere: Definitions,
}

// === impl Kinds ===

impl Kinds {
    pub(crate) fn of(input: &Input) -> Self {
        let objects = input.management.iter().chain(input.clusters.values().flatten());
        let anywhere = Definitions::among(objects);
        let of = |objects: &Vec<Value>| Definitions::among(objects).or(&anywhere);
        let clusters = input.clusters.iter().map(|(place, objects)| (place.clone(), of(objects))).collect();
        Self { management: of(&input.management), clusters, anywhere }
    }

    /// Of one cluster.
    pub(crate) fn of_cluster(&self, cluster: &ClusterRef) -> &Definitions {
        let place = (cluster.namespace.clone(), cluster.name.clone());
        match cluster.is_management() {
            true => &self.management,
            false => self.clusters.get(&place).unwrap_or(&self.anywhere),
        }
    }
}

/// The input as API servers would hold it, and what they would have said.
pub(crate) fn normalised<'i>(input: &'i Input, kinds: &Kinds) -> (Cow<'i, Input>, Vec<Problem>) {
    let is_concerned = |definitions: &Definitions, objects: &[Value]| {
        objects.iter().any(|object| !CloudEvent::is_meant(object) && definitions.concerns(object))
    };
    let is_fine = !is_concerned(&kinds.management, &input.management)
        && !input.clusters.iter().any(|(place, objects)| is_concerned(&kinds.clusters[place], objects));
    if is_fine {
        return (Cow::Borrowed(input), Vec::new());
    }
    let (mut input, mut notes) = (input.clone(), Vec::new());
    serve_all(&kinds.management, MANAGEMENT, &mut input.management, &mut notes);
    for (place, objects) in &mut input.clusters {
        let cluster = format!("{}/{}", place.0, place.1);
        serve_all(&kinds.clusters[place], &cluster, objects, &mut notes);
    }
    (Cow::Owned(input), notes)
}

fn serve_all(definitions: &Definitions, cluster: &str, objects: &mut [Value], notes: &mut Vec<Problem>) {
    for object in objects.iter_mut().filter(|object| !CloudEvent::is_meant(object)) {
        let described = object::describe(object);
        let said = definitions.serve(object);
        give_status(object);
        notes.extend(note(cluster, described, &said));
    }
}

/// What is said of an object, if anything.
pub(crate) fn note(cluster: &str, object: String, said: &[String]) -> Option<Problem> {
    let fault = || Fault::note(said.join("; and "));
    (!said.is_empty()).then(|| Problem::open(STAGE, cluster, About::Manifest(object), fault()))
}

/// Manifests as a management cluster would hold them that has these objects besides.
pub fn as_served(mut objects: Vec<Value>, there: &[Value]) -> Vec<Value> {
    let definitions = Definitions::among(objects.iter().chain(there));
    objects.iter_mut().filter(|object| !CloudEvent::is_meant(object)).for_each(|object| {
        definitions.serve(object);
        give_status(object);
    });
    objects
}
