//! Whether a file is still the one that was read.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Number, size and time of change of a file: another one has another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64, u64, i64, i64);

// === impl Mark ===

impl Mark {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self(found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
    }
}
