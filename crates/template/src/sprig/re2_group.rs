//! Groups with flags and names, and escapes outside of classes.

use super::re2::{Step, Translator, refuse};

// === impl Translator ===

impl Translator<'_> {
    /// A group that starts with `(?`; answers whether it is a group and not only flags.
    pub(super) fn perl_group(&mut self) -> Step<bool> {
        let rest = self.rest();
        let named = rest.strip_prefix("(?P<").or_else(|| rest.strip_prefix("(?<"));
        if let Some(after) = named {
            let head = rest.len() - after.len();
            let Some(end) = after.find('>') else { return refuse("invalid named capture", rest) };
            let (name, whole) = (&after[..end], &rest[..=head + end]);
            let valid = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !valid {
                return refuse("invalid named capture", whole);
            }
            if self.names.iter().any(|n| n == name) {
                return refuse("duplicate capture group name", name);
            }
            self.names.push(name.to_owned());
            // Names that start with a digit are fine in Go only, so they get a prefix; groups
            // are looked up by position.
            self.out.push_str(&format!("(?P<n{}_{name}>", self.names.len()));
            self.at += whole.len();
            return Ok(true);
        }
        let mut negative = false;
        let mut any = false;
        for (i, c) in rest.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => any = true,
                '-' if !negative => {
                    negative = true;
                    any = false;
                }
                ':' | ')' if !negative || any => {
                    self.out.push_str(&rest[..=i]);
                    self.at += i + 1;
                    return Ok(c == ':');
                }
                _ => return refuse("invalid or unsupported Perl syntax", &rest[..i + c.len_utf8()]),
            }
        }
        refuse("missing closing )", self.text)
    }

    /// An escape outside of a class.
    pub(super) fn escape(&mut self) -> Step<()> {
        let rest = self.rest();
        let Some(c) = rest[1..].chars().next() else {
            return refuse("trailing backslash at end of expression", "");
        };
        let piece = match c {
            'A' => r"\A",
            'z' => r"\z",
            'b' => r"(?-u:\b)",
            'B' => r"(?-u:\B)",
            'Q' => {
                self.quoted();
                return Ok(());
            }
            _ => return self.escaped_class_or_rune(),
        };
        self.at += 2;
        self.piece(piece, 1);
        Ok(())
    }

    /// `\Q…\E`: literal text.
    fn quoted(&mut self) {
        let body = &self.rest()[2..];
        let end = body.find("\\E");
        let literal = &body[..end.unwrap_or(body.len())];
        for c in literal.chars() {
            self.literal(u32::from(c));
        }
        self.at += 2 + literal.len() + if end.is_some() { 2 } else { 0 };
    }

    fn escaped_class_or_rune(&mut self) -> Step<()> {
        let rest = self.rest();
        if let Some(set) = perl_class(rest) {
            self.at += 2;
            self.piece(&format!("[{set}]"), 2);
            return Ok(());
        }
        if let Some((class, len)) = unicode_class(rest)? {
            self.at += len;
            self.piece(&class, 16);
            return Ok(());
        }
        let (rune, len) = escaped_rune(rest)?;
        self.at += len;
        self.literal(rune);
        Ok(())
    }
}

/// `\d`, `\s`, `\w` and their negations, as the inside of a bracketed class.
pub(super) fn perl_class(rest: &str) -> Option<&'static str> {
    Some(match rest.as_bytes().get(1)? {
        b'd' => "0-9",
        b'D' => "[^0-9]",
        b's' => r"\t\n\x0c\r\x20",
        b'S' => r"[^\t\n\x0c\r\x20]",
        b'w' => "0-9A-Za-z_",
        b'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// `\pN`, `\p{Greek}`, `\P{…}` and its length.
pub(super) fn unicode_class(rest: &str) -> Step<Option<(String, usize)>> {
    let upper = match rest.as_bytes().get(1) {
        Some(b'p') => false,
        Some(b'P') => true,
        _ => return Ok(None),
    };
    let after = &rest[2..];
    let Some(first) = after.chars().next() else {
        return refuse("invalid character class range", rest);
    };
    let (name, len) = if first == '{' {
        let Some(end) = after.find('}') else { return refuse("invalid character class range", rest) };
        (&after[1..end], end + 3)
    } else {
        (&after[..first.len_utf8()], 2 + first.len_utf8())
    };
    let (negated, name) = name.strip_prefix('^').map_or((upper, name), |name| (!upper, name));
    let class = if name == "Any" {
        if negated { r"[^\x{0}-\x{10FFFF}]".to_owned() } else { r"[\x{0}-\x{10FFFF}]".to_owned() }
    } else {
        format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' })
    };
    if regex::Regex::new(&class).is_err() {
        return refuse("invalid character class range", &rest[..len]);
    }
    Ok(Some((class, len)))
}

/// An escape that stands for one rune, and its length.
pub(super) fn escaped_rune(rest: &str) -> Step<(u32, usize)> {
    let Some(c) = rest[1..].chars().next() else {
        return refuse("trailing backslash at end of expression", "");
    };
    let bad = |len: usize| refuse("invalid escape sequence", rest.get(..len).unwrap_or(rest));
    let octal = |text: &str, most: usize| {
        let digits: String = text.chars().take(most).take_while(|c| matches!(c, '0'..='7')).collect();
        (u32::from_str_radix(&digits, 8).unwrap_or(0), 1 + digits.len())
    };
    match c {
        '1'..='7' if !matches!(rest.as_bytes().get(2), Some(b'0'..=b'7')) => bad(2),
        '0'..='7' => Ok(octal(&rest[1..], 3)),
        'x' => hexadecimal(rest).map_or_else(&bad, Ok),
        'a' => Ok((7, 2)),
        'f' => Ok((12, 2)),
        'n' => Ok((10, 2)),
        'r' => Ok((13, 2)),
        't' => Ok((9, 2)),
        'v' => Ok((11, 2)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok((u32::from(c), 2)),
        c => bad(1 + c.len_utf8()),
    }
}

/// `\x7F` or `\x{10FFFF}`; the error is how much of the text to show.
fn hexadecimal(rest: &str) -> Result<(u32, usize), usize> {
    let after = &rest[2..];
    if let Some(inside) = after.strip_prefix('{') {
        let end = inside.find('}').ok_or(rest.len())?;
        let digits = &inside[..end];
        let bad_at = digits.find(|c: char| !c.is_ascii_hexdigit());
        if let Some(at) = bad_at {
            return Err(3 + at + digits[at..].chars().next().map_or(0, char::len_utf8));
        }
        let value = u32::from_str_radix(digits, 16).ok().filter(|v| *v <= 0x10FFFF);
        return value.map(|v| (v, end + 4)).ok_or(4 + end);
    }
    let digits = after.get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    match digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
        Some(value) => Ok((value, 4)),
        None => Err(rest.char_indices().nth(4).map_or(rest.len(), |(at, _)| at)),
    }
}
