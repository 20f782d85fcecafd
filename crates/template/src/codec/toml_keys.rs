//! TOML keys: bare where they can be, quoted elsewhere.

use super::toml_write::quoted_value;

pub(super) fn is_bare(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// A key as it is written.
pub(super) fn quoted_key(key: &[u8]) -> Vec<u8> {
    if !key.is_empty() && key.iter().all(|b| is_bare(*b)) { key.to_vec() } else { quoted_value(key) }
}

/// A dotted key.
pub(super) fn joined(key: &[Vec<u8>]) -> Vec<u8> {
    key.iter().map(|k| quoted_key(k)).collect::<Vec<_>>().join(&b'.')
}
