//! `helmCharts`: releases of charts. They are rendered for each destination, before what is referenced.
//!
//! ```text
//! fields, values ─► request ─► a chart that has been fetched ─┐
//!                                                             ├─► output, kept by its input ─► patches, marks ─► policy
//! values of ConfigMaps and Secrets, release, options ─────────┘
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_api::model::HelmChart;
use sluice_api::object;
use sluice_api::secrets::{without_message, without_text};
use sluice_chart::Release;
use sluice_protocol::Fault;
use sluice_protocol::rows::{self, Policy};

use crate::error::{Error, Result};
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::catalog::Catalog;
use crate::knowledge::chart_output::ChartOutput;
use crate::knowledge::chart_request::{ChartRequest, LoadedChart};
use crate::knowledge::reads::Reads;
use crate::rendering::chart_outputs::{Input, Outputs};
use crate::rendering::destination::Destination;
use crate::rendering::language::Language;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::references::namespace_or;
use crate::rendering::templates::Templates;
use crate::rendering::text::for_destination;
use crate::rendering::veil::ReadAs;

mod access;

/// The kind that objects of a chart say they come from.
const KIND: &str = "HelmChart";
/// The tier of a reference that says none.
const TIER: i32 = 100;
/// So much is told of what a chart's engine says.
const TOLD: usize = 2048;

/// What the render of charts works with.
pub(crate) struct ChartRender<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) templates: &'a Templates,
    pub(crate) outputs: &'a Outputs,
    /// Name of the profile.
    pub(crate) name: &'a str,
    /// The namespace in which alone the profile may read; empty is any.
    pub(crate) own_namespace: &'a str,
    /// What the destination can do.
    pub(crate) capabilities: &'a ClusterCapabilities,
    /// What is said of charts and stops nothing.
    pub(crate) notes: BTreeSet<Fault>,
    /// Whether one of them draws random values.
    pub(crate) has_drawn: bool,
}

// === impl ChartRender ===

impl ChartRender<'_> {
    /// The releases as one destination gets them, before patches. Of a chart of which nothing is known yet there is none, and
    /// `reads` says so.
    ///
    /// # Errors
    /// The chart, the field, and what is wrong with it.
    pub(crate) fn policies(
        &mut self,
        charts: &[HelmChart],
        part: &Part,
        destination: Destination<'_>,
        reads: &mut Reads,
    ) -> Result<Vec<Policy>> {
        let mut policies = Vec::with_capacity(charts.len());
        for (place, chart) in charts.iter().enumerate().filter(|(_, chart)| !chart.uninstall) {
            let sources = part.values.get(place).map_or(&[] as &[_], Vec::as_slice);
            policies.extend(self.policy(chart, sources, destination, reads)?);
        }
        Ok(policies)
    }

    fn policy(
        &mut self,
        chart: &HelmChart,
        sources: &[PolicySource],
        destination: Destination<'_>,
        reads: &mut Reads,
    ) -> Result<Option<Policy>> {
        let render = |text: &str| self.templates.render_for(Language::Go, self.name, text, destination);
        let chart = chart.rendered(|field, text| render(text).map_err(|error| error.within(field)))?;
        let namespace = |text: &str| match self.own_namespace {
            "" => namespace_or(text.to_owned(), &destination.cluster.id),
            own => own.to_owned(),
        };
        let mut access = access::of(&chart, namespace, self.catalog, reads)?;
        access.of_tenant = reads.is_of_tenant() || !self.own_namespace.is_empty();
        let request = ChartRequest::of(&chart, access)?;
        let named = |error: Error| error.within(&request).within(&chart.path);
        let Some(loaded) = self.fetched(&request, &named, reads)? else { return Ok(None) };
        let values = self.values(&chart, sources, destination)?;
        let release = Release {
            name: chart.release_name.clone(),
            namespace: release_namespace(&chart)?.to_owned(),
            revision: 1,
            is_upgrade: false,
        };
        let output = self.output(&chart, (&loaded, &values, &release), destination);
        reads.keep(output.clone());
        self.has_drawn |= output.has_drawn();
        let is_secret = destination.reads_secret() || sources.iter().any(|source| source.kind == "Secret");
        let (objects, crds) = output.objects().map_err(|error| {
            let error = error.cut(TOLD).covered_if(is_secret, without_message);
            named(error.explained("correct the values, or take another version of the chart"))
        })?;
        let said = notes(&output, chart.options.disable_hooks);
        let said = said.map(|note| note.chars().take(TOLD).collect::<String>());
        let place = format!("{}: {request}", chart.path);
        self.notes.extend(said.map(|note| Fault::note(note).within(&place)));
        Ok(Some(Policy {
            kind: KIND.to_owned(),
            namespace: release.namespace,
            name: release.name,
            tier: TIER,
            skip_namespace_creation: chart.options.skip_namespace_creation,
            upgrade_crds: chart.options.upgrade_crds,
            release: Some(rows::Release {
                repository: request.repository.clone(),
                version: loaded.chart.metadata.version.clone(),
                app_version: loaded.chart.metadata.app_version.clone(),
                values: output.values().to_owned(),
            }),
            crds,
            objects,
            ..Policy::default()
        }))
    }

    /// The chart as it was fetched last; `None` where nothing is known of it yet.
    fn fetched(
        &mut self,
        request: &ChartRequest,
        named: &impl Fn(Error) -> Error,
        reads: &mut Reads,
    ) -> Result<Option<Arc<LoadedChart>>> {
        let Some(state) = reads.chart(self.catalog, request) else { return Ok(None) };
        let trouble = state.error();
        match (state.chart, trouble) {
            (Some(loaded), trouble) => {
                let said = trouble.map(|trouble| named(trouble.explained("what was fetched before is used")));
                self.notes.extend(said.map(Fault::from));
                Ok(Some(loaded))
            }
            (None, trouble) => Err(named(trouble.unwrap_or_else(Error::no_chart))),
        }
    }

    fn output(
        &self,
        chart: &HelmChart,
        (loaded, values, release): (&LoadedChart, &Map<String, Value>, &Release),
        destination: Destination<'_>,
    ) -> Arc<ChartOutput> {
        self.outputs.of(&Input {
            loaded,
            values,
            release,
            capabilities: self.capabilities,
            options: chart.options,
            salt: self.templates.salt(),
            scope: self.templates.scope(&destination.cluster.id),
            now: self.templates.now_unix_nanos(),
        })
    }

    /// The values of a release: those of ConfigMaps and Secrets in order, and over them its own.
    fn values(
        &self,
        chart: &HelmChart,
        sources: &[PolicySource],
        destination: Destination<'_>,
    ) -> Result<Map<String, Value>> {
        let mut values = Map::new();
        for source in sources {
            for (key, text) in &source.texts {
                let held = (ReadAs::Values, text.as_str());
                let text = for_destination(source, held, destination, self.name, self.templates);
                let read = |text: String| {
                    let secret = source.kind == "Secret" || destination.reads_secret();
                    let told = |error| Error::Chart(error).covered_if(secret, without_text);
                    sluice_chart::read_values(&text).map_err(told)
                };
                let more = text.and_then(read);
                let more = more.map_err(|error| {
                    let PolicySource { kind, namespace, name, .. } = source;
                    error.within(format!("{}.valuesFrom: {kind} {namespace}/{name}: data.{key}", chart.path))
                })?;
                sluice_chart::merge(&mut values, more);
            }
        }
        let own = sluice_chart::read_values(&chart.values);
        sluice_chart::merge(
            &mut values,
            own.map_err(|error| Error::Chart(error).within(format!("{}.values", chart.path)))?,
        );
        Ok(values)
    }
}

