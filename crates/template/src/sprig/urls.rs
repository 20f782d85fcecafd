//! `urlParse` and `urlJoin`.

use std::collections::BTreeMap;

use super::{
    dicts::map_of,
    url_parts::{Url, parse},
};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::lossy,
    value::{Map, Str, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "urlParse(url string) map",
        url_parse,
        "The parts: scheme, host, hostname, path, query, opaque, fragment, userinfo.",
    ),
    ("urlJoin(parts map) string", url_join, "The URL of the parts that `urlParse` gives."),
];

fn url_parse<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let url = parse(args[0].bytes()).map_err(|m| format!("unable to parse url: {m}"))?;
    let hostname = url.hostname().to_vec();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", url.user.unwrap_or_default()),
    ];
    let mut entries = BTreeMap::new();
    for (name, text) in parts {
        entries.insert(Str::from(name), cx.string(text)?);
    }
    cx.any_map(entries)
}

fn part<'a>(cx: &Cx<'a>, map: &Map<'a>, key: &str) -> Result<Vec<u8>, Fail> {
    match cx.maps.get(map, key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Str(s)) => Ok(s.bytes().to_vec()),
        Some(Value::Invalid | Value::Nil) => {
            Err("runtime error: invalid memory address or nil pointer dereference".into())
        }
        Some(other) => {
            let kind = other.kind_name();
            Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
        }
    }
}

fn url_join<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = map_of(&args[0]);
    let mut url = Url {
        scheme: part(cx, &map, "scheme")?,
        host: part(cx, &map, "host")?,
        path: part(cx, &map, "path")?,
        query: part(cx, &map, "query")?,
        opaque: part(cx, &map, "opaque")?,
        fragment: part(cx, &map, "fragment")?,
        user: None,
        ..Url::default()
    };
    let user = part(cx, &map, "userinfo")?;
    if !user.is_empty() {
        let probe = [b"proto://", user.as_slice(), b"@host"].concat();
        let parsed = parse(&probe).map_err(|m| format!("unable to parse userinfo in dict: {m}"))?;
        url.user = parsed.user;
    }
    let joined = lossy(&url.join());
    cx.string(joined)
}
