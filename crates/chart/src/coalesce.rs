//! Helm's way of laying values over the defaults of a chart and its dependencies.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::{
    error::Error,
    table::{Node, Table},
    tree::ChartTree,
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
pub(crate) fn over_defaults(chart: &ChartTree, values: &Table, nulls: Nulls) -> Result<Table, Error> {
    let values = values.deep_copy();
    whole(chart, &values, nulls)?;
    Ok(values)
}

fn whole(chart: &ChartTree, into: &Table, nulls: Nulls) -> Result<(), Error> {
    own_values(chart, into, nulls);
    for dependency in &chart.dependencies {
        let below = match into.get(dependency.name()) {
            None => {
                let fresh = Table::default();
                into.insert(dependency.name(), Node::Table(fresh.clone()));
                fresh
            }
            Some(Node::Table(table)) => table,
            Some(Node::Leaf(leaf)) => {
                return Err(Error::Values(format!(
                    "type mismatch on {}: {}",
                    dependency.name(),
                    as_truth(&leaf)
                )));
            }
        };
        globals(&below, into);
        whole(dependency, &below, nulls)?;
    }
    Ok(())
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
fn globals(below: &Table, above: &Table) {
    let own = match below.get(GLOBAL) {
        None => Table::default(),
        Some(Node::Table(table)) => table,
        Some(Node::Leaf(_)) => return,
    };
    let from = match above.get(GLOBAL) {
        None => Table::default(),
        Some(Node::Table(table)) => table,
        Some(Node::Leaf(_)) => return,
    };
    for (key, value) in from.entries() {
        match (value, own.get(&key)) {
            (Node::Table(table), None) => own.insert(&key, Node::Table(table.shallow_copy())),
            (Node::Table(table), Some(Node::Table(has))) => {
                let copy = table.shallow_copy();
                tables(&copy, &has, Nulls::Keep);
                own.insert(&key, Node::Table(copy));
            }
            (Node::Table(_), Some(Node::Leaf(_))) | (Node::Leaf(_), Some(Node::Table(_))) => {}
            (leaf, _) => own.insert(&key, leaf),
        }
    }
    below.insert(GLOBAL, Node::Table(own));
}

fn own_values(chart: &ChartTree, into: &Table, nulls: Nulls) {
    for (key, default) in chart.values.deep_copy().entries() {
        match (into.get(&key), default) {
            (Some(value), _) if value.is_null() && nulls == Nulls::Remove => into.remove(&key),
            (Some(Node::Table(value)), Node::Table(default)) => {
                let of_dependency = chart.dependencies.iter().any(|d| d.name() == key);
                let nulls = if of_dependency { Nulls::Keep } else { nulls };
                if nulls == Nulls::Remove {
                    without_nulls(&default);
                }
                tables(&value, &default, nulls);
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

/// Fills a table up from another one.
pub(crate) fn tables(into: &Table, from: &Table, nulls: Nulls) {
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
            (Some(Node::Table(has)), Node::Table(value)) => tables(&has, &value, nulls),
            _ => {}
        }
    }
}
