//! What a TOML text grows into, and the values it becomes.

use std::collections::BTreeMap;

use crate::{
    exec::Cx,
    funcs::CallResult,
    value::{ListTy, Object, Time, Value},
};

/// A value while it is still growing.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(Vec<u8>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(Time),
    Array(Vec<Item>),
    Table(Table),
    /// `[[…]]`
    Tables(Vec<Table>),
}

/// A table; an implicit one may still be defined.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Vec<u8>, Item>,
    pub(super) implicit: bool,
}

pub(super) fn table_value<'a>(cx: &mut Cx<'a>, table: Table, depth: usize) -> CallResult<'a> {
    cx.may_be_deep(depth, "TOML")?;
    let mut entries = BTreeMap::new();
    for (key, item) in table.entries {
        let value = item_value(cx, item, depth + 1)?;
        entries.insert(cx.str(key)?, value);
    }
    cx.any_map(entries)
}

fn item_value<'a>(cx: &mut Cx<'a>, item: Item, depth: usize) -> CallResult<'a> {
    match item {
        Item::Text(text) => cx.string(text),
        Item::Int(i) => Ok(Value::int64(i)),
        Item::Float(f) => Ok(Value::Float(f)),
        Item::Bool(b) => Ok(Value::Bool(b)),
        Item::Time(time) => Ok(cx.object(Object::Time(time))),
        Item::Array(items) => {
            cx.may_be_deep(depth, "TOML")?;
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                out.push(item_value(cx, item, depth + 1)?);
            }
            cx.any_list(out)
        }
        Item::Table(table) => table_value(cx, table, depth),
        Item::Tables(tables) => {
            let mut out = Vec::with_capacity(tables.len());
            for table in tables {
                out.push(table_value(cx, table, depth + 1)?);
            }
            cx.list(ListTy::Maps, out)
        }
    }
}

/// The table under a path that a header has made.
pub(super) fn descend<'r>(root: &'r mut Table, path: &[Vec<u8>]) -> Option<&'r mut Table> {
    let mut table = root;
    for key in path {
        table = match table.entries.get_mut(key)? {
            Item::Table(inner) => inner,
            Item::Tables(all) => all.last_mut()?,
            _ => return None,
        };
    }
    Some(table)
}
