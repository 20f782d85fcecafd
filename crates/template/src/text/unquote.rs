//! Go's `strconv.Unquote` and `UnquoteChar`.

use super::{decode_rune, push_rune};

/// Why a literal is refused; Go says `invalid syntax` to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidSyntax;

/// One unquoted character: a rune, or a byte of an escape such as `\xff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Rune(u32),
    Byte(u8),
}

/// `strconv.Unquote` of a double-quoted or raw literal, quotes included.
pub(crate) fn unquote(literal: &str) -> Result<Vec<u8>, InvalidSyntax> {
    let bytes = literal.as_bytes();
    let (&mark, &last) = (bytes.first().ok_or(InvalidSyntax)?, bytes.last().ok_or(InvalidSyntax)?);
    if bytes.len() < 2 || mark != last {
        return Err(InvalidSyntax);
    }
    let mut rest = &bytes[1..bytes.len() - 1];
    if mark == b'`' {
        return Ok(rest.iter().copied().filter(|b| *b != b'\r').collect());
    }
    if mark != b'"' {
        return Err(InvalidSyntax);
    }
    let mut out = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, width) = unquote_char(rest, mark)?;
        match unit {
            Unit::Rune(rune) => push_rune(&mut out, rune),
            Unit::Byte(byte) => out.push(byte),
        }
        rest = &rest[width..];
    }
    Ok(out)
}

/// The first character of a literal's inside, and how many bytes it takes.
pub(crate) fn unquote_char(bytes: &[u8], mark: u8) -> Result<(Unit, usize), InvalidSyntax> {
    match bytes {
        [] => Err(InvalidSyntax),
        [b, ..] if *b == mark && (mark == b'"' || mark == b'\'') => Err(InvalidSyntax),
        [b'\n', ..] => Err(InvalidSyntax),
        [b'\\', escape, rest @ ..] => unquote_escape(*escape, rest, mark),
        [b'\\'] => Err(InvalidSyntax),
        _ => {
            let (rune, width) = decode_rune(bytes);
            Ok((Unit::Rune(rune), width))
        }
    }
}

fn unquote_escape(escape: u8, rest: &[u8], mark: u8) -> Result<(Unit, usize), InvalidSyntax> {
    let simple = |c: char| Ok((Unit::Rune(u32::from(c)), 2));
    match escape {
        b'a' => simple('\x07'),
        b'b' => simple('\x08'),
        b'f' => simple('\x0C'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'v' => simple('\x0B'),
        b'\\' => simple('\\'),
        b'\'' | b'"' if escape == mark => simple(char::from(mark)),
        b'x' => {
            let value = digits(rest, 2, 16)?;
            Ok((Unit::Byte(u8::try_from(value).map_err(|_| InvalidSyntax)?), 4))
        }
        b'u' => unicode(rest, 4),
        b'U' => unicode(rest, 8),
        b'0'..=b'7' => {
            let tail = digits(rest, 2, 8)?;
            let value = u32::from(escape - b'0') * 64 + tail;
            Ok((Unit::Byte(u8::try_from(value).map_err(|_| InvalidSyntax)?), 4))
        }
        _ => Err(InvalidSyntax),
    }
}

fn unicode(rest: &[u8], count: usize) -> Result<(Unit, usize), InvalidSyntax> {
    let value = digits(rest, count, 16)?;
    if char::from_u32(value).is_none() {
        return Err(InvalidSyntax);
    }
    Ok((Unit::Rune(value), 2 + count))
}

fn digits(rest: &[u8], count: usize, radix: u32) -> Result<u32, InvalidSyntax> {
    let piece = rest.get(..count).ok_or(InvalidSyntax)?;
    piece.iter().try_fold(0u32, |value, b| {
        let digit = char::from(*b).to_digit(radix).ok_or(InvalidSyntax)?;
        value.checked_mul(radix).and_then(|v| v.checked_add(digit)).ok_or(InvalidSyntax)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_go() {
        assert_eq!(unquote(r#""a\n\x41\u00e9\101\"""#), Ok("a\nAéA\"".as_bytes().to_vec()));
        assert_eq!(unquote(r#""\xff""#), Ok(vec![0xff]));
        assert_eq!(unquote("`a\r\\n`"), Ok(b"a\\n".to_vec()));
        assert_eq!(unquote(r#""\'""#), Err(InvalidSyntax));
        assert_eq!(unquote(r#""\ud800""#), Err(InvalidSyntax));
        assert_eq!(unquote(r#""\400""#), Err(InvalidSyntax));
    }
}
