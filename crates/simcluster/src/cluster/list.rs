//! Lists: selection, pages over a stable snapshot, resourceVersion rules.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::collection::{ChangeKind, Collection, ObjectKey};
use super::state::State;
use crate::kinds::Endpoint;
use crate::object::Object;
use crate::selectors::{FieldSelector, LabelSelector};
use crate::status::ApiError;

/// Unfinished paged lists that a cluster remembers; older ones are answered with 410.
const MAX_SNAPSHOTS: usize = 64;

/// What a list asks for.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// Only this namespace; empty for all.
    pub namespace: String,
    /// Only objects with these labels.
    pub labels: LabelSelector,
    /// Only objects with these fields.
    pub fields: FieldSelector,
    /// At most so many objects; 0 for all.
    pub limit: usize,
    /// Go on after a former page.
    pub continue_token: String,
    /// A resourceVersion that the list depends on.
    pub resource_version: Option<u64>,
    /// The list is as of `resource_version`, not newer.
    pub exact: bool,
}

/// A list, or one page of it.
#[derive(Debug)]
pub struct Page {
    /// The objects.
    pub objects: Vec<Arc<Object>>,
    /// The version of the cluster that the list shows.
    pub resource_version: u64,
    /// How to get the next page; empty after the last.
    pub continue_token: String,
    /// How many objects are left, when known.
    pub remaining: Option<usize>,
}

/// Lists whose next pages are still to be asked for.
#[derive(Debug, Default)]
pub struct Snapshots {
    next_id: u64,
    kept: VecDeque<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    id: u64,
    resource: Arc<str>,
    resource_version: u64,
    objects: Arc<[Arc<Object>]>,
}

// === impl ListOptions ===

impl ListOptions {
    /// Whether an object is selected, not looking at its namespace.
    pub fn selects(&self, object: &Object) -> bool {
        // What rests is not looked into where nobody asks for it.
        if self.selects_all() {
            return true;
        }
        let labels = object
            .metadata()
            .and_then(|metadata| metadata.get("labels"))
            .and_then(|labels| labels.as_object());
        self.labels.matches(labels) && self.fields.matches(object)
    }

    fn selects_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

// === impl Snapshots ===

impl Snapshots {
    /// Forgets everything, so that further pages get 410.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    fn keep(&mut self, resource: &Arc<str>, resource_version: u64, objects: Vec<Arc<Object>>) -> u64 {
        self.next_id += 1;
        if self.kept.len() >= MAX_SNAPSHOTS {
            self.kept.pop_front();
        }
        let (id, resource) = (self.next_id, resource.clone());
        self.kept.push_back(Snapshot { id, resource, resource_version, objects: objects.into() });
        id
    }
}

// === impl State ===

impl State {
    /// Lists objects of a resource.
    pub fn list(&mut self, endpoint: &Endpoint, options: &ListOptions) -> Result<Page, ApiError> {
        if !options.continue_token.is_empty() {
            return self.next_page(endpoint, options);
        }
        let current = self.resource_version();
        if let Some(asked) = options.resource_version.filter(|asked| *asked > current) {
            return Err(ApiError::too_large_resource_version(asked, current));
        }
        let exact = options.resource_version.filter(|_| options.exact);
        let resource_version = exact.unwrap_or(current);
        let objects: Vec<Arc<Object>> = match (self.collection(&endpoint.def.key), exact) {
            (Some(collection), Some(version)) => at_version(collection, version, &options.namespace)?,
            (Some(collection), None) => select(collection, options),
            (None, _) => Vec::new(),
        };
        let objects: Vec<_> = objects.into_iter().filter(|object| options.selects(object)).collect();
        if options.limit == 0 || objects.len() <= options.limit {
            return Ok(Page { objects, resource_version, continue_token: String::new(), remaining: None });
        }
        let first = objects[..options.limit].to_vec();
        let remaining = options.selects_all().then_some(objects.len() - options.limit);
        let id = self.snapshots.keep(&endpoint.def.key, resource_version, objects);
        Ok(Page { objects: first, resource_version, continue_token: token(id, options.limit), remaining })
    }

    fn next_page(&self, endpoint: &Endpoint, options: &ListOptions) -> Result<Page, ApiError> {
        let bad = || ApiError::bad_request("continue key is not valid");
        let (id, start) = parse_token(&options.continue_token).ok_or_else(bad)?;
        let snapshot = self.snapshots.kept.iter().find(|kept| kept.id == id);
        let snapshot = snapshot.filter(|kept| kept.resource == endpoint.def.key).ok_or_else(|| {
            ApiError::expired("The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.")
        })?;
        let rest = snapshot.objects.get(start..).unwrap_or_default();
        let end = if options.limit == 0 { rest.len() } else { options.limit.min(rest.len()) };
        let left = rest.len() - end;
        Ok(Page {
            objects: rest[..end].to_vec(),
            resource_version: snapshot.resource_version,
            continue_token: if left == 0 { String::new() } else { token(id, start + end) },
            remaining: (left > 0 && options.selects_all()).then_some(left),
        })
    }
}

/// The objects of the namespace; one only, when it is asked for by name.
fn select(collection: &Collection, options: &ListOptions) -> Vec<Arc<Object>> {
    match options.fields.name().filter(|_| !options.namespace.is_empty()) {
        Some(name) => {
            collection.get(&ObjectKey::new(&options.namespace, name)).into_iter().cloned().collect()
        }
        None => collection.iter(&options.namespace).cloned().collect(),
    }
}

/// The objects as they were: the newer changes undone.
fn at_version(collection: &Collection, version: u64, namespace: &str) -> Result<Vec<Arc<Object>>, ApiError> {
    let changes = collection
        .changes_after(version, usize::MAX)
        .ok_or_else(|| ApiError::expired("The resourceVersion for the provided list is too old."))?;
    let key = |object: &Object| ObjectKey::new(object.namespace(), object.name());
    let mut objects: BTreeMap<ObjectKey, Arc<Object>> =
        collection.iter("").map(|object| (key(object), object.clone())).collect();
    for change in changes.iter().rev() {
        match (&change.previous, change.kind) {
            (Some(previous), _) => objects.insert(key(previous), previous.clone()),
            (None, ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted) => {
                objects.remove(&key(&change.object))
            }
        };
    }
    let wanted = |object: &Arc<Object>| namespace.is_empty() || object.namespace() == namespace;
    Ok(objects.into_values().filter(wanted).collect())
}

fn token(id: u64, start: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{id}:{start}"))
}

fn parse_token(token: &str) -> Option<(u64, usize)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (id, start) = text.split_once(':')?;
    Some((id.parse().ok()?, start.parse().ok()?))
}
