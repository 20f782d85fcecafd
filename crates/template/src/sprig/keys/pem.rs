//! PEM blocks.

use crate::sprig::encoding::{base64, decode_base64};

/// A decoded block.
pub(super) struct Block {
    pub(super) label: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn encode(label: &str, bytes: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in base64(bytes).chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The first block of a text.
pub(super) fn decode(text: &str) -> Option<Block> {
    let start = text.find("-----BEGIN ")?;
    if start > 0 && !text[..start].ends_with('\n') {
        return None;
    }
    let (label, rest) = text[start + 11..].split_once("-----")?;
    let end = rest.find(&format!("-----END {label}-----"))?;
    let body: String = rest[..end].lines().filter(|line| !line.contains(':')).collect();
    let body = body.replace([' ', '\t', '\r'], "");
    Some(Block { label: label.to_owned(), bytes: decode_base64(body.as_bytes()).ok()? })
}
