//! Rendering: from a chart and values to manifests, in Helm's order of steps.

use serde_json::{Map, Value as Json};
use sluice_template::{Env, Limits};

use crate::{
    capabilities::Capabilities,
    coalesce::{Nulls, over_defaults},
    compiled::Compiled,
    context::Contexts,
    error::{Error, load},
    load::Chart,
    manifest::{self, Hook, Manifest},
    schema,
    table::Table,
    tree::ChartTree,
    warning::Warnings,
};

/// What is being installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// What templates see as `.Release.Name`.
    pub name: String,
    /// Where it goes.
    pub namespace: String,
    /// Which of its revisions this is.
    pub revision: i64,
    /// Whether an older revision is replaced.
    pub is_upgrade: bool,
}

/// How to render.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Takes values that do not meet the chart's schema.
    pub skip_schema: bool,
    /// What templates may use.
    pub limits: RenderLimits,
    /// The parsed templates of this chart, and where they are kept for its next render.
    pub compiled: Compiled,
}

/// What templates may use: the engine's limits, with defaults for whole charts.
#[derive(Debug, Clone)]
pub struct RenderLimits(pub Limits);

/// A chart that has been rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The files in `crds/`, as they are.
    pub crds: Vec<Manifest>,
    /// What is installed, in this order.
    pub manifests: Vec<Manifest>,
    /// What is run at certain moments.
    pub hooks: Vec<Hook>,
    /// The text for the people who install the chart.
    pub notes: String,
    /// What Helm warns of.
    pub warnings: Warnings,
}

// === impl RenderLimits ===

impl Default for RenderLimits {
    fn default() -> Self {
        Self(Limits {
            steps: 2_000_000,
            output_bytes: 40 << 20,
            string_bytes: 16 << 20,
            memory_bytes: 192 << 20,
            template_bytes: 4 << 20,
            ..Limits::default()
        })
    }
}

/// Renders a chart with values laid over its defaults.
///
/// # Errors
/// What Helm says about the values, the templates or what they print; or the limit that is exceeded.
pub fn render(
    chart: &Chart,
    values: &Map<String, Json>,
    release: &Release,
    capabilities: &Capabilities,
    env: &Env<'_>,
    options: &Options,
) -> Result<Rendered, Error> {
    render_and_warn(chart, values, release, capabilities, env, options, &mut Warnings::default())
}

/// As [`render`], and what there is to warn of is told also where it fails.
///
/// # Errors
/// Those of [`render`].
pub fn render_and_warn(
    chart: &Chart,
    values: &Map<String, Json>,
    release: &Release,
    capabilities: &Capabilities,
    env: &Env<'_>,
    options: &Options,
    warnings: &mut Warnings,
) -> Result<Rendered, Error> {
    if !matches!(chart.metadata.kind.as_str(), "" | "application") {
        return Err(load(format!("{} charts are not installable", chart.metadata.kind)));
    }
    if chart.metadata.deprecated {
        warnings.warn("this chart is deprecated", Vec::new);
    }
    check_name(&release.name)?;
    let values = Table::from_json(values);
    let tree = ChartTree::decided(chart, &values, warnings)?;
    let values = over_defaults(&tree, &values, Nulls::Remove, warnings)?.to_json();
    if !options.skip_schema {
        schema::check(&tree, &values, warnings)?;
    }
    check_kubernetes(chart, capabilities)?;
    let values = Json::Object(values);
    let files = Contexts::new(&tree, &values).render(release, capabilities, env, options)?;
    outcome(&tree, files, warnings)
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_part = |part: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let bytes = part.as_bytes();
        let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
        edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
    };
    if name.len() <= 53 && name.split('.').all(is_part) {
        return Ok(());
    }
    let name = sluice_template::go_quoted(name);
    let pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    Err(Error::values(format!(
        "release name check failed: release name {name}: invalid release name, must match regex {pattern} and the \
         length must not be longer than 53"
    )))
}

fn check_kubernetes(chart: &Chart, capabilities: &Capabilities) -> Result<(), Error> {
    let wanted = &chart.metadata.kube_version;
    if wanted.is_empty() || sluice_template::version_satisfies(wanted, capabilities.normalized()) {
        return Ok(());
    }
    let has = capabilities.version();
    Err(Error::values(format!(
        "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {has}"
    )))
}

/// Splits what was rendered into notes, manifests and hooks.
fn outcome(
    tree: &ChartTree<'_>,
    files: Vec<(String, String)>,
    warnings: &mut Warnings,
) -> Result<Rendered, Error> {
    let own_notes = format!("{}/templates/NOTES.txt", tree.name());
    let (notes, files): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| name.ends_with("NOTES.txt"));
    let notes =
        notes.into_iter().find(|(name, _)| *name == own_notes).map(|(_, text)| text).unwrap_or_default();
    let (manifests, hooks) = manifest::sorted(&files, warnings)?;
    let mut crds = Vec::new();
    collect_crds(tree, &mut crds, tree.name());
    Ok(Rendered { crds, manifests, hooks, notes, warnings: warnings.clone() })
}

fn collect_crds(tree: &ChartTree<'_>, crds: &mut Vec<Manifest>, path: &str) {
    for file in tree.chart.own_crds() {
        let path = format!("{path}/{}", file.name);
        let content = String::from_utf8_lossy(&file.data).into_owned();
        crds.push(Manifest { path, kind: "CustomResourceDefinition".to_owned(), content });
    }
    for dependency in &tree.dependencies {
        collect_crds(dependency, crds, &format!("{path}/charts/{}", dependency.name()));
    }
}
