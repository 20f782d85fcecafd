//! Methods of a chart's files and of the API versions.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use super::glob::Glob;
use crate::{
    codec::yaml,
    exec::{Cx, Fail},
    funcs::{CallResult, Function, Row},
    sprig::encoding::base64,
    text::lossy,
    value::{List, ListTy, Map, MapTy, Str, Value},
};

type Methods = HashMap<&'static str, Function>;

static FILES: LazyLock<Methods> = LazyLock::new(|| methods(FILES_TABLE));
static VERSIONS: LazyLock<Methods> = LazyLock::new(|| methods(VERSIONS_TABLE));

fn methods(table: &'static [Row]) -> Methods {
    let all = table.iter().map(|row| Function::from_row(row, false));
    all.map(|function| (function.name, function)).collect()
}

/// The method of a chart's files or of the API versions.
pub(crate) fn find(value: &Value<'_>, name: &str) -> Option<&'static Function> {
    match value {
        Value::Map(map) if map.ty() == MapTy::Files => FILES.get(name),
        Value::List(list) if list.ty() == ListTy::Versions => VERSIONS.get(name),
        _ => None,
    }
}

/// The receiver comes before the arguments.
const FILES_TABLE: &[Row] = &[
    ("Get(name string) string", get, "The file's text, empty if there is none."),
    ("GetBytes(name string) list", get_bytes, "The file's bytes, none if there is no such file."),
    ("Glob(pattern string) map", glob, "The files whose names match."),
    ("Lines(name string) list", lines, "The file's lines."),
    ("AsConfig() string", as_config, "YAML of names to texts."),
    ("AsSecrets() string", as_secrets, "YAML of names to texts in base64."),
];

const VERSIONS_TABLE: &[Row] =
    &[("Has(version string) bool", has, "Whether the cluster serves the version, or the kind in it.")];

fn map_of<'a>(value: &Value<'a>) -> Map<'a> {
    match value {
        Value::Map(map) => map.clone(),
        _ => Map::Nil(MapTy::Files),
    }
}

fn file<'a>(cx: &Cx<'a>, args: &[Value<'a>]) -> Option<List<'a>> {
    match cx.maps.get(&map_of(&args[0]), args[1].bytes()) {
        Some(Value::List(list)) => Some(list),
        _ => None,
    }
}

fn text_of<'a>(cx: &mut Cx<'a>, list: &List<'a>) -> CallResult<'a> {
    match list {
        List::Raw(bytes) => Ok(Value::Str(Str::Ref(bytes))),
        other => cx.string(other.to_bytes()),
    }
}

fn get<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match file(cx, args) {
        Some(list) => text_of(cx, &list),
        None => Ok(Value::text("")),
    }
}

fn get_bytes<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::List(file(cx, args).unwrap_or(List::Raw(b""))))
}

fn lines<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let bytes = file(cx, args).map(|list| list.to_bytes()).unwrap_or_default();
    let mut lines = Vec::new();
    if !bytes.is_empty() {
        let end = bytes.len() - usize::from(bytes.ends_with(b"\n"));
        for line in bytes[..end].split(|b| *b == b'\n') {
            lines.push(cx.string(line)?);
        }
    }
    cx.list(ListTy::Strings, lines)
}

fn glob<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let pattern = Glob::new(&lossy(args[1].bytes()));
    let mut found = BTreeMap::new();
    for (name, bytes) in cx.maps.entries(&map_of(&args[0])) {
        let mut budget = 200_000;
        let matches = pattern.matches(&lossy(name.bytes()), &mut budget);
        cx.step((200_000 - budget) / 8 + 1)?;
        if budget == 0 {
            return Err(Fail::Limit("limit: the pattern takes too long to match".into()));
        }
        if matches {
            found.insert(name, bytes);
        }
    }
    cx.map(MapTy::Files, found)
}

fn base(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    let name = path[..end].rsplit(|b| *b == b'/').next().unwrap_or(path);
    match (path.is_empty(), name.is_empty()) {
        (true, _) => b".".to_vec(),
        (_, true) => b"/".to_vec(),
        _ => name.to_vec(),
    }
}

fn as_yaml<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], text: fn(&[u8]) -> Vec<u8>) -> CallResult<'a> {
    let mut texts = BTreeMap::new();
    for (name, bytes) in cx.maps.entries(&map_of(&args[0])) {
        let bytes = match bytes {
            Value::List(list) => list.to_bytes(),
            _ => Vec::new(),
        };
        texts.insert(cx.str(base(name.bytes()))?, cx.string(text(&bytes))?);
    }
    let map = cx.map(MapTy::Strings, texts)?;
    let text = yaml::to_sigs(cx, &map)?;
    cx.string(text)
}

fn as_config<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    as_yaml(cx, args, <[u8]>::to_vec)
}

fn as_secrets<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    as_yaml(cx, args, base64)
}

fn has<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let Value::List(list) = &args[0] else { return Ok(Value::Bool(false)) };
    let wanted = args[1].bytes();
    Ok(Value::Bool((0..list.len()).any(|i| list.get(i).is_some_and(|v| v.bytes() == wanted))))
}
