//! What the templates of each chart see, and running them.

use std::{collections::BTreeMap, sync::atomic::AtomicUsize};

use serde_json::Value as Json;
use sluice_template::{Data, Env, Job};

use crate::{
    archive::clean,
    capabilities::Capabilities,
    error::Error,
    render::{Options, Release},
    trace,
    tree::ChartTree,
};

/// The charts of a render, every chart before its dependencies.
pub(crate) struct Contexts<'a>(Vec<Part<'a>>);

/// A chart and its part of the values.
struct Part<'a> {
    tree: &'a ChartTree<'a>,
    path: String,
    metadata: Json,
    files: Vec<(&'a str, &'a [u8])>,
    values: Option<&'a Json>,
    children: Vec<usize>,
}

/// A template of a chart.
struct Source<'a> {
    base: String,
    text: std::borrow::Cow<'a, str>,
    part: usize,
}

// === impl Contexts ===

impl<'a> Contexts<'a> {
    pub(crate) fn new(tree: &'a ChartTree<'a>, values: &'a Json) -> Self {
        let mut parts = Self(Vec::new());
        parts.add(tree, tree.name().to_owned(), Some(values), true);
        parts
    }

    fn add(
        &mut self,
        tree: &'a ChartTree<'a>,
        path: String,
        values: Option<&'a Json>,
        is_root: bool,
    ) -> usize {
        let at = self.0.len();
        let files: BTreeMap<&str, &[u8]> =
            tree.chart.files.iter().map(|file| (file.name.as_str(), file.data.as_slice())).collect();
        let metadata = tree.metadata.as_json(is_root);
        let files = files.into_iter().collect();
        self.0.push(Part { tree, path: path.clone(), metadata, files, values, children: Vec::new() });
        for child in &tree.dependencies {
            // A name with dots is a path here, as it is for Helm.
            let below = child.name().split('.').try_fold(values, |at, key| Some(at?.get(key))).flatten();
            let below = below.filter(|values| values.is_object());
            let child = self.add(child, format!("{path}/charts/{}", child.name()), below, false);
            self.0[at].children.push(child);
        }
        at
    }

    /// Every template by its name; of equal names the last counts.
    fn sources(&self) -> BTreeMap<String, Source<'a>> {
        let mut sources = BTreeMap::new();
        for (at, part) in self.0.iter().enumerate() {
            for file in part.tree.templates() {
                if part.tree.metadata.is_library() && !is_partial(&file.name) {
                    continue;
                }
                let name = clean(&format!("{}/{}", part.path, file.name));
                let text = String::from_utf8_lossy(&file.data);
                sources.insert(name, Source { base: format!("{}/templates", part.path), text, part: at });
            }
        }
        sources
    }

    /// The text of every template that prints something, by its name.
    pub(crate) fn render(
        &self,
        release: &Release,
        capabilities: &Capabilities,
        env: &Env<'_>,
        options: &Options,
    ) -> Result<Vec<(String, String)>, Error> {
        let limits = &options.limits.0;
        let sources = self.sources();
        let ordered = in_order(&sources);
        let texts: Vec<_> = ordered.iter().map(|(name, source)| (*name, &*source.text)).collect();
        let set = options.compiled.set(&texts, limits)?;
        let printing: Vec<_> = ordered.into_iter().filter(|(name, _)| !is_partial(name)).collect();
        let templates: Vec<Data<'_>> =
            printing.iter().map(|(name, source)| template_data(name, source)).collect();
        let turn = AtomicUsize::new(0);
        let contexts = self.data(&release_data(release), capabilities, &Data::Turn(&templates, &turn));
        let jobs: Vec<Job<'_>> =
            printing.iter().map(|(name, source)| Job { name, dot: &contexts[source.part] }).collect();
        let outputs = set
            .render(&jobs, &turn, env, limits)
            .map_err(|(name, error)| trace::of_rendering(&name, &error))?;
        Ok(printing.iter().map(|(name, _)| (*name).to_owned()).zip(outputs).collect())
    }

    /// What the templates of each chart see.
    fn data<'d>(
        &'d self,
        release: &Data<'d>,
        capabilities: &'d Capabilities,
        template: &Data<'d>,
    ) -> Vec<Data<'d>> {
        let capabilities = capabilities.as_data();
        let mut done: BTreeMap<usize, Data<'d>> = BTreeMap::new();
        for (at, part) in self.0.iter().enumerate().rev() {
            let children = part.children.iter().map(|child| {
                let context = done.get(child).cloned().unwrap_or(Data::Null);
                (self.0[*child].tree.name(), context)
            });
            let context = Data::Map(vec![
                ("Values", part.values.and_then(Json::as_object).map_or(Data::Null, Data::Values)),
                ("Chart", metadata_data(&part.metadata)),
                ("Release", release.clone()),
                ("Files", Data::Files(&part.files)),
                ("Capabilities", capabilities.clone()),
                ("Template", template.clone()),
                ("Subcharts", Data::Map(children.collect())),
            ]);
            done.insert(at, context);
        }
        done.into_values().collect()
    }
}

/// `.Chart`; annotations that nobody wrote are a map that is nil.
fn metadata_data(metadata: &Json) -> Data<'_> {
    let fields = metadata.as_object().into_iter().flatten();
    let data = fields.map(|(name, value)| match value {
        Json::Null => (name.as_str(), Data::NilTexts),
        Json::Object(texts) => (name.as_str(), Data::Texts(texts)),
        value => (name.as_str(), Data::Json(value)),
    });
    Data::Map(data.collect())
}

fn release_data(release: &Release) -> Data<'_> {
    Data::Map(vec![
        ("Name", Data::Str(&release.name)),
        ("Namespace", Data::Str(&release.namespace)),
        ("IsUpgrade", Data::Bool(release.is_upgrade)),
        ("IsInstall", Data::Bool(!release.is_upgrade)),
        ("Revision", Data::PlainInt(release.revision)),
        ("Service", Data::Str("Helm")),
    ])
}

fn template_data<'d>(name: &'d str, source: &'d Source<'_>) -> Data<'d> {
    Data::Map(vec![("Name", Data::Str(name)), ("BasePath", Data::Str(&source.base))])
}

/// Whether a template is only there for others.
fn is_partial(name: &str) -> bool {
    name.rsplit('/').next().unwrap_or(name).starts_with('_')
}

/// The deepest paths first, so that what stands higher is parsed later and wins.
fn in_order<'s, 'a>(sources: &'s BTreeMap<String, Source<'a>>) -> Vec<(&'s str, &'s Source<'a>)> {
    let mut all: Vec<_> = sources.iter().map(|(name, source)| (name.as_str(), source)).collect();
    let depth = |name: &str| name.matches('/').count();
    all.sort_by(|(a, _), (b, _)| (depth(b), *b).cmp(&(depth(a), *a)));
    all
}
