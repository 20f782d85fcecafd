//! Scalars: which styles are possible, which is chosen, and how each is written.

use super::{
    emitter::{Emitter, NodePosition},
    order::Dialect,
};

/// The styles of scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a scalar's text allows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

fn width(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF8 => 4,
        _ => 1,
    }
}

/// What libyaml prints as it is. Characters beyond the basic plane are not among it.
fn is_printable(c: &[u8]) -> bool {
    match c {
        [0x0A] | [0x20..=0x7E] => true,
        [0xC2, second, ..] => *second >= 0xA0,
        [0xC3..=0xEC, ..] | [0xEE, ..] => true,
        [0xED, second, ..] => *second < 0xA0,
        [0xEF, 0xBB, 0xBF] | [0xEF, 0xBF, 0xBE | 0xBF] => false,
        [0xEF, ..] => true,
        _ => false,
    }
}

pub(super) fn is_break(c: &[u8]) -> bool {
    matches!(c, b"\r" | b"\n" | [0xC2, 0x85] | [0xE2, 0x80, 0xA8 | 0xA9])
}

/// The characters of a text; it is valid UTF-8.
fn chars(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = *text.get(at)?;
        let start = at;
        at = (at + width(first)).min(text.len());
        Some((start, &text[start..at]))
    })
}

pub(super) fn analyze(text: &[u8], dialect: Dialect) -> Analysis {
    if text.is_empty() {
        return Analysis { multiline: false, plain: true, single: true, block: false };
    }
    let mut indicators = text.starts_with(b"---") || text.starts_with(b"...");
    let (mut breaks, mut special, mut tabs) = (false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut after_space, mut after_break, mut after_white) = (false, false, true);
    for (at, c) in chars(text) {
        let next = at + c.len();
        let before_white = text.get(next).is_none_or(|b| matches!(b, b' ' | b'\t'));
        indicators |= is_indicator(at, c[0], after_white, before_white);
        if c == b"\t" && dialect != Dialect::Sigs {
            tabs = true;
        } else {
            special |= !is_printable(c);
        }
        let (space, line_break) = (c == b" ", is_break(c));
        break_space |= space && after_break;
        space_break |= line_break && after_space;
        breaks |= line_break;
        (after_space, after_break) = (space, line_break);
        after_white = space || line_break || c == b"\t";
    }
    let first = chars(text).next().map_or(&b""[..], |(_, c)| c);
    let last = chars(text).last().map_or(&b""[..], |(_, c)| c);
    let open_end = [first, last].iter().any(|c| *c == b" " || is_break(c));
    let hard = space_break || special;
    Analysis {
        multiline: breaks,
        plain: !(indicators || open_end || breaks || break_space || hard || tabs),
        single: !(break_space || hard || tabs),
        block: !(last == b" " || hard),
    }
}

/// Whether a character makes a plain scalar impossible in block context.
fn is_indicator(at: usize, c: u8, after_white: bool, before_white: bool) -> bool {
    if at > 0 {
        return (c == b':' && before_white) || (c == b'#' && after_white);
    }
    match c {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%'
        | b'@' | b'`' => true,
        b'?' | b':' | b'-' => before_white,
        _ => false,
    }
}

// === impl Emitter ===

