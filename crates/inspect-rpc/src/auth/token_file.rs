//! Tokens that stand in a file, one a line. The file is read anew when it has changed, so a token is taken away by taking it
//! out of the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use subtle::{Choice, ConstantTimeEq as _};

use super::{Hash, hash};
use crate::mark::Mark;

/// A file with tokens.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    read: Mutex<Read>,
}

/// What was read of it.
#[derive(Debug)]
struct Read {
    /// What the file was then: another one has another.
    mark: Mark,
    tokens: Vec<Hash>,
}

// === impl TokenFile ===

impl TokenFile {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read, or has no token in it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let read = Read::of(path)?;
        if read.tokens.is_empty() {
            return Err(format!("{}: there is no token in it; write one a line", path.display()));
        }
        Ok(Self { path: path.to_owned(), read: Mutex::new(read) })
    }

    /// Whether one of its tokens has this hash. It takes as long for each of them.
    pub(super) fn holds(&self, given: &Hash) -> Result<bool, String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark::of(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        if mark != read.mark {
            *read = Read::of(&self.path)?;
            tracing::info!(file = %self.path.display(), tokens = read.tokens.len(), "the tokens were read anew");
        }
        let found = read.tokens.iter().fold(Choice::from(0), |found, token| found | token.ct_eq(given));
        Ok(found.into())
    }
}

// === impl Read ===

impl Read {
    fn of(path: &Path) -> Result<Self, String> {
        // Before it is read: what changes in between is seen the next time.
        let mark = Mark::of(path).map_err(|error| unreadable(path, &error))?;
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(Self { mark, tokens: lines.map(hash).collect() })
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{}: the file of tokens cannot be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn holds(file: &TokenFile, token: &str) -> bool {
        file.holds(&hash(token)).unwrap()
    }

    #[test]
    fn a_token_counts_for_as_long_as_it_stands_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        std::fs::write(&path, "# of the night shift\none\n\n  two  \n").unwrap();
        let file = TokenFile::open(&path).unwrap();
        assert!(holds(&file, "one") && holds(&file, "two"));
        assert!(!holds(&file, "three") && !holds(&file, "") && !holds(&file, "# of the night shift"));
        std::fs::write(&path, "three\n").unwrap();
        assert!(holds(&file, "three") && !holds(&file, "one"));
        std::fs::remove_file(&path).unwrap();
        assert!(
            file.holds(&hash("three")).unwrap_err().contains("cannot be read"),
            "nobody is let in by default"
        );
    }

    #[test]
    fn a_file_without_a_token_is_a_mistake() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        assert!(TokenFile::open(&path).unwrap_err().contains("cannot be read"));
        std::fs::write(&path, "\n# none\n").unwrap();
        assert!(TokenFile::open(&path).unwrap_err().ends_with("there is no token in it; write one a line"));
    }
}
