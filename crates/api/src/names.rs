//! Generated names. Sveltos draws them at random; here they follow from their cause, so that every
//! replica, restart and dry run gives the same.

// D-0904: generated names follow from their cause.

use sha2::{Digest as _, Sha256};

/// `sveltos-` and 20 letters or digits, a function of `parts`.
pub fn generated(parts: &[&str]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut name = String::from("sveltos-");
    name.extend(hasher.finalize().iter().take(20).map(|byte| LETTERS[usize::from(byte % 32)] as char));
    name
}

/// Whether `text` may be the value of a label: at most 63 of letters, digits, `-`, `_`, `.`,
/// beginning and ending with a letter or digit, or empty.
pub fn is_label_value(text: &str) -> bool {
    let word = |c: u8| c.is_ascii_alphanumeric();
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            bytes.len() <= 63
                && word(first)
                && word(last)
                && bytes.iter().all(|&c| word(c) || matches!(c, b'-' | b'_' | b'.'))
        }
        _ => true,
    }
}

/// Whether `text` may be the key of a label or annotation: a name like a value, behind a prefix that is a DNS name or absent.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.rsplit_once('/').unwrap_or(("", text));
    let good_prefix = prefix.is_empty() || is_object_name(prefix);
    !name.is_empty() && is_label_value(name) && good_prefix && !text.starts_with('/')
}

/// Whether `text` may be the name of an object: a DNS subdomain of at most 253 characters.
pub fn is_object_name(text: &str) -> bool {
    let part = |part: &str| {
        let bytes = part.as_bytes();
        let word = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        bytes.first().is_some_and(word)
            && bytes.last().is_some_and(word)
            && bytes.iter().all(|c| word(c) || *c == b'-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

/// Whether `text` may stand between two slashes of a path, and is all of it what stands there: no query begins in it.
pub fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && !text.contains(['/', '%', '?', '#'])
        && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_their_parts() {
        let name = generated(&["a", "bc"]);
        assert_eq!(name, generated(&["a", "bc"]));
        assert_ne!(name, generated(&["ab", "c"]));
        assert!(is_object_name(&name) && name.len() == 28, "{name}");
    }

    #[test]
    fn label_values_and_names_are_checked() {
        assert!(is_label_value("") && is_label_value("a_b.C-1") && !is_label_value("-a"));
        assert!(!is_label_value(&"a".repeat(64)) && !is_label_value("a:b"));
        assert!(is_object_name("a.b-c") && !is_object_name("A") && !is_object_name("a..b"));
    }
}
