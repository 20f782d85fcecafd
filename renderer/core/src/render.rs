//! From a cause to a completely rendered profile. What events and user-written profiles share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use serde_json::{Map, Value, json};
use sluice_api::model::{Cluster, Deployment, HelmChart, LUA, PolicyRef, ResourceRef, SpecCommon, TEMPLATE};
use sluice_api::secrets::{without_message, without_text};
use sluice_api::{ClusterRef, Digest, ProfileId, ServiceAccount, marks, names, object};
use sluice_protocol::rows::{Cause, Desired, Policy};
use sluice_script::Script;

use crate::charts;
use crate::content::{self, Manifests};
use crate::knowledge::catalog::{Catalog, ContentKey};
use crate::knowledge::reads::Reads;
use crate::language::Language;
use crate::patches;
use crate::project::Projection;
use crate::resources::Destination;
use crate::templates::Templates;
use crate::veil::Held;

/// A profile with everything that follows from it.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Which.
    pub(crate) id: ProfileId,
    /// Whether the profile of this name is somebody else's: nothing of this one is deployed.
    pub(crate) is_refused: bool,
    /// Where it goes, and what it deploys there.
    pub(crate) parts: Vec<Part>,
    /// Charts that it deploys before its sources.
    pub(crate) charts: Vec<HelmChart>,
    /// Who gets the roles in its sources, which hold nothing else then.
    pub(crate) grants_to: Option<ServiceAccount>,
    /// What its templates read of the management cluster.
    pub(crate) resources: Vec<ResourceRef>,
    /// Where it goes as well, once this is mended.
    pub(crate) failed: Vec<(ClusterRef, String)>,
    /// Why it is not known where it goes besides: nothing of it is withdrawn then.
    pub(crate) unsure: Option<String>,
    /// What is wrong and stops nothing.
    pub(crate) warnings: Vec<String>,
    /// Its spec, for the ClusterProfile and the ClusterSummary.
    pub(crate) spec: Map<String, Value>,
    /// What is written to the management cluster because of it.
    pub(crate) projections: Vec<Projection>,
}

/// What some destinations get, before the render for each of them.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) destinations: Vec<ClusterRef>,
    pub(crate) sources: Vec<PolicySource>,
    /// With patches on it.
    pub(crate) patches: Vec<PolicySource>,
    /// Values of each chart.
    pub(crate) values: Vec<Vec<PolicySource>>,
}

/// One reference with its text.
#[derive(Clone, Debug)]
pub(crate) struct PolicySource {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The object that a user wrote, where this is what was made of it.
    pub(crate) from: ContentKey,
    pub(crate) tier: i32,
    pub(crate) skip_namespace_creation: bool,
    pub(crate) force: bool,
    pub(crate) deployment: Deployment,
    pub(crate) texts: BTreeMap<String, String>,
    /// What its texts are written in where they are templates.
    pub(crate) language: Language,
    /// Whether the text is a template over the destination.
    pub(crate) per_destination: bool,
    /// Whether the text is a script that makes the text for the destination.
    pub(crate) lua: bool,
    /// Whether the text is the same for many clusters, so that its objects are worth keeping.
    pub(crate) shared: bool,
}

impl Rendered {
    /// What becomes of a profile whose name is that of somebody else's.
    pub(crate) fn refused(id: ProfileId, spec: Map<String, Value>) -> Self {
        let text = format!(
            "spec.profileNameFormat: {id} is somebody else's, and is not written over; nothing is deployed; make the name differ"
        );
        Self {
            id,
            is_refused: true,
            parts: Vec::new(),
            charts: Vec::new(),
            grants_to: None,
            resources: Vec::new(),
            failed: Vec::new(),
            unsure: None,
            warnings: vec![text],
            spec,
            projections: Vec::new(),
        }
    }
}

impl Part {
    /// What goes there.
    pub(crate) fn sources(&self, deployment: Deployment) -> impl Iterator<Item = &PolicySource> {
        self.sources.iter().filter(move |source| source.deployment == deployment)
    }
}

impl PolicySource {
    /// Whether destinations get different texts.
    pub(crate) fn is_per_destination(&self) -> bool {
        self.per_destination || self.lua
    }

    /// What messages call it: the object that its author can edit.
    pub(crate) fn described(&self) -> String {
        let is_made = (&self.namespace, &self.name) != (&self.from.1, &self.from.2);
        format!("{}{}", described(&self.from), if is_made { ", as rendered" } else { "" })
    }
}

/// A referenced object; `None` when it is missing and may be.
///
/// # Errors
/// When it is missing and must not be.
pub(crate) fn referenced<'w>(
    catalog: &'w Catalog,
    item: &PolicyRef,
    key: &ContentKey,
    reads: &mut Reads,
) -> Result<Option<&'w Value>, String> {
    match reads.content(catalog, key).map_err(|error| format!("{}: {error}", item.path))? {
        Some(object) => Ok(Some(object)),
        None if item.optional || reads.is_unknown() => Ok(None),
        None => Err(format!("{}: {}", item.path, missing(&described(key)))),
    }
}

