//! Text as one token of a subject: no `.`, `*`, `>` or white space, never empty, and read back exactly.

/// Stands for the empty text.
const EMPTY: &str = "-";
/// Stands for the text that is written as the empty one is.
const ESCAPED_EMPTY: &str = "%2D";

/// Appends the token of `text`.
pub(crate) fn push(out: &mut String, text: &str) {
    if text.is_empty() {
        out.push_str(EMPTY);
        return;
    }
    if text == EMPTY {
        out.push_str(ESCAPED_EMPTY);
        return;
    }
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(byte as char);
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.push('%');
            out.push(DIGITS[usize::from(byte >> 4)] as char);
            out.push(DIGITS[usize::from(byte & 15)] as char);
        }
    }
}

/// What stands for itself; everything else is `%` and two digits.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b':' | b'@' | b'=' | b'+' | b',')
}

/// Reads a token back; `None` when no text encodes to it. A second spelling would be a second row of one key.
pub(crate) fn read(token: &str) -> Option<String> {
    if token == EMPTY {
        return Some(String::new());
    }
    if token == ESCAPED_EMPTY {
        return Some(EMPTY.to_owned());
    }
    if !token.contains('%') {
        return (!token.is_empty() && token.bytes().all(is_plain)).then(|| token.to_owned());
    }
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let byte = if first == b'%' {
            let (&[high, low], tail) = rest.split_first_chunk::<2>()?;
            rest = tail;
            digit(high)? * 16 + digit(low)?
        } else {
            first
        };
        if is_plain(byte) == (first == b'%') {
            return None;
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'A'..=b'F' => Some(c - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_is_read_back(text in ".{0,20}") {
            let mut token = String::new();
            push(&mut token, &text);
            prop_assert!(!token.is_empty() && !token.contains(['.', '*', '>', ' ', '~', '\t']));
            prop_assert_eq!(read(&token), Some(text));
        }

        #[test]
        fn what_is_read_is_written_the_same(token in "[%0-9A-Fa-f.é-]{0,12}") {
            if let Some(text) = read(&token) {
                let mut again = String::new();
                push(&mut again, &text);
                prop_assert_eq!(again, token);
            }
        }
    }

    fn token(text: &str) -> String {
        let mut token = String::new();
        push(&mut token, text);
        token
    }

    #[test]
    fn tokens_look_as_documented() {
        for (text, expected) in [
            ("", "-"),
            ("-", "%2D"),
            ("--", "--"),
            ("a.b", "a%2Eb"),
            ("a b", "a%20b"),
            ("*>", "%2A%3E"),
            ("~owner", "%7Eowner"),
            ("%", "%25"),
            ("é", "%C3%A9"),
            ("sveltos:a/b_c@d=e+f,g-1", "sveltos:a/b_c@d=e+f,g-1"),
        ] {
            assert_eq!(token(text), expected);
            assert_eq!(read(expected).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_nobody_writes_is_not_read() {
        for text in ["", ".", "a.b", "%", "%2", "%2e", "%61", "%zz", "a%", "%FF", "%C3", "é", "~", "a b"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
