//! The protobuf wire format.

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// A number.
    Number(u64),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message in order; `None` where the bytes are malformed, which ends it.
pub fn fields(bytes: &[u8]) -> impl Iterator<Item = Option<(u64, Field<'_>)>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let mut bytes = rest?;
        if bytes.is_empty() {
            return None;
        }
        let field = next(&mut bytes);
        rest = field.is_some().then_some(bytes);
        Some(field)
    })
}

fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let tag = varint(bytes)?;
    let field = match tag & 7 {
        0 => Field::Number(varint(bytes)?),
        1 => Field::Bytes(take(bytes, 8)?),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            Field::Bytes(take(bytes, length)?)
        }
        5 => Field::Bytes(take(bytes, 4)?),
        _ => return None,
    };
    Some((tag >> 3, field))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_are_read() {
        let found: Vec<_> = fields(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']).collect();
        assert_eq!(found, [Some((1, Field::Number(150))), Some((2, Field::Bytes(b"hi")))]);
    }

    #[test]
    fn a_broken_field_ends_the_message() {
        let found: Vec<_> = fields(&[0x12, 0x09, b'h']).collect();
        assert_eq!(found, [None]);
    }
}
