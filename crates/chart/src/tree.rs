//! A chart whose dependencies are being decided: what is disabled goes, aliases are copies.

use serde_json::{Value as Json, json};
use sluice_template::version_satisfies;

use crate::{
    archive::File,
    coalesce::{Nulls, over_defaults, tables},
    error::Error,
    load::Chart,
    metadata::{Dependency, Metadata},
    table::{Node, Table},
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
            Error::Limit(format!(
                "limit: the chart's dependencies and their aliases have more than {MOST} values"
            ))
        })?;
        Ok(())
    }
}

/// How many values a value consists of.
fn nodes(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(nodes).sum(),
        Json::Object(map) => map.values().map(nodes).sum(),
        _ => 0,
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
    pub(crate) fn decided(chart: &'a Chart, values: &Table) -> Result<Self, Error> {
        let mut tree = Self::new(chart);
        tree.check_dependencies()?;
        let failed = |error: Error| error.within("chart dependencies processing failed: ");
        tree.decide(values, "", &mut Room(MOST)).map_err(failed)?;
        tree.import_values().map_err(failed)?;
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
        Err(Error::Load(format!(
            "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
             fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
            missing.join(", ")
        )))
    }

    /// Leaves the dependencies that the values want, under their aliases.
    fn decide(&mut self, values: &Table, path: &str, room: &mut Room) -> Result<(), Error> {
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
        let values = over_defaults(self, values, Nulls::Remove)?;
        by_tags(&mut wanted, &values);
        by_conditions(&mut wanted, &values, path);
        let disabled: Vec<String> = wanted.iter().filter(|w| !w.enabled).map(|w| w.name.clone()).collect();
        self.dependencies.retain(|chart| !disabled.iter().any(|name| name == chart.name()));
        wanted.retain(|wanted| !disabled.contains(&wanted.name));
        for dependency in &mut self.dependencies {
            let path = format!("{path}{}.", dependency.name());
            dependency.decide(&values, &path, room)?;
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
    fn import_values(&mut self) -> Result<(), Error> {
        for dependency in &mut self.dependencies {
            dependency.import_values()?;
        }
        let Some(mut wanted) = self.metadata.dependencies.take() else { return Ok(()) };
        let values = over_defaults(self, &Table::default(), Nulls::Keep)?;
        let imported = Table::default();
        for wanted in &mut wanted {
            let mut shown = Vec::new();
            for import in &wanted.import_values {
                let (child, parent) = match import {
                    Json::String(name) => (format!("exports.{name}"), ".".to_owned()),
                    Json::Object(pair) => (go_text(pair.get("child")), go_text(pair.get("parent"))),
                    _ => continue,
                };
                shown.push(json!({"child": child, "parent": parent}));
                if let Some(table) = values.table(&format!("{}.{child}", wanted.name)) {
                    tables(&imported, &under(&parent, table), Nulls::Keep);
                }
            }
            wanted.import_values = shown;
        }
        self.metadata.dependencies = Some(wanted);
        let values = values.deep_copy();
        tables(&values, &imported, Nulls::Keep);
        self.values = values;
        Ok(())
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

fn by_tags(wanted: &mut [Dependency], values: &Table) {
    let Some(tags) = values.table("tags") else { return };
    for wanted in wanted {
        let said = |truth: bool| wanted.tags.iter().any(|tag| tags.leaf_of(tag) == Some(Json::Bool(truth)));
        wanted.enabled = said(true) || !said(false);
    }
}

fn by_conditions(wanted: &mut [Dependency], values: &Table, path: &str) {
    for wanted in wanted {
        let conditions = wanted.condition.trim().split(',').filter(|c| !c.is_empty());
        let said =
            conditions.filter_map(|c| values.leaf(&format!("{path}{c}"))).find_map(|leaf| leaf.as_bool());
        wanted.enabled = said.unwrap_or(wanted.enabled);
    }
}

// === impl Table ===

impl Table {
    /// What is under a key as it is, unless it is a table.
    fn leaf_of(&self, key: &str) -> Option<Json> {
        match self.get(key) {
            Some(Node::Leaf(leaf)) => Some(leaf),
            _ => None,
        }
    }
}
