//! `require "strings"`: the functions of Go's package of that name.

use mlua::{Lua, Table, Value as LuaValue};

use super::{Functions, Shared, Text, list, strings_by, valid, values_in};

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    compared(module)?;
    found(module)?;
    cut(module)?;
    split(module)?;
    made(module)?;
    trimmed(module)?;
    strings_by::fill(module)
}

fn compared(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Compare", |_, _, (a, b): (Text, Text)| Ok(a.0.cmp(&b.0) as i8))?;
    module.add("Contains", |_, _, (a, b): (Text, Text)| Ok(a.0.contains(&b.0)))?;
    module.add("ContainsAny", |_, _, (a, b): (Text, Text)| Ok(a.0.contains(one_of(&b.0))))?;
    module.add("ContainsRune", |_, _, (a, code): (Text, f64)| {
        Ok(valid(code).is_some_and(|one| a.0.contains(one)))
    })?;
    module.add("Count", |_, _, (Text(a), Text(b)): (Text, Text)| {
        Ok(if b.is_empty() { a.chars().count() + 1 } else { a.matches(&b).count() })
    })?;
    module.add("EqualFold", |_, _, (a, b): (Text, Text)| {
        Ok(a.0.chars().map(folded).eq(b.0.chars().map(folded)))
    })?;
    module.add("HasPrefix", |_, _, (a, b): (Text, Text)| Ok(a.0.starts_with(&b.0)))?;
    module.add("HasSuffix", |_, _, (a, b): (Text, Text)| Ok(a.0.ends_with(&b.0)))
}

/// Characters that are looked up by halving; more are looked up at once, which takes room for all that there are.
const FEW: usize = 64;

/// Whether a character is among those of a text.
fn one_of(characters: &str) -> impl FnMut(char) -> bool + 'static {
    let few = characters.len() <= FEW;
    let mut sorted: Vec<char> = if few { characters.chars().collect() } else { Vec::new() };
    sorted.sort_unstable();
    let mut all = vec![false; if few { 0 } else { char::MAX as usize + 1 }];
    if !few {
        characters.chars().for_each(|one| all[one as usize] = true);
    }
    move |one| if few { sorted.binary_search(&one).is_ok() } else { all[one as usize] }
}

/// The same for all cases of a letter. An `i` with a dot where others have none, or without one, is a letter of its own.
fn folded(one: char) -> char {
    if matches!(one, 'İ' | 'ı') { one } else { lower(upper(one)) }
}

fn found(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Index", |_, _, (a, b): (Text, Text)| Ok(place(a.0.find(&b.0))))?;
    module.add("IndexAny", |_, _, (a, b): (Text, Text)| Ok(place(a.0.find(one_of(&b.0)))))?;
    module.add("IndexByte", |_, _, (text, code): (mlua::LuaString, f64)| {
        Ok(place(text.as_bytes().iter().position(|one| *one == byte(code))))
    })?;
    module.add("IndexRune", |_, _, (a, code): (Text, f64)| {
        Ok(place(valid(code).and_then(|one| a.0.find(one))))
    })?;
    module.add("LastIndex", |_, _, (a, b): (Text, Text)| Ok(place(a.0.rfind(&b.0))))?;
    module.add("LastIndexAny", |_, _, (a, b): (Text, Text)| Ok(place(a.0.rfind(one_of(&b.0)))))?;
    module.add("LastIndexByte", |_, _, (text, code): (mlua::LuaString, f64)| {
        Ok(place(text.as_bytes().iter().rposition(|one| *one == byte(code))))
    })
}

/// An index as Go has it: from zero, in bytes, and -1 for none.
pub(super) fn place(found: Option<usize>) -> i64 {
    found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the lowest eight bits are meant"
)]
fn byte(code: f64) -> u8 {
    code as i64 as u8
}

fn cut(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Cut", |lua, _, (Text(text), Text(separator)): (Text, Text)| {
        let (before, after, found) = match text.split_once(&separator) {
            Some((before, after)) => (before, after, true),
            None => (text.as_str(), "", false),
        };
        let table = parts(lua, &[("before", before), ("after", after)], found)?;
        Ok(table)
    })?;
    module.add("CutPrefix", |lua, _, (Text(text), Text(prefix)): (Text, Text)| {
        let rest = text.strip_prefix(&prefix);
        parts(lua, &[("after", rest.unwrap_or(&text))], rest.is_some())
    })?;
    module.add("CutSuffix", |lua, _, (Text(text), Text(suffix)): (Text, Text)| {
        let rest = text.strip_suffix(&suffix);
        parts(lua, &[("before", rest.unwrap_or(&text))], rest.is_some())
    })
}

fn parts(lua: &Lua, texts: &[(&str, &str)], found: bool) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (key, text) in texts {
        table.raw_set(*key, *text)?;
    }
    table.raw_set("found", found)?;
    Ok(table)
}

fn split(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Fields", |lua, shared, Text(text)| list(lua, shared, text.split_whitespace()))?;
    module.add("Split", |lua, shared, (Text(text), Text(by)): (Text, Text)| {
        list(lua, shared, pieces(&text, &by, -1.0, false))
    })?;
    module.add("SplitAfter", |lua, shared, (Text(text), Text(by)): (Text, Text)| {
        list(lua, shared, pieces(&text, &by, -1.0, true))
    })?;
    module.add("SplitN", |lua, shared, (Text(text), Text(by), count): (Text, Text, f64)| {
        if count == 0.0 { Ok(None) } else { list(lua, shared, pieces(&text, &by, count, false)).map(Some) }
    })?;
    module.add("SplitAfterN", |lua, shared, (Text(text), Text(by), count): (Text, Text, f64)| {
        if count == 0.0 { Ok(None) } else { list(lua, shared, pieces(&text, &by, count, true)).map(Some) }
    })
}

