//! The words of a rule.

use std::fmt;

/// What a rule is made of, and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Bytes before it.
    pub(super) at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    /// Without its sign: the least one is one more than the greatest.
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// What is wrong with a rule, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}

/// Longer ones come before those that they begin with.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

// === impl Wrong ===

impl Wrong {
    /// At so many bytes of the source.
    pub(super) fn at(source: &str, at: usize, reason: impl Into<String>) -> Self {
        let before = source.get(..at).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, reason: reason.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

// === impl TokenKind ===

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::Symbol(symbol) => write!(f, "{symbol:?}"),
            Self::Int(_) | Self::Uint(_) | Self::Double(_) => f.write_str("a number"),
            Self::Text(_) => f.write_str("a text"),
            Self::Bytes(_) => f.write_str("bytes"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// All words; the last one is the end.
pub(super) fn lex(source: &str) -> Result<Vec<Token>, Wrong> {
    let (mut tokens, mut rest) = (Vec::new(), source);
    loop {
        rest = without_space(rest);
        let at = source.len() - rest.len();
        if rest.is_empty() {
            tokens.push(Token { kind: TokenKind::End, at });
            return Ok(tokens);
        }
        let (kind, length) = word(rest).map_err(|reason| Wrong::at(source, at, reason))?;
        tokens.push(Token { kind, at });
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// What follows white space and comments.
fn without_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        match text.strip_prefix("//") {
            None => return text,
            Some(comment) => text = comment.split_once('\n').map_or("", |(_, next)| next),
        }
    }
}

/// The first word and how long it is.
fn word(text: &str) -> Result<(TokenKind, usize), String> {
    if let Some(literal) = literal(text) {
        return literal;
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) || is_fraction(text) {
        return number(text);
    }
    let name: &str = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !name.is_empty() {
        return Ok((TokenKind::Name(name.to_owned()), name.len()));
    }
    match SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        Some(symbol) => Ok((TokenKind::Symbol(symbol), symbol.len())),
        None => Err(format!("{:?} has no meaning here", text.chars().next().unwrap_or_default())),
    }
}

/// `.5` is a number.
fn is_fraction(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn number(text: &str) -> Result<(TokenKind, usize), String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (value, mut length) = match hex {
        Some(digits) => {
            let count = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
            (u64::from_str_radix(&digits[..count], 16), 2 + count)
        }
        None => {
            let length = decimal(text);
            let digits = &text[..length];
            if digits.contains(['.', 'e', 'E']) {
                let value = digits.parse().map_err(|_| format!("{digits} is no number"))?;
                return Ok((TokenKind::Double(value), length));
            }
            (digits.parse(), length)
        }
    };
    let value = value.map_err(|_| format!("{} is too large, or no number", &text[..length]))?;
    if text[length..].starts_with(['u', 'U']) {
        length += 1;
        return Ok((TokenKind::Uint(value), length));
    }
    Ok((TokenKind::Int(value), length))
}

/// How long the decimal number is that the text begins with. A point belongs to it when a digit follows, an exponent too.
fn decimal(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if is_fraction(&text[length..]) {
        length += 1 + digits(length + 1);
    }
    if text[length..].starts_with(['e', 'E']) {
        let signed = usize::from(text[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + signed);
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    length
}

/// A text or bytes: `'…'`, `"…"`, either three times, with `r` or `b` or both before it.
fn literal(text: &str) -> Option<Result<(TokenKind, usize), String>> {
    let prefix = text.find(['\'', '"']).filter(|length| *length <= 2)?;
    let letters = text[..prefix].to_ascii_lowercase();
    if !matches!(letters.as_str(), "" | "r" | "b" | "br") {
        return None;
    }
    let (raw, bytes) = (letters.contains('r'), letters.contains('b'));
    let quoted = &text[prefix..];
    let quote = if quoted.starts_with("'''") || quoted.starts_with("\"\"\"") { 3 } else { 1 };
    let (quote, body) = quoted.split_at(quote);
    let read = read(body, quote, raw, bytes);
    Some(read.and_then(|(value, length)| {
        let kind = match bytes {
            true => TokenKind::Bytes(value),
            false => TokenKind::Text(String::from_utf8(value).map_err(|_| "the text is not UTF-8")?),
        };
        Ok((kind, prefix + quote.len() + length + quote.len()))
    }))
}

/// What stands before the closing quote, and how long it is as it is written.
fn read(body: &str, quote: &str, raw: bool, bytes: bool) -> Result<(Vec<u8>, usize), String> {
    let (mut value, mut at) = (Vec::new(), 0);
    loop {
        let rest = &body[at..];
        if rest.starts_with(quote) {
            return Ok((value, at));
        }
        let Some(next) = rest.chars().next() else {
            return Err(format!("a text is not closed; end it with {quote}"));
        };
        if quote.len() == 1 && matches!(next, '\n' | '\r') {
            return Err(format!("a text is not closed on its line; end it with {quote}"));
        }
        if next != '\\' {
            value.extend(next.encode_utf8(&mut [0; 4]).as_bytes());
            at += next.len_utf8();
        } else if raw {
            let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
            value.extend(&rest.as_bytes()[..=escaped]);
            at += 1 + escaped;
        } else {
            let length = escape(&rest[1..], bytes, &mut value)?;
            at += 1 + length;
        }
    }
}

/// Reads what follows a backslash; how long it is.
fn escape(text: &str, bytes: bool, value: &mut Vec<u8>) -> Result<usize, String> {
    let letter = text.chars().next().unwrap_or_default();
    let code = |digits: &str, radix: u32| {
        let valid = digits.chars().all(|digit| digit.is_digit(radix));
        u32::from_str_radix(digits, radix).ok().filter(|_| valid)
    };
    let (code, length) = match letter {
        'a' => (Some(0x07), 1),
        'b' => (Some(0x08), 1),
        'f' => (Some(0x0c), 1),
        'n' => (Some(0x0a), 1),
        'r' => (Some(0x0d), 1),
        't' => (Some(0x09), 1),
        'v' => (Some(0x0b), 1),
        '\\' | '?' | '"' | '\'' | '`' => (Some(u32::from(letter)), 1),
        'x' | 'X' => (text.get(1..3).and_then(|digits| code(digits, 16)), 3),
        'u' if !bytes => (text.get(1..5).and_then(|digits| code(digits, 16)), 5),
        'U' if !bytes => (text.get(1..9).and_then(|digits| code(digits, 16)), 9),
        '0'..='3' => (text.get(..3).and_then(|digits| code(digits, 8)), 3),
        _ => (None, 0),
    };
    let unknown = || format!("\\{} is no escape sequence; write \\\\ for a backslash", letter.escape_debug());
    let code = code.ok_or_else(unknown)?;
    match (bytes, u8::try_from(code), char::from_u32(code)) {
        (true, Ok(byte), _) => value.push(byte),
        (false, _, Some(one)) => value.extend(one.encode_utf8(&mut [0; 4]).as_bytes()),
        _ => return Err(unknown()),
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
