//! Text as one token of a subject: no `.`, `*`, `>` or white space, never empty, and read back exactly.

/// Stands for the empty text.
const EMPTY: &str = "-";

/// Appends the token of `text`.
pub(crate) fn push(out: &mut String, text: &str) {
    if text.is_empty() {
        out.push_str(EMPTY);
        return;
    }
    if text == EMPTY {
        out.push_str("%2D");
        return;
    }
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'/'
            | b':'
            | b'@'
            | b'='
            | b'+'
            | b',' => {
                out.push(byte as char);
            }
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(DIGITS[usize::from(byte >> 4)] as char);
                out.push(DIGITS[usize::from(byte & 15)] as char);
            }
        }
    }
}

/// Reads a token back; `None` when no text encodes to it.
pub(crate) fn read(token: &str) -> Option<String> {
    if token == EMPTY {
        return Some(String::new());
    }
    if !token.contains('%') {
        return (!token.is_empty()).then(|| token.to_owned());
    }
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digit = |index: usize| rest.get(index).and_then(|&c| (c as char).to_digit(16));
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
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
        fn no_token_panics(token in "[%0-9A-Fa-f.é]{0,12}") {
            prop_assert!(read(&token).is_none_or(|text| text.len() <= token.len()));
        }
    }
}