impl Emitter {
    /// Emits a scalar in the wanted style or in the next that its text allows.
    pub(super) fn scalar(&mut self, text: &[u8], wanted: Style, place: NodePosition, tag: &[u8]) {
        let analysis = analyze(text, self.dialect);
        let simple_key = place == NodePosition::Key;
        let mut style = wanted;
        if simple_key && analysis.multiline {
            style = Style::Double;
        }
        if style == Style::Plain && (!analysis.plain || (text.is_empty() && simple_key)) {
            style = Style::Single;
        }
        if style == Style::Single && !analysis.single {
            style = Style::Double;
        }
        if style == Style::Literal && (!analysis.block || simple_key) {
            style = Style::Double;
        }
        if !tag.is_empty() {
            self.indicator(tag, true, false, false);
        }
        let outer = self.increase_indent(true, false, place);
        match style {
            Style::Plain => self.plain(text, !simple_key),
            Style::Single => self.single(text, !simple_key),
            Style::Double => self.double(text, !simple_key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    /// Breaks the line instead of writing a single space, where that is possible.
    fn folds(&mut self, text: &[u8], at: usize, breaks: bool, after_space: bool) -> bool {
        let next_is_space = text.get(at + 1) == Some(&b' ');
        let fold = breaks && !after_space && self.is_full() && !next_is_space;
        if fold {
            self.write_indent();
        }
        fold
    }

    fn plain(&mut self, text: &[u8], breaks: bool) {
        let nothing = text.is_empty() && self.dialect != Dialect::Sigs;
        if !self.whitespace && !nothing {
            self.put(b' ');
        }
        let mut after_space = false;
        for (at, c) in chars(text) {
            let space = c == b" ";
            if !(space && self.folds(text, at, breaks, after_space)) {
                self.write(c);
            }
            self.indention &= space;
            after_space = space;
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single(&mut self, text: &[u8], may_break: bool) {
        self.indicator(b"'", true, false, false);
        let (mut breaks, mut after_space) = (false, false);
        for (at, c) in chars(text) {
            if is_break(c) {
                if !breaks && c == b"\n" {
                    self.put_break();
                }
                self.write_break(c);
                breaks = true;
                continue;
            }
            if c == b" " {
                let inside = at > 0 && at + 1 < text.len();
                if !(inside && self.folds(text, at, may_break, after_space)) {
                    self.write(c);
                }
                after_space = true;
                continue;
            }
            if breaks {
                self.write_indent();
            }
            if c == b"'" {
                self.put(b'\'');
            }
            self.write(c);
            self.indention = false;
            (breaks, after_space) = (false, false);
        }
        self.indicator(b"'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn double(&mut self, text: &[u8], breaks: bool) {
        self.indicator(b"\"", true, false, false);
        let mut after_space = false;
        // libyaml's port to Go looks for the mark at the start of the text, whichever character it is about to write.
        let marked = text.starts_with("\u{FEFF}".as_bytes());
        for (at, c) in chars(text) {
            let escape = marked || !is_printable(c) || is_break(c) || matches!(c, b"\"" | b"\\");
            if escape {
                self.escaped(c);
            } else if c == b" " && breaks && !after_space && self.is_full() && at > 0 && at + 1 < text.len() {
                self.write_indent();
                if text[at + 1] == b' ' {
                    self.put(b'\\');
                }
            } else {
                self.write(c);
            }
            after_space = c == b" ";
        }
        self.indicator(b"\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escaped(&mut self, c: &[u8]) {
        let (rune, _) = crate::text::decode_rune(c);
        let text = match rune {
            0 => "\\0".to_owned(),
            7 => "\\a".to_owned(),
            8 => "\\b".to_owned(),
            9 => "\\t".to_owned(),
            0x0A => "\\n".to_owned(),
            0x0B => "\\v".to_owned(),
            0x0C => "\\f".to_owned(),
            0x0D => "\\r".to_owned(),
            0x1B => "\\e".to_owned(),
            0x22 => "\\\"".to_owned(),
            0x5C => "\\\\".to_owned(),
            0x85 => "\\N".to_owned(),
            0xA0 => "\\_".to_owned(),
            0x2028 => "\\L".to_owned(),
            0x2029 => "\\P".to_owned(),
            1..=6 | 0x0E..=0xFF => format!("\\x{rune:02X}"),
            0x100..=0xFFFF => format!("\\u{rune:04X}"),
            _ => format!("\\U{rune:08X}"),
        };
        self.out.extend_from_slice(text.as_bytes());
        self.column += text.len();
    }

    fn literal(&mut self, text: &[u8]) {
        self.indicator(b"|", true, false, false);
        self.block_hints(text);
        // With four spaces, a break that the text begins with is the one that ends this line.
        if self.dialect != Dialect::V3 {
            self.put_break();
        }
        self.whitespace = true;
        let mut breaks = true;
        for (_, c) in chars(text) {
            if is_break(c) {
                self.write_break(c);
                breaks = true;
                continue;
            }
            if breaks {
                self.write_indent();
            }
            self.write(c);
            self.indention = false;
            breaks = false;
        }
    }

    /// The indentation if the text starts with a space, and what becomes of its last breaks.
    fn block_hints(&mut self, text: &[u8]) {
        let first = chars(text).next().map_or(&b""[..], |(_, c)| c);
        if first == b" " || is_break(first) {
            let hint = self.best_indent().to_string();
            self.indicator(hint.as_bytes(), false, false, false);
        }
        let mut ends: Vec<&[u8]> = chars(text).map(|(_, c)| c).collect();
        let last = ends.pop().is_some_and(is_break);
        let before = ends.pop();
        let chomp: &[u8] = match (last, before) {
            (false, _) => b"-",
            (true, None) => b"+",
            (true, Some(c)) if is_break(c) => b"+",
            (true, Some(_)) => b"",
        };
        self.indicator(chomp, false, false, false);
    }
}
