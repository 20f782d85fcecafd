//! Just enough DER to write keys and certificates and to read them back.

/// A tagged value.
pub(super) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let len = content.len();
    if len < 0x80 {
        out.push(u8::try_from(len).unwrap_or(0));
    } else {
        let bytes = len.to_be_bytes();
        let skip = bytes.iter().take_while(|b| **b == 0).count();
        out.push(0x80 | u8::try_from(bytes.len() - skip).unwrap_or(0));
        out.extend_from_slice(&bytes[skip..]);
    }
    out.extend_from_slice(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

/// A non-negative integer from big-endian bytes.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let skip = bytes.iter().take_while(|b| **b == 0).count();
    let digits = &bytes[skip..];
    let mut content = Vec::with_capacity(digits.len() + 1);
    if digits.first().is_none_or(|b| b & 0x80 != 0) {
        content.push(0);
    }
    content.extend_from_slice(digits);
    tagged(0x02, &content)
}

pub(super) fn small(value: u8) -> Vec<u8> {
    integer(&[value])
}

pub(super) fn octets(content: &[u8]) -> Vec<u8> {
    tagged(0x04, content)
}

/// A bit string of whole bytes.
pub(super) fn bits(content: &[u8]) -> Vec<u8> {
    tagged(0x03, &[&[0], content].concat())
}

/// An object identifier, already encoded.
pub(super) fn oid(encoded: &[u8]) -> Vec<u8> {
    tagged(0x06, encoded)
}

pub(super) fn null() -> Vec<u8> {
    tagged(0x05, b"")
}

/// A reader over DER values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'d>(pub(super) &'d [u8]);

// === impl Reader ===

impl<'d> Reader<'d> {
    /// The next value: its tag, its content, and its whole encoding.
    pub(super) fn next(&mut self) -> Option<(u8, &'d [u8], &'d [u8])> {
        let all = self.0;
        let (&tag, rest) = all.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut len = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let (digits, after) = rest.split_at_checked(count)?;
            len = digits.iter().fold(0, |n, b| n << 8 | usize::from(*b));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some((tag, content, &all[..all.len() - after.len()]))
    }

    /// The content of the next value, which must have the tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.next().filter(|(t, ..)| *t == tag).map(|(_, content, _)| content)
    }

    /// The next non-negative integer, without leading zeros.
    pub(super) fn integer(&mut self) -> Option<&'d [u8]> {
        let content = self.expect(0x02)?;
        let skip = content.iter().take_while(|b| **b == 0).count();
        Some(&content[skip..])
    }
}
