//! Content digests: equal bytes are never published, stored or applied twice.

// D-1204: the digest of a sealed row is keyed.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// The first 128 bits of SHA-256, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Digest of the concatenation of `parts`, each preceded by its length so that borders matter.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let full = hasher.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&full[..16]);
        Self(bytes)
    }

    /// Its first twelve digits: what people are shown, and write where they approve something.
    pub fn short(&self) -> String {
        let mut text = String::with_capacity(12);
        push_hex(&mut text, &self.0[..6]);
        text
    }

    /// The bits.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What digests of secrets are made with: whoever does not know it cannot try what a digest is of.
#[derive(Clone)]
pub struct DigestKey([u8; 32]);

impl DigestKey {
    /// A key of these bytes, which nobody can guess.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// As [`Digest::of`], by HMAC-SHA256.
    pub fn digest(&self, parts: &[&[u8]]) -> Digest {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        let full = mac.finalize().into_bytes();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&full[..16]);
        Digest(bytes)
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey")
    }
}

/// `sha256:` and the hexadecimal SHA-256 of `bytes`: the form of `projectsveltos.io/hash`.
pub fn sveltos_hash(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    push_hex(&mut text, &Sha256::digest(bytes));
    text
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
}

// === impl Digest ===

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(32);
        push_hex(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 32 hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let raw = text.as_bytes();
        if raw.len() != 32 {
            return Err(NotADigest);
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(raw.chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16).ok_or(NotADigest);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_read_back() {
        let digest = Digest::of(&[b"a", b"bc"]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_ne!(digest, Digest::of(&[b"ab", b"c"]));
        assert_eq!("zz".parse::<Digest>(), Err(NotADigest));
    }

    #[test]
    fn a_keyed_digest_differs_with_the_key_and_with_the_borders_of_its_parts() {
        let (key, other) = (DigestKey::new([1; 32]), DigestKey::new([2; 32]));
        let digest = key.digest(&[b"a", b"bc"]);
        assert_eq!(digest, DigestKey::new([1; 32]).digest(&[b"a", b"bc"]));
        for different in
            [other.digest(&[b"a", b"bc"]), key.digest(&[b"ab", b"c"]), Digest::of(&[b"a", b"bc"])]
        {
            assert_ne!(digest, different);
        }
        assert_eq!(format!("{key:?}"), "DigestKey", "it is in no log");
    }

    #[test]
    fn sveltos_hash_is_plain_sha256() {
        assert_eq!(
            sveltos_hash(b""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
