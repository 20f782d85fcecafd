//! Frames on a pipe: four bytes of length, least first, then so many bytes.

use std::io::{ErrorKind, Read, Result, Write};

/// A frame with its length before it.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    frame
}

/// Writes a frame.
///
/// # Errors
/// When the other side is gone.
pub(crate) fn write(to: &mut impl Write, body: &[u8]) -> Result<()> {
    to.write_all(&framed(body))?;
    to.flush()
}

/// Reads a frame; nothing when the other side is gone between two frames.
///
/// # Errors
/// When the other side is gone within a frame.
pub(crate) fn read(from: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut body)?;
    Ok(Some(body))
}

/// A frame that arrives in pieces, from a side that is not trusted.
pub(crate) struct Arriving {
    bytes: Vec<u8>,
    most: usize,
}

impl Arriving {
    /// A frame of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    /// Takes a piece; answers the body once it is complete.
    ///
    /// # Errors
    /// When this is no frame, or too large a one.
    pub(crate) fn take(&mut self, piece: &[u8]) -> std::result::Result<Option<Vec<u8>>, String> {
        self.bytes.extend_from_slice(piece);
        let Some((length, body)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.most || body.len() > length {
            return Err(format!("a frame of {} bytes with {} in it", length, body.len()));
        }
        Ok((body.len() == length).then(|| self.bytes.split_off(4)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn frames_go_through_a_pipe() {
        let mut pipe = Vec::new();
        write(&mut pipe, b"one").unwrap();
        write(&mut pipe, b"").unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(read(&mut from).unwrap().unwrap(), b"one");
        assert_eq!(read(&mut from).unwrap().unwrap(), b"");
        assert!(read(&mut from).unwrap().is_none());
        assert!(read(&mut [1, 0, 0, 0].as_slice()).is_err());
    }

    #[test]
    fn a_frame_may_arrive_byte_by_byte() {
        let (frame, mut arriving) = (framed(b"body"), Arriving::new(10));
        let (last, before) = frame.split_last().unwrap();
        for byte in before {
            assert_eq!(arriving.take(&[*byte]).unwrap(), None);
        }
        assert_eq!(arriving.take(&[*last]).unwrap().unwrap(), b"body");
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(Arriving::new(10).take(b"running 1 test").is_err());
        assert!(Arriving::new(10).take(&framed(b"eleven bytes")).is_err());
        assert!(Arriving::new(10).take(b"\x01\x00\x00\x00ab").is_err());
    }
}
