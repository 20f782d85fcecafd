//! What one destination gets of a rendered profile, and the body of its row.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::model::{Cluster, Deployment, SpecCommon};
use sluice_api::{Digest, marks};
use sluice_protocol::rows::{Cause, Desired, Policy};

use crate::error::{Error, Result};
use crate::rendering::charts;
use crate::rendering::content::Manifests;
use crate::rendering::destination::Destination;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::patches;
use crate::rendering::rendered::Rendered;
use crate::rendering::templates::Templates;
use crate::rendering::text::for_destination;
use crate::rendering::veil::ReadAs;

/// The policies of a profile as one destination gets them, or the management cluster because of it: first the releases of its
/// charts.
///
/// # Errors
/// The reference and what is wrong in it.
pub(crate) fn policies(
    common: &SpecCommon,
    part: &Part,
    (deployment, releases): (Deployment, Vec<Policy>),
    destination: Destination<'_>,
    name: &str,
    (templates, manifests): (&Templates, &Manifests),
) -> Result<Vec<Policy>> {
    let changes = patches::for_cluster(common, part, destination, name, templates)?;
    let mut policies = releases;
    for release in &mut policies {
        let content = plain(release.objects.split_off(release.crds));
        release.objects.iter_mut().for_each(marks::take_all);
        release.objects.extend(patches::apply(&changes, content)?);
        charts::mark(release);
    }
    for source in part.sources(deployment) {
        let objects = objects(source, destination, name, (templates, manifests))?;
        policies.push(Policy {
            kind: source.kind.clone(),
            namespace: source.namespace.clone(),
            name: source.name.clone(),
            tier: source.tier,
            skip_namespace_creation: source.skip_namespace_creation,
            force: source.force,
            subresources: source.subresources.clone(),
            objects: patches::apply(&changes, objects)?,
            ..Policy::default()
        });
    }
    Ok(policies)
}

/// The objects of a source as one destination gets them, without patches.
///
/// # Errors
/// The reference and what is wrong in it.
pub(crate) fn objects(
    source: &PolicySource,
    destination: Destination<'_>,
    name: &str,
    (templates, manifests): (&Templates, &Manifests),
) -> Result<Vec<Value>> {
    let place = |error: Error| error.within(source.described());
    let is_sealed = || source.texts.values().any(|text| templates.veil().open(text).is_some());
    let objects = if source.is_per_destination() || is_sealed() {
        let mut texts = BTreeMap::new();
        for (key, text) in &source.texts {
            let text = for_destination(source, (ReadAs::Manifests, text), destination, name, templates);
            texts.insert(key.clone(), text.map_err(|error| place(error.within(format!("data.{key}"))))?);
        }
        manifests.objects(&texts, false)
    } else {
        manifests.objects(&source.texts, source.shared)
    };
    let is_secret = source.kind == "Secret" || destination.reads_secret();
    Ok(plain(objects.map_err(|error| place(error.told(is_secret)))?))
}

/// The objects without what is written onto deployed objects: content may be a copy of one.
fn plain(mut objects: Vec<Value>) -> Vec<Value> {
    objects.iter_mut().for_each(marks::take_all);
    objects
}

/// The body of a `desired` row.
pub(crate) fn desired(
    rendered: &Rendered,
    common: &SpecCommon,
    cause: &Cause,
    (cluster, policies): (Option<&Cluster>, Vec<Policy>),
) -> Desired {
    Desired {
        owner_kind: rendered.id.kind().to_owned(),
        owner_namespace: rendered.id.namespace.clone(),
        owner_name: rendered.id.name.clone(),
        tier: common.tier,
        leave: common.leave,
        dry_run: common.dry_run,
        one_time: common.one_time,
        staged: common.rollout.is_some(),
        hidden: false,
        allow_prune: common.allow_prune.clone(),
        succeeds: rendered.succeeds.clone(),
        redeploy: redeploy(common, cluster),
        extra_labels: common.extra_labels.clone(),
        extra_annotations: common.extra_annotations.clone(),
        account: None,
        lacks: common.lacks(),
        cause: cause.clone(),
        spec: rendered.spec.clone(),
        policies,
        jobs: Vec::new(),
    }
}

/// What its profile or trigger, and the cluster that it is for, were asked with to be deployed once more.
fn redeploy(common: &SpecCommon, cluster: Option<&Cluster>) -> BTreeSet<String> {
    let of_cluster = cluster.map(Cluster::redeploy).unwrap_or_default();
    let asked = [("profile", &common.redeploy), ("cluster", &of_cluster)];
    let asked = asked.into_iter().filter(|(_, token)| !token.is_empty());
    asked.map(|(who, token)| Digest::of(&[who.as_bytes(), token.as_bytes()]).to_string()).collect()
}

/// Whether all destinations get the same.
pub(crate) fn same_everywhere(common: &SpecCommon, rendered: &Rendered, part: &Part) -> bool {
    charts::same_everywhere(&rendered.charts, part) && sources_are_same(common, part, Deployment::Remote)
}

/// Whether what goes there of the references is the same because of all destinations.
pub(crate) fn sources_are_same(common: &SpecCommon, part: &Part, deployment: Deployment) -> bool {
    part.sources(deployment).all(|source| !source.is_per_destination())
        && part.jobs.iter().all(|source| !source.is_per_destination())
        && patches::same_everywhere(common, part)
}
