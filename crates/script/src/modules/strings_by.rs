//! Those of `strings` that ask a function of the script about each character.

use mlua::{Function, Lua};

use super::strings::place;
use super::{Functions, Shared, Text, asked, character, list};

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("ContainsFunc", |_, shared, (Text(text), by): (Text, Function)| {
        Ok(first(shared, &text, &by, true)?.is_some())
    })?;
    module.add("IndexFunc", |_, shared, (Text(text), by): (Text, Function)| {
        Ok(place(first(shared, &text, &by, true)?))
    })?;
    module.add("LastIndexFunc", |_, shared, (Text(text), by): (Text, Function)| {
        Ok(place(last(shared, &text, &by, true)?.map(|(at, _)| at)))
    })?;
    module.add("FieldsFunc", fields)?;
    module.add("Map", |_, shared, (by, Text(text)): (Function, Text)| map(shared, &by, &text))?;
    module.add("TrimFunc", |_, shared, (Text(text), by): (Text, Function)| {
        let from = first(shared, &text, &by, false)?.unwrap_or(text.len());
        let to = last(shared, &text, &by, false)?.map_or(from, |(_, end)| end);
        Ok(text[from..to].to_owned())
    })?;
    module.add("TrimLeftFunc", |_, shared, (Text(text), by): (Text, Function)| {
        Ok(text[first(shared, &text, &by, false)?.unwrap_or(text.len())..].to_owned())
    })?;
    module.add("TrimRightFunc", |_, shared, (Text(text), by): (Text, Function)| {
        Ok(text[..last(shared, &text, &by, false)?.map_or(0, |(_, end)| end)].to_owned())
    })
}

/// Where the first character begins of which the function says so.
fn first(shared: &Shared, text: &str, by: &Function, wanted: bool) -> mlua::Result<Option<usize>> {
    for (at, one) in text.char_indices() {
        if asked::<bool>(shared, by, one)? == wanted {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Where the last such character begins, and ends.
fn last(shared: &Shared, text: &str, by: &Function, wanted: bool) -> mlua::Result<Option<(usize, usize)>> {
    for (at, one) in text.char_indices().rev() {
        if asked::<bool>(shared, by, one)? == wanted {
            return Ok(Some((at, at + one.len_utf8())));
        }
    }
    Ok(None)
}

/// What is between the characters of which the function says that they separate.
fn fields(lua: &Lua, shared: &Shared, (Text(text), by): (Text, Function)) -> mlua::Result<mlua::Table> {
    let (mut found, mut begun) = (Vec::new(), None);
    for (at, one) in text.char_indices() {
        match (asked(shared, &by, one)?, begun) {
            (true, Some(from)) => {
                found.push(&text[from..at]);
                begun = None;
            }
            (false, None) => begun = Some(at),
            _ => {}
        }
    }
    found.extend(begun.map(|from| &text[from..]));
    list(lua, shared, found)
}

/// Each character as the function maps it; what becomes negative is left out.
fn map(shared: &Shared, by: &Function, text: &str) -> mlua::Result<String> {
    let mut mapped = String::with_capacity(text.len());
    for one in text.chars() {
        let code: f64 = asked(shared, by, one)?;
        mapped.extend((code >= 0.0).then(|| character(code)));
    }
    Ok(mapped)
}
