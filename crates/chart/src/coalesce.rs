//! Helm's way of laying values over the defaults of a chart and its dependencies.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::{
    error::Error,
    table::{Node, Table},
    tree::ChartTree,
    warning::Warnings,
};

const GLOBAL: &str = "global";

/// Whether nulls stay in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// A null removes a default, and is gone itself.
    Remove,
    /// A null is a value like others.
    Keep,
}

/// The values over the defaults of the chart and its dependencies.
pub(crate) fn over_defaults(
    chart: &ChartTree,
    values: &Table,
    nulls: Nulls,
    warnings: &mut Warnings,
) -> Result<Table, Error> {
    let values = values.deep_copy();
    whole(chart, &values, "", nulls, warnings)?;
    Ok(values)
}

/// `above` is where the chart is, for warnings.
fn whole(
    chart: &ChartTree,
    into: &Table,
    above: &str,
    nulls: Nulls,
    warnings: &mut Warnings,
) -> Result<(), Error> {
    let path = below(above, chart.name());
    own_values(chart, into, &path, nulls, warnings);
    for dependency in &chart.dependencies {
        let part = match into.get(dependency.name()) {
            None => {
                let fresh = Table::default();
                into.insert(dependency.name(), Node::Table(fresh.clone()));
                fresh
            }
            Some(Node::Table(table)) => table,
            Some(Node::Leaf(leaf)) => {
                return Err(Error::values(format!(
                    "type mismatch on {}: {}",
                    dependency.name(),
                    as_truth(&leaf)
                )));
            }
        };
        globals(&part, into, &path, warnings);
        whole(dependency, &part, &path, nulls, warnings)?;
    }
    Ok(())
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Go's `%t` of a value, which Helm prints here whatever the value is.
fn as_truth(leaf: &Json) -> String {
    match leaf {
        Json::Bool(truth) => truth.to_string(),
        Json::Null => "%!t(<nil>)".to_owned(),
        Json::String(text) => format!("%!t(string={text})"),
        Json::Number(number) => match number.as_i64() {
            Some(int) => format!("%!t(int64={int})"),
            None => {
                let float = number.as_f64().unwrap_or_default();
                format!("%!t(float64={})", sluice_template::format_go_float(float, 'g', None))
            }
        },
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(as_truth).collect();
            format!("[{}]", items.join(" "))
        }
        Json::Object(_) => "map[]".to_owned(),
    }
}

/// Brings the `global` of a chart into that of a dependency; what the dependency has wins only within tables.
fn globals(part: &Table, above: &Table, path: &str, warnings: &mut Warnings) {
    let mut table_of = |table: &Table, place: &str| match table.get(GLOBAL) {
        None => Some(Table::default()),
        Some(Node::Table(table)) => Some(table),
        Some(Node::Leaf(_)) => {
            let text = || format!("warning: skipping globals because {place} {GLOBAL} is not a table.");
            warnings.of_values(text, None);
            None
        }
    };
    let Some(own) = table_of(part, "destination") else { return };
    let Some(from) = table_of(above, "source") else { return };
    for (key, value) in from.entries() {
        match (value, own.get(&key)) {
            (Node::Table(table), None) => own.insert(&key, Node::Table(table.shallow_copy())),
            (Node::Table(table), Some(Node::Table(has))) => {
                let copy = table.shallow_copy();
                tables(&copy, &has, &below(path, &key), Nulls::Keep, warnings);
                own.insert(&key, Node::Table(copy));
            }
            (Node::Table(_), Some(Node::Leaf(_))) => {
                let key = sluice_template::go_quoted(&key);
                let text = || format!("Conflict: cannot merge map onto non-map for {key}. Skipping.");
                warnings.of_values(text, None);
            }
            (Node::Leaf(_), Some(Node::Table(_))) => {
                warnings.of_values(|| format!("key {key} is table. Skipping"), None);
            }
            (leaf, _) => own.insert(&key, leaf),
        }
    }
    part.insert(GLOBAL, Node::Table(own));
}

fn own_values(chart: &ChartTree, into: &Table, path: &str, nulls: Nulls, warnings: &mut Warnings) {
    for (key, default) in chart.values.deep_copy().entries() {
        match (into.get(&key), default) {
            (Some(value), _) if value.is_null() && nulls == Nulls::Remove => into.remove(&key),
            (Some(Node::Table(value)), Node::Table(default)) => {
                let of_dependency = chart.dependencies.iter().any(|d| d.name() == key);
                let nulls = if of_dependency { Nulls::Keep } else { nulls };
                if nulls == Nulls::Remove {
                    without_nulls(&default);
                }
                tables(&value, &default, &below(path, &key), nulls, warnings);
            }
            (Some(Node::Table(_)), default) if !default.is_null() => {
                let text = || format!("warning: skipped value for {path}.{key}: Not a table.");
                warnings.of_values(text, None);
            }
            (Some(_), _) => {}
            (None, default) => {
                if nulls == Nulls::Remove {
                    if default.is_null() {
                        continue;
                    }
                    if let Node::Table(table) = &default {
                        without_nulls(table);
                    }
                }
                into.insert(&key, default);
            }
        }
    }
}

fn without_nulls(table: &Table) {
    for (key, node) in table.entries() {
        match node {
            Node::Table(inner) => without_nulls(&inner),
            leaf if leaf.is_null() => table.remove(&key),
            Node::Leaf(_) => {}
        }
    }
}

/// Fills a table up from another one. `path` is where it is, for warnings.
pub(crate) fn tables(into: &Table, from: &Table, path: &str, nulls: Nulls, warnings: &mut Warnings) {
    if into.is_same(from) {
        return;
    }
    let entries = from.entries();
    let was_there: BTreeSet<String> =
        entries.iter().filter(|(_, node)| !node.is_null()).map(|(key, _)| key.clone()).collect();
    for (key, node) in into.entries() {
        if node.is_null() {
            from.insert(&key, Node::NULL);
        }
    }
    for (key, value) in from.entries() {
        match (into.get(&key), value) {
            (Some(has), _) if has.is_null() && nulls == Nulls::Remove && was_there.contains(&key) => {
                into.remove(&key);
            }
            (None, value) => into.insert(&key, value),
            (Some(Node::Table(has)), Node::Table(value)) => {
                tables(&has, &value, &below(path, &key), nulls, warnings);
            }
            (Some(Node::Leaf(_)), value @ Node::Table(_)) => {
                let text =
                    || format!("warning: cannot overwrite table with non table for {}", below(path, &key));
                warnings.of_values(text, Some(&value));
            }
            (Some(Node::Table(_)), value) if !value.is_null() => {
                let path = below(path, &key);
                let text = || format!("warning: destination for {path} is a table. Ignoring non-table value");
                warnings.of_values(text, Some(&value));
            }
            _ => {}
        }
    }
}