/// At most `count` pieces, all of them where it is negative. Nothing as the separator parts all characters.
fn pieces<'a>(text: &'a str, by: &'a str, count: f64, keep: bool) -> impl Iterator<Item = &'a str> {
    let (most, mut found, mut rest) = (most(count), 0, Some(text));
    std::iter::from_fn(move || {
        let left = rest?;
        let end = match by.is_empty() {
            true => left.chars().next().map(|one| (one.len_utf8(), one.len_utf8())),
            false => left.find(by).map(|at| (if keep { at + by.len() } else { at }, at + by.len())),
        };
        found += 1;
        if let Some((end, next)) = end.filter(|_| found < most) {
            rest = Some(&left[next..]);
            return Some(&left[..end]);
        }
        rest = None;
        (!by.is_empty() || !left.is_empty()).then_some(left)
    })
}

/// A count of Go, in which what is negative means all.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn most(count: f64) -> usize {
    if count < 0.0 { usize::MAX } else { count as usize }
}

fn made(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Join", |_, shared, (table, Text(by)): (Table, Text)| join(shared, &table, &by))?;
    module.add("Repeat", |_, shared, (Text(text), count): (Text, f64)| {
        if count < 0.0 {
            return Err(mlua::Error::runtime("the count is negative"));
        }
        shared.budget.make(text.len().checked_mul(most(count)))?;
        Ok(text.repeat(most(count)))
    })?;
    module.add(
        "Replace",
        |_, shared, (Text(text), Text(old), Text(new), count): (Text, Text, Text, f64)| {
            replaced(shared, &text, &old, &new, most(count))
        },
    )?;
    module.add("ReplaceAll", |_, shared, (Text(text), Text(old), Text(new)): (Text, Text, Text)| {
        replaced(shared, &text, &old, &new, usize::MAX)
    })?;
    module.add("Title", |_, _, Text(text)| Ok(titled(&text)))?;
    module.add("ToLower", |_, _, Text(text)| Ok(text.chars().map(lower).collect::<String>()))?;
    module.add("ToTitle", |_, _, Text(text)| Ok(text.chars().map(title).collect::<String>()))?;
    module.add("ToUpper", |_, _, Text(text)| Ok(text.chars().map(upper).collect::<String>()))
}

/// The texts of a table; what is no text is left out.
fn join(shared: &Shared, table: &Table, by: &str) -> mlua::Result<String> {
    let mut texts = Vec::new();
    for value in values_in(shared, table)? {
        if let LuaValue::String(text) = value {
            shared.budget.charge(text.as_bytes().len() + by.len())?;
            texts.push(text.to_string_lossy());
        }
    }
    Ok(texts.join(by))
}

fn replaced(shared: &Shared, text: &str, old: &str, new: &str, most: usize) -> mlua::Result<String> {
    let times = text.matches(old).take(most).count();
    shared.budget.make(times.checked_mul(new.len()).and_then(|more| more.checked_add(text.len())))?;
    Ok(text.replacen(old, new, most))
}

/// Capital letters where words begin: after what is neither letter nor digit nor underscore.
fn titled(text: &str) -> String {
    let mut before = ' ';
    let one = |one: char| {
        let begins = if before.is_ascii() {
            !(before.is_ascii_alphanumeric() || before == '_')
        } else {
            !before.is_alphanumeric() && before.is_whitespace()
        };
        before = one;
        if begins { title(one) } else { one }
    };
    text.chars().map(one).collect()
}

/// The capital letter, where it is a single one.
pub(super) fn upper(one: char) -> char {
    let mut all = one.to_uppercase();
    all.next().filter(|_| all.next().is_none()).unwrap_or(one)
}

/// The small letter, where it is a single one.
pub(super) fn lower(one: char) -> char {
    // The only small letter that is written as two.
    if one == 'İ' {
        return 'i';
    }
    let mut all = one.to_lowercase();
    all.next().filter(|_| all.next().is_none()).unwrap_or(one)
}

/// The letter as it begins a title: another one than the capital letter for digraphs and in Georgian.
pub(super) fn title(one: char) -> char {
    match one {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        '\u{10d0}'..='\u{10ff}' => one,
        other => upper(other),
    }
}

fn trimmed(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("Trim", |_, _, (a, b): (Text, Text)| {
        let start = a.0.trim_start_matches(one_of(&b.0));
        Ok(start.trim_end_matches(one_of(&b.0)).to_owned())
    })?;
    module
        .add("TrimLeft", |_, _, (a, b): (Text, Text)| Ok(a.0.trim_start_matches(one_of(&b.0)).to_owned()))?;
    module
        .add("TrimRight", |_, _, (a, b): (Text, Text)| Ok(a.0.trim_end_matches(one_of(&b.0)).to_owned()))?;
    module.add("TrimPrefix", |_, _, (a, b): (Text, Text)| {
        Ok(a.0.strip_prefix(&b.0).unwrap_or(&a.0).to_owned())
    })?;
    module.add("TrimSuffix", |_, _, (a, b): (Text, Text)| {
        Ok(a.0.strip_suffix(&b.0).unwrap_or(&a.0).to_owned())
    })?;
    module.add("TrimSpace", |_, _, Text(text)| Ok(text.trim().to_owned()))
}
