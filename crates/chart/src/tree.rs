//! A chart whose dependencies are being decided: what is disabled goes, aliases are copies.

use serde_json::{Value as Json, json};
use sluice_template::version_satisfies;

use crate::{
    archive::File,
    coalesce::{Nulls, over_defaults, tables},
    error::{Error, load},
    load::{Chart, nodes},
    metadata::{Dependency, Metadata},
    table::{Node, Table},
    warning::Warnings,
};

/// A chart with values of its own; files are borrowed.
#[derive(Debug, Clone)]
pub(crate) struct ChartTree<'a> {
    pub(crate) chart: &'a Chart,
    pub(crate) metadata: Metadata,
    pub(crate) values: Table,
    pub(crate) dependencies: Vec<ChartTree<'a>>,
}

/// What copies of dependencies may still take. Aliases within aliases multiply: a small archive could become any number of
/// charts.
struct Room(usize);

/// Values of all copies.
const MOST: usize = 200_000;
/// A chart costs as much as so many values.
const CHART: usize = 100;

// === impl Room ===

impl Room {
    fn spend(&mut self, weight: usize) -> Result<(), Error> {
        self.0 = self.0.checked_sub(weight).ok_or_else(|| {
            Error::limit(format!(
                "limit: the chart's dependencies and their aliases have more than {MOST} values"
            ))
        })?;
        Ok(())
    }
}

// === impl ChartTree ===

impl<'a> ChartTree<'a> {
    fn new(chart: &'a Chart) -> Self {
        Self {
            chart,
            metadata: chart.metadata.clone(),
            values: Table::from_json(&chart.values),
            dependencies: chart.dependencies.iter().map(Self::new).collect(),
        }
    }

    /// The chart as it is for these values.
    pub(crate) fn decided(chart: &'a Chart, values: &Table, warnings: &mut Warnings) -> Result<Self, Error> {
        let mut tree = Self::new(chart);
        tree.check_dependencies()?;
        let failed = |error: Error| error.within("chart dependencies processing failed: ");
        tree.decide(values, "", &mut Room(MOST), warnings).map_err(failed)?;
        tree.import_values(warnings).map_err(failed)?;
        Ok(tree)
    }

    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn templates(&self) -> &'a [File] {
        &self.chart.templates
    }

    fn check_dependencies(&self) -> Result<(), Error> {
        let wanted = self.metadata.dependencies.iter().flatten();
        let missing: Vec<&str> = wanted
            .filter(|wanted| !self.dependencies.iter().any(|d| d.name() == wanted.name))
            .map(|wanted| wanted.name.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(load(format!(
            "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
             fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
            missing.join(", ")
        )))
    }

    /// Leaves the dependencies that the values want, under their aliases.
    fn decide(
        &mut self,
        values: &Table,
        path: &str,
        room: &mut Room,
        warnings: &mut Warnings,
    ) -> Result<(), Error> {
        let Some(mut wanted) = self.metadata.dependencies.take() else { return Ok(()) };
        let fits = |chart: &Self, wanted: &Dependency| {
            chart.name() == wanted.name && version_satisfies(&wanted.version, &chart.metadata.version)
        };
        let there = std::mem::take(&mut self.dependencies);
        let unlisted = there.iter().filter(|chart| !wanted.iter().any(|wanted| fits(chart, wanted)));
        let mut dependencies: Vec<Self> = unlisted.cloned().collect();
        for wanted in &mut wanted {
            if let Some(found) = there.iter().find(|chart| fits(chart, wanted)) {
                room.spend(found.weight())?;
                let mut found = found.clone();
                if !wanted.alias.is_empty() {
                    found.metadata.name.clone_from(&wanted.alias);
                }
                dependencies.push(found);
            }
            if !wanted.alias.is_empty() {
                wanted.name.clone_from(&wanted.alias);
            }
            wanted.enabled = true;
        }
        self.dependencies = dependencies;
        let values = over_defaults(self, values, Nulls::Remove, warnings)?;
        by_tags(&mut wanted, &values, warnings);
        by_conditions(&mut wanted, &values, path, warnings);
        let disabled: Vec<String> = wanted.iter().filter(|w| !w.enabled).map(|w| w.name.clone()).collect();
        self.dependencies.retain(|chart| !disabled.iter().any(|name| name == chart.name()));
        wanted.retain(|wanted| !disabled.contains(&wanted.name));
        for dependency in &mut self.dependencies {
            let path = format!("{path}{}.", dependency.name());
            dependency.decide(&values, &path, room, warnings)?;
        }
        self.metadata.dependencies = if wanted.is_empty() { None } else { Some(wanted) };
        Ok(())
    }

    /// What a copy takes.
    fn weight(&self) -> usize {
        let own = CHART + self.chart.values.values().map(nodes).sum::<usize>();
        own + self.dependencies.iter().map(Self::weight).sum::<usize>()
    }

    /// Takes over values of dependencies, the innermost charts first.
    fn import_values(&mut self, warnings: &mut Warnings) -> Result<(), Error> {
        for dependency in &mut self.dependencies {
            dependency.import_values(warnings)?;
        }
        let Some(mut wanted) = self.metadata.dependencies.take() else { return Ok(()) };
        let values = over_defaults(self, &Table::default(), Nulls::Keep, warnings)?;
        let imported = Table::default();
        for wanted in &mut wanted {
            let mut shown = Vec::new();
            for import in &wanted.import_values {
                let (child, parent, is_pair) = match import {
                    Json::String(name) => (format!("exports.{name}"), ".".to_owned(), false),
                    Json::Object(pair) => (go_text(pair.get("child")), go_text(pair.get("parent")), true),
                    _ => continue,
                };
                shown.push(json!({"child": child, "parent": parent}));
                match values.below(&format!("{}.{child}", wanted.name)) {
                    Ok(table) => tables(&imported, &under(&parent, table), "", Nulls::Keep, warnings),
                    Err(missing) => not_imported(is_pair.then_some(&wanted.name), missing, warnings),
                }
            }
            wanted.import_values = shown;
        }
        self.metadata.dependencies = Some(wanted);
        let values = values.deep_copy();
        tables(&values, &imported, "", Nulls::Keep, warnings);
        self.values = values;
        Ok(())
    }
}

