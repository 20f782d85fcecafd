//! Lists: construction and ends.

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::{List, ListTy, Value},
};

pub(crate) const TABLE: &[Row] = &[
    ("list(...items any) list", list, "A list of the arguments."),
    ("tuple(...items any) list", list, "The older name of `list`."),
    ("first(list any) any", first, "The first element."),
    ("mustFirst(list any) any", first, "The first element."),
    ("last(list any) any", last, "The last element."),
    ("mustLast(list any) any", last, "The last element."),
    ("rest(list any) list", rest, "All but the first element."),
    ("mustRest(list any) list", rest, "All but the first element."),
    ("initial(list any) list", initial, "All but the last element."),
    ("mustInitial(list any) list", initial, "All but the last element."),
    ("append(list any, item any) list", push, "A new list with the item at the end."),
    ("mustAppend(list any, item any) list", push, "A new list with the item at the end."),
    ("push(list any, item any) list", push, "Another name of `append`."),
    ("mustPush(list any, item any) list", push, "Another name of `append`."),
    ("prepend(list any, item any) list", prepend, "A new list with the item at the start."),
    ("mustPrepend(list any, item any) list", prepend, "A new list with the item at the start."),
    ("concat(...lists any) list", concat, "One list of all elements."),
    ("reverse(list any) list", reverse, "The elements in reverse order."),
    ("mustReverse(list any) list", reverse, "The elements in reverse order."),
    ("chunk(size int, list any) list", chunk, "Lists of at most so many elements."),
    ("mustChunk(size int, list any) list", chunk, "Lists of at most so many elements."),
];

/// The list in an argument, or Go's complaint about its kind.
pub(super) fn list_of<'a>(value: &Value<'a>, complaint: &str) -> Result<List<'a>, Fail> {
    match value {
        Value::List(list) => Ok(list.clone()),
        Value::Invalid | Value::Nil => {
            Err("runtime error: invalid memory address or nil pointer dereference".into())
        }
        other => Err(format!("{complaint} {}", other.kind_name()).into()),
    }
}

/// The elements of the list in an argument.
pub(super) fn items<'a>(cx: &mut Cx<'a>, value: &Value<'a>, complaint: &str) -> Result<Vec<Value<'a>>, Fail> {
    let list = list_of(value, complaint)?;
    cx.spend(list.len() * 32)?;
    Ok(list.to_vec())
}

fn list<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.any_list(args.to_vec())
}

fn first<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let name = "Cannot find first on type";
    Ok(list_of(&args[0], name)?.get(0).unwrap_or(Value::Nil))
}

fn last<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let list = list_of(&args[0], "Cannot find last on type")?;
    Ok(list.len().checked_sub(1).and_then(|at| list.get(at)).unwrap_or(Value::Nil))
}

fn rest<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot find rest on type")?;
    if all.is_empty() {
        return Ok(Value::List(List::Nil(ListTy::Any)));
    }
    all.remove(0);
    cx.any_list(all)
}

fn initial<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot find initial on type")?;
    if all.pop().is_none() {
        return Ok(Value::List(List::Nil(ListTy::Any)));
    }
    cx.any_list(all)
}

fn push<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot push on type")?;
    all.push(args[1].clone());
    cx.any_list(all)
}

fn prepend<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot prepend on type")?;
    all.insert(0, args[1].clone());
    cx.any_list(all)
}

fn concat<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = Vec::new();
    for arg in args {
        let part = match arg {
            Value::List(_) => items(cx, arg, "")?,
            Value::Invalid | Value::Nil => items(cx, arg, "")?,
            other => return Err(format!("Cannot concat type {} as list", other.kind_name()).into()),
        };
        all.extend(part);
    }
    if all.is_empty() {
        return Ok(Value::List(List::Nil(ListTy::Any)));
    }
    cx.any_list(all)
}

fn reverse<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot find reverse on type")?;
    all.reverse();
    cx.any_list(all)
}

fn chunk<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let all = items(cx, &args[1], "Cannot chunk type")?;
    let (size, len) = (args[0].as_int(), i64::try_from(all.len()).unwrap_or(i64::MAX));
    let too_long = || Fail::from("runtime error: makeslice: len out of range");
    if size <= 0 {
        // Go computes the number of chunks in floats, and takes what comes out.
        let count = (((len - 1) as f64) / (size as f64)).floor() + 1.0;
        return match (count, len) {
            (1.0, 1) if size != -1 => {
                let only = cx.any_list(all)?;
                cx.list(ListTy::Lists, vec![only])
            }
            (0.0, _) => cx.list(ListTy::Lists, Vec::new()),
            _ => Err(too_long()),
        };
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut chunks = Vec::new();
    for part in all.chunks(size) {
        chunks.push(cx.any_list(part.to_vec())?);
    }
    cx.list(ListTy::Lists, chunks)
}
