//! What `patchesFrom` and checks of a trigger name, and `valuesFrom` of its charts, for the destinations of an event.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::ClusterRef;
use sluice_api::model::{HelmChart, PolicyRef};
use sluice_template::{Data, Stage};

use super::EventRender;
use crate::error::{Error, Result};
use crate::knowledge::reads::Reads;
use crate::rendering::language::Language;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::projection::Projection;
use crate::rendering::provider;

/// What destinations get, with the patches and the values for them.
#[derive(Default)]
pub(super) struct Patched {
    pub(super) parts: Vec<Part>,
    /// Destinations for which what is named is not there.
    pub(super) failed: Vec<(ClusterRef, Error)>,
    /// What patches are named, for the spec of the profile.
    pub(super) refs: Vec<Value>,
    /// The charts with what the event has made of their fields.
    pub(super) charts: Vec<HelmChart>,
    pub(super) projections: Vec<Projection>,
}

/// What patches and values are called.
struct Named {
    patches: Vec<PolicyRef>,
    jobs: Vec<PolicyRef>,
    /// For each chart.
    values: Vec<Vec<PolicyRef>>,
}

/// What they are.
struct Found {
    patches: Vec<PolicySource>,
    jobs: Vec<PolicySource>,
    values: Vec<Vec<PolicySource>>,
}

impl EventRender<'_> {
    /// Finds what is named. A name in which a template survives the event is one over the destination.
    ///
    /// # Errors
    /// The reference, or the template's message.
    pub(super) fn patched(
        &self,
        profile: &str,
        sources: Vec<PolicySource>,
        destinations: Vec<ClusterRef>,
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<Patched> {
        let items = self.trigger.common.patches_from.iter().map(|item| self.named_by_event(item, dot));
        let items: Vec<PolicyRef> = items.collect::<Result<_, _>>()?;
        let jobs = self.trigger.common.job_refs.iter().map(|item| self.named_by_event(item, dot));
        let jobs: Vec<PolicyRef> = jobs.collect::<Result<_, _>>()?;
        let charts = self.trigger.common.helm_charts.iter().map(|chart| self.chart(chart, dot));
        let charts: Vec<HelmChart> = charts.collect::<Result<_, _>>()?;
        let mut patched = Patched { refs: items.iter().map(reference).collect(), ..Patched::default() };
        let named = Named {
            patches: items,
            jobs,
            values: charts.iter().map(|one| one.values_from.clone()).collect(),
        };
        patched.charts = charts;
        if !named.all().any(has_actions) {
            let (found, projections) = self.found(&named, dot, reads)?;
            patched.projections = projections;
            patched.parts.push(found.part(destinations, sources));
            return Ok(patched);
        }
        let mut projections = BTreeMap::new();
        for id in destinations {
            let Some(cluster) = self.catalog.fleet.clusters().get(&id) else { continue };
            let provider = provider::of_names(named.all(), cluster, self.catalog, reads);
            let there = provider.and_then(|provider| {
                let dot = provider::of_cluster(cluster, &provider);
                named.rendered(|item| self.named_by_destination(item, profile, &dot))
            });
            match there.and_then(|named| self.found(&named, dot, reads)) {
                Ok((found, made)) => {
                    projections.extend(made.into_iter().map(|one| (one.key.clone(), one)));
                    patched.parts.push(found.part(vec![id], sources.clone()));
                }
                Err(error) => patched.failed.push((id, error)),
            }
        }
        patched.projections = projections.into_values().collect();
        Ok(patched)
    }

    fn found(&self, named: &Named, dot: &Data<'_>, reads: &mut Reads) -> Result<(Found, Vec<Projection>)> {
        let mut projections = Vec::new();
        let mut sources = |items: &[PolicyRef]| {
            let mut sources = Vec::new();
            for item in items {
                if let Some((source, projection)) = self.policy(item, dot, reads)? {
                    sources.push(source);
                    projections.extend(projection);
                }
            }
            Ok::<_, Error>(sources)
        };
        let (patches, jobs) = (sources(&named.patches)?, sources(&named.jobs)?);
        let values = named.values.iter().map(|items| sources(items)).collect::<Result<_, _>>()?;
        Ok((Found { patches, jobs, values }, projections))
    }

    /// A chart with what the event makes of its fields.
    fn chart(&self, chart: &HelmChart, dot: &Data<'_>) -> Result<HelmChart> {
        let values_from = chart.values_from.iter().map(|item| self.named_by_event(item, dot));
        let values_from = values_from.collect::<Result<_, _>>()?;
        Ok(HelmChart {
            values_from,
            ..chart.rendered(|field, text| self.template(text, dot).map_err(|error| error.within(field)))?
        })
    }

    fn named_by_event(&self, item: &PolicyRef, dot: &Data<'_>) -> Result<PolicyRef> {
        named(item, |text| self.template(text, dot))
    }

    fn named_by_destination(&self, item: &PolicyRef, profile: &str, dot: &Data<'_>) -> Result<PolicyRef> {
        named(item, |text| self.templates.render(profile, text, Stage::Deploy, dot))
    }
}

// === impl Named ===

impl Named {
    fn all(&self) -> impl Iterator<Item = &PolicyRef> + Clone {
        self.patches.iter().chain(&self.jobs).chain(self.values.iter().flatten())
    }

    fn rendered(&self, name: impl Fn(&PolicyRef) -> Result<PolicyRef>) -> Result<Self> {
        let all = |items: &Vec<PolicyRef>| items.iter().map(&name).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            patches: all(&self.patches)?,
            jobs: all(&self.jobs)?,
            values: self.values.iter().map(all).collect::<Result<_, _>>()?,
        })
    }
}

// === impl Found ===

impl Found {
    fn part(self, destinations: Vec<ClusterRef>, sources: Vec<PolicySource>) -> Part {
        let Self { patches, jobs, values } = self;
        Part { destinations, sources, patches, jobs, values }
    }
}

fn named(item: &PolicyRef, render: impl Fn(&str) -> Result<String>) -> Result<PolicyRef> {
    let field = |field: &str, text: &str| {
        render(text).map_err(|error| error.within(format!("{}.{field}", item.path)))
    };
    let (namespace, name) = (field("namespace", &item.namespace)?, field("name", &item.name)?);
    Ok(PolicyRef { namespace, name, ..item.clone() })
}

fn has_actions(item: &PolicyRef) -> bool {
    [&item.namespace, &item.name].into_iter().any(|text| Language::Go.has_actions(text))
}

/// The reference in the generated spec: everything the user wrote, with the place that the event gives it.
fn reference(item: &PolicyRef) -> Value {
    let mut value = item.raw.clone();
    value.insert("name".to_owned(), item.name.clone().into());
    if item.namespace.is_empty() {
        value.remove("namespace");
    } else {
        value.insert("namespace".to_owned(), item.namespace.clone().into());
    }
    value.into()
}
