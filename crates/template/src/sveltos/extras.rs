//! Functions beyond Sveltos, for templates that ask for them.

use std::collections::BTreeMap;

use crate::{
    codec::yaml,
    exec::Cx,
    funcs::{CallResult, Row, run_by_executor},
    text::lossy,
    value::{Map, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "required(message string, value any) any",
        required,
        "The value; nil and an empty string fail with the message.",
    ),
    ("include(name string, data any) string", run_by_executor, "The output of the named template."),
    ("tpl(text string, data any) string", run_by_executor, "The output of the text as a template."),
    (
        "lookup(apiVersion string, kind string, namespace string, name string) map",
        lookup,
        "The declared resource with this identity, or an empty map.",
    ),
    ("fromYamlDocuments(text string) list", from_yaml_documents, "All documents of a YAML text."),
];

fn required<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let absent = args[1].is_nil() || matches!(&args[1], Value::Str(s) if s.bytes().is_empty());
    if absent { Err(lossy(args[0].bytes()).into()) } else { Ok(args[1].clone()) }
}

fn lookup<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let wanted: Vec<String> = args.iter().map(|a| lossy(a.bytes())).collect();
    let paths = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
    let env = cx.env;
    let found = env.resources.iter().map(|(_, object)| *object).find(|object| {
        let said = |path: &str| object.pointer(path).and_then(|v| v.as_str()).unwrap_or("");
        paths.iter().zip(&wanted).all(|(path, wanted)| said(path) == wanted)
    });
    match found.and_then(|object| object.as_object()) {
        Some(map) => Ok(Value::Map(Map::Json(map))),
        None => cx.any_map(BTreeMap::new()),
    }
}

fn from_yaml_documents<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let documents = yaml::documents(cx, args[0].bytes())?;
    cx.any_list(documents)
}
