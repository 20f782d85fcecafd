//! What Secrets hold, for renders whose results somebody may see who may not see that.
//!
//! ```text
//! sealed text of a Secret ─► open ─► the text, rendered ─┬─► close ─► sealed again: content for a later render
//!                                                        └─► cover ─► manifests, values or patches without values
//! ```
//!
//! Whatever else reads a Secret finds what is sealed.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// Objects that are deployed.
    Manifests,
    /// Values of a chart.
    Values,
    /// Patches, with what they are for.
    Patches,
}

/// Opens sealed texts for a render, and lets nothing of them out.
pub trait Veil: Debug + Send + Sync {
    /// The text, where this is a sealed one.
    fn open(&self, sealed: &str) -> Option<Arc<str>>;

    /// What became of a sealed text, sealed.
    ///
    /// # Errors
    /// That it cannot be rendered, without what it says.
    fn close(&self, sealed: &str, rendered: Result<String>) -> Result<String>;

    /// What became of a sealed text, without values.
    ///
    /// # Errors
    /// That it cannot be rendered or read, without what it says.
    fn cover(&self, sealed: &str, read_as: ReadAs, rendered: Result<String>) -> Result<String>;
}

/// No text is sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoVeil;

// === impl NoVeil ===

impl Veil for NoVeil {
    fn open(&self, _: &str) -> Option<Arc<str>> {
        None
    }

    fn close(&self, _: &str, rendered: Result<String>) -> Result<String> {
        rendered
    }

    fn cover(&self, _: &str, _: ReadAs, rendered: Result<String>) -> Result<String> {
        rendered
    }
}