/// Says what was to be imported and is no table; the chart's name only where Helm says it.
fn not_imported(chart: Option<&String>, missing: &str, warnings: &mut Warnings) {
    let error = ("error", format!("{} is not a table", sluice_template::go_quoted(missing)));
    match chart {
        Some(chart) => {
            warnings.warn("ImportValues missing table from chart", || vec![("chart", chart.clone()), error])
        }
        None => warnings.warn("ImportValues missing table", || vec![error]),
    }
}

fn go_text(value: Option<&Json>) -> String {
    match value {
        None | Some(Json::Null) => "<nil>".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A table that holds another one under a path.
fn under(path: &str, table: Table) -> Table {
    if path == "." {
        return table;
    }
    path.split('.').rev().fold(table, |inner, key| {
        let outer = Table::default();
        outer.insert(key, Node::Table(inner));
        outer
    })
}

fn by_tags(wanted: &mut [Dependency], values: &Table, warnings: &mut Warnings) {
    let Some(tags) = values.table("tags") else { return };
    for wanted in wanted {
        let (mut has_true, mut has_false) = (false, false);
        for tag in &wanted.tags {
            match tags.get(tag) {
                None => {}
                Some(Node::Leaf(Json::Bool(truth))) => {
                    *(if truth { &mut has_true } else { &mut has_false }) = true
                }
                Some(_) => no_truth("tag", tag, wanted, warnings),
            }
        }
        wanted.enabled = has_true || !has_false;
    }
}

fn by_conditions(wanted: &mut [Dependency], values: &Table, path: &str, warnings: &mut Warnings) {
    for wanted in wanted {
        let conditions = wanted.condition.trim().split(',').filter(|c| !c.is_empty());
        let mut said = None;
        for condition in conditions {
            match values.leaf(&format!("{path}{condition}")) {
                None => {}
                Some(Json::Bool(truth)) => {
                    said = Some(truth);
                    break;
                }
                Some(_) => no_truth("path", condition, wanted, warnings),
            }
        }
        wanted.enabled = said.unwrap_or(wanted.enabled);
    }
}

/// Says that neither yes nor no stands where a dependency is decided.
fn no_truth(what: &'static str, place: &str, wanted: &Dependency, warnings: &mut Warnings) {
    warnings
        .warn("returned non-bool value", || vec![(what, place.to_owned()), ("chart", wanted.name.clone())]);
}
