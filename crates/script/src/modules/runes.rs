//! `require "runes"`: characters as numbers.

use std::sync::LazyLock;

use mlua::{Lua, Table, Value as LuaValue, Variadic};
use regex::Regex;

use super::{Functions, Shared, Text, character, list, strings, valid, values_in};

/// Functions that say whether a character is of a class.
const CLASSES: [(&str, &LazyLock<Regex>); 13] = [
    ("iscontrol", &CONTROL),
    ("isdigit", &DIGIT),
    ("isgraphic", &GRAPHIC),
    ("isletter", &LETTER),
    ("islower", &LOWER),
    ("ismark", &MARK),
    ("isnumber", &NUMBER),
    ("isprint", &PRINT),
    ("ispunct", &PUNCTUATION),
    ("isspace", &SPACE),
    ("issymbol", &SYMBOL),
    ("istitle", &TITLE),
    ("isupper", &UPPER),
];

// A test compiles every pattern.
macro_rules! class {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("a pattern that does not change"));
    };
}

class!(CONTROL, r"^\p{Cc}$");
class!(DIGIT, r"^\p{Nd}$");
class!(GRAPHIC, r"^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]$");
class!(LETTER, r"^\p{L}$");
class!(LOWER, r"^\p{Ll}$");
class!(MARK, r"^\p{M}$");
class!(NUMBER, r"^\p{N}$");
class!(PRINT, r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$");
class!(PUNCTUATION, r"^\p{P}$");
class!(SPACE, r"^(?s:\p{White_Space})$");
class!(SYMBOL, r"^\p{S}$");
class!(TITLE, r"^\p{Lt}$");
class!(UPPER, r"^\p{Lu}$");

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    for (name, class) in CLASSES {
        module.add(name, move |_, _, code: f64| {
            Ok(valid(code).is_some_and(|one| class.is_match(one.encode_utf8(&mut [0; 4]))))
        })?;
    }
    of_characters(module)?;
    of_texts(module)?;
    of_bytes(module)
}

fn of_characters(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("isinrange", |_, _, (code, low, high): (f64, f64, f64)| {
        Ok(low.trunc() <= code.trunc() && code.trunc() <= high.trunc())
    })?;
    module.add("tolower", |_, _, code: f64| Ok(mapped(code, strings::lower)))?;
    module.add("toupper", |_, _, code: f64| Ok(mapped(code, strings::upper)))?;
    module.add("totitle", |_, _, code: f64| Ok(mapped(code, strings::title)))?;
    module.add("runewidth", |_, _, code: f64| Ok(valid(code).map(char::len_utf8)))?;
    module.add("validrune", |_, _, code: f64| Ok(valid(code).is_some()))
}

fn mapped(code: f64, map: fn(char) -> char) -> f64 {
    valid(code).map_or(code, |one| f64::from(u32::from(map(one))))
}

fn of_texts(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("containsrune", |_, _, (Text(text), code): (Text, f64)| {
        Ok(valid(code).is_some_and(|one| text.contains(one)))
    })?;
    module.add("isvalidutf8", |_, _, text: mlua::LuaString| {
        Ok(std::str::from_utf8(&text.as_bytes()).is_ok())
    })?;
    module.add("reverserunes", |_, _, Text(text)| Ok(text.chars().rev().collect::<String>()))?;
    module.add("runeat", |_, _, (text, at): (mlua::LuaString, f64)| Ok(rune_at(&text.as_bytes(), at)))?;
    module.add("runecount", |_, _, Text(text)| Ok(text.chars().count()))?;
    module.add("runeindex", |_, _, (Text(text), code, from): (Text, f64, Option<f64>)| {
        let (wanted, before) = (valid(code), index(from.unwrap_or(1.0) - 1.0));
        Ok(text.chars().enumerate().skip(before).find(|(_, one)| Some(*one) == wanted).map(|(at, _)| at + 1))
    })?;
    module.add("runerange", |_, _, (Text(text), from, to): (Text, Option<f64>, Option<f64>)| {
        let (from, to) = (index(from.unwrap_or(1.0) - 1.0), to.unwrap_or(-1.0));
        let to = if to < 0.0 { usize::MAX } else { index(to - 1.0) };
        let length = text.chars().count();
        if from.min(length) > to.min(length) {
            return Err(mlua::Error::runtime("the range ends before it begins"));
        }
        Ok(text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>())
    })?;
    module.add("runeslice", |lua, _, Text(text)| lua.create_sequence_from(text.chars().map(u32::from)))?;
    module.add("runesplit", |lua, shared, (Text(text), code): (Text, f64)| {
        let separator = valid(code);
        list(lua, shared, text.split(|one| Some(one) == separator))
    })?;
    module.add("runestring", |_, _, codes: Variadic<f64>| {
        Ok(codes.iter().map(|code| character(*code)).collect::<String>())
    })
}

/// A number as an index; what is below zero is zero.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn index(number: f64) -> usize {
    number as usize
}

/// The character that begins at a byte.
fn rune_at(bytes: &[u8], at: f64) -> Option<u32> {
    let at = if at < 1.0 { return None } else { index(at - 1.0) };
    let end = at.saturating_add(4).min(bytes.len());
    let chunk = bytes.get(at..end)?.utf8_chunks().next()?;
    chunk.valid().chars().next().filter(|one| *one != char::REPLACEMENT_CHARACTER).map(u32::from)
}

fn of_bytes(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("bytestorune", |_, shared, table: Table| {
        let bytes = bytes(shared, &table)?;
        shared.budget.charge(bytes.len())?;
        Ok(rune_at(&bytes, 1.0))
    })?;
    module.add("bytetostring", |lua, shared, table: Table| {
        let bytes = bytes(shared, &table)?;
        shared.budget.charge(bytes.len())?;
        lua.create_string(bytes)
    })?;
    module.add("runetobytes", |lua, shared, table: Table| {
        let text: String = numbers(shared, &table)?.into_iter().map(character).collect();
        shared.budget.charge(text.len())?;
        bytes_of(lua, text.as_bytes())
    })?;
    module.add("stringtobytes", |lua, _, text: mlua::LuaString| bytes_of(lua, &text.as_bytes()))
}

fn bytes_of(lua: &Lua, bytes: &[u8]) -> mlua::Result<Table> {
    lua.create_sequence_from(bytes.iter().copied())
}

/// The numbers among the values of a table.
fn numbers(shared: &Shared, table: &Table) -> mlua::Result<Vec<f64>> {
    let number = |value: LuaValue| match value {
        LuaValue::Integer(number) => Some(number as f64),
        LuaValue::Number(number) => Some(number),
        _ => None,
    };
    Ok(values_in(shared, table)?.into_iter().filter_map(number).collect())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the lowest eight bits are meant"
)]
fn bytes(shared: &Shared, table: &Table) -> mlua::Result<Vec<u8>> {
    Ok(numbers(shared, table)?.into_iter().map(|number| number as i64 as u8).collect())
}
