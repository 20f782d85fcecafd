//! Which functions a script calls that nobody has defined.
//!
//! The engine says of a call of nil that it was one, and not of what. And a wrong name in a branch that is seldom taken is found
//! when it is too late. So the text is read: every name that is called, and is neither given by the script anywhere nor part of
//! the library, is unknown. What a script asks for before (`if f then f() end`) is its own affair.

mod lex;

use std::collections::{HashMap, HashSet};

use crate::lua::{Limits, with_sandbox};
use crate::modules;
use lex::{Token, TokenKind};

/// A call of what does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    /// From 1.
    pub line: usize,
    /// As the script writes it.
    pub name: String,
}

/// What the engine says of a call of nil.
const NIL_CALL: &str = "attempt to call a nil value";

/// A name that is called, and what leads to it.
struct Call<'a> {
    line: usize,
    path: Vec<&'a str>,
}

/// What a script gives names to, and what it asks for.
#[derive(Default)]
struct Given<'a> {
    names: HashSet<&'a str>,
    /// Names of modules: `local s = require("strings")`.
    modules: HashMap<&'a str, &'a str>,
    /// Paths that are read without being called.
    read: HashSet<String>,
}

/// The functions that a script calls and nobody has defined, in the order of the text.
pub fn unknown_functions(source: &str) -> Vec<Unknown> {
    let tokens = lex::tokens(source);
    // Who reaches for the environment as a table may define whatever it likes.
    if tokens.iter().any(|token| token.text == "_G") {
        return Vec::new();
    }
    let given = given(&tokens);
    let unknown = |call: &Call<'_>| !given.read.contains(&call.path.join(".")) && !given.has(&call.path);
    let found = calls(&tokens).into_iter().filter(unknown);
    found.map(|call| Unknown { line: call.line, name: call.path.join(".") }).collect()
}

/// An error of the engine, with the name of what was called, where it can only be one.
pub(crate) fn explained(source: &str, error: String) -> String {
    let line =
        error.strip_suffix(NIL_CALL).and_then(|place| place.trim_end_matches([':', ' ']).rsplit(':').next());
    let Some(line) = line.and_then(|line| line.parse::<usize>().ok()) else { return error };
    let tokens = lex::tokens(source);
    let given = given(&tokens);
    let on_line = |call: &&Call<'_>| call.line == line && !given.names.contains(call.path.join(".").as_str());
    let calls = calls(&tokens);
    let there: Vec<&Call<'_>> =
        calls.iter().filter(on_line).filter(|call| !given.has_for_sure(&call.path)).collect();
    let mut names: Vec<String> = there.iter().map(|call| call.path.join(".")).collect();
    names.dedup();
    if names.is_empty() { error } else { format!("{error}: {} is not defined", names.join(" or ")) }
}

// === impl Given ===

impl Given<'_> {
    /// Whether this may be there when it is called.
    fn has(&self, path: &[&str]) -> bool {
        let Some((root, rest)) = path.split_first() else { return true };
        match self.modules.get(root) {
            Some(module) if modules::is_module(module) => in_library(Some(module), rest),
            Some(_) => true,
            None => self.names.contains(root) || in_library(None, path),
        }
    }

    /// Whether this is there, whatever the script does.
    fn has_for_sure(&self, path: &[&str]) -> bool {
        let Some((root, rest)) = path.split_first() else { return true };
        match self.modules.get(root) {
            Some(module) if modules::is_module(module) => in_library(Some(module), rest),
            Some(_) => false,
            None => !self.names.contains(root) && in_library(None, path),
        }
    }
}

/// Whether the library has this, or a module. When it cannot be asked, nothing is claimed to be missing.
fn in_library(module: Option<&str>, path: &[&str]) -> bool {
    with_sandbox(&Limits::default(), |sandbox| sandbox.has(module, path)).unwrap_or(true)
}

/// Everything that is called by a name: not methods, and not what an expression gives.
fn calls<'a>(tokens: &[Token<'a>]) -> Vec<Call<'a>> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if let Some((path, end)) = path_at(tokens, at)
            && is_call(tokens, at, end)
        {
            found.push(Call { line: tokens[at].line, path });
        }
    }
    found
}

