//! Strings as Go has them: bytes that are usually UTF-8, read rune by rune.

pub(crate) mod classes;
pub(crate) mod quote;
pub(crate) mod unquote;

/// What Go reads where the bytes are no UTF-8.
pub(crate) const RUNE_ERROR: u32 = 0xFFFD;

/// The first rune and its width; an invalid byte is `RUNE_ERROR` of width 1.
pub(crate) fn decode_rune(bytes: &[u8]) -> (u32, usize) {
    let Some(&first) = bytes.first() else { return (RUNE_ERROR, 0) };
    if first < 0x80 {
        return (u32::from(first), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (RUNE_ERROR, 1),
    };
    let Some(piece) = bytes.get(..width) else { return (RUNE_ERROR, 1) };
    match std::str::from_utf8(piece) {
        Ok(text) => (text.chars().next().map_or(RUNE_ERROR, u32::from), width),
        Err(_) => (RUNE_ERROR, 1),
    }
}

/// The runes of a string, with their offsets and widths.
pub(crate) fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, u32, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let (rune, width) = decode_rune(&bytes[at..]);
        let start = at;
        at += width;
        Some((start, rune, width))
    })
}

/// Appends a rune; what is no character becomes U+FFFD, as in Go.
pub(crate) fn push_rune(out: &mut Vec<u8>, rune: u32) {
    let c = char::from_u32(rune).unwrap_or('\u{FFFD}');
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// How many runes the string has.
pub(crate) fn rune_count(bytes: &[u8]) -> usize {
    runes(bytes).count()
}

/// The text with every invalid byte replaced by U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => runes(bytes).map(|(_, r, _)| char::from_u32(r).unwrap_or('\u{FFFD}')).collect(),
    }
}

/// Like [`lossy`], without a copy of valid text.
pub(crate) fn lossy_owned(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| lossy(e.as_bytes()))
}

/// Applies a character mapping rune by rune, as Go's `strings.Map` does.
pub(crate) fn map_runes(bytes: &[u8], map: impl Fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (_, rune, _) in runes(bytes) {
        let c = char::from_u32(rune).unwrap_or('\u{FFFD}');
        push_rune(&mut out, u32::from(map(c)));
    }
    out
}

/// The offset of `needle`, if it occurs.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => Some(0),
        [one] => haystack.iter().position(|b| b == one),
        _ => find_long(haystack, needle),
    }
}

/// Searches by the needle's first byte; text is valid UTF-8 almost always, so std's searcher serves.
fn find_long(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if let (Ok(hay), Ok(pin)) = (std::str::from_utf8(haystack), std::str::from_utf8(needle)) {
        return hay.find(pin);
    }
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_are_single_errors() {
        assert_eq!(lossy(b"a\xff\xfeb"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(lossy(b"\xe2\x82"), "\u{FFFD}\u{FFFD}");
        assert_eq!(decode_rune("é".as_bytes()), (0xE9, 2));
        assert_eq!(rune_count(b"\xed\xa0\x80"), 3);
    }
}
