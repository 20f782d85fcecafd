//! Go's `strconv.Quote` family.

use super::{RUNE_ERROR, classes::is_print, push_rune, runes};

/// `strconv.Quote`.
pub(crate) fn quote(bytes: &[u8]) -> Vec<u8> {
    quote_with(bytes, b'"', false)
}

/// `strconv.Quote` as text, for messages.
pub fn quoted(text: &str) -> String {
    super::lossy_owned(quote(text.as_bytes()))
}

/// Quotes with the given quote character; `ascii` escapes everything else.
pub(crate) fn quote_with(bytes: &[u8], mark: u8, ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    out.push(mark);
    for (at, rune, width) in runes(bytes) {
        if width == 1 && rune == RUNE_ERROR {
            out.extend_from_slice(format!("\\x{:02x}", bytes[at]).as_bytes());
        } else {
            escape_rune(&mut out, rune, mark, ascii);
        }
    }
    out.push(mark);
    out
}

/// `strconv.QuoteRune`.
pub(crate) fn quote_rune(rune: u32, ascii: bool) -> Vec<u8> {
    let rune = if char::from_u32(rune).is_some() { rune } else { RUNE_ERROR };
    let mut out = vec![b'\''];
    escape_rune(&mut out, rune, b'\'', ascii);
    out.push(b'\'');
    out
}

fn escape_rune(out: &mut Vec<u8>, rune: u32, mark: u8, ascii: bool) {
    if rune == u32::from(mark) || rune == u32::from(b'\\') {
        out.push(b'\\');
        push_rune(out, rune);
        return;
    }
    let c = char::from_u32(rune).unwrap_or('\u{FFFD}');
    if is_print(c) && (c.is_ascii() || !ascii) {
        push_rune(out, rune);
        return;
    }
    let escaped = match c {
        '\x07' => "\\a".to_owned(),
        '\x08' => "\\b".to_owned(),
        '\x0C' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\x0B' => "\\v".to_owned(),
        c if c < ' ' || c == '\x7f' => format!("\\x{rune:02x}"),
        _ if rune < 0x10000 => format!("\\u{rune:04x}"),
        _ => format!("\\U{rune:08x}"),
    };
    out.extend_from_slice(escaped.as_bytes());
}

/// `strconv.CanBackquote`.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    runes(bytes).all(|(_, rune, width)| match (rune, width) {
        (0xFEFF, _) => false,
        (_, 2..) => true,
        (RUNE_ERROR, _) => false,
        (r, _) => !((r < 0x20 && r != 9) || r == 0x60 || r == 0x7f),
    })
}