/// Names with dots between them that begin here, and what follows them.
fn path_at<'a>(tokens: &[Token<'a>], at: usize) -> Option<(Vec<&'a str>, usize)> {
    let first = tokens.get(at)?;
    let begins = first.kind == TokenKind::Name && !matches!(text(tokens, at.wrapping_sub(1)), "." | ":");
    if !begins {
        return None;
    }
    let (mut path, mut end) = (vec![first.text], at + 1);
    while text(tokens, end) == "." && tokens.get(end + 1).is_some_and(|token| token.kind == TokenKind::Name) {
        path.push(tokens[end + 1].text);
        end += 2;
    }
    Some((path, end))
}

fn is_call(tokens: &[Token<'_>], at: usize, end: usize) -> bool {
    let called = matches!(text(tokens, end), "(" | "{")
        || tokens.get(end).is_some_and(|token| token.kind == TokenKind::Text);
    called && text(tokens, at.wrapping_sub(1)) != "function"
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// What the script gives names to anywhere: variables, parameters, functions, fields that are assigned.
fn given<'a>(tokens: &[Token<'a>]) -> Given<'a> {
    let mut given = Given::default();
    for at in 0..tokens.len() {
        match tokens[at].text {
            "local" | "for" if tokens[at].kind == TokenKind::Word => {
                given.names.extend(names_from(tokens, at + 1))
            }
            "function" if tokens[at].kind == TokenKind::Word => parameters(tokens, at, &mut given.names),
            _ => {}
        }
        let Some((path, end)) = path_at(tokens, at) else { continue };
        if is_assigned(tokens, end) {
            given.names.insert(path[0]);
            if let (1, Some(module)) = (path.len(), required(tokens, end)) {
                given.modules.insert(path[0], module);
            }
        } else if !is_call(tokens, at, end) && text(tokens, at.wrapping_sub(1)) != "function" {
            given.read.insert(path.join("."));
        }
    }
    // What was given another value as well is no module for sure.
    let assigned = |name: &str| {
        (0..tokens.len()).filter(|at| tokens[*at].text == name && is_assigned(tokens, at + 1)).count()
    };
    let several: Vec<_> = given.modules.keys().copied().filter(|name| assigned(name) > 1).collect();
    given.modules.retain(|name, _| !several.contains(name));
    given
}

/// Names after `local` or `for`.
fn names_from<'a>(tokens: &[Token<'a>], mut at: usize) -> Vec<&'a str> {
    let mut names = Vec::new();
    while tokens.get(at).is_some_and(|token| token.kind == TokenKind::Name) {
        names.push(tokens[at].text);
        // A type may stand there: `local n: number = 1`.
        at += if text(tokens, at + 1) == ":" { 3 } else { 1 };
        if text(tokens, at) != "," {
            break;
        }
        at += 1;
    }
    names
}

/// The name of a function, and of everything in its parentheses.
fn parameters<'a>(tokens: &[Token<'a>], at: usize, names: &mut HashSet<&'a str>) {
    let rest = &tokens[at + 1..];
    let end = rest.iter().position(|token| token.text == ")").unwrap_or(rest.len());
    names.extend(rest[..end].iter().filter(|token| token.kind == TokenKind::Name).map(|token| token.text));
}

/// Whether a name that ends here gets a value: alone, or as one of several.
fn is_assigned(tokens: &[Token<'_>], end: usize) -> bool {
    let mut at = end;
    while text(tokens, at) == "," {
        let Some((_, next)) = path_at(tokens, at + 1).filter(|_| at + 1 < tokens.len()) else { return false };
        at = next;
    }
    text(tokens, at) == "="
}

/// The module that `= require("name")` gives.
fn required<'a>(tokens: &[Token<'a>], equals: usize) -> Option<&'a str> {
    if text(tokens, equals) != "=" || text(tokens, equals + 1) != "require" {
        return None;
    }
    let at = if text(tokens, equals + 2) == "(" { equals + 3 } else { equals + 2 };
    let name = tokens.get(at).filter(|token| token.kind == TokenKind::Text)?;
    // `require("json").decode` is no module.
    let after = if at == equals + 3 { at + 2 } else { at + 1 };
    (text(tokens, after) != ".").then(|| name.text.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests;
