//! What a Cluster API cluster is made of, as templates for it see it.

use sluice_api::ClusterKind;
use sluice_api::model::{Attention, Cluster, PolicyRef};
use sluice_template::Data;

use crate::error::{Error, Result};
use crate::knowledge::catalog::Catalog;
use crate::knowledge::reads::Reads;
use crate::rendering::destination::Resources;
use crate::rendering::language::Language;
use crate::rendering::part::Part;
use crate::rendering::rendered::Rendered;

/// Variables, and the field of the cluster's spec that names the object of each.
const VARIABLES: [(&str, &str); 2] =
    [("KubeadmControlPlane", "controlPlaneRef"), ("InfrastructureProvider", "infrastructureRef")];

/// The objects that something mentions of what this destination gets: others are not read, so that nobody waits for them. Without
/// the field there is no variable.
///
/// # Errors
/// The field, and what is wrong with the object that it names.
pub(crate) fn of_destination(
    rendered: &Rendered,
    part: &Part,
    destination: &Cluster,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Resources> {
    mentioned(|variable| is_mentioned(variable, rendered, part), destination, catalog, reads)
}

/// The objects that names and namespaces of references mention: they are found out before anything is rendered.
///
/// # Errors
/// The field, and what is wrong with the object that it names.
pub(crate) fn of_names<'r>(
    references: impl Iterator<Item = &'r PolicyRef> + Clone,
    destination: &Cluster,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Resources> {
    let mentions = |text: &str, variable: &str| Language::Go.has_actions(text) && text.contains(variable);
    let is_mentioned = |variable: &str| {
        let mut texts = references.clone().flat_map(|item| [&item.namespace, &item.name]);
        texts.any(|text| mentions(text, variable))
    };
    mentioned(is_mentioned, destination, catalog, reads)
}

/// What names and namespaces see of a destination.
pub(crate) fn of_cluster<'a>(cluster: &'a Cluster, provider: &'a Resources) -> Data<'a> {
    let provider = provider.iter().map(|(name, object)| (name.as_str(), Data::Json(object)));
    Data::Map([("Cluster", Data::Json(&cluster.object))].into_iter().chain(provider).collect())
}

fn mentioned(
    is_mentioned: impl Fn(&str) -> bool,
    destination: &Cluster,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Resources> {
    let mut found = Resources::new();
    if destination.id.kind != ClusterKind::Capi {
        return Ok(found);
    }
    for (variable, field) in VARIABLES {
        let Some(key) = destination.referenced(field).filter(|_| is_mentioned(variable)) else { continue };
        let place = || format!("spec.{field} of {}", destination.id);
        match reads.resource(catalog, &key, &Attention::default()) {
            Ok(Some(object)) => found.push((variable.to_owned(), object)),
            Ok(None) if reads.is_unknown() => {}
            Ok(None) => {
                let or = format!(", or take {variable} out of the templates");
                return Err(Error::Absent { object: format!("{}: {key}:", place()), or });
            }
            Err(error) => return Err(error.within(key).within(place())),
        }
    }
    Ok(found)
}

fn is_mentioned(variable: &str, rendered: &Rendered, part: &Part) -> bool {
    let texts = part.all().flat_map(|source| source.texts.values());
    // Patches and charts stand in the spec.
    let in_spec = || rendered.spec.values().any(|value| value.to_string().contains(variable));
    texts.into_iter().any(|text| text.contains(variable)) || in_spec()
}
