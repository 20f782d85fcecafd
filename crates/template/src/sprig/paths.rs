//! Slash-separated paths. The `os` variants are those of Unix.

use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("base(path string) string", base, "The last element."),
    ("dir(path string) string", dir, "All but the last element."),
    ("clean(path string) string", clean, "The shortest equal path."),
    ("ext(path string) string", ext, "The file name extension."),
    ("isAbs(path string) bool", is_abs, "Whether the path starts at the root."),
    ("osBase(path string) string", base, "The last element."),
    ("osDir(path string) string", dir, "All but the last element."),
    ("osClean(path string) string", clean, "The shortest equal path."),
    ("osExt(path string) string", ext, "The file name extension."),
    ("osIsAbs(path string) bool", is_abs, "Whether the path starts at the root."),
];

/// Go's `path.Clean`.
pub(super) fn cleaned(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut kept: Vec<&[u8]> = Vec::new();
    for element in path.split(|b| *b == b'/') {
        match element {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => {
                    kept.pop();
                }
                _ if rooted => {}
                _ => kept.push(element),
            },
            _ => kept.push(element),
        }
    }
    let joined = kept.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

fn base<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let path = args[0].bytes();
    if path.is_empty() {
        return Ok(Value::text("."));
    }
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    if end == 0 {
        return Ok(Value::text("/"));
    }
    let start = path[..end].iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    super::strings::part(cx, &args[0], start, end)
}

fn dir<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let path = args[0].bytes();
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    let out = cleaned(&path[..end]);
    cx.string(out)
}

fn clean<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let out = cleaned(args[0].bytes());
    cx.string(out)
}

fn ext<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let path = args[0].bytes();
    let name = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    let start = path[name..].iter().rposition(|b| *b == b'.').map_or(path.len(), |at| name + at);
    super::strings::part(cx, &args[0], start, path.len())
}

fn is_abs<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args[0].bytes().first() == Some(&b'/')))
}