/// The text of a referenced object as it is.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn verbatim(
    item: &PolicyRef,
    key: &ContentKey,
    referenced: &Value,
) -> Result<PolicySource, String> {
    let texts = content::texts(referenced).map_err(|error| named(item, key, &error))?;
    Ok(PolicySource {
        kind: key.0.clone(),
        namespace: key.1.clone(),
        name: key.2.clone(),
        from: key.clone(),
        tier: item.tier,
        skip_namespace_creation: item.skip_namespace_creation,
        force: item.force,
        deployment: item.deployment,
        texts,
        language: Language::of(referenced).map_err(|error| named(item, key, &error))?,
        per_destination: object::annotation(referenced, TEMPLATE).is_some(),
        lua: object::annotation(referenced, LUA).is_some(),
        shared: true,
    })
}

/// An error about a referenced object.
pub(crate) fn named(item: &PolicyRef, key: &ContentKey, error: &str) -> String {
    format!("{}: {}: {error}", item.path, described(key))
}

/// What messages call a ConfigMap or Secret.
pub(crate) fn described((kind, namespace, name): &ContentKey) -> String {
    format!("{kind} {namespace}/{name}")
}

/// What is said of an object that is missing and must not be.
pub(crate) fn missing(object: &dyn Display) -> String {
    format!("{object} does not exist in the management cluster; create it, or set optional: true")
}

/// A rendered name, when an object may have it.
///
/// # Errors
/// How to write it.
pub(crate) fn object_name(name: String) -> Result<String, String> {
    if names::is_object_name(&name) {
        return Ok(name);
    }
    Err(format!("{name:?} is not a name; use lower-case letters, digits, '-' and '.'"))
}

/// The namespace that a reference without one means: the cluster's.
pub(crate) fn namespace_or(text: String, cluster: &ClusterRef) -> String {
    if text.is_empty() { cluster.namespace.clone() } else { text }
}

/// A text as one destination gets it; a sealed one without its values.
///
/// # Errors
/// The engine's message, with template name, line and column.
pub(crate) fn for_destination(
    source: &PolicySource,
    (held, text): (Held, &str),
    destination: Destination<'_>,
    name: &str,
    templates: &Templates,
) -> Result<String, String> {
    match templates.veil().open(text) {
        None => written(source, text, destination, name, templates)
            .map_err(|error| untold(source, destination, error)),
        Some(opened) => {
            let written = written(source, &opened, destination, name, templates);
            templates.veil().cover(text, held, written)
        }
    }
}

/// Why a text cannot be rendered or read, without what is secret in it.
fn untold(source: &PolicySource, destination: Destination<'_>, error: String) -> String {
    if source.kind == "Secret" {
        return without_text(&error);
    }
    if source.lua && destination.reads_secret() { without_message(&error) } else { error }
}

fn written(
    source: &PolicySource,
    text: &str,
    destination: Destination<'_>,
    name: &str,
    templates: &Templates,
) -> Result<String, String> {
    let rendered = if source.per_destination {
        templates.render_for(source.language, name, text, destination)?
    } else {
        text.to_owned()
    };
    if !source.lua {
        return Ok(rendered);
    }
    let script = Script::compile(&rendered).map_err(|error| error.to_string())?;
    let mut resources = json!({"Cluster": *destination.cluster.object});
    for (identifier, object) in destination.resources.iter().chain(destination.provider) {
        resources[identifier.as_str()] = (**object).clone();
    }
    let env = templates.env(name, &rendered, Some(&destination.cluster.id));
    script.generate(&resources, &env, &sluice_script::Limits::default()).map_err(|error| error.to_string())
}

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
) -> Result<Vec<Policy>, String> {
    let changes = patches::for_cluster(common, part, destination, name, templates)?;
    let mut policies = releases;
    for release in &mut policies {
        let content = plain(release.objects.split_off(release.crds));
        release.objects.iter_mut().for_each(marks::take_all);
        release.objects.extend(patches::apply(&changes, content)?);
        charts::mark(release);
    }
    for source in part.sources(deployment) {
        let place = |error: String| format!("{}: {error}", source.described());
        let is_sealed = || source.texts.values().any(|text| templates.veil().open(text).is_some());
        let objects = if source.is_per_destination() || is_sealed() {
            let mut texts = BTreeMap::new();
            for (key, text) in &source.texts {
                let text = for_destination(source, (Held::Manifests, text), destination, name, templates);
                texts.insert(key.clone(), text.map_err(|error| place(format!("data.{key}: {error}")))?);
            }
            manifests.objects(&texts, false)
        } else {
            manifests.objects(&source.texts, source.shared)
        };
        let is_secret = source.kind == "Secret" || destination.reads_secret();
        policies.push(Policy {
            kind: source.kind.clone(),
            namespace: source.namespace.clone(),
            name: source.name.clone(),
            tier: source.tier,
            skip_namespace_creation: source.skip_namespace_creation,
            force: source.force,
            objects: patches::apply(&changes, plain(objects.map_err(|error| place(error.told(is_secret)))?))?,
            ..Policy::default()
        });
    }
    Ok(policies)
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
        redeploy: redeploy(common, cluster),
        extra_labels: common.extra_labels.clone(),
        extra_annotations: common.extra_annotations.clone(),
        account: None,
        lacks: common.lacks(),
        cause: cause.clone(),
        spec: rendered.spec.clone(),
        policies,
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
        && patches::same_everywhere(common, part)
}
