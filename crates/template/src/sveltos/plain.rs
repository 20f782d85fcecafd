//! The one resource function of templates outside of both stages.

use super::deploy::find;
use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    text::lossy,
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[(
    "getResource(identifier string) map",
    get_resource,
    "The declared resource; an unknown one is an error.",
)];

fn get_resource<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match find(cx, &args[0]) {
        Some(map) => Ok(Value::Map(map)),
        None => Err(format!("identifier {} not found", lossy(args[0].bytes())).into()),
    }
}
