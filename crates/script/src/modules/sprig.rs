//! `require "sprig"`: functions of the template language. Most are those of templates, called with what their name says.

use mlua::{Lua, MultiValue, Value as LuaValue};
use serde_json::{Map, Value, json};
use sluice_template::{CallError, Callable, Deadline, Env, Limits, Stage, callables};

use super::base64::Fallible;
use super::json::into_lua;
use super::{BYTES_EACH, BYTES_OF_FIELD, Functions, Shared, plain, size, sprig_values, values_of};
use crate::budget::{Budget, OVER_BUDGET};
use crate::convert::type_of;

/// What a function takes, an argument a letter: a whole number, a number, a text, a list (all its values are the arguments of
/// the template function), a list of texts (one argument), or a map of texts. What follows `?` may be left out.
type Takes = &'static str;

/// A function that cannot fail by its arguments' values: its name in Lua, in templates, and what it takes.
type Row = (&'static str, &'static str, Takes);

const PLAIN: [Row; 41] = [
    ("abbrev", "abbrev", "is"),
    ("abbrevboth", "abbrevboth", "iis"),
    ("adler32sum", "adler32sum", "s"),
    ("b32enc", "b32enc", "s"),
    ("base", "base", "s"),
    ("camelcase", "camelcase", "s"),
    ("cat", "cat", "."),
    ("clean", "clean", "s"),
    ("derivePassword", "derivePassword", "issss"),
    ("dir", "dir", "s"),
    ("ext", "ext", "s"),
    ("indent", "indent", "is"),
    ("initials", "initials", "s"),
    ("isAbs", "isAbs", "s"),
    ("kebabcase", "kebabcase", "s"),
    ("nindent", "nindent", "is"),
    ("nospace", "nospace", "s"),
    ("osBase", "osBase", "s"),
    ("osClean", "osClean", "s"),
    ("osDir", "osDir", "s"),
    ("osExt", "osExt", "s"),
    ("osIsAbs", "osIsAbs", "s"),
    ("plural", "plural", "ssi"),
    ("quote", "quote", "l"),
    ("round", "round", "ni?n"),
    ("seq", "seq", "l"),
    ("sha1sum", "sha1sum", "s"),
    ("sha256sum", "sha256sum", "s"),
    ("sha512sum", "sha512sum", "s"),
    ("snakecase", "snakecase", "s"),
    ("sortAlpha", "sortAlpha", "t"),
    ("squote", "squote", "l"),
    ("swapcase", "swapcase", "s"),
    ("trunc", "trunc", "is"),
    ("untitle", "untitle", "s"),
    ("urlJoin", "urlJoin", "m"),
    ("wrap", "wrap", "is"),
    ("bcrypt", "bcrypt", "s"),
    ("genPrivateKey", "genPrivateKey", "s"),
    ("htpasswd", "htpasswd", "ss"),
    ("shuffle", "shuffle", "s"),
];

/// Functions that give nothing and why, where their arguments' values are wrong.
const FALLIBLE: [Row; 9] = [
    ("decryptAES", "decryptAES", "ss"),
    ("encryptAES", "encryptAES", "ss"),
    ("regexFind", "mustRegexFind", "ss"),
    ("regexFindAll", "mustRegexFindAll", "ssi"),
    ("regexMatch", "mustRegexMatch", "ss"),
    ("regexReplaceAll", "mustRegexReplaceAll", "sss"),
    ("regexReplaceAllLiteral", "mustRegexReplaceAllLiteral", "sss"),
    ("regexSplit", "mustRegexSplit", "ssi"),
    ("semverCompare", "semverCompare", "ss"),
];

/// Functions that draw at random: possible where the same is drawn for the same content, at every render.
const DRAWING: [&str; 7] =
    ["bcrypt", "encryptAES", "genPrivateKey", "htpasswd", "shuffle", "randInt", "derivePassword"];

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    for (name, of_templates, takes) in PLAIN {
        let function = callable(of_templates)?;
        module.add(name, move |lua, shared, values: MultiValue| {
            let answer = call(shared, function, &arguments(shared, takes, &values)?)?;
            into_lua(lua, answer.map_err(mlua::Error::runtime)?)
        })?;
    }
    for (name, of_templates, takes) in FALLIBLE {
        let function = callable(of_templates)?;
        module.add(name, move |lua, shared, values: MultiValue| -> mlua::Result<Fallible<LuaValue>> {
            Ok(match call(shared, function, &arguments(shared, takes, &values)?)? {
                Ok(answer) => (Some(into_lua(lua, answer)?), None),
                Err(why) => (None, Some(why)),
            })
        })?;
    }
    sprig_values::fill(module)
}

/// The function of templates of that name.
pub(super) fn callable(name: &str) -> mlua::Result<Callable> {
    let found = callables(Stage::Sprig).into_iter().find(|function| function.name() == name);
    found.ok_or_else(|| mlua::Error::runtime(format!("templates have no function {name}")))
}

