//! `templateResourceRefs`: objects of the management cluster that templates read by an identifier.

use sluice_api::model::{Cluster, ResourceRef};
use sluice_api::{Gvk, ObjectKey, TextError, identity};
use sluice_template::Stage;

use crate::error::{Error, Result};
use crate::knowledge::catalog::Catalog;
use crate::knowledge::reads::Reads;
use crate::rendering::destination::{Resources, Visible};
use crate::rendering::part::Part;
use crate::rendering::provider;
use crate::rendering::references::{missing, namespace_or};
use crate::rendering::rendered::Rendered;
use crate::rendering::templates::Templates;

/// What is read for one destination of what some destinations get.
///
/// # Errors
/// The reference and what is wrong with it.
pub(crate) fn visible(
    rendered: &Rendered,
    part: &Part,
    destination: &Cluster,
    (catalog, templates): (&Catalog, &Templates),
    reads: &mut Reads,
) -> Result<Visible> {
    let (refs, name) = (&rendered.resources, &rendered.id.name);
    let provider = provider::of_destination(rendered, part, destination, catalog, reads)?;
    let resources = of_destination(refs, (destination, &provider), name, (catalog, templates), reads)?;
    Ok(Visible { resources, provider })
}

/// The references as one destination's templates see them; names and namespaces may be templates over it, and
/// over what it is made of.
///
/// # Errors
/// The reference and what is wrong with it: its template, or that the object is missing and must not be.
fn of_destination(
    refs: &[ResourceRef],
    (destination, provider): (&Cluster, &Resources),
    name: &str,
    (catalog, templates): (&Catalog, &Templates),
    reads: &mut Reads,
) -> Result<Resources> {
    let mut found = Resources::with_capacity(refs.len());
    for item in refs {
        let field = |field: &str, text: &str| {
            let dot = provider::of_cluster(destination, provider);
            let rendered = templates.render(name, text, Stage::Deploy, &dot);
            rendered.map_err(|error| error.within(format!("{}.resource.{field}", item.path)))
        };
        let namespace = namespace_or(field("namespace", &item.namespace)?, &destination.id);
        let key = key(item, namespace, field("name", &item.name)?)?;
        match reads.resource(catalog, &key, &item.attention) {
            Ok(Some(object)) => found.push((item.identifier.clone(), object)),
            Ok(None) if item.optional || reads.is_unknown() => {}
            Ok(None) => return Err(missing(&key).within(&item.path)),
            Err(error) => return Err(error.within(key).within(&item.path)),
        }
    }
    Ok(found)
}

/// What the templates of an event see of the management cluster.
#[derive(Default)]
pub(crate) struct VisibleToEvent {
    pub(crate) resources: Resources,
    /// What is missing and must not be, by identifier. It may be what a generator of the same trigger is about to make, so that
    /// alone is no error here: only a template that reads it fails, and each destination that misses it.
    absent: Vec<(String, String)>,
}

impl VisibleToEvent {
    /// The error of a template, with the reason where it read what is missing.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let text = error.to_string();
        let is_named = |identifier: &str| text.contains(&format!("{identifier:?}"));
        let reasons = self.absent.iter().filter(|(identifier, _)| is_named(identifier));
        let reasons: Vec<_> = reasons.map(|(_, reason)| reason.as_str()).collect();
        if reasons.is_empty() { error } else { error.explained(reasons.join("; ")) }
    }
}

/// Those that the templates of an event see: whose place is known without the destination. An empty namespace is the
/// destination's: as long as only that of the event is known, nobody misses the object.
///
/// # Errors
/// The reference and what is wrong with it, but for an object that is missing.
pub(crate) fn of_event(
    refs: &[ResourceRef],
    cluster: &Cluster,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<VisibleToEvent> {
    let mut visible = VisibleToEvent::default();
    for item in refs.iter().filter(|item| !item.namespace.contains("{{") && !item.name.contains("{{")) {
        let namespace = namespace_or(item.namespace.clone(), &cluster.id);
        let key = key(item, namespace, item.name.clone())?;
        match reads.resource(catalog, &key, &item.attention) {
            Ok(Some(object)) => visible.resources.push((item.identifier.clone(), object)),
            Ok(None) if item.optional || item.namespace.is_empty() || reads.is_unknown() => {}
            Ok(None) => {
                let reason = missing(&key).within(&item.path).to_string();
                visible.absent.push((item.identifier.clone(), reason));
            }
            Err(error) => return Err(error.within(key).within(&item.path)),
        }
    }
    Ok(visible)
}

fn key(item: &ResourceRef, namespace: String, name: String) -> Result<ObjectKey> {
    if name.is_empty() {
        let place = format!("{}.resource.name:", item.path);
        return Err(Error::value(place, "is empty; write a name, or a template that gives one"));
    }
    let key = ObjectKey { gvk: Gvk::parse(&item.api_version, &item.kind), namespace, name };
    identity::validate_reference(&key)
        .map_err(|wrong| TextError::from(format!("{}.resource.{wrong}", item.path)))?;
    Ok(key)
}
