//! A string: borrowed from the input or the program, or computed.

use std::{borrow::Borrow, cmp::Ordering, rc::Rc};

/// Go strings are bytes; most are UTF-8.
#[derive(Debug, Clone)]
pub(crate) enum Str<'a> {
    Ref(&'a [u8]),
    Own(Rc<[u8]>),
}

// === impl Str ===

impl Str<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Ref(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }

    pub(crate) fn lossy(&self) -> String {
        crate::text::lossy(self.bytes())
    }
}

impl From<Vec<u8>> for Str<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes.into())
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Self {
        Self::Ref(text.as_bytes())
    }
}

impl Borrow<[u8]> for Str<'_> {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Str<'_> {}

impl PartialOrd for Str<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}
