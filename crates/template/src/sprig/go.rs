//! What Go's library says of single texts, for who must say the same.

use super::{dates, re2, url_parts};
use crate::text::lossy;

/// The parts of a URL that a rule may be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoUrl {
    /// In small letters; empty for a relative URL.
    pub scheme: String,
    /// With its port.
    pub host: String,
    /// Without port and brackets.
    pub hostname: String,
    /// The path as it is written.
    pub raw_path: String,
}

/// Reads a URL as `net/url` does.
///
/// # Errors
/// Go's.
pub fn go_url(text: &str) -> Result<GoUrl, String> {
    let url = url_parts::parse(text.as_bytes())?;
    Ok(GoUrl {
        scheme: lossy(&url.scheme),
        hostname: lossy(url.hostname()),
        host: lossy(&url.host),
        raw_path: lossy(&url.raw_path),
    })
}

/// Whether a text is a date, as `time.Parse` reads `2006-01-02`.
///
/// # Errors
/// Go's.
pub fn check_go_date(text: &str) -> Result<(), String> {
    dates::parse::parse(b"2006-01-02", text.as_bytes()).map(drop)
}

/// Whether a text is a pattern of `regexp`. It is read, and not compiled: a short one can be a large program.
///
/// # Errors
/// Go's.
pub fn check_go_pattern(text: &str) -> Result<(), String> {
    re2::translate(text).map(drop)
}
