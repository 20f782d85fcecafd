//! From a profile that a user wrote to what goes where.

use sluice_api::model::Profile;
use sluice_template::Stage;

use crate::render::{Reads, Rendered, namespace_or, referenced, verbatim};
use crate::templates::{Templates, cluster_only};
use crate::world::{ContentKey, World};

/// Renders a user-written profile.
///
/// # Errors
/// The reference and what is wrong with it.
pub(crate) fn render(
    profile: &Profile,
    world: &World,
    templates: &Templates,
    reads: &mut Reads,
) -> Result<Rendered, String> {
    let selected = |cluster: &sluice_api::model::Cluster| {
        let own = profile.namespace.is_empty() || profile.namespace == cluster.id.namespace;
        let by_label = !profile.selector.is_empty() && profile.selector.matches(cluster.labels());
        own && (by_label || profile.clusters.contains(&cluster.id))
    };
    let clusters: Vec<_> = world.clusters.values().filter(|cluster| selected(cluster)).collect();
    let mut rendered = Rendered {
        name: profile.name.clone(),
        destinations: clusters.iter().map(|cluster| cluster.id.clone()).collect(),
        spec: profile.common.raw.clone(),
        ..Rendered::default()
    };
    let Some(first) = clusters.first() else { return Ok(rendered) };
    for item in &profile.common.policy_refs {
        // Names may be templates over the cluster; with several clusters they must agree on one object.
        let field =
            |text: &str| templates.render(&profile.name, text, Stage::Deploy, &cluster_only(&first.object));
        let namespace = if profile.namespace.is_empty() {
            namespace_or(field(&item.namespace)?, &first.id)
        } else {
            profile.namespace.clone()
        };
        let key: ContentKey = (item.kind.clone(), namespace, field(&item.name)?);
        if let Some(object) = referenced(world, item, &key, reads)? {
            rendered.sources.push(verbatim(item, &key, object)?);
        }
    }
    Ok(rendered)
}
