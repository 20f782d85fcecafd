//! What charts render to. It is kept as long as somebody uses it, by the digest of everything that it is made of: what a chart
//! draws at random or takes from the clock is drawn once. What draws nothing is the same for whoever renders it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Map, Value};
use sluice_api::model::ChartOptions;
use sluice_api::{Digest, object};
use sluice_chart::{CompiledCharts, Options, Release, Warning};
use sluice_template::Env;

use crate::error::Result;
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::chart_output::ChartOutput;
use crate::knowledge::chart_request::LoadedChart;
use crate::rendering::content;
use crate::rendering::salt::Salt;

/// So many warnings are told of.
const TOLD: usize = 10;

/// Everything that a render of a chart is made of, and the time it is made at.
pub(crate) struct Input<'a> {
    pub(crate) loaded: &'a LoadedChart,
    pub(crate) values: &'a Map<String, Value>,
    pub(crate) release: &'a Release,
    /// What the destination can do.
    pub(crate) capabilities: &'a ClusterCapabilities,
    pub(crate) options: ChartOptions,
    /// What random values begin with.
    pub(crate) salt: &'a Salt,
    /// For whom and where they are drawn.
    pub(crate) scope: Option<Digest>,
    /// Nanoseconds since 1970.
    pub(crate) now: i64,
}

// D-0921: a release is rendered once for each input.
/// Outputs by the digests of their inputs, and the parsed templates of their charts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    known: Arc<Mutex<HashMap<Digest, Weak<ChartOutput>>>>,
    compiled: Arc<CompiledCharts>,
}

// === impl Outputs ===

impl Outputs {
    /// What this input renders to.
    pub(crate) fn of(&self, input: &Input<'_>) -> Arc<ChartOutput> {
        let values = input.values_text();
        let drawn_from = input.digest(&values);
        let digest = Digest::of(&[drawn_from.as_bytes(), input.capabilities.digest().as_bytes()]);
        let scope = input.scope.as_ref().map(|scope| scope.as_bytes() as &[u8]);
        let own = Digest::of(&[digest.as_bytes(), b"drawn", scope.unwrap_or_default()]);
        let find = |digest: &Digest| self.lock().get(digest).and_then(Weak::upgrade);
        if let Some(known) = find(&digest).or_else(|| find(&own)) {
            return known;
        }
        let output = Arc::new(made(input, &values, drawn_from, &self.compiled));
        let mut kept = self.lock();
        if kept.len() == kept.capacity() {
            kept.retain(|_, output| output.strong_count() > 0);
        }
        kept.insert(if output.has_drawn { own } else { digest }, Arc::downgrade(&output));
        output
    }

    /// How many are in use.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().values().filter(|output| output.strong_count() > 0).count()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Weak<ChartOutput>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Input ===

impl Input<'_> {
    /// The values, to tell them from others.
    fn values_text(&self) -> String {
        serde_json::to_string(self.values).unwrap_or_default()
    }

    /// What random values are drawn from: all but what the cluster can do, so that no password changes with its version.
    fn digest(&self, values: &str) -> Digest {
        let ChartOptions { skip_crds, skip_schema, .. } = self.options;
        let (chart, release) = (&self.loaded.digest, self.release);
        let parts = [chart.as_str(), values, &release.name, &release.namespace].map(str::as_bytes);
        Digest::of(&[&parts[..], &[&[u8::from(skip_crds), u8::from(skip_schema)]]].concat())
    }
}

/// What this input renders to, for the first time.
fn made(input: &Input<'_>, values: &str, drawn_from: Digest, compiled: &CompiledCharts) -> ChartOutput {
    let values = Digest::of(&[values.as_bytes()]).to_string();
    let seed = input.salt.seed(input.scope, &[drawn_from.as_bytes()]);
    let env = Env::new(input.now, seed).with_steady_certificates();
    let compiled = compiled.of(&input.loaded.digest);
    let options = Options { skip_schema: input.options.skip_schema, compiled, ..Options::default() };
    let rendered = sluice_chart::render(
        &input.loaded.chart,
        input.values,
        input.release,
        input.capabilities.chart(),
        &env,
        &options,
    );
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error) => {
            let (no_crds, hooks, warnings) = Default::default();
            let (objects, has_drawn) = (Err(error.into()), env.has_drawn());
            return ChartOutput { objects, no_crds, hooks, warnings, values, has_drawn };
        }
    };
    let crds = rendered.crds.iter().filter(|_| !input.options.skip_crds);
    let parsed = parsed(crds, &rendered.manifests, &input.release.namespace);
    let hooks = rendered.hooks.iter().filter(|hook| !hook.is_test());
    let warnings: BTreeSet<String> = rendered.warnings.iter().map(Warning::without_values).collect();
    let (objects, no_crds) = match parsed {
        Ok(parsed) => (Ok([parsed.crds, parsed.objects].map(text)), parsed.no_crds),
        Err(error) => (Err(error), Vec::new()),
    };
    ChartOutput {
        objects,
        no_crds: no_crds.iter().take(TOLD).map(object::describe).collect(),
        hooks: hooks.map(|hook| format!("{} {}", hook.manifest.kind, hook.name)).collect(),
        warnings: warnings.into_iter().take(TOLD).collect(),
        values,
        has_drawn: env.has_drawn(),
    }
}

fn text(objects: Vec<Value>) -> Box<str> {
    Value::Array(objects).to_string().into()
}

/// What the manifests of a chart are.
struct Parsed {
    crds: Vec<Value>,
    /// What is in `crds/` as well.
    no_crds: Vec<Value>,
    objects: Vec<Value>,
}

/// The objects of manifests. Those without a namespace get that of the release, unless the chart itself defines their kind as
/// one without namespaces.
fn parsed<'m>(
    crds: impl Iterator<Item = &'m sluice_chart::Manifest>,
    manifests: &[sluice_chart::Manifest],
    namespace: &str,
) -> Result<Parsed> {
    let (crds, no_crds): (Vec<_>, Vec<_>) = read(crds)?.into_iter().partition(is_definition);
    let mut objects = read(manifests.iter())?;
    let wide: HashSet<(String, String)> = crds.iter().chain(&objects).filter_map(wide_kind).collect();
    for object in &mut objects {
        let group = object::text(object, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
        let kind = (group.to_owned(), object::text(object, &["kind"]).to_owned());
        if object::namespace(object).is_empty()
            && !wide.contains(&kind)
            && kind.1 != "CustomResourceDefinition"
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("namespace".into(), namespace.into());
        }
    }
    Ok(Parsed { crds, no_crds, objects })
}

fn read<'m>(manifests: impl Iterator<Item = &'m sluice_chart::Manifest>) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for manifest in manifests {
        let found = content::parse(&manifest.content);
        objects.extend(found.map_err(|error| error.within(&manifest.path))?);
    }
    Ok(objects)
}

/// Whether it defines a kind.
fn is_definition(object: &Value) -> bool {
    let (group, _) = object::text(object, &["apiVersion"]).split_once('/').unwrap_or_default();
    group == "apiextensions.k8s.io" && object::text(object, &["kind"]) == "CustomResourceDefinition"
}

/// Group and kind of what a definition defines without namespaces.
fn wide_kind(object: &Value) -> Option<(String, String)> {
    let is_wide = object::text(object, &["kind"]) == "CustomResourceDefinition"
        && object::text(object, &["spec", "scope"]) == "Cluster";
    let text = |path: &[&str]| object::text(object, path).to_owned();
    is_wide.then(|| (text(&["spec", "group"]), text(&["spec", "names", "kind"])))
}
