//! What a token of Kubernetes looks like: what looks otherwise is nothing to ask anybody about.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Whether this is a JSON web token: a header and a payload, which are JSON objects, and a signature, each in base64url.
pub(super) fn is_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    is_object(header) && is_object(payload) && bytes(signature).is_some_and(|bytes| !bytes.is_empty())
}

fn bytes(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

fn is_object(part: &str) -> bool {
    let read = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    bytes(part).and_then(read).is_some_and(|value| value.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(parts: &[&str]) -> String {
        parts.iter().map(|part| URL_SAFE_NO_PAD.encode(part)).collect::<Vec<_>>().join(".")
    }

    #[test]
    fn three_parts_of_which_two_are_objects_are_a_token() {
        assert!(is_jwt(&token(&[r#"{"alg":"RS256"}"#, r#"{"sub":"a"}"#, "signed"])));
        for parts in [
            &["{}", "{}"][..],
            &["{}", "{}", "s", "s"],
            &["{}", "{}", ""],
            &["[]", "{}", "s"],
            &["{}", "5", "s"],
            &["{", "{}", "s"],
        ] {
            assert!(!is_jwt(&token(parts)), "{parts:?}");
        }
        let other = ["", "..", "guess", "e30.e30.s=", "e30.e30.+/", "e30.e30.\u{fc}"];
        assert!(other.iter().all(|token| !is_jwt(token)));
    }
}
