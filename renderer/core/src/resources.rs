//! `templateResourceRefs`: objects of the management cluster that templates read by an identifier.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Cluster, ResourceRef};
use sluice_api::{Gvk, ObjectKey};
use sluice_template::{Data, Stage};

use crate::catalog::Catalog;
use crate::reads::Reads;
use crate::render::{missing, namespace_or};
use crate::templates::{Templates, cluster_only};

/// Objects by their identifiers, in the order of the references.
pub(crate) type Resources = Vec<(String, Arc<Value>)>;

/// What the templates of one destination see.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// The cluster that the add-ons go to.
    pub(crate) cluster: &'a Cluster,
    /// What is read of the management cluster.
    pub(crate) resources: &'a Resources,
}

impl<'a> Destination<'a> {
    /// The variables.
    pub(crate) fn dot(self) -> Data<'a> {
        Data::Map(vec![
            ("Cluster", Data::Json(&self.cluster.object)),
            ("MgmtResources", variables(self.resources)),
        ])
    }
}

/// `.MgmtResources`.
pub(crate) fn variables(resources: &Resources) -> Data<'_> {
    Data::Map(
        resources.iter().map(|(identifier, object)| (identifier.as_str(), Data::Json(object))).collect(),
    )
}

/// The references as one destination's templates see them; names and namespaces may be templates over it.
///
/// # Errors
/// The reference and what is wrong with it: its template, or that the object is missing and must not be.
pub(crate) fn of_destination(
    refs: &[ResourceRef],
    destination: &Cluster,
    name: &str,
    (catalog, templates): (&Catalog, &Templates),
    reads: &mut Reads,
) -> Result<Resources, String> {
    let mut found = Resources::with_capacity(refs.len());
    for item in refs {
        let field = |field: &str, text: &str| {
            let rendered = templates.render(name, text, Stage::Deploy, &cluster_only(&destination.object));
            rendered.map_err(|error| format!("{}.resource.{field}: {error}", item.path))
        };
        let namespace = namespace_or(field("namespace", &item.namespace)?, &destination.id);
        let key = key(item, namespace, field("name", &item.name)?)?;
        match reads.resource(catalog, &key, &item.attention) {
            Ok(Some(object)) => found.push((item.identifier.clone(), object)),
            Ok(None) if item.optional || reads.is_unknown() => {}
            Ok(None) => return Err(format!("{}: {}", item.path, missing(&key))),
            Err(error) => return Err(format!("{}: {key}: {error}", item.path)),
        }
    }
    Ok(found)
}

/// Those that the templates of an event see: whose place is known without the destination. An empty namespace is the
/// destination's: as long as only that of the event is known, nobody misses the object.
///
/// # Errors
/// The reference and what is wrong with it.
pub(crate) fn of_event(
    refs: &[ResourceRef],
    cluster: &Cluster,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Resources, String> {
    let mut found = Resources::new();
    for item in refs.iter().filter(|item| !item.namespace.contains("{{") && !item.name.contains("{{")) {
        let namespace = namespace_or(item.namespace.clone(), &cluster.id);
        let key = key(item, namespace, item.name.clone())?;
        match reads.resource(catalog, &key, &item.attention) {
            Ok(Some(object)) => found.push((item.identifier.clone(), object)),
            Ok(None) if item.optional || item.namespace.is_empty() || reads.is_unknown() => {}
            Ok(None) => return Err(format!("{}: {}", item.path, missing(&key))),
            Err(error) => return Err(format!("{}: {key}: {error}", item.path)),
        }
    }
    Ok(found)
}

fn key(item: &ResourceRef, namespace: String, name: String) -> Result<ObjectKey, String> {
    if name.is_empty() {
        return Err(format!(
            "{}.resource.name: is empty; write a name, or a template that gives one",
            item.path
        ));
    }
    Ok(ObjectKey { gvk: Gvk::parse(&item.api_version, &item.kind), namespace, name })
}