/// The arguments as JSON.
pub(super) fn arguments(shared: &Shared, takes: Takes, values: &MultiValue) -> mlua::Result<Vec<Value>> {
    if takes == "." {
        let given = values.iter().filter(|value| !value.is_nil());
        return given.map(|value| Ok(charged(shared, value)?.into())).collect();
    }
    let needed = takes.find('?').unwrap_or(takes.len());
    if values.len() < needed {
        return Err(mlua::Error::runtime(format!("needs {needed} arguments, got {}", values.len())));
    }
    let mut all = Vec::new();
    for (value, letter) in values.iter().zip(takes.chars().filter(|letter| *letter != '?')) {
        match letter {
            'i' => all.push(whole(value)?.into()),
            'n' => all.push(plain::number(number(value)?).map_err(mlua::Error::runtime)?),
            'l' => {
                let values = values_of(shared, value)?;
                all.extend(values.iter().map(|one| scalar(shared, one)).collect::<mlua::Result<Vec<_>>>()?);
            }
            't' => {
                let values = values_of(shared, value)?;
                let texts =
                    values.iter().map(|one| charged(shared, one)).collect::<mlua::Result<Vec<_>>>()?;
                all.push(texts.into());
            }
            'm' => all.push(texts_by_key(shared, value)?),
            _ => all.push(charged(shared, value)?.into()),
        }
    }
    Ok(all)
}

/// A text, which is paid for before it is copied: a list may have the same one many times.
fn charged(shared: &Shared, value: &LuaValue) -> mlua::Result<String> {
    shared.budget.charge(BYTES_EACH + size(value))?;
    text(value)
}

/// Calls a function of templates, with what is left of their budget: an answer, or why there is none.
///
/// # Errors
/// What no script may catch as a result: a limit, and drawing at random where it would differ each time.
pub(super) fn call(
    shared: &Shared,
    function: Callable,
    args: &[Value],
) -> mlua::Result<Result<Value, String>> {
    let env = shared.env.borrow();
    let draws = DRAWING.contains(&function.name());
    if env.is_none() && draws {
        let why = "draws at random, or makes secrets; only content can do that";
        return Err(mlua::Error::runtime(why));
    }
    let (calls, none) = (&mut *shared.calls.borrow_mut(), Env::default());
    shared.budget.charge(args.iter().map(bytes_of).fold(0, usize::saturating_add))?;
    let deadline = shared.budget.deadline().filter(|_| !draws).map(Deadline::when);
    let limits = Limits { deadline, ..Limits::default() };
    let mut run = || calls.call(function, args, env.as_ref().unwrap_or(&none), &limits);
    // Making a key takes its time, and is bounded by the steps of templates.
    let answer = if draws { shared.budget.apart(run) } else { run() };
    answer.map(Ok).or_else(|error| refused(function, error))
}

/// What going through an argument takes: texts are copied, read character by character, and made anew.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len().saturating_mul(4),
        Value::Array(items) => items.iter().map(bytes_of).fold(0, usize::saturating_add),
        Value::Object(fields) => fields.values().map(bytes_of).fold(0, usize::saturating_add),
        _ => BYTES_EACH,
    }
}

fn refused(function: Callable, error: CallError) -> mlua::Result<Result<Value, String>> {
    let lead = format!("error calling {}: ", function.name());
    if error.is_limit() {
        return Err(Budget.limit(format!("{OVER_BUDGET}: {}", error.text)));
    }
    Ok(Err(error.text.strip_prefix(&lead).unwrap_or(&error.text).to_owned()))
}

fn wrong(value: &LuaValue, wanted: &str) -> mlua::Error {
    mlua::Error::runtime(format!("an argument is a {}; it must be a {wanted}", type_of(value)))
}

/// A number, also one that is written as a text.
fn number(value: &LuaValue) -> mlua::Result<f64> {
    match value {
        LuaValue::Integer(number) => Ok(*number as f64),
        LuaValue::Number(number) => Ok(*number),
        LuaValue::String(text) => text.to_string_lossy().trim().parse().map_err(|_| wrong(value, "number")),
        _ => Err(wrong(value, "number")),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub(super) fn whole(value: &LuaValue) -> mlua::Result<i64> {
    number(value).map(|number| number as i64)
}

/// A text, or a number or truth as it is printed.
pub(super) fn text(value: &LuaValue) -> mlua::Result<String> {
    Ok(match value {
        LuaValue::String(text) => text.to_string_lossy(),
        LuaValue::Integer(number) => number.to_string(),
        LuaValue::Number(number) => number.to_string(),
        LuaValue::Boolean(flag) => flag.to_string(),
        other => return Err(wrong(other, "string")),
    })
}

/// A value of a list that is printed.
fn scalar(shared: &Shared, value: &LuaValue) -> mlua::Result<Value> {
    match value {
        LuaValue::Boolean(flag) => Ok((*flag).into()),
        LuaValue::Integer(_) | LuaValue::Number(_) => {
            plain::number(number(value)?).map_err(mlua::Error::runtime)
        }
        other => charged(shared, other).map(Value::from),
    }
}

/// A table of texts. What a URL is made of is all there, what is missing as an empty text.
fn texts_by_key(shared: &Shared, value: &LuaValue) -> mlua::Result<Value> {
    let LuaValue::Table(table) = value else { return Err(wrong(value, "table")) };
    let mut all = Map::new();
    for entry in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = entry?;
        if let LuaValue::String(key) = key {
            shared.budget.charge(BYTES_OF_FIELD + key.as_bytes().len())?;
            all.insert(key.to_string_lossy(), json!(charged(shared, &value)?));
        }
    }
    Ok(all.into())
}

/// The parts of a URL, all of them texts.
pub(super) fn url_parts(lua: &Lua, answer: Value) -> mlua::Result<LuaValue> {
    let Value::Object(parts) = answer else { return into_lua(lua, answer) };
    let text = |part: Value| match part {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let texts: Map<_, _> = parts.into_iter().map(|(key, part)| (key, text(part).into())).collect();
    into_lua(lua, texts.into())
}