/// What people should know of what a chart has rendered to.
fn notes(output: &ChartOutput, disable_hooks: bool) -> impl Iterator<Item = String> {
    let hooks = (!output.hooks().is_empty() && !disable_hooks).then(|| {
        let hooks = output.hooks().join(", ");
        format!("hooks are not run ({hooks}); set options.disableHooks: true to hear no more of it")
    });
    let others = (!output.no_crds().is_empty()).then(|| {
        let others = output.no_crds().join(", ");
        format!("what is in crds/ and defines no kind is not deployed ({others}); move it to templates/")
    });
    let warnings = output.warnings().iter().map(|warning| format!("Helm warns: {warning}"));
    hooks.into_iter().chain(others).chain(warnings)
}

fn release_namespace(chart: &HelmChart) -> Result<&str> {
    let namespace = chart.release_namespace.as_str();
    let is_name = sluice_api::names::is_object_name(namespace) && !namespace.contains('.');
    let wrong = || {
        let what = format!("{}.releaseNamespace: {namespace:?}", chart.path);
        Error::value(what, "is no namespace; use lower-case letters, digits and '-'")
    };
    if is_name { Ok(namespace) } else { Err(wrong()) }
}

/// Writes what an event has made of the fields of charts into the spec of its profile.
pub(crate) fn write(spec: &mut Map<String, Value>, charts: &[HelmChart]) {
    let written = spec.get_mut("helmCharts").and_then(Value::as_array_mut);
    for (written, chart) in written.into_iter().flatten().zip(charts) {
        for (field, text) in chart.texts().into_iter().filter(|(_, text)| !text.is_empty()) {
            written[field] = text.into();
        }
        let references = written.get_mut("valuesFrom").and_then(Value::as_array_mut);
        for (written, item) in references.into_iter().flatten().zip(&chart.values_from) {
            written["name"] = item.name.clone().into();
            if !item.namespace.is_empty() {
                written["namespace"] = item.namespace.clone().into();
            }
        }
    }
}

/// Marks the objects of a release as Helm does: what it brings along is not of it.
pub(crate) fn mark(policy: &mut Policy) {
    for object in policy.objects.iter_mut().skip(policy.crds) {
        if let Some(labels) = object::metadata_map(object, "labels") {
            labels.insert("app.kubernetes.io/managed-by".into(), "Helm".into());
        }
        if let Some(annotations) = object::metadata_map(object, "annotations") {
            annotations.insert("meta.helm.sh/release-name".into(), policy.name.clone().into());
            annotations.insert("meta.helm.sh/release-namespace".into(), policy.namespace.clone().into());
        }
    }
}

/// Whether all destinations get the same releases.
pub(crate) fn same_everywhere(charts: &[HelmChart], part: &Part) -> bool {
    let here = |secret: &Option<sluice_api::model::SecretRef>| {
        secret.as_ref().is_some_and(|secret| secret.namespace.is_empty())
    };
    let same = |chart: &HelmChart| {
        let is_text = chart.texts().iter().all(|(_, text)| !Language::Go.has_actions(text));
        is_text && !here(&chart.access.credentials) && !here(&chart.access.ca)
    };
    charts.iter().all(same) && part.values.iter().flatten().all(|source| !source.is_per_destination())
}
