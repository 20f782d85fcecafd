//! Lua in tokens: names, words, texts, and signs of one character. What is no Lua gives some tokens too.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An identifier.
    Name,
    /// A word of the language.
    Word,
    /// A text with its quotes or brackets.
    Text,
    /// A number, or one character of anything else. `==` and the like are one token, so that `=` is only assignment.
    Sign,
}

/// A piece of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// From 1.
    pub(super) line: usize,
}

const WORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Two signs that are one token.
const PAIRS: [&str; 11] = ["==", "~=", "<=", ">=", "..", "+=", "-=", "*=", "/=", "%=", "^="];

/// The tokens of a script, without comments.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut found, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let (length, kind) = next(rest, first);
        let (text, after) = rest.split_at(length);
        found.extend(kind.map(|kind| Token { kind, text, line }));
        line += text.matches('\n').count();
        rest = after;
    }
    found
}

/// How long the token is that begins here, and what it is; white space and comments are nothing.
fn next(rest: &str, first: char) -> (usize, Option<TokenKind>) {
    let starts = |one: char| one.is_ascii_alphabetic() || one == '_';
    match first {
        ' ' | '\t' | '\r' | '\n' => (1, None),
        '-' if rest.starts_with("--") => (comment(rest), None),
        '"' | '\'' | '`' => (quoted(rest, first), Some(TokenKind::Text)),
        '[' if long(rest).is_some() => (long(rest).unwrap_or(rest.len()), Some(TokenKind::Text)),
        _ if starts(first) => {
            let end = rest.find(|one: char| !starts(one) && !one.is_ascii_digit()).unwrap_or(rest.len());
            let kind = if WORDS.contains(&&rest[..end]) { TokenKind::Word } else { TokenKind::Name };
            (end, Some(kind))
        }
        _ if first.is_ascii_digit() => {
            let end = rest.find(|one: char| !one.is_ascii_alphanumeric() && one != '.' && one != '_');
            (end.unwrap_or(rest.len()), Some(TokenKind::Sign))
        }
        _ if rest.get(..2).is_some_and(|two| PAIRS.contains(&two)) => (2, Some(TokenKind::Sign)),
        _ => (first.len_utf8(), Some(TokenKind::Sign)),
    }
}

fn comment(rest: &str) -> usize {
    match long(&rest[2..]) {
        Some(length) => length + 2,
        None => rest.find('\n').unwrap_or(rest.len()),
    }
}

/// The length of a text in quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, one) in rest.char_indices().skip(1) {
        match one {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            one if one == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a text in long brackets, if one begins here: `[[…]]`, `[=[…]=]`.
fn long(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let level = inside.bytes().take_while(|byte| *byte == b'=').count();
    let text = inside[level..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(text.find(&end).map_or(rest.len(), |at| level + 2 + at + end.len()))
}

#[cfg(test)]
mod tests;
