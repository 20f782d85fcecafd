//! Bracketed classes.

use super::{
    re2::{Step, Translator, refuse},
    re2_group::{escaped_rune, perl_class, unicode_class},
};

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

// === impl Translator ===

impl Translator<'_> {
    /// A class from its opening bracket on.
    pub(super) fn class(&mut self) -> Step<()> {
        let whole = self.rest();
        let mut out = String::from("[");
        let mut rest = &whole[1..];
        if let Some(after) = rest.strip_prefix('^') {
            out.push('^');
            rest = after;
        }
        let mut first = true;
        while rest.is_empty() || !rest.starts_with(']') || first {
            // A dash that starts no range is one: Go reads classes as Perl does, not as POSIX.
            first = false;
            rest = self.class_item(rest, whole, &mut out)?;
        }
        self.at += whole.len() - rest.len() + 1;
        out.push(']');
        self.piece(&out, 2);
        Ok(())
    }

    /// One element of a class; answers what follows it.
    fn class_item<'r>(&self, rest: &'r str, whole: &str, out: &mut String) -> Step<&'r str> {
        if let Some(inside) = rest.strip_prefix("[:")
            && let Some(end) = inside.find(":]")
        {
            let name = inside[..end].trim_start_matches('^');
            if !POSIX.contains(&name) {
                return refuse("invalid character class range", &rest[..end + 4]);
            }
            out.push_str(&rest[..end + 4]);
            return Ok(&inside[end + 2..]);
        }
        if rest.starts_with('\\') {
            if let Some(set) = perl_class(rest) {
                out.push_str(set);
                return Ok(&rest[2..]);
            }
            if let Some((class, len)) = unicode_class(rest)? {
                out.push_str(&class);
                return Ok(&rest[len..]);
            }
        }
        let (low, mut after) = class_rune(rest, whole)?;
        let mut high = low;
        if after.starts_with('-') && after.len() >= 2 && !after[1..].starts_with(']') {
            let (end, tail) = class_rune(&after[1..], whole)?;
            if end < low {
                return refuse("invalid character class range", &rest[..rest.len() - tail.len()]);
            }
            (high, after) = (end, tail);
        }
        out.push_str(&range(low, high));
        Ok(after)
    }
}

/// A range of runes without the surrogates, which are no characters.
fn range(low: u32, high: u32) -> String {
    let piece = |low: u32, high: u32| format!("\\x{{{low:x}}}-\\x{{{high:x}}}");
    match (low, high) {
        (..=0xD7FF, 0xD800..=0xDFFF) => piece(low, 0xD7FF),
        (0xD800..=0xDFFF, 0xE000..) => piece(0xE000, high),
        (0xD800..=0xDFFF, _) => String::new(),
        _ => piece(low, high),
    }
}

/// One rune of a class, and what follows it.
fn class_rune<'r>(rest: &'r str, whole: &str) -> Step<(u32, &'r str)> {
    let Some(c) = rest.chars().next() else { return refuse("missing closing ]", whole) };
    if c == '\\' {
        let (rune, len) = escaped_rune(rest)?;
        return Ok((rune, &rest[len..]));
    }
    Ok((u32::from(c), &rest[c.len_utf8()..]))
}
